"""What a person types to show that they have read a call. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.numbers import Number
from bot.text.literal import clip, one_line

LONGEST = 24
_TEXT = re.compile(r"(?=.{3,24}\Z)[!-_a-~]( ?[!-_a-~])+")
"""3 to 24 printable ASCII characters. Spaces at an end or in a row would be lost, other letters may look alike, and a
backtick would end the code in which a card shows it."""
_NUMBER = re.compile(r"-?([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class ToType:
    """What a person types to approve a call of high risk."""

    text: str
    """As the form shows it."""
    name: str = ""
    """The argument that has this value; empty for the name of the tool."""
    is_number: bool = False

    def is_typed(self, text: str) -> bool:
        """Whether this is it: a text exactly, a number with as many decimals and separators as somebody likes."""
        if self.is_number and _NUMBER.fullmatch(text):
            return Decimal(text.replace(",", "")) == Decimal(self.text)
        return bool(text) and text == self.text


def to_type(tool: str, values: Iterable[tuple[str, Any]]) -> ToType:
    """Choose what is typed: the first of these named values that can be typed, the best first, else the name of the tool."""
    found = (_value(name, value) for name, value in values)
    return next(filter(None, found), ToType(clip(one_line(tool), _LONGEST_NAME).replace("`", "'").strip()))


def _value(name: str, value: Any) -> ToType | None:
    if type(value) in {int, float, Number}:
        drawn = encode(value)
        return ToType(drawn, name, is_number=True) if len(drawn) <= LONGEST else None
    return ToType(value, name) if isinstance(value, str) and _TEXT.fullmatch(value) else None
