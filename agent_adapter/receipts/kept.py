"""Whether a type keeps what was approved: a value that it has read, written out again, must say the same. Pure."""

import re
from contextlib import suppress
from datetime import datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic import TypeAdapter

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
    lost = [_lost(approved, _written(kind, value, by_alias=by_alias)) for by_alias in (True, False)]
    return None if None in lost else lost[0]


def _written(kind: TypeAdapter[Any], value: Any, *, by_alias: bool) -> Any:
    try:
        return decode(kind.dump_json(value, by_alias=by_alias, round_trip=True, warnings=False))
    except (InvalidRequestError, ValueError, TypeError):
        # For example, two keys that are written as the same one.
        return _NOTHING


def _lost(approved: Any, written: Any) -> str | None:
    match approved, written:
        case dict(), dict():
            parts = [
                (f".{name[:KEY_SHOWN]}", each, written.get(name, _NOTHING)) for name, each in approved.items()
            ]
        case list(), list() if len(approved) == len(written):
            if sorted(map(encode, approved)) == sorted(map(encode, written)):
                # A set has no order.
                return None
            parts = [(f"[{index}]", each, written[index]) for index, each in enumerate(approved)]
        case _:
            return None if _says_the_same(approved, written) else ""
    found = ((name, _lost(each, its)) for name, each, its in parts)
    return next((name + path for name, path in found if path is not None), None)


def _says_the_same(approved: Any, written: Any) -> bool:
    """Whether one value is what was approved, also where its type writes the same in another way."""
    if written is _NOTHING:
        return False
    if isinstance(approved, str) and isinstance(written, str):
        # An address gets a slash for its path.
        return written in {approved, f"{approved}/"} or _is_same_moment(approved, written)
    if _is_number(approved) and (_is_number(written) or isinstance(written, str)):
        # A `Decimal` is written as text.
        with suppress(InvalidOperation):
            return _number(approved) == _number(written)
    return encode(approved) == encode(written)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Number) and not isinstance(value, bool)


def _number(value: Any) -> Decimal:
    return Decimal(value if isinstance(value, str) else encode(value))


def _is_same_moment(approved: str, written: str) -> bool:
    for read in (datetime.fromisoformat, time.fromisoformat):
        with suppress(ValueError):
            return read(approved).isoformat() == read(written).isoformat() and not _FINER.search(approved)
    return False
