"""Types whose own code or settings may make another value of what was approved. Pure."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, get_args, get_origin

from pydantic import EmailStr, EncodedBytes, EncodedStr, PydanticUserError, TypeAdapter

_CONVERTING = {"pydantic._internal", "pydantic.types", "pydantic.networks", "collections", "ipaddress"}
"""Modules whose functions make a Python value of what JSON says. Whether it is another value shows at the call."""
_VERSION_1 = "pydantic._internal._decorators_v1"
"""Here pydantic wraps the validators that a model has in the way of version 1."""
_PRIVATE_ATTRIBUTES = "init_private_attributes"
"""What pydantic itself runs after a model was made, when it has private attributes."""
_BESIDE = {"metadata", "serialization", "default", "expected", "members"}
"""Names in a part that have no part of reading: values, and how to write one."""
_OF_TEXT = {"strip_whitespace", "to_lower", "to_upper"}
_CHANGES_TEXT = _OF_TEXT | {f"str_{each}" for each in _OF_TEXT}


def without_validators(hint: Any) -> Any:
    """Give a type without the validators of its own annotation. What they make of a value is not what was approved."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *marks = get_args(hint)
    kept = [mark for mark in marks if not may_change(Annotated[kind, mark])]
    return Annotated[kind, *kept] if kept else kind


def may_change(hint: Any) -> bool:
    """Whether something within a type may change what was approved. What pydantic cannot read, it cannot change.

    Raises:
        NameError: when a part of the type is not known yet.
    """
    try:
        adapter = TypeAdapter(hint)
        if not adapter.pydantic_complete:
            adapter.rebuild()
        return any(map(_changes, _nodes(adapter.core_schema)))
    except (PydanticUserError, TypeError):
        return False


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Give every part of what pydantic does to read a type."""
    if isinstance(schema, dict):
        yield schema
        # Without a type, it has the fields of a model by their names, and each name may be that of a field.
        beside = _BESIDE if isinstance(schema.get("type"), str) else ()
        for name, part in schema.items():
            if name not in beside:
                yield from _nodes(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            yield from _nodes(part)


def _changes(node: dict[str, Any]) -> bool:
    match node:
        case {"type": str(kind), "function": {"function": function}} if kind.startswith("function-"):
            return not _only_converts(function)
        case {"type": "enum", "cls": cls}:
            return bool((node.get("missing") or cls._missing_).__module__ != "enum")
        case {"type": "named-tuple", "cls": made} | {"type": "call", "function": made}:
            return not str(made.__new__.__module__).startswith("namedtuple_")
        case {"type": "model", "custom_init": True} | {"type": "dataclass", "post_init": True}:
            return True
        case {"type": "model", "cls": cls, "post_init": str(after)}:
            return bool(getattr(cls, after).__name__ != _PRIVATE_ATTRIBUTES)
        case {"type": "default", "on_error": "default" | "omit"}:
            return True
    return any(node.get(each) is True for each in _CHANGES_TEXT)


def _only_converts(function: Any) -> bool:
    while isinstance(function, partial):
        function = function.func
    # Of a method, what it is a method of: a class of the tool's own may build its values in its own way.
    owner = getattr(function, "__self__", function)
    module = str(getattr(owner, "__module__", ""))
    # An address without the name before it, and text that is decoded, are not what people have read.
    is_other = owner is EmailStr or isinstance(owner, EncodedBytes | EncodedStr) or module == _VERSION_1
    is_converting = any(f"{module}.".startswith(f"{each}.") for each in _CONVERTING)
    return is_converting and not is_other
