"""Words and domain names that a person may read as others: letters of several alphabets that look alike in one word."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from bot.text.literal import char_ranges

_WORD = re.compile(r"[^\W_]+")
_MARKS = char_ranges(
    char for char in map(chr, range(0x300, 0x1D00)) if unicodedata.category(char) in {"Mn", "Mc"}
)
_DOT = re.compile("[.\u3002\uff0e\uff61]")
# One match for the whole run: searching for a label that a dot follows would take quadratic time.
_RUN = re.compile(f"(?:[^\\W_]|[-{_MARKS}]|{_DOT.pattern})+")
# A file and the end of a sentence without a space after it have a dot, too.
_ENDING = re.compile(
    "com|net|org|info|biz|edu|gov|app|dev|shop|store|online|site|top|xyz|(?!py|js|ts|md|rs|sh|cs|rb|go|ps|so|db|pl|vb|gz)[a-z]{2}"
)
_LONGEST_LABEL, _LONGEST_HOST = 63, 253


def misread_words(texts: Iterable[str]) -> list[str]:
    """Give the words in which letters of several alphabets look alike."""
    words = (word for text in texts if not text.isascii() for word in _WORD.findall(text))
    return [word for word in dict.fromkeys(words) if not word.isascii() and _is_misread(word)]


def domains(texts: Iterable[str]) -> dict[str, str]:
    """Give the domain names with letters outside of ASCII, each with how computers read it."""
    return {host: read for text in texts if not text.isascii() for host, read in _domains(text)}


def imitates(host: str) -> bool:
    """Whether each letter of a domain name outside of ASCII looks like one of ASCII."""
    from confusable_homoglyphs.confusables import is_confusable  # noqa: PLC0415  # 7 MB, for few texts

    odd = {char for char in host if char.isalnum() and not char.isascii()}
    alike = is_confusable("".join(odd), greedy=True) or []
    return odd == {
        each["character"] for each in alike if any(like["c"].isascii() for like in each["homoglyphs"])
    }


@lru_cache(maxsize=65_536)
def _script(char: str) -> str:
    from confusable_homoglyphs.categories import alias  # noqa: PLC0415  # likewise

    return str(alias(char))


def _is_misread(word: str) -> bool:
    from confusable_homoglyphs.confusables import is_dangerous  # noqa: PLC0415  # likewise

    # Most words are of one script. That is known sooner, because the library remembers no character.
    is_mixed = len({*map(_script, word)} - {"COMMON"}) > 1
    return is_mixed and bool(is_dangerous(word, preferred_aliases=["latin"]))


def _domains(text: str) -> Iterator[tuple[str, str]]:
    for match in _RUN.finditer(text):
        host = match[0].strip("-.")
        if len(host) <= _LONGEST_HOST and not host.isascii() and _DOT.search(host):
            labels = [*map(_as_computers_read, _DOT.split(host))]
            if _is_domain(text[max(match.start() - 3, 0) : match.start()], labels):
                yield host, ".".join(labels)


def _is_domain(before: str, labels: list[str]) -> bool:
    if not all(0 < len(label) <= _LONGEST_LABEL for label in labels):
        return False
    return before.endswith(("://", "@")) or labels[0] == "www" or _ENDING.fullmatch(labels[-1]) is not None


def _as_computers_read(label: str) -> str:
    folded = unicodedata.normalize("NFKC", label).lower()
    return folded if folded.isascii() else f"xn--{folded.encode('punycode').decode()}"
