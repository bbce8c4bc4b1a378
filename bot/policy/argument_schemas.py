"""The schema of a rule's arguments: checked for what makes it match more than was meant."""

from collections.abc import Iterator
from typing import Any

from bot.policy.values import Fault, meant

_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_INNER = (
    *("items", "prefixItems", "contains", "additionalProperties", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_OF_TYPE = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(
        ("properties", "patternProperties", "required", "minProperties", "maxProperties"), "object"
    ),
}
_KEYWORDS = (
    *("type", "enum", "const", "$ref", "title", "description", "$comment", "$schema"),
    *("minContains", "maxContains", "dependentRequired"),
    *dict.fromkeys((*_OF_TYPE, *_MAPS, *_SAME_VALUE, *_INNER)),
)


def schema_faults(schema: Any, *, is_typed: bool = True) -> Iterator[Fault]:
    """Look at a schema and those inside it. The type of the arguments themselves is known: they are an object."""
    if not isinstance(schema, dict):
        if not isinstance(schema, bool):
            yield (), "args: a JSON Schema has keys and values, as in {type: number, minimum: 1000}"
        return
    is_typed = is_typed or not {"type", "enum", "const", "$ref"}.isdisjoint(schema)
    for name, value in schema.items():
        if sentence := _keyword_fault(name, is_typed=is_typed):
            yield (name,), f"args: {sentence}"
        for loc, inner, same in _inner(name, value):
            for deeper, sentence in schema_faults(inner, is_typed=is_typed and same):
                yield (name, *loc, *deeper), sentence
    if "properties" in schema and "required" not in schema:
        sentence = (
            "args: an argument that is left out matches whatever is said about it: write which have to be there, "
            "as in required: [amount], or required: [] when none has to"
        )
        yield ("properties",), sentence


def _keyword_fault(name: str, *, is_typed: bool) -> str:
    if name == "format":
        return "format is not checked, so it would match anything: write a pattern"
    if name not in _KEYWORDS:
        return f"JSON Schema has no {name!r}: {meant(name, _KEYWORDS, 'a name of an argument is written under properties')}"
    if not is_typed and name in _OF_TYPE:
        return (
            f"{name} says nothing about values of another type, which would match: add type: {_OF_TYPE[name]}"
        )
    return ""


def _inner(name: str, value: Any) -> Iterator[tuple[tuple[str | int, ...], Any, bool]]:
    """Give the schemas inside a keyword, where they are, and whether each is about the same value."""
    if name in _MAPS and isinstance(value, dict):
        yield from (((key,), inner, False) for key, inner in value.items())
    elif name in (*_SAME_VALUE, *_INNER):
        same = name in _SAME_VALUE
        if isinstance(value, list):
            yield from (((index,), inner, same) for index, inner in enumerate(value))
        else:
            yield (), value, same
