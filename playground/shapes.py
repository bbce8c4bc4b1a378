"""Rules that JSON from an app must follow, each with Slack's own sentence."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
Rule = Callable[["Walk", Json, str], None]


NOT_UNICODE = "must be valid UTF-8"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that Slack would refuse, and where."""

    pointer: str
    message: str
    code: str = "invalid"
    constraint: Json = None

    def __str__(self) -> str:
        return f"{self.message} [json-pointer:{self.pointer}]"


@dataclass(slots=True)
class Walk:
    """What is known while one message or view is read."""

    problems: list[Problem] = field(default_factory=list)
    block_ids: set[str] = field(default_factory=set)
    action_ids: set[str] = field(default_factory=set)
    text_length: int = 0
    """Characters of all text, added up as Slack stores them: `<` is four."""
    markdown_length: int = 0
    focused: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    """How many blocks of each type there are."""

    def refuse(self, pointer: str, message: str, code: str = "invalid", constraint: Json = None) -> None:
        self.problems.append(Problem(pointer, message, code, constraint))

    def count(self, text: str) -> None:
        self.text_length += len(text) + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def is_unicode(text: str) -> bool:
    """Whether text can be stored at all: half of a surrogate pair cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def boolean(walk: Walk, value: Json, pointer: str) -> None:
    if not isinstance(value, bool):
        walk.refuse(pointer, "must provide a boolean", "wrong_type", "boolean")


def type_field(walk: Walk, value: Json, pointer: str) -> None:
    """The `type` of an object: `typed` has read it already."""


def string(longest: int, *, shortest: int = 1, counted: bool = False) -> Rule:
    """Text of a bounded length; `counted` towards the whole message."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if not isinstance(value, str):
            walk.refuse(pointer, "must provide a string", "wrong_type", "string")
        elif len(value) > longest:
            walk.refuse(pointer, f"must be less than {longest + 1} characters", "too_long", longest)
        elif len(value) < shortest:
            walk.refuse(pointer, f"must be more than {shortest - 1} characters", "too_short", shortest)
        elif not is_unicode(value):
            walk.refuse(pointer, NOT_UNICODE, "wrong_format")
        elif counted:
            walk.count(value)

    return rule


def matching(pattern: str, sentence: str) -> Rule:
    """Text of one form."""
    compiled = re.compile(pattern)

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            walk.refuse(pointer, sentence, "wrong_format", pattern)

    return rule


def integer(least: int, most: int) -> Rule:
    """A whole number within bounds."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            walk.refuse(pointer, "must provide an integer", "wrong_type", "integer")
        elif value > most:
            walk.refuse(pointer, f"must be less than or equal to {most}", "too_large", most)
        elif value < least:
            walk.refuse(pointer, f"must be greater than or equal to {least}", "too_small", least)

    return rule


def number(walk: Walk, value: Json, pointer: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        walk.refuse(pointer, "must provide a number", "wrong_type", "number")


def choice(*allowed: str) -> Rule:
    """One of a few words."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if value not in allowed:
            walk.refuse(pointer, f"must be one of: {', '.join(allowed)}", "not_allowed", list(allowed))

    return rule


def items(rule_of_item: Rule, least: int, most: int) -> Rule:
    """A list of a bounded length."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if not isinstance(value, list):
            walk.refuse(pointer, "must provide an array", "wrong_type", "array")
            return
        if len(value) > most:
            walk.refuse(pointer, f"no more than {most} items allowed", "too_many", most)
        elif len(value) < least:
            walk.refuse(pointer, f"no fewer than {least} items allowed", "too_few", least)
        for index, item in enumerate(value[:most]):
            rule_of_item(walk, item, f"{pointer}/{index}")

    return rule


def shape(
    required: Mapping[str, Rule] | None = None,
    optional: Mapping[str, Rule] | None = None,
    checks: Iterable[Rule] = (),
) -> Rule:
    """An object with these fields and no other; `checks` look at the whole once its fields are right."""
    required = required or {}
    rules = {**required, **(optional or {})}
    checks = tuple(checks)

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if not isinstance(value, dict):
            walk.refuse(pointer, "must provide an object", "wrong_type", "object")
            return
        before = len(walk.problems)
        for name in required:
            if name not in value:
                walk.refuse(pointer, f"missing required field: {name}", "missing", name)
        for name, item in value.items():
            if known := rules.get(name):
                known(walk, item, f"{pointer}/{name}")
            else:
                walk.refuse(pointer, f"invalid additional property: {name}", "unknown_field", name)
        if len(walk.problems) == before:
            for check in checks:
                check(walk, value, pointer)

    return rule


def typed(rules: Mapping[str, Rule]) -> Rule:
    """An object whose `type` picks its rule."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if not isinstance(value, dict):
            walk.refuse(pointer, "must provide an object", "wrong_type", "object")
        elif "type" not in value:
            walk.refuse(pointer, "missing required field: type", "missing", "type")
        elif not isinstance(value["type"], str) or not (known := rules.get(value["type"])):
            walk.refuse(
                f"{pointer}/type", f"unsupported type: {value['type']}", "unsupported_type", sorted(rules)
            )
        else:
            known(walk, value, pointer)

    return rule


def exactly_one_of(*names: str) -> Rule:
    """Exactly one of these fields is there."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if sum(name in value for name in names) != 1:
            walk.refuse(pointer, f"must provide exactly one of: {', '.join(names)}", "one_of", list(names))

    return rule


def at_least_one_of(*names: str) -> Rule:
    """One of these fields is there, or several."""

    def rule(walk: Walk, value: Json, pointer: str) -> None:
        if not any(name in value for name in names):
            walk.refuse(pointer, f"missing required field: {' or '.join(names)}", "one_of", list(names))

    return rule
