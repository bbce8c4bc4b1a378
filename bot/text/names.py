"""Names of people, as a title may show them: a title has no mention, and people choose their names freely."""

import re
import unicodedata
from functools import lru_cache

from bot.text.literal import head

_LONGEST = 30
_BETWEEN = "-'\u2019."
_NOT_A_LETTER = re.compile(r"^[\W\d_]+")


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
