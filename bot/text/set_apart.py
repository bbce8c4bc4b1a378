"""Words of an agent beside our own, on one line: whatever could read as a sentence of ours is in quotes. Pure."""

import re
from collections.abc import Iterable

from bot.text.literal import clip, one_line

_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]{0,20}")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_UNIT = re.compile("[A-Z]{3}")
_PLAIN = {"true", "false", "null"}


def set_apart(texts: Iterable[str], room: int) -> str:
    """Write texts one after the other: numbers, dates and a unit of three capitals beside a number as they are, others in quotes.

    No quote of the text ends them: it is written as `'`. What nobody sees is written out.

    Args:
        texts: What an agent wrote.
        room: How many units each may take. It says how much of a longer one is missing.
    """
    found = [*texts]
    numbers = [_NUMBER.fullmatch(text) is not None for text in found]
    written = []
    for index, text in enumerate(found):
        is_unit = _UNIT.fullmatch(text) and any(numbers[max(index - 1, 0) : index + 2])
        is_plain = numbers[index] or is_unit or text in _PLAIN or _DATE.fullmatch(text)
        written.append(text if is_plain else quoted(text, room))
    return " ".join(written)


def quoted(text: str, room: int) -> str:
    """Write a text in quotes that nothing in it ends."""
    return '"' + clip(one_line(text).replace('"', "'"), room) + '"'


def closed(text: str) -> str:
    """End the quotes of a line that was shortened within them."""
    return text + '"' * (text.count('"') % 2)
