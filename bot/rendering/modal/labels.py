"""Labels of inputs: no two inputs of a form share one, whatever their arguments are called."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from bot.sentences import in_field, in_text
from bot.text.literal import clip, head, one_line, units

LONGEST = 150

# Labels join names with these characters, so a name that contains one is written in quotes.
_JOINTS = re.compile(r'["→·…]')
# Several spaces look like one.
_SPACES = re.compile(r" {2,}")


def label_of(
    path: tuple[str | int, ...], number: int, *, size: int = LONGEST, ends: Callable[[str], str] = str
) -> str:
    """Name an input.

    Args:
        path: names and positions from the outermost object; empty for all arguments at once.
        number: counts the inputs of a form. A label that would be too long has it behind the name.
        size: how long a label may be.
        ends: adds what follows the name.
    """
    label, room = " → ".join(map(_name, path)) or in_field.ALL_ARGUMENTS, size - units(ends(""))
    if units(label) > room:
        mark = in_field.numbered(number)
        label = clip(label, room - units(mark)) + mark
    return ends(label)


def told_apart(texts: Sequence[str], size: int) -> list[str]:
    """Shorten texts to so many units (40 or more). One that begins as another does keeps the part where they differ."""
    shared = dict.fromkeys(texts, 0)
    for one, other in pairwise(sorted(shared)):
        place = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        shared[one], shared[other] = max(shared[one], place), max(shared[other], place)
    return [_around(text, shared[text], size) for text in texts]


def _around(text: str, place: int, size: int) -> str:
    if units(text) <= size or place < size // 3:
        return clip(text, size)
    beginning, room = head(text, size // 3), size - size // 3 - 2
    # What stands before it tells where it is.
    rest = text[min(max(place - room // 2, size // 3), max(len(text) - room, size // 3)) :]
    return f"{beginning}…{rest if units(rest) <= room else head(rest, room) + '…'}"


def _name(name: str | int) -> str:
    if isinstance(name, int):
        return str(name + 1)
    text = _SPACES.sub(lambda row: f"\\{{{in_text.spaces(len(row[0]))}}}", one_line(name))
    # Slack trims a label, so spaces around a name would not be seen.
    if (
        name
        and name == name.strip()
        and name not in {label for label, _ in in_field.BOXES.values()}
        and not _JOINTS.search(name)
    ):
        return text
    # A quote inside the name is written as its code, so that the name ends where its quotes end.
    return '"' + text.replace('"', "\\u{22}") + '"'
