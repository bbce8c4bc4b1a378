"""Values of an agent and names of people beside our own words, on one line. Pure.

Whatever an agent wrote that could read as a sentence of ours is in quotes. A title has no mention, and people choose their names
freely.
"""

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.text.literal import head, mrkdwn, one_line, units

_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]{0,20}")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_UNIT = re.compile("[A-Z]{3}")
# A colon that could begin an emoji, but not that of a time; and what could begin or end bold, struck out or code.
_ACTS = re.compile(r":(?=[^\s:]+:)(?!(?<=[0-9]{2}:)[0-9]{2}:[0-9]{2})|(?<!\w)[*~`](?=\S)|(?<=\S)[*~`](?!\w)")
# What looks like the quotes around a text.
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\u2033\uff02\u02ee\u3003', "'"))
CUT = "…"
_LONGEST = 30
_BETWEEN = "-'\u2019."
_NOT_A_LETTER = re.compile(r"^[\W\d_]+")


def each_apart(values: list[Any], room: int) -> list[str]:
    """Write each of some values: numbers, dates and a unit of three capitals beside a number bare, others in quotes.

    One that takes more than so many units ends with … within its quotes.
    """
    numbers = [_is_number(value) for value in values]
    return [
        value
        if isinstance(value, str) and _UNIT.fullmatch(value) and any(numbers[max(at - 1, 0) : at + 2])
        else written(value, room)
        for at, value in enumerate(values)
    ]


def written(value: Any, room: int) -> str:
    """Write one value: a number, a date, true, false and null as they are, any other text in quotes that nothing in it ends."""
    text = value if isinstance(value, str) else encode(value)
    is_bare = _is_number(value) or value is None or isinstance(value, bool) or _DATE.fullmatch(text)
    return cut(text if is_bare else '"' + one_line(text).translate(_QUOTES) + '"', room)


def cut(text: str, room: int) -> str:
    """Shorten a line to so many units. One that is cut ends with …, and the quotes in which it is cut are closed."""
    if units(text) <= room:
        return text
    kept = head(text, max(room - 2, 1)) + CUT
    return kept + '"' * (kept.count('"') % 2)


def mrkdwn_line(text: str) -> str:
    r"""Write such a line for a mrkdwn text: nothing in it is a link, a mention, an emoji or in a style (`\u{3A}`, `\u{2A}`)."""
    return mrkdwn(_ACTS.sub(lambda found: f"\\u{{{ord(found[0]):X}}}", text))


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


@lru_cache(1024)
def plain_name(name: str) -> str:
    """Give a name with nothing but letters, digits and what joins them, on one line; empty where none is left.

    Pictures, colons and everything that could end a sentence of the bot are left out. It begins with a letter.
    """
    kept = "".join(char if _is_plain(char) else " " for char in unicodedata.normalize("NFC", name[:200]))
    short = _NOT_A_LETTER.sub("", " ".join(kept.split()))
    return short if len(short) <= _LONGEST else f"{head(short, _LONGEST - 1).rstrip()}…"


def _is_plain(char: str) -> bool:
    return char in _BETWEEN or unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lo", "Lm", "Mn", "Mc", "Nd"}
