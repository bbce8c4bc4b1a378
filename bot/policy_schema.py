"""The schema of a rule's arguments: checked for what makes it match more than was meant."""

from collections.abc import Callable
from typing import Any

from bot.policy_yaml import Document, MappingNode, Node, SequenceNode, suggestion
from bot.rendering.schemas import UnsafeSchemaError, compiled

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
_KEYWORDS = dict.fromkeys(
    (
        *("type", "enum", "const", "$ref", "title", "description", "$comment", "$schema"),
        *("additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
        *("minContains", "maxContains", "dependentRequired"),
        *_OF_TYPE, *_MAPS, *_SAME_VALUE,
    )
)  # fmt: skip


def read_schema(document: Document, node: Node) -> tuple[dict[str, Any], Callable[[Any], bool]] | None:
    """Read a schema and the test that it makes of arguments; `None` with the problems noted."""
    known = len(document.problems)
    schema = document.value(node)
    _check(document, node, is_typed=True)
    if len(document.problems) > known:
        return None
    try:
        return schema, compiled(schema)
    except UnsafeSchemaError as error:
        document.wrong(node, f"args: this schema cannot be used: {error}")
    return None


def _check(document: Document, node: Node, *, is_typed: bool) -> None:
    """Look at a schema and those inside it.

    Args:
        document: Where problems are noted.
        node: The schema.
        is_typed: Whether the type of the value is known already: the arguments themselves are an object.
    """
    if not isinstance(node, MappingNode):
        if not isinstance(document.value(node), bool):
            document.wrong(
                node, "args: a JSON Schema has keys and values, as in {type: number, minimum: 1000}"
            )
        return
    found = {name: (key, value) for key, name, value in document.pairs(node)}
    is_typed = is_typed or bool({"type", "enum", "const", "$ref"} & found.keys())
    for name, (key, value) in found.items():
        _check_keyword(document, name, key, is_typed=is_typed)
        for inner, same in _inner(name, value):
            _check(document, inner, is_typed=is_typed and same)
    if "properties" in found and "required" not in found:
        document.wrong(
            found["properties"][0],
            "args: an argument that is left out matches whatever is said about it: write which have to be there, "
            "as in required: [amount], or required: [] when none has to",
        )


def _check_keyword(document: Document, name: str, key: Node, *, is_typed: bool) -> None:
    if name == "format":
        document.wrong(key, "args: format is not checked, so it would match anything: write a pattern")
    elif name not in _KEYWORDS:
        document.wrong(key, f"args: JSON Schema has no {name!r}: {_meant(name)}")
    elif not is_typed and name in _OF_TYPE:
        document.wrong(
            key,
            f"args: {name} says nothing about values of another type, which would match: add type: {_OF_TYPE[name]}",
        )


def _meant(name: str) -> str:
    told = suggestion(name, _KEYWORDS)
    return told if told.startswith("did") else "a name of an argument stands under properties"


def _inner(name: str, value: Node) -> list[tuple[Node, bool]]:
    """Give the schemas inside a keyword, and whether each is about the same value."""
    if name in _MAPS and isinstance(value, MappingNode):
        return [(child, False) for _, child in value.pairs]
    same = name in _SAME_VALUE
    if not same and name not in _INNER:
        return []
    return [(child, same) for child in value.items] if isinstance(value, SequenceNode) else [(value, same)]
