"""Numbers of JSON that keep the text in which they were sent.

A Python float loses digits of a number, and the way it was written. If a float would write another text than it was read from
(`9007199254740993.99`, `1.10`, `1E5`), the number is read as a `Number`.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any, Self

from agent_adapter.errors import InvalidRequestError

MAX_DIGITS = 4_000
"""Characters of a number with decimals or an exponent."""
MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that JavaScript stores exactly, together with its neighbours."""
MAX_EXPONENT = 9_999
"""The largest exponent. Even zero may have one, and computing with a large exponent can fill all memory."""

_JSON = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Number(Decimal):
    """A number that is written exactly as it was read."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        """Read the text of a JSON number."""
        if not _JSON.fullmatch(text):
            raise ValueError(f"{text!r} is not a JSON number")
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Number({self.text!r})"

    def __copy__(self) -> "Number":
        return self

    def __deepcopy__(self, _: Any) -> "Number":
        return self

    def __reduce__(self) -> tuple[type["Number"], tuple[str]]:
        return Number, (self.text,)


def read_number(text: str) -> float | Number:
    """Read a JSON number with decimals or an exponent."""
    if len(text) > MAX_DIGITS:
        raise InvalidRequestError(f"a number of more than {MAX_DIGITS:,} characters; send it as a string")
    number = float(text)
    if repr(number) == text:
        return number
    digits, _, exponent = text.lower().partition("e")
    if not isfinite(number):
        raise InvalidRequestError("a number is too large for JSON; send it as a string")
    if number == 0 and digits.strip("-.0"):
        raise InvalidRequestError("a number is too close to zero for JSON; send it as a string")
    if abs(int(exponent or 0)) > MAX_EXPONENT:
        raise InvalidRequestError(f"an exponent beyond {MAX_EXPONENT:,}; send the number as a string")
    return Number(text)


def read_integer(text: str) -> int | Number:
    """Read a JSON number without decimals and exponent. `-0` is a `Number`, because Python's integers have no minus zero."""
    return Number(text) if text == "-0" else int(text)


def whole(value: Any) -> int | None:
    """Return the integer that a JSON number is, if it is whole and JavaScript keeps it: `1`, `1.0` and `1e0` are the same."""
    if type(value) not in {int, float, Number}:
        return None
    number = value if type(value) is int else float(value)
    return int(number) if abs(number) <= MAX_SAFE_INTEGER and number == int(number) else None


def is_exact(number: Number) -> bool:
    """Whether a float is the same number, even if it is written differently."""
    return Decimal(number.text) == Decimal(repr(float(number)))


def as_floats(value: Any) -> Any:
    """Return JSON values as a framework reads them: numbers with decimals or an exponent become floats."""
    return map_numbers(value, _as_read)


def as_decimals(value: Any) -> Any:
    """Return JSON values for a library that computes with decimals: each `Number` becomes a `Decimal`."""
    return map_numbers(value, lambda number: Decimal(number.text))


def map_numbers(value: Any, make: Callable[[Number], Any]) -> Any:
    """Return JSON values with each `Number` replaced by `make(number)`."""
    if isinstance(value, dict):
        return {key: map_numbers(child, make) for key, child in value.items()}
    if isinstance(value, list):
        return [map_numbers(child, make) for child in value]
    return make(value) if isinstance(value, Number) else value


def _as_read(number: Number) -> int | float:
    return int(number.text) if number.text == "-0" else float(number)
