"""Arguments as a person reads them, and what an edit changed in them.

Strings are in quotes and everything else is not, so `"1"` and `1` differ. Text of several lines has a bar before each
line. Slack wraps long lines. Only one that no page of a reading holds goes on behind a mark.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from agent_adapter.contract.arguments import encode
from bot.domain.masking import Unshown, hide
from bot.sentences import in_text
from bot.text.literal import has_hidden, key_text, one_line, runs_right_to_left, visible

SHORT = 100
"""Characters of a value that stands beside its name, and of a change on one line."""
_SHORT_LIST = 60
WRAP = "↪ "
"""Begins a line that continues the one above."""
LONGEST_LINE = 9_000
"""In characters. Each takes two units at most, so that such a line fits into a page of a reading."""
BAR = "│ "

_ALIGNED = 24
_INDENT = "  "
# No line ends within what spells a character, or counts some.
_WORDS = re.compile(r"(?:\\(?:u?\{[^}]*\}|.)|[^ ]){1,500} *| +")
_WORD = r"[^\W\d_][\w.@/+'&-]*"
_BARE = re.compile(rf"{_WORD}(?: {_WORD})*|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}")
_NOT_TEXT = {"null", "true", "false", "none"}

Line = tuple[str, str]
"""Our indent, and the text after it."""
ARROW = in_text.BECOMES


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit does at one place."""

    path: str
    old: list[str]
    """The lines of the value before; none where an edit added it."""
    new: list[str]
    """The lines of the value after; none where an edit removed it."""

    @property
    def line(self) -> str:
        """The change on one line; empty where that has no room, or where another change could be written the same way.

        So it is with a second arrow in it, and with text from right to left: what is asked would stand where what is
        proposed should.
        """
        line = (
            f"{self.path}: {self.old[0]} {ARROW} {self.new[0]}" if len(self.old) == len(self.new) == 1 else ""
        )
        is_read_one_way = line.count(ARROW) == 1 and not runs_right_to_left(line)
        return line if len(line) <= SHORT and is_read_one_way else ""

    @property
    def lines(self) -> list[str]:
        """The change as text: on one line, or `-` for what was asked and `+` for what would run."""
        if line := self.line:
            return [line]
        title = (
            f"{self.path}:"
            if self.old and self.new
            else (in_text.removed if self.old else in_text.added)(self.path)
        )
        return [title, *(f"- {line}" for line in self.old), *(f"+ {line}" for line in self.new)]


class Argument(NamedTuple):
    """One argument, as a card draws it."""

    name: str
    text: str
    """Its value. Two different values have different texts."""
    is_short: bool
    """Whether it stands beside its name."""
    is_shown: bool = True
    """Whether this is the value, and not what the bot says in its place."""
    is_bare: bool = False
    """Whether it is a text of plain words, which no other value is written like."""

    @property
    def plain(self) -> str:
        """Its value as code: plain words without their quotes."""
        return self.text[1:-1] if self.is_bare else self.text


def arguments_of(args: dict[str, Any]) -> list[Argument]:
    """Write each argument for itself. Nothing is wrapped here, because Slack knows how wide the reader's window is."""
    return [_argument(key_text(name), value) for name, value in args.items()]


def _argument(name: str, value: Any) -> Argument:
    short = _list_on_a_line(value) if isinstance(value, list) and value else ""
    if short or _is_inline(value):
        text = short or _inline(value)
        return Argument(name, text, len(text) <= SHORT, not isinstance(value, Unshown), is_bare(value))
    return Argument(name, "\n".join(indent + text for indent, text in _value(value, "")), is_short=False)


def is_bare(value: Any) -> bool:
    """Whether this is a text that stands without quotes: plain words, which nothing else is written like."""
    if not isinstance(value, str) or value.lower() in _NOT_TEXT:
        return False
    # To a pattern, numbers as ¹ and ② are letters.
    return (
        bool(_BARE.fullmatch(value)) and (value[0].isalpha() or value.isascii()) and visible(value) == value
    )


def _list_on_a_line(values: list[Any]) -> str:
    """Write a short list of plain values as JSON; empty where it has others, hides something or is longer."""
    if any(isinstance(value, list | dict | Unshown) for value in values):
        return ""
    # JSON has its own way to spell hidden characters, and a reader should meet only one.
    if any(isinstance(value, str) and has_hidden(value) for value in values):
        return ""
    text = one_line(encode(values))
    return text if len(text) <= _SHORT_LIST else ""


def argument_lines(args: dict[str, Any]) -> list[str]:
    return _wrapped(_object(args, "")) or [in_text.NO_ARGUMENTS]


def value_lines(value: Any) -> list[str]:
    return _wrapped(_value(value, ""))


def text_lines(text: str) -> list[str]:
    return _wrapped(_text(text, ""))


def changes_of(
    before: dict[str, Any],
    after: dict[str, Any],
    mask: Collection[str] = (),
    modal_only: Collection[str] = (),
) -> list[Change]:
    """Give what differs, place by place. Values with these names are not shown."""
    unshown = {*mask, *modal_only}
    return list(_changes(before, after, "", unshown, lambda value: hide(value, mask, modal_only)))


def change_lines(
    before: dict[str, Any],
    after: dict[str, Any],
    mask: Collection[str] = (),
    modal_only: Collection[str] = (),
) -> list[str]:
    """Write what differs as text: `amount: 1250 → 1200`, a long value as `-` and `+` lines."""
    changes = changes_of(before, after, mask, modal_only)
    return [line for change in changes for line in change.lines] or [in_text.ONLY_ORDER]


def _wrapped(lines: Iterable[Line]) -> list[str]:
    return [piece for indent, text in lines for piece in _wrap(indent, text)]


def _value(value: Any, indent: str) -> Iterable[Line]:
    if _is_inline(value):
        return [(indent, _inline(value))]
    if isinstance(value, dict):
        return _object(value, indent)
    return _list(value, indent) if isinstance(value, list) else _text(value, indent)


def _object(value: dict[str, Any], indent: str) -> Iterator[Line]:
    labels = [f"{key_text(key)}:" for key in value]
    width = min(max(map(len, labels), default=0), _ALIGNED)
    for label, child in zip(labels, value.values(), strict=True):
        if _is_inline(child):
            yield indent, f"{label:<{width}} {_inline(child)}"
        else:
            yield indent, label
            yield from _value(child, indent + _INDENT)


def _list(value: list[Any], indent: str) -> Iterator[Line]:
    for child in value:
        (_, first), *others = _value(child, indent + _INDENT)
        yield indent, f"- {first}"
        yield from others


def _text(text: str, indent: str) -> Iterator[Line]:
    for line in visible(text).split("\n"):
        kept = line.rstrip(" ")
        # Spaces at the end of a line would not be seen.
        trailing = len(line) - len(kept)
        yield indent, f"{BAR}{kept}" + (f"\\{{{in_text.spaces(trailing)}}}" if trailing else "")


def _is_inline(value: Any) -> bool:
    return not value or not (isinstance(value, dict | list) or (isinstance(value, str) and "\n" in value))


def _inline(value: Any) -> str:
    if isinstance(value, Unshown):
        return value.says
    return f'"{visible(value)}"' if isinstance(value, str) else encode(value)


def _wrap(indent: str, text: str) -> Iterator[str]:
    lead, line = indent, ""
    for word in _WORDS.findall(text) if len(text) > LONGEST_LINE else [text]:
        if line and len(line) + len(word) > LONGEST_LINE:
            yield lead + line
            lead, line = indent + (WRAP if line.endswith(" ") else same_word()), ""
        line += word
    yield lead + line


def same_word() -> str:
    return f"↪↪ {in_text.SAME_WORD} "


def _changes(
    before: Any, after: Any, path: str, unshown: Collection[str], hidden: Callable[[Any], Any]
) -> Iterator[Change]:
    pairs = _common(before, after, path)
    if pairs is None:
        if not is_same(before, after):
            yield Change(path, value_lines(hidden(before)), value_lines(hidden(after)))
        return
    for name, child_path, old, new in pairs:
        is_pair = old is not _ABSENT and new is not _ABSENT
        if is_pair and name not in unshown:
            yield from _changes(old, new, child_path, unshown, hidden)
        elif not (is_pair and is_same(old, new)):
            was, becomes = (
                [] if value is _ABSENT else value_lines(hidden({name: value})[name]) for value in (old, new)
            )
            yield Change(child_path, was, becomes)


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are written alike. In Python 1, 1.0 and true are equal, and are not written alike."""
    if type(one) is str and type(other) is str:
        return one == other
    return encode(one) == encode(other)


_ABSENT = object()


def _common(before: Any, after: Any, path: str) -> list[tuple[str | None, str, Any, Any]] | None:
    """Pair what two values have at each place: its name in an object, its path, before and after."""
    if isinstance(before, dict) and isinstance(after, dict) and ((before and after) or not path):
        names = [*before, *(key for key in after if key not in before)]
        dot = "." if path else ""
        return [
            (n, f"{path}{dot}{key_text(n)}", before.get(n, _ABSENT), after.get(n, _ABSENT)) for n in names
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [(None, f"{path}[{i}]", old, new) for i, (old, new) in pairs]
    return None
