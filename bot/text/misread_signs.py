"""Signs and digits that a person reads as others: a sign that only looks like a slash, a number in digits of two scripts.

After Unicode's table of look-alikes. What ordinary text is written with is left alone: quotes, dashes and bullets, the
signs and digits of a script beside its letters, and wide ones in East Asian text.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import chain

from bot.sentences import in_text
from bot.text.literal import clip, visible
from bot.text.misread import SCRIPT, SPACELESS, Lines, listed, looks_like, unicode_table

_ORDINARY = frozenset(
    "\u2018\u2019\u201b\u2039\u203a\u2013\u2043\u2032\u00b4\u00b8\u02bb\u02bc\u02be\u02c8\u276e\u276f\ufd3e\ufd3f\u2795\u2796"
)
"""Quotes and apostrophes, the dash, bullets, emoji, and the brackets around verses."""


def _look_alikes() -> dict[str, str]:
    """Give for each sign the one of ASCII that it looks like."""
    # These two are not in the table.
    found = {"\u02cd": "_", "\ua78a": "="}
    for code in (*range(0xFE50, 0xFE70), *range(0xFF01, 0xFF5F)):
        found[chr(code)] = unicodedata.normalize("NFKC", chr(code))
    for char, alike in unicode_table("confusables.json").items():
        sign = next((each["c"] for each in alike if _is_sign(each["c"])), None)
        if sign and len(char) == 1 and not char.isascii() and not char.isdecimal():
            found[char] = sign
    # Signs that Unicode treats as another spelling of an ASCII sign are spelled out in the text itself.
    found = {char: sign for char, sign in found.items() if unicodedata.is_normalized("NFC", char)}
    return {char: sign for char, sign in found.items() if _is_sign(sign) and char not in _ORDINARY}


def _is_sign(text: str) -> bool:
    return len(text) == 1 and "!" <= text <= "~" and not text.isalnum()


def _as_letters() -> dict[str, str]:
    """Give for each symbol or mark the letter or digit that it looks like. Letters are looked at in words."""
    found = {
        char: looks_like(char)
        for char in unicode_table("confusables.json")
        if len(char) == 1 and unicodedata.category(char) in {"Sm", "Sc", "Sk", "So", "Mc"}
    }
    return {char: other for char, other in found.items() if other.isascii() and other.isalnum()}


_MINUS, _LOW_QUOTE, _NOUGHT = "\u2212", "\u201a", "\u3007"
_LETTERS = _as_letters()
_SIGNS = _look_alikes()
_LOOKS = {**_LETTERS, _NOUGHT: "O", **_SIGNS}
# Between spaces, or before a quoted word, these two are ordinary.
_ODD = f"[{re.escape(''.join(_SIGNS.keys() - {_MINUS, _LOW_QUOTE}))}]+|{_MINUS}(?=\\w)|(?<=\\w){_LOW_QUOTE}"
_ANY = f"[{re.escape(''.join(_LETTERS.keys() - _SIGNS.keys()))}]+"
# Beside one letter or a number they are mathematics, and behind a quantity the sign for its weight.
_AS_LETTER = rf"(?<=[A-Za-z]{{2}})(?<!\d[a-z]{{2}})(?<!\d\x20[a-z]{{2}}){_ANY}|{_ANY}(?=[A-Za-z]{{2}})"
_AS_NOUGHT = f"(?<=[A-Za-z0-9]){_NOUGHT}|{_NOUGHT}(?=[A-Za-z0-9])"
_SIGN = re.compile(f"{_ODD}|{_AS_LETTER}|{_AS_NOUGHT}")
_AROUND = 30
_NAMED = 3
_UNUSUAL_DIGIT = re.compile(r"[^\D0-9]")
_EAST_ASIAN_ZEROS = {ord("0"), ord("\uff10")}
_SPACE = re.compile(r"\s")
_NUMBER = re.compile(r"\d+(?:[.,'\u066b\u066c]\d+)*")


def misread_signs(texts: Collection[str]) -> Lines:
    """Say what each sign is that reads as one of ASCII, and each number in unusual digits."""
    return listed(texts, lambda text: chain(_signs(text), _numbers(text)), str)


def _signs(text: str) -> Iterator[str]:
    rows = [(row.start(), row[0]) for row in _SIGN.finditer(text)]
    scripts = _scripts(text) if rows else set()
    odd = {char for char in set("".join(row for _, row in rows)) if not _is_at_home(char, scripts)}
    places = (
        start + next(n for n, char in enumerate(row) if char in odd) for start, row in rows if odd & set(row)
    )
    for word in dict.fromkeys(_word_around(text, place) for place in places):
        signs = [char for char in dict.fromkeys(word) if char in odd]
        looks = [in_text.looks_like(char, _LOOKS[char]) for char in signs[:_NAMED]]
        more = ["…"] if len(signs) > _NAMED else []
        yield in_text.odd_sign(clip(visible(word), 2 * _AROUND), [*looks, *more])


def _word_around(text: str, place: int) -> str:
    before, after = text[max(place - _AROUND, 0) : place], text[place : place + _AROUND]
    return _SPACE.split(before)[-1] + _SPACE.split(after)[0]


def _numbers(text: str) -> Iterator[str]:
    if not _UNUSUAL_DIGIT.search(text):
        return
    scripts = _scripts(text)
    for number in dict.fromkeys(_NUMBER.findall(text)):
        digits = [char for char in number if char.isdecimal()]
        unusual = [char for char in digits if not char.isascii()]
        zeros = {ord(char) - unicodedata.decimal(char) for char in digits}
        is_of_one_kind = len(zeros) == 1 or zeros == _EAST_ASIAN_ZEROS
        if not (is_of_one_kind and all(_is_at_home(char, scripts) for char in unusual)):
            kinds = list(dict.fromkeys(map(_kind, unusual)))
            plain = "".join(str(unicodedata.decimal(char, char)) for char in number)
            yield in_text.unusual_digits(clip(number, 60), kinds, clip(plain, 60))


def _kind(digit: str) -> str:
    return unicodedata.name(digit).partition(" DIGIT ")[0].title()


def _scripts(text: str) -> set[str]:
    """Name the scripts of the letters in a text, without the letters that look like signs."""
    return {SCRIPT[char] for char in set(text) - _LOOKS.keys() if char.isalpha()} - {"LATIN", "COMMON"}


def _is_at_home(char: str, scripts: set[str]) -> bool:
    if unicodedata.east_asian_width(char) in {"F", "W"}:
        return not scripts.isdisjoint(SPACELESS)
    return SCRIPT[char] in scripts
