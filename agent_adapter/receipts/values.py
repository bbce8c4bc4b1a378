"""Whether a tool got the values that were approved. `1`, `1.0`, `true` and `"1"` are four different values. Pure."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any

from pydantic import BaseModel

from agent_adapter.contract.numbers import Number, as_floats, is_exact

_PLAIN = {str, int, bool, NoneType}
"""Types of which two values are the same when they are equal."""

_OF_A_MODEL = ("__dict__", "__pydantic_extra__", "__pydantic_private__")
"""Where a model has its values."""


def first_difference(approved: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """Return the name of the first argument that differs from what was approved; `None` when none does."""
    for name, value in given.items():
        if name not in approved or not is_approved(approved[name], value):
            return name
    return next((name for name in approved if name not in given), None)


def is_approved(approved: Any, given: Any) -> bool:
    """Whether a value is the approved JSON value, as a framework reads it from JSON. A tuple may stand for a list."""
    if type(given) in _PLAIN and type(approved) is type(given):
        return bool(approved == given)
    match approved:
        case dict():
            return (
                type(given) is dict
                and approved.keys() == given.keys()
                and all(is_approved(each, given[name]) for name, each in approved.items())
            )
        case list():
            return (
                type(given) in {list, tuple}
                and len(given) == len(approved)
                and all(map(is_approved, approved, given))
            )
        case Number():
            # A float may hold another number than the text that a person has read.
            read = approved if type(given) is Number else as_floats(approved)
            return is_exact(approved) and type(given) is type(read) and str(given) == str(read)
        case float():
            # `==` takes 0.0 for -0.0.
            return type(given) is float and repr(given) == repr(approved)
        case _:
            return type(given) is type(approved) and bool(given == approved)


def is_equal(one: Any, other: Any) -> bool:
    """Whether two Python values are equal, with the same types at each level."""
    if type(one) is not type(other):
        return False
    match one:
        case dict():
            pairs = zip(one.items(), other.items(), strict=False)
            return len(one) == len(other) and all(is_equal(*pair) for pair in pairs)
        case tuple() | list():
            return len(one) == len(other) and all(map(is_equal, one, other))
        case set() | frozenset():
            its = {each: each for each in other}
            return len(one) == len(other) and all(each in its and is_equal(each, its[each]) for each in one)
        case float():
            return repr(one) == repr(other)
        case BaseModel():
            # A model may have an `==` of its own.
            return all(is_equal(getattr(one, part, None), getattr(other, part, None)) for part in _OF_A_MODEL)
    if is_dataclass(one):
        # What is beside the fields counts, too.
        return is_equal(getattr(one, "__dict__", {}), getattr(other, "__dict__", {})) and all(
            is_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
        )
    return bool(one == other)
