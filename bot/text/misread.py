"""Words that a person reads as other words: letters of several scripts in one, or letters that all look Latin.

After the ideas of Unicode's TR39, with its data: which script a letter is of, and which Latin letter it looks like.
Domain names with letters outside of ASCII are named in the form that computers use.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from importlib import resources
from itertools import filterfalse, islice
from typing import Any

from bot.sentences import in_text
from bot.text.literal import LONG_LETTER, char_ranges, clip, visible

SHOWN = 5
"""The most words that are named. The others are counted."""

_LATIN = "LATIN"
_NEUTRAL = {"COMMON", "INHERITED", "Unknown"}
# Written without spaces between words, also beside Latin words, so a run of them is never judged.
SPACELESS = {
    "HAN",
    "HIRAGANA",
    "KATAKANA",
    "BOPOMOFO",
    "HANGUL",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
    "TIBETAN",
    "YI",
}
_EVERYDAY = "\u024f"
"""The last Latin letter of European languages. No letter up to here, such as the i without a dot, is a look-alike."""

_AS_EMOJI = re.compile("\u2139\ufe0f|\u24c2\ufe0f")
"""Letters that are drawn as pictures, because the sign for that follows."""

_CLICKS = frozenset("\u01c0\u01c1\u01c2\u01c3")
"""The letters up to there that look like signs."""


def unicode_table(name: str) -> Any:
    """Read one of Unicode's tables: what looks like what, or which script a character is of."""
    return json.loads(resources.files("confusable_homoglyphs").joinpath(name).read_text("utf-8"))


def _look_alikes() -> dict[str, str]:
    """Give for each letter the Latin letter or digit that it looks like, or the letters that it is drawn of."""
    found = {}
    for char, alike in unicode_table("confusables.json").items():
        is_everyday = char <= _EVERYDAY and char not in _CLICKS
        if len(char) > 1 or is_everyday or unicodedata.bidirectional(char) in {"R", "AL"}:
            continue
        latin = next((each["c"] for each in alike if each["c"].isascii() and each["c"].isalnum()), None)
        if latin and len(latin) > 1:
            latin = _unwound(char)
        if latin:
            found[char] = "I" if latin == "l" and char.isupper() else latin
    return found


def _unwound(char: str) -> str | None:
    """Give the Latin letters of a ligature, a Roman numeral or a mathematical letter."""
    plain = unicodedata.normalize("NFKC", char)
    is_letter = unicodedata.category(char) in {"Ll", "Lu", "Lt", "Nl"}
    return plain if is_letter and plain.isascii() and plain.isalnum() else None


class _Scripts(dict[str, str]):
    """Gives the script of a character, and remembers it."""

    def __init__(self) -> None:
        data = unicode_table("categories.json")
        names = data["iso_15924_aliases"]
        self.spans = [(first, last, names[script]) for first, last, script, _ in data["code_points_ranges"]]
        self._starts = [first for first, _, _ in self.spans]

    def __missing__(self, char: str) -> str:
        place = bisect_right(self._starts, ord(char)) - 1
        _, last, script = self.spans[place]
        self[char] = script if place >= 0 and ord(char) <= last else "Unknown"
        return self[char]


_LOOKS = _look_alikes()
_SMALL_CAPITAL = re.compile("LATIN LETTER SMALL CAPITAL ([A-Z])")
_SEPARATORS = frozenset("-_.:/~\u00b7")
SCRIPT = _Scripts()
_SEPARATES = {
    char: "_"
    for char, alike in unicode_table("confusables.json").items()
    if len(char) == 1 and not char.isascii() and SCRIPT[char] not in SPACELESS
    if any(each["c"] in _SEPARATORS for each in alike)
}
_SPACELESS_CHARS = "".join(
    f"{chr(first)}-{chr(last)}" for first, last, script in SCRIPT.spans if script in SPACELESS
)
_WORD = re.compile(rf"[^\W_{_SPACELESS_CHARS}]+")
_EAST_ASIAN = re.compile(f"[{_SPACELESS_CHARS}]")
_DIACRITICS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")

_MIXED, _ALIKE, _OTHER, _PLAIN = "mixed", "alike", "other", "plain"


@lru_cache(maxsize=4_096)
def looks_like(char: str) -> str:
    """Give the Latin letter or digit that a character looks like, also as a small capital, `_` for a separator, else itself.

    For names that computers compare, the letters of European languages are look-alikes, too.
    """
    if char.isascii():
        return char
    if found := _LOOKS.get(char) or _SEPARATES.get(char):
        return found
    small = _SMALL_CAPITAL.fullmatch(unicodedata.name(char, ""))
    return small[1] if small else char


Lines = dict[str, tuple[str, ...]]
"""The sentences, each with the texts that it is about."""


def misread_words(texts: Collection[str]) -> Lines:
    """Say what each word is that a person reads as another one."""
    return listed(texts, _misread, _line)


def misread_domains(texts: Collection[str]) -> Lines:
    """Say of each domain name that looks like another one which one it is."""
    return listed(
        texts,
        lambda text: filter(_is_misread, _domains(text)),
        lambda host: in_text.another_address(*_read(host)),
    )


def odd_domains(texts: Collection[str]) -> Lines:
    """Say how computers read each other domain name with letters outside of ASCII."""
    return listed(
        texts,
        lambda text: filterfalse(_is_misread, _domains(text)),
        lambda host: in_text.as_computers_read(*_read(host)),
    )


def listed(
    texts: Collection[str], find: Callable[[str], Iterator[str]], write: Callable[[str], str]
) -> Lines:
    """Say what the first few finds in the texts are, and how many more there are."""
    found: dict[str, dict[str, None]] = {}
    for text in texts:
        for word in () if text.isascii() else find(text):
            found.setdefault(word, {})[text] = None
    lines = {write(word): tuple(where) for word, where in islice(found.items(), SHOWN)}
    return {**lines, in_text.more(len(found) - SHOWN): ()} if len(found) > SHOWN else lines


def _misread(text: str) -> Iterator[str]:
    apart = unicodedata.normalize("NFD", _AS_EMOJI.sub("", LONG_LETTER.sub("", text)))
    words = [
        word for word in _WORD.findall(_DIACRITICS.sub("", apart)) if word.isascii() or not word.isdecimal()
    ]
    judged = {word: _judged(word) for word in set(words)}
    # A word that could be Latin may be a word of the language around it. Wide letters are usual in East Asia.
    at_home = {script for kind, script in judged.values() if kind == _OTHER}
    if _EAST_ASIAN.search(text):
        at_home |= {"", _LATIN}
    for place, word in enumerate(words):
        kind, script = judged[word]
        beside = words[max(place - 1, 0) : place] + words[place + 1 : place + 2]
        is_among_latin = len(word) > 1 and script != _LATIN and (_PLAIN, _LATIN) in map(judged.get, beside)
        if kind == _MIXED or (kind == _ALIKE and (script not in at_home or is_among_latin)):
            yield word


def _line(word: str) -> str:
    kind, script = _judged(word)
    if kind == _ALIKE:
        letters = in_text.ODD_LATIN if script == _LATIN else _in_words(script)
        return in_text.only_looks_like(_named(word), letters, _reading(word))
    scripts = sorted(
        {SCRIPT[char] for char in word} - _NEUTRAL, key=lambda script: (script != _LATIN, script)
    )
    odd = dict.fromkeys(char for char in word if char in _LOOKS) or dict.fromkeys(
        char for char in word if SCRIPT[char] not in {_LATIN, *_NEUTRAL}
    )
    named = [*map(_letter, islice(odd, 3)), *(["…"] if len(odd) > 3 else [])]
    return in_text.mixes(_named(word), [*map(_in_words, scripts)], named)


def _judged(word: str) -> tuple[str, str]:
    """Say whether a word (without accents) mixes scripts, looks Latin in every letter, is of another script, or none."""
    if word.isascii():
        return _PLAIN, _LATIN if not word.isdigit() else ""
    return _judged_by(frozenset(word), is_letter=len(word.rstrip("0123456789")) == 1)


@lru_cache(maxsize=4_096)
def _judged_by(chars: frozenset[str], *, is_letter: bool) -> tuple[str, str]:
    scripts = {SCRIPT[char] for char in chars} - _NEUTRAL
    looks = {char for char in chars if char in _LOOKS}
    if len(scripts) > 1:
        # Latin letters beside letters of a script without look-alikes are units, formulas and brands: 5 μm, ΔT.
        deceives = _LATIN not in scripts or "CYRILLIC" in scripts or any(map(_is_foreign, looks))
        return (_MIXED if deceives else _PLAIN), _LATIN
    if looks and any(char.isascii() and char.isalpha() for char in chars):
        return _MIXED, _LATIN
    script = next(iter(scripts), "")
    if script == "GREEK" and is_letter and any(map(str.islower, chars)):
        # A symbol, as in the level alpha.
        return _PLAIN, script
    # A letter looks like a digit only among digits.
    digits = {char for char in chars if char.isascii()}
    if looks and all(
        _LOOKS.get(char, "1").isalpha() or (digits and char in looks) for char in chars - digits
    ):
        return _ALIKE, script
    return (_PLAIN if script in {"", _LATIN} else _OTHER), script


def _is_foreign(char: str) -> bool:
    return SCRIPT[char] != _LATIN


def _letter(char: str) -> str:
    if char in _LOOKS:
        return in_text.looks_like(char, _LOOKS[char])
    return in_text.is_of(char, _in_words(SCRIPT[char]))


def _in_words(script: str) -> str:
    return script.replace("_", " ").title() or "Mathematical"


def _reading(word: str) -> str:
    return clip("".join(_LOOKS.get(char, char) for char in word), 60)


def _named(word: str) -> str:
    return clip(visible(word), 60)


# Domain names

_MARKS = char_ranges(
    char for char in map(chr, range(0x300, 0x1D00)) if unicodedata.category(char) in {"Mn", "Mc"}
)
_DOT = re.compile("[.\u3002\uff0e\uff61]")
_LABEL = f"(?:[^\\W_]|[-{_MARKS}])+"
# One match for the whole run: searching for a label that a dot follows would take quadratic time.
_RUN = re.compile(f"(?:[^\\W_]|[-{_MARKS}]|{_DOT.pattern})+")
_ENDINGS = frozenset(
    {
        *(
            "com",
            "net",
            "org",
            "info",
            "biz",
            "edu",
            "gov",
            "mil",
            "int",
            "name",
            "pro",
            "mobi",
            "app",
            "dev",
        ),
        *("cloud", "online", "site", "shop", "store", "tech", "top", "xyz", "club", "bank", "live", "email"),
        *("support", "agency", "finance", "money", "exchange"),
        # In Cyrillic, Greek, Chinese and Korean letters.
        *(
            "xn--p1ai",
            "xn--90ais",
            "xn--j1amh",
            "xn--90a3ac",
            "xn--90ae",
            "xn--e1a4c",
            "xn--d1alf",
            "xn--80ao21a",
        ),
        *("xn--qxam", "xn--qxa6a", "xn--fiqs8s", "xn--fiqz9s", "xn--j6w193g", "xn--kprw13d", "xn--kpry57d"),
        *("xn--55qx5d", "xn--io0a7i", "xn--3e0b707e"),
    }
)
_FILES = frozenset({"py", "js", "ts", "md", "rs", "sh", "cs", "rb", "go", "ps", "so", "db", "pl", "vb", "gz"})
_LONGEST_LABEL, _LONGEST_HOST = 63, 253


def _domains(text: str) -> Iterator[str]:
    for match in _RUN.finditer(text):
        host = match[0].strip("-.")
        if len(host) <= _LONGEST_HOST and not host.isascii() and _DOT.search(host):
            before = text[max(match.start() - 3, 0) : match.start()]
            if _is_domain(before, _as_computers_read(host).split(".")):
                yield host


def _is_misread(host: str) -> bool:
    """Whether a person reads it as another name. What computers read in plain letters is the name that they read."""
    return "xn--" in _as_computers_read(host) and any(_misread(host))


def _read(host: str) -> tuple[str, str]:
    return clip(visible(host), 100), clip(_as_computers_read(host), 200)


def _is_domain(before: str, labels: list[str]) -> bool:
    """Say whether this is a domain name, and not a file or the end of a sentence without a space after it."""
    if not all(0 < len(label) <= _LONGEST_LABEL for label in labels):
        return False
    last = labels[-1]
    is_country = len(last) == 2 and last.isascii() and last.isalpha() and last not in _FILES
    return before.endswith(("://", "@")) or labels[0] == "www" or is_country or last in _ENDINGS


def _as_computers_read(host: str) -> str:
    return ".".join(map(_label, _DOT.split(host)))


def _label(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).lower()
    return folded if folded.isascii() else f"xn--{folded.encode('punycode').decode()}"
