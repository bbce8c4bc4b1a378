"""Arguments as a person reads them, and what an edit changed in them.

Strings stand in quotes, everything else does not, so `"1"` and `1` differ. Text of several lines stands behind a bar.
A line that begins with the wrap mark goes on from the line above; no line of an agent can begin so.
"""

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.masks import Unshown, hide
from bot.rendering.text import one_line, visible

WIDTH = 100
WRAP = "↪ "
BAR = "│ "

_ALIGNED = 24
_INDENT = "  "
_NARROWEST = 20
# No dot: in a path it stands between names.
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,60}")
_ATOM = re.compile(r"\\(?:u\{[^}]*\}|\{[^}]*\}|.)|.", re.DOTALL)

Line = tuple[str, str]
"""Our indent, and what stands there."""


def argument_lines(args: dict[str, Any]) -> list[str]:
    """Write arguments as lines of about 100 columns."""
    return _wrapped(_object(args, "")) if args else ["(no arguments)"]


def value_lines(value: Any) -> list[str]:
    """Write one value as lines."""
    return _wrapped(_value(value, ""))


def text_lines(text: str) -> list[str]:
    """Write free text as lines behind a bar."""
    return _wrapped(_text(text, ""))


def change_lines(
    before: dict[str, Any],
    after: dict[str, Any],
    mask: Collection[str] = (),
    modal_only: Collection[str] = (),
) -> list[str]:
    """Write what differs, by path: `-` was asked, `+` was decided. Values with these names are not shown."""
    lines = list(_changes(before, after, "", lambda value: hide(value, mask, modal_only)))
    return lines or ["(only the order of the arguments changed)"]


def _wrapped(lines: Iterator[Line]) -> list[str]:
    return [piece for indent, text in lines for piece in _wrap(indent, text)]


def _value(value: Any, indent: str) -> Iterator[Line]:
    if _is_inline(value):
        yield indent, _inline(value)
    elif isinstance(value, dict):
        yield from _object(value, indent)
    elif isinstance(value, list):
        yield from _list(value, indent)
    else:
        yield from _text(value, indent)


def _object(value: dict[str, Any], indent: str) -> Iterator[Line]:
    labels = [f"{_key(key)}:" for key in value]
    width = min(max(map(len, labels)), _ALIGNED)
    for label, child in zip(labels, value.values(), strict=True):
        if _is_inline(child):
            yield indent, f"{label:<{width}} {_inline(child)}"
        else:
            yield indent, label
            yield from _value(child, indent + _INDENT)


def _list(value: list[Any], indent: str) -> Iterator[Line]:
    for child in value:
        lines = _value(child, indent + _INDENT)
        yield indent, f"- {next(lines)[1]}"
        yield from lines


def _text(text: str, indent: str) -> Iterator[Line]:
    for line in visible(text).split("\n"):
        kept = line.rstrip(" ")
        # Spaces at the end of a line would not be seen.
        trailing = len(line) - len(kept)
        yield indent, f"{BAR}{kept}" + (f"\\{{{trailing} spaces}}" if trailing else "")


def _is_inline(value: Any) -> bool:
    return not value or not (isinstance(value, dict | list) or (isinstance(value, str) and "\n" in value))


def _inline(value: Any) -> str:
    if isinstance(value, Unshown):
        return value.says
    return f'"{visible(value)}"' if isinstance(value, str) else encode(value)


def _key(key: str) -> str:
    # A quote inside the name is spelled, so that the name ends where its quotes end.
    return key if _PLAIN_KEY.fullmatch(key) else '"' + one_line(key).replace('"', "\\u{22}") + '"'


def _wrap(indent: str, text: str) -> Iterator[str]:
    room = max(WIDTH - len(indent), _NARROWEST)
    atoms = iter([text] if len(text) <= room else _ATOM.findall(text))
    line, lead = next(atoms, ""), indent
    for atom in atoms:
        if len(line) + len(atom) > room:
            yield lead + line
            line, lead, room = "", indent + WRAP, max(WIDTH - len(indent) - len(WRAP), _NARROWEST)
        line += atom
    yield lead + line


def _changes(before: Any, after: Any, path: str, hidden: Callable[[Any], Any]) -> Iterator[str]:
    if encode(before) == encode(after):
        return
    pairs = _common(before, after, path)
    if pairs is None:
        yield f"{path}:"
        yield from _marked("- ", hidden(before))
        yield from _marked("+ ", hidden(after))
        return
    for name, child_path, old, new in pairs:
        if old is not _ABSENT and new is not _ABSENT:
            if name is None or not isinstance(hidden({name: old})[name], Unshown):
                yield from _changes(old, new, child_path, hidden)
            elif encode(old) != encode(new):
                yield f"{child_path}:"
                yield from _marked("- ", hidden({name: old})[name])
                yield from _marked("+ ", hidden({name: new})[name])
        else:
            yield f"{child_path}: " + ("added" if old is _ABSENT else "removed")
            kept = new if old is _ABSENT else old
            yield from _marked("+ " if old is _ABSENT else "- ", hidden({name: kept})[name])


_ABSENT = object()


def _common(before: Any, after: Any, path: str) -> list[tuple[str | None, str, Any, Any]] | None:
    """Pair what two values have at each place: its name in an object, its path, before and after."""
    if isinstance(before, dict) and isinstance(after, dict) and ((before and after) or not path):
        names = [*before, *(key for key in after if key not in before)]
        dot = "." if path else ""
        return [(n, f"{path}{dot}{_key(n)}", before.get(n, _ABSENT), after.get(n, _ABSENT)) for n in names]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [(None, f"{path}[{i}]", old, new) for i, (old, new) in pairs]
    return None


def _marked(mark: str, value: Any) -> Iterator[str]:
    for line in value_lines(value):
        yield mark + line
