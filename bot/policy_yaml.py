"""YAML without surprises: plain JSON values, each with its line, and every problem with what is written."""

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import yaml  # type: ignore[import-untyped]  # PyYAML brings no types
from yaml import events

MAX_BYTES = 256 * 1024
MAX_DEPTH = 40

_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,99})(\.[0-9]+)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value, as JSON has it: `no`, `12:30` and `2026-11-20` stay the texts that they are."""

    line: int
    value: str | float | bool | None


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list."""

    line: int
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class MappingNode:
    """Keys and values, as they are written: a key may stand twice."""

    line: int
    pairs: tuple[tuple["Node", "Node"], ...]


Node = ScalarNode | SequenceNode | MappingNode
_KINDS: dict[type[Node], str] = {
    MappingNode: "keys and values",
    SequenceNode: "a list",
    ScalarNode: "a single value",
}


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing to mend in a file."""

    line: int
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.sentence}"


class UnreadableError(ValueError):
    """The text as a whole cannot be read."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = Problem(line, sentence)


@dataclass(slots=True)
class Document:
    """A file being read: what is wrong with it is gathered, and reading goes on."""

    problems: list[Problem] = field(default_factory=list)

    def read(self, text: str) -> Node | None:
        """Parse the text; `None` when it cannot be read, which is noted."""
        try:
            return _parse(text)
        except UnreadableError as error:
            self.problems.append(error.problem)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            said = " ".join(filter(None, (error.context, error.problem)))
            self.problems.append(Problem(mark.line + 1 if mark else 1, f"this is not YAML: {said}"))
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            self.problems.append(
                Problem(line, f"a character that YAML does not allow: U+{error.character:04X}")
            )
        return None

    def wrong(self, node: Node, sentence: str) -> None:
        """Note a problem where something stands."""
        self.problems.append(Problem(node.line, sentence))

    def keys(self, node: Node, known: Collection[str], what: str) -> dict[str, Node]:
        """Read keys and values; what is not known or stands twice is noted."""
        if not isinstance(node, MappingNode):
            self.wrong(node, f"{what} has keys and values ({', '.join(known)}), not {_KINDS[type(node)]}")
            return {}
        found: dict[str, Node] = {}
        for key, name, value in self.pairs(node):
            if name not in known:
                self.wrong(key, f"{what} has no {name!r}: {suggestion(name, known)}")
            else:
                found[name] = value
        return found

    def value(self, node: Node) -> Any:
        """Give the plain value of a node."""
        match node:
            case MappingNode():
                return {name: self.value(value) for _, name, value in self.pairs(node)}
            case SequenceNode(items=items):
                return [self.value(item) for item in items]
            case ScalarNode(value=value):
                return value

    def pairs(self, node: MappingNode) -> Iterator[tuple[Node, str, Node]]:
        """Give key, its name and value; a key that is no word, or stands twice, is noted and passed over."""
        seen: dict[str, int] = {}
        for key, value in node.pairs:
            if not isinstance(key, ScalarNode) or not isinstance(key.value, str):
                self.wrong(key, "a key is a word: write quotes around one that looks like something else")
            elif key.value in seen:
                self.wrong(key, f"{key.value!r} stands twice, first in line {seen[key.value]}: take one out")
            else:
                seen[key.value] = key.line
                yield key, key.value, value


def suggestion(word: str, known: Collection[str]) -> str:
    """Say what may have been meant."""
    close = get_close_matches(word, known, 1, 0.6)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"


def _parse(text: str) -> Node | None:
    if len(text.encode()) > MAX_BYTES:
        raise UnreadableError(1, f"more than {MAX_BYTES // 1024} KB: this is no policy file")
    stream = iter(yaml.parse(text))
    next(stream)
    start = next(stream)
    if isinstance(start, events.StreamEndEvent):
        return None
    root = _node(next(stream), stream, 0)
    next(stream)
    more = next(stream)
    if not isinstance(more, events.StreamEndEvent):
        raise UnreadableError(_line(more), "a second document begins here: one file is one policy")
    return root


def _node(event: Any, stream: Iterator[Any], depth: int) -> Node:
    line = _line(event)
    if depth > MAX_DEPTH:
        raise UnreadableError(line, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(event, events.AliasEvent):
        raise UnreadableError(line, f"the alias *{event.anchor} is not read here: write it out")
    if event.tag is not None:
        raise UnreadableError(line, f"the tag {event.tag} is not read here: leave it out")
    if isinstance(event, events.ScalarEvent):
        return ScalarNode(line, _plain(event.value) if event.implicit[0] else event.value)
    items = []
    while not isinstance(inner := next(stream), events.CollectionEndEvent):
        items.append(_node(inner, stream, depth + 1))
    if isinstance(event, events.SequenceStartEvent):
        return SequenceNode(line, tuple(items))
    return MappingNode(line, tuple(zip(items[::2], items[1::2], strict=True)))


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
