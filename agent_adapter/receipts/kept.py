"""Whether a type keeps what was approved: a value that it has read, written out again, must say the same. Pure."""

import re
from collections import deque
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from pydantic import AnyUrl, TypeAdapter

from agent_adapter.contract.arguments import KEY_SHOWN, decode, encode
from agent_adapter.contract.numbers import Number
from agent_adapter.errors import InvalidRequestError

_NOTHING = object()
_FINER = re.compile(r"[.,]\d{6}\d*[1-9]")
"""A part of a second that Python's times cannot hold. They leave it out without a word."""


def first_lost(kind: TypeAdapter[Any], approved: Any, value: Any) -> str | None:
    """Return the path to the first approved part that a value does not have; `None` when it has all of them.

    What it has beside them are defaults. Fields are written by their aliases, or all by their names.
    """
    lost = [_lost(approved, *_written(kind, value, by_alias=by_alias)) for by_alias in (True, False)]
    return None if None in lost else lost[0]


def _written(kind: TypeAdapter[Any], value: Any, *, by_alias: bool) -> tuple[Any, Any]:
    """Write a value as JSON, and as the same structure with Python's values in it."""
    try:
        text = kind.dump_json(value, by_alias=by_alias, round_trip=True, warnings=False)
        parts = kind.dump_python(value, by_alias=by_alias, round_trip=True, warnings=False)
        return decode(text), parts
    except (InvalidRequestError, ValueError, TypeError):
        # For example, two keys that are written as the same one.
        return _NOTHING, _NOTHING


def _lost(approved: Any, written: Any, value: Any) -> str | None:
    match approved, written:
        case dict(), dict():
            # JSON changes a key that is not a string, so its value is found by its position.
            is_alike = isinstance(value, dict) and len(value) == len(written)
            its = dict(zip(written, value.values(), strict=True)) if is_alike else {}
            parts = [
                (f".{name[:KEY_SHOWN]}", each, written.get(name, _NOTHING), its.get(name))
                for name, each in approved.items()
            ]
        case list(), list() if len(approved) == len(written):
            is_alike = isinstance(value, list | tuple | deque) and len(value) == len(written)
            values = value if is_alike else [None] * len(written)
            pairs = zip(_in_order(approved, value), _in_order(written, value), values, strict=True)
            parts = [(f"[{index}]", *each) for index, each in enumerate(pairs)]
        case _:
            return None if _says_the_same(approved, written, value) else ""
    found = ((name, _lost(*each)) for name, *each in parts)
    return next((name + path for name, path in found if path is not None), None)


def _in_order(items: list[Any], value: Any) -> list[Any]:
    """Give the items of a set in an order that both sides have."""
    return sorted(items, key=_place) if isinstance(value, set | frozenset) else items


def _place(item: Any) -> tuple[bool, Any]:
    return (True, _number(item)) if _is_number(item) else (False, encode(item))


def _says_the_same(approved: Any, written: Any, value: Any) -> bool:
    """Whether one value is what was approved, also where its type writes the same in another way."""
    if written is _NOTHING:
        return False
    match value:
        case Decimal() if _is_number(approved):
            return _number(approved) == value
        case AnyUrl() if type(approved) is str:
            return written in {approved, f"{approved}/"}
        case date() | time() if _is_same_moment(approved, written):
            return True
    if _is_number(approved) and _is_number(written):
        return _number(approved) == _number(written)
    return encode(approved) == encode(written)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _number(value: Any) -> Decimal:
    return Decimal(encode(value))


def _is_same_moment(approved: Any, written: Any) -> bool:
    for read in (datetime.fromisoformat, time.fromisoformat):
        with suppress(TypeError, ValueError):
            return read(approved).isoformat() == read(written).isoformat() and not _FINER.search(approved)
    return False
