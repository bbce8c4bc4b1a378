"""YAML without surprises: plain JSON values, and the line of each."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml  # type: ignore[import-untyped]  # PyYAML brings no types
from yaml import events

from agent_adapter.contract.reviewed import unseen_in

MAX_BYTES = 256 * 1024
MAX_DEPTH = 40

Loc = tuple[str | int, ...]
"""The keys and indices that lead to a value, as pydantic writes them."""

_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]+)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to correct in a file."""

    line: int
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.sentence}"


class UnreadableError(ValueError):
    """The text as a whole cannot be read."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = Problem(line, sentence)


@dataclass(frozen=True, slots=True)
class Document:
    """What a text says, and where."""

    value: Any
    """As JSON has it: `no`, `12:30` and `2026-11-20` are texts."""
    lines: Mapping[Loc, int]
    """Where each key stands, and each entry of a list."""
    problems: Sequence[Problem]
    """Keys that are left out of the value."""

    def line(self, loc: Loc) -> int:
        """Give the line of a value, or of the nearest one around it."""
        while loc not in self.lines:
            loc = loc[:-1]
        return self.lines[loc]


def read_yaml(text: str) -> Document:
    """Read a text of one document, or raise UnreadableError with the first thing that cannot be read."""
    if len(text.encode()) > MAX_BYTES:
        raise UnreadableError(1, f"more than {MAX_BYTES // 1024} KB: this is not a policy file")
    if unseen := unseen_in(text):
        raise UnreadableError(*unseen)
    reader = _Reader(yaml.parse(text))
    try:
        return Document(reader.document(), reader.lines, reader.problems)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = f"this is not YAML: {' '.join(filter(None, (error.context, error.problem)))}"
        if "character '\\t'" in (error.problem or ""):
            said = "there is a tab: indent with spaces"
        raise UnreadableError(mark.line + 1 if mark else 1, said) from error


def texts(value: Any, loc: Loc = ()) -> Iterator[tuple[Loc, str]]:
    """Give each text inside of a value, and where it is."""
    if isinstance(value, str):
        yield loc, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, each in inner:
        yield from texts(each, (*loc, part))


class _Reader:
    """Makes values of the parser's events: a constructor would guess types and follow aliases."""

    def __init__(self, stream: Iterator[Any]) -> None:
        self._stream = stream
        self.lines: dict[Loc, int] = {(): 1}
        self.problems: list[Problem] = []

    def document(self) -> Any:
        next(self._stream)
        if isinstance(next(self._stream), events.StreamEndEvent):
            return None
        value = self._value(next(self._stream), ())
        next(self._stream)
        more = next(self._stream)
        if not isinstance(more, events.StreamEndEvent):
            raise UnreadableError(_line(more), "a second document begins here: one file is one policy")
        return value

    def _value(self, event: Any, loc: Loc) -> Any:
        if len(loc) > MAX_DEPTH:
            raise UnreadableError(_line(event), f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, events.AliasEvent):
            raise UnreadableError(_line(event), f"the alias *{event.anchor} is not read here: write it out")
        if event.tag is not None:
            raise UnreadableError(_line(event), f"the tag {event.tag} is not read here: leave it out")
        if isinstance(event, events.ScalarEvent):
            return _plain(event.value) if event.implicit[0] else event.value
        return self._list(loc) if isinstance(event, events.SequenceStartEvent) else self._mapping(loc)

    def _list(self, loc: Loc) -> list[Any]:
        entries: list[Any] = []
        for event in self._inside():
            entry = (*loc, len(entries))
            self.lines.setdefault(entry, _line(event))
            entries.append(self._value(event, entry))
        return entries

    def _mapping(self, loc: Loc) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in self._inside():
            line = _line(event)
            key = self._value(event, (*loc, "?"))
            inner = (*loc, str(key))
            # The value of a key that is left out is read, too: it may be what makes the text unreadable.
            first = self.lines.setdefault(inner, line) if isinstance(key, str) else line
            value = self._value(next(self._stream), inner)
            if isinstance(key, str) and key not in found:
                found[key] = value
                continue
            wrong = "a key is a word: write quotes around one that looks like something else"
            if isinstance(key, str):
                wrong = f"{key!r} is here twice, first in line {first}: take one out"
            self.problems.append(Problem(line, wrong))
        return found

    def _inside(self) -> Iterator[Any]:
        while not isinstance(event := next(self._stream), events.CollectionEndEvent):
            yield event


def _plain(text: str) -> str | float | bool | None:
    if text in _WORDS:
        return _WORDS[text]
    found = _NUMBER.fullmatch(text)
    if not found:
        return text
    number = float(text) if found[2] or found[3] else int(text)
    return number if math.isfinite(number) else text


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
