"""What a schema says about one argument, or its value where no schema does."""

from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.numbers import Number
from bot.domain.schemas import Schema
from bot.rendering.modal.field_types import option_labels
from bot.sentences import in_field
from bot.text.literal import clip, one_line, units

_TYPES = {"integer": "integer", "number": "number", "boolean": "choice"}
_FORMATS = {"date": "date", "time": "time", "date-time": "date-time", "email": "email", "uri": "uri"}


@dataclass(frozen=True, slots=True)
class Spec:
    """What a schema says about one argument."""

    node: Schema
    """Without null, and without a union around it."""
    kind: str | None = None
    """One of `field_types.KINDS`. `None` where the schema leaves it open and the value decides."""
    options: tuple[Any, ...] = ()
    nullable: bool = False
    hint: str = ""

    @classmethod
    def of(cls, node: Any) -> "Spec":
        """Read the schema of one property, flattened."""
        if not isinstance(node, dict):
            return ANYTHING
        node, nullable = _without_null(node)
        options = _choices(node)
        if None in options:
            options, nullable = tuple(option for option in options if option is not None), True
        kind = _kind(node, options)
        items = _choices(node["items"]) if kind == "choices" else options
        note = node.get("description")
        hint = clip(one_line(note), 200) if isinstance(note, str) else ""
        return cls(node, kind, items, nullable, hint)


ANYTHING = Spec({})
"""Nothing is known: the value decides."""
UNKNOWN = Spec({}, "json")
"""An argument that the schema does not name."""


def inferred_kind(value: Any) -> str:
    """Choose the kind of input by the value alone."""
    match value:
        case bool():
            return "choice"
        case int():
            return "integer"
        case float() | Number():
            return "number"
        case str():
            return "text"
        case _:
            return "json"


def _without_null(node: Schema) -> tuple[Schema, bool]:
    """Give the schema without `null`, and whether it allowed that. A union of one alternative becomes the alternative."""
    for union in ("anyOf", "oneOf", "allOf"):
        branches = node.get(union)
        if isinstance(branches, list):
            others = [branch for branch in branches if branch != {"type": "null"}]
            if len(others) == 1 and isinstance(others[0], dict):
                inner, nullable = _without_null(others[0])
                rest = {key: value for key, value in node.items() if key != union}
                return {**inner, **rest}, nullable or len(others) < len(branches)
    types = node.get("type")
    if isinstance(types, list) and "null" in types:
        others = [name for name in types if name != "null"]
        return {**node, "type": others[0] if len(others) == 1 else others}, True
    return node, False


def _choices(node: Any) -> tuple[Any, ...]:
    if not isinstance(node, dict):
        return ()
    if "const" in node:
        return (node["const"],)
    values = node.get("enum")
    return tuple(values) if isinstance(values, list) else ()


def _kind(node: Schema, options: tuple[Any, ...]) -> str | None:
    if options:
        return "choice" if _are_drawable(options) else "json"
    if any(union in node for union in ("anyOf", "oneOf", "allOf")):
        return "json"
    type_ = node.get("type")
    if type_ == "array":
        items = _choices(node.get("items"))
        return "choices" if items and None not in items and _are_drawable(items) else "json"
    if type_ == "string":
        return _FORMATS.get(str(node.get("format")), "text")
    return _TYPES.get(type_, "json") if isinstance(type_, str) else "json" if type_ else None


def _are_drawable(options: tuple[Any, ...]) -> bool:
    labels = [*option_labels(options), in_field.NULL, in_field.LEFT_OUT]
    return len(labels) <= 100 and len(set(labels)) == len(labels) and max(map(units, labels)) <= 75
