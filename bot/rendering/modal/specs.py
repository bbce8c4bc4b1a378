"""What a schema says about one argument, or its value where no schema does."""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.numbers import Number
from bot.domain.schemas import Schema, fits_schema, fitting
from bot.rendering.modal.field_types import (
    ABSENT,
    ANY_QUESTION,
    GROUP,
    MAX_OPTIONS,
    ROWS,
    UNION,
    Question,
    shortened,
)
from bot.sentences import in_field
from bot.text.literal import clip, one_line

_TYPES = {"integer": "integer", "number": "number", "boolean": "choice"}
_FORMATS = {
    "date": "2026-01-31",
    "time": "09:30:00",
    "date-time": "2026-01-31T09:30:00Z",
    "email": "a@example.com",
    "uri": "https://example.com",
}
"""The formats with an input of their own, each with a text as that input gives it."""
_UNIONS = ("oneOf", "anyOf")
# What gives a branch of a union inputs of its own. Any other branch only limits values, which the check knows about.
_SHAPES = ("type", "properties", "enum", "const", "items", "prefixItems", "oneOf", "anyOf", "allOf")
_ABOUT_ALL = ("title", "description", "default")
_BRANCH = 60


@dataclass(frozen=True, slots=True)
class Spec:
    """What a schema says about one argument."""

    node: Schema
    """Without null, and without a union around it."""
    kind: str | None = None
    """One of `field_types.KINDS`, or `GROUP`, `ROWS`, `UNION`. `None` where the schema leaves it open and the value decides."""
    asks: Question = ANY_QUESTION
    """What an input for it asks for, still without a value."""
    hint: str = ""

    @classmethod
    def of(cls, node: Any) -> "Spec":
        """Read the schema of one property, flattened."""
        if not isinstance(node, dict):
            return ANYTHING
        inner, nullable = _without_null(_merged(node))
        options = _options(inner)
        kind = _kind(inner, options)
        nullable = (nullable or kind == UNION or None in _choices(inner)) and fits_schema(node, None)
        chosen = inner["items"] if kind == "choices" else inner
        options = _options(chosen) if kind == "choices" else options
        asks = Question(
            options=options,
            nullable=nullable,
            titles=_titles(chosen, options),
            default=inner.get("default", ABSENT),
            takes=partial(fits_schema, node),
        )
        return cls(inner, kind, asks, _hint(inner))

    @property
    def takes_text(self) -> bool:
        """Whether only texts are values, so that a line of text can hold what its own input cannot."""
        if self.asks.options:
            return all(isinstance(option, str) for option in self.asks.options)
        return self.kind in _FORMATS

    @property
    def branches(self) -> list[Schema]:
        """The schemas of a union and of the unions in it, each with what the schema says beside it."""
        union = "" if isinstance(self.node.get("type"), list) else _union(self.node)
        # What is said about the whole argument stands at the choice of its form.
        rest = {key: value for key, value in self.node.items() if key not in {union, *_ABOUT_ALL}}
        if not union:
            return [{**rest, "type": name} for name in self.node["type"]]
        found = [_both(rest, branch) if isinstance(branch, dict) else rest for branch in self.node[union]]
        specs = [(branch, Spec.of(branch)) for branch in found]
        return [
            each for branch, spec in specs for each in (spec.branches if spec.kind == UNION else [branch])
        ]

    def item(self, position: int) -> Any:
        """The schema of one row."""
        first = self.node.get("prefixItems", ())
        return first[position] if position < len(first) else self.node.get("items", {})

    @property
    def start(self) -> Any:
        """The value that a new one begins with."""
        return ABSENT if self.kind in {GROUP, UNION} else seed(self.node)

    @property
    def most_rows(self) -> int:
        """How many rows the schema allows at most."""
        first, most = self.node.get("prefixItems", ()), int(self.node.get("maxItems", sys.maxsize))
        return min(most, len(first)) if self.node.get("items") is False else most


ANYTHING = Spec({})
"""Nothing is known: the value decides."""


def inferred_kind(value: Any) -> str:
    """Choose the kind of input by the value alone."""
    return Spec.of(schema_like(value)).kind or "json"


def schema_like(value: Any) -> Schema:
    """Give a schema for a new row, after the value of a row that is there."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int() | float() | Number():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case dict() if value:
            inner = {name: schema_like(child) for name, child in value.items()}
            return {"type": "object", "properties": inner, "required": list(value)}
        case list() if value:
            return {"type": "array", "items": schema_like(value[0])}
        case _:
            return {}


def seed(node: Any) -> Any:
    """Give the value that a needed argument of a new row begins with: `ABSENT` where the schema gives none."""
    if isinstance(node, dict):
        for name in ("const", "default"):
            if name in node and fits_schema(node, node[name]):
                return node[name]
        if node.get("type") == "array":
            return []
    return ABSENT


def branch_labels(branches: list[Schema]) -> tuple[str, ...]:
    """Name the branches of a union so that no two names are the same."""
    names = [shortened(_branch_name(branch), _BRANCH) for branch in branches]
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(in_field.nth(number, name) for number, name in enumerate(names, 1))


def _branch_name(branch: Schema) -> str:
    if branch.get("title", "").strip():
        return one_line(branch["title"])
    if choices := _choices(branch):
        return one_line(", ".join(map(encode, choices)))
    inner = branch.get("properties", {})
    fixed = {
        name: node["const"] for name, node in inner.items() if isinstance(node, dict) and "const" in node
    }
    if fixed:
        return ", ".join(f"{one_line(name)}: {one_line(encode(value))}" for name, value in fixed.items())
    return ", ".join(map(one_line, inner)) or in_field.type_words(branch.get("type"))


def _hint(node: Schema) -> str:
    note, default = node.get("description"), node.get("default")
    said = [clip(one_line(note), 200)] if note else []
    if default is not None:
        said.append(in_field.if_left_out(clip(one_line(encode(default)), 100)))
    return " ".join(said)


def _both(one: Schema, other: Schema) -> Schema:
    """Give what two schemas together say about inputs. What they say about values is checked with the whole schema."""
    found = {**one, **other}
    if "properties" in one and "properties" in other:
        found["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        found["required"] = [*one["required"], *other["required"]]
    return found


def _merged(node: Schema) -> Schema:
    found = {key: value for key, value in node.items() if key != "allOf"}
    for branch in node.get("allOf", ()):
        if isinstance(branch, dict):
            found = _both(_merged(branch), found)
    return found


def _without_null(node: Schema) -> tuple[Schema, bool]:
    """Give the schema without `null`, and whether it allowed that. A union of one alternative becomes the alternative."""
    for union in _UNIONS:
        branches = node.get(union, ())
        others = [branch for branch in branches if not _is_null(branch)]
        rest = {key: value for key, value in node.items() if key != union}
        if len(others) == 1 and isinstance(others[0], dict):
            inner, nullable = _without_null(_merged(others[0]))
            return _both(inner, rest), nullable or len(others) < len(branches)
        if len(others) < len(branches):
            return {**rest, union: others}, True
    types = node.get("type")
    if isinstance(types, list) and "null" in types:
        others = [name for name in types if name != "null"]
        return {**node, "type": others[0] if len(others) == 1 else others}, True
    return node, False


def _is_null(branch: Any) -> bool:
    is_null = isinstance(branch, dict) and branch.get("type") in ("null", ["null"])
    return is_null or _choices(branch) == (None,)


def _options(node: Schema) -> tuple[Any, ...]:
    """Give the values of a choice that the other rules beside them allow, without null."""
    found = tuple(option for option in _choices(node) if option is not None)
    rules = {key: value for key, value in node.items() if key not in {"enum", "const", *_UNIONS, *_ABOUT_ALL}}
    return tuple(fitting(rules, found)) if rules and found else found


def _titles(node: Schema, options: tuple[Any, ...]) -> tuple[str, ...]:
    """Give what the schema calls each option: nothing where it has no names."""
    if not options:
        return ()
    union, names = _union(node), node.get("enumNames")
    if union and not isinstance(names, list):
        names = [branch.get("title") for branch in node[union] if isinstance(branch, dict)]
    named = dict(zip(map(encode, _choices(node)), names or (), strict=False))
    return tuple(str(named.get(encode(option)) or "") for option in options) if any(named.values()) else ()


def _choices(node: Any) -> tuple[Any, ...]:
    if not isinstance(node, dict):
        return ()
    if "const" in node:
        return (node["const"],)
    if "enum" in node:
        return tuple(node["enum"])
    # The values of a union whose every branch is one value.
    branches = node[union] if (union := _union(node)) else []
    is_one_each = all(isinstance(branch, dict) and "const" in branch for branch in branches)
    return tuple(branch["const"] for branch in branches) if is_one_each else ()


def _union(node: Schema) -> str:
    """Name the union of a schema that gives its branches inputs of their own; empty when there is none."""
    for name in _UNIONS:
        branches = (branch for branch in node.get(name, ()) if isinstance(branch, dict))
        if any(shape in branch for branch in branches for shape in _SHAPES):
            return name
    return ""


def _kind(node: Schema, options: tuple[Any, ...]) -> str | None:
    if options:
        if len(options) <= MAX_OPTIONS:
            return "choice"
        return "text" if all(isinstance(option, str) for option in options) else "json"
    type_ = node.get("type")
    if _union(node) or (isinstance(type_, list) and len(type_) > 1):
        return UNION
    if isinstance(type_, list):
        type_ = next(iter(type_), None)
    if type_ is None:
        has_items = isinstance(node.get("items"), dict) or "prefixItems" in node
        type_ = "object" if node.get("properties") else "array" if has_items else None
    if type_ == "object":
        return GROUP if node.get("properties") else "json"
    if type_ == "array":
        items, least = _choices(node.get("items")), node.get("minItems", 0)
        return "choices" if items and None not in items and least <= len(items) <= MAX_OPTIONS else ROWS
    if type_ == "string":
        format_ = str(node.get("format"))
        return format_ if format_ in _FORMATS and fits_schema(node, _FORMATS[format_]) else "text"
    return _TYPES.get(type_, "json") if isinstance(type_, str) else None
