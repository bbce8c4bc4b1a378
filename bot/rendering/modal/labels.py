"""Labels of inputs: no two inputs of a form share one, whatever their arguments are called."""

import re

from bot.rendering.text import clip, one_line, units

LONGEST = 150

CODE = "Code"
EMPTY = "Send as an empty text"
BARE = "Take off spaces and empty lines around"
_OURS = {CODE, EMPTY, BARE}
# What labels are put together with: a name that has one of these stands in quotes.
_JOINTS = re.compile(r'["→·…]')
# A row of spaces looks like one.
_SPACES = re.compile(r" {2,}")


def label_of(path: tuple[str, ...], number: int, *, as_json: bool, size: int = LONGEST) -> str:
    """Name an input.

    Args:
        path: names from the outermost object; empty for all arguments at once.
        number: counts the inputs of a form; it stands in a label that would be too long.
        as_json: whether the value is entered as JSON.
        size: how long a label may be, without the word JSON.
    """
    label = " → ".join(map(_name, path)) or "All arguments"
    if units(label) > size:
        mark = f" (input {number})"
        label = clip(label, size - len(mark)) + mark
    return f"{label} · JSON" if as_json else label


def _name(name: str) -> str:
    text = _SPACES.sub(lambda row: f"\\{{{len(row[0])} spaces}}", one_line(name))
    # Slack trims a label, so spaces around a name would not be seen.
    if name and name == name.strip() and name not in _OURS and not _JOINTS.search(name):
        return text
    # A quote inside the name is spelled, so that the name ends where its quotes end.
    return '"' + text.replace('"', "\\u{22}") + '"'
