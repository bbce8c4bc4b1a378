"""What a person may read as something else: names that look like others to a rule, words and domain names in letters that look
alike. Pure.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from bot.text.literal import char_ranges, has_invisible

_SEPARATORS = re.compile(r"[\s_./:~\\-]+")
# payInvoice, and PAYInvoice.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARK_KINDS = {"Mn", "Me"}
# Outside of ASCII, dashes, dots and signs of any kind separate words.
_SIGNS = {"Pd", "Pc", "Po", "Sm", "Sk", "So"}
_MODIFIERS = range(0x2B0, 0x300)
# Letters that are missing in the table of look-alikes, or are there for another letter.
_LETTERS = str.maketrans("кмтвнзКМТВНцκχτηωεղʋǀıƖƄƦƽ", "kmtbhzKMTBHukxtnwenvlilbRs")
_FIGURES = str.maketrans("01i|", "olll")
_SEPARATES = frozenset("-_.:/~\u00b7")
_SMALL_CAPITAL = re.compile("LATIN LETTER SMALL CAPITAL ([A-Z])")
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


def resembled(name: str, globs: Sequence[str]) -> str | None:
    """Give the glob that this name seems to match to a person; `None` if it really matches one, or none is close."""
    if any(fnmatchcase(name, glob) for glob in globs):
        return None
    return next((glob for glob in globs if _resembles(name, glob)), None)


def _resembles(name: str, glob: str) -> bool:
    if "*" not in glob and "?" not in glob:
        return not _joined(name).isdisjoint(_joined(glob))
    # A bracket would be read as a set of characters.
    patterns = {pattern.replace("[", "[[]") for pattern in _forms(glob)}
    if any(fnmatchcase(form, pattern) for form in _forms(name) for pattern in patterns):
        return True
    # In plain small letters payroll is another word than pay_roll, so separators count.
    if name.isascii() and name == name.lower():
        return False
    together = {pattern.replace("_", "") for pattern in patterns}
    return any(fnmatchcase(form, pattern) for form in _joined(name) for pattern in together)


def _joined(name: str) -> set[str]:
    return {form.replace("_", "") for form in _forms(name)}


def _forms(name: str) -> set[str]:
    """Write a name as it is, and payInvoice as pay_invoice; both also with one letter for pairs that look like it."""
    found = {skeleton(name), skeleton(_HUMP.sub("_", name))}
    return found | {form.replace("rn", "m").replace("vv", "w") for form in found}


@lru_cache(maxsize=4_096)
def skeleton(name: str) -> str:
    """Reduce a name to what is left without case, accents, hidden characters, kinds of separators and look-alikes."""
    # Full-width letters, ligatures and the like are compatible with plain ones (NFKC and NFKD agree on that).
    apart = "".join(map(_bare, unicodedata.normalize("NFKD", name)))
    folded = _latin(_latin(apart).casefold()).casefold().translate(_FIGURES)
    return _SEPARATORS.sub("_", folded)


def _bare(char: str) -> str:
    """Write a separator as `_`. What nobody sees, and a mark on another letter, becomes nothing."""
    if char.isascii() and char.isprintable():
        return char
    kind = unicodedata.category(char)
    if kind == "Zs" or char.isspace():
        return "_"
    if kind[0] in "SM" and _looks_like(char).isalnum():
        return char
    if kind in _MARK_KINDS or has_invisible(char):
        return ""
    return "_" if kind in _SIGNS or ord(char) in _MODIFIERS else char


def _latin(text: str) -> str:
    return text if text.isascii() else "".join(map(_looks_like, text.translate(_LETTERS)))


@lru_cache(maxsize=4_096)
def _looks_like(char: str) -> str:
    """Give the Latin letter or digit that a character looks like, also as a small capital, `_` for a separator, else itself."""
    if char.isascii():
        return char
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415  # 7 MB, for few texts

    alike = [each["c"] for each in confusables_data.get(char, ())]
    if latin := next((each for each in alike if len(each) == 1 and each.isascii() and each.isalnum()), ""):
        return "I" if latin == "l" and char.isupper() else latin
    if any(each in _SEPARATES for each in alike):
        return "_"
    small = _SMALL_CAPITAL.fullmatch(unicodedata.name(char, ""))
    return small[1] if small else char


def misread_words(texts: Iterable[str]) -> list[str]:
    """Give the words in which letters of several alphabets look alike."""
    words = (word for text in texts if not text.isascii() for word in _WORD.findall(text))
    odd = [word for word in dict.fromkeys(words) if not word.isascii()]
    # Most words are of one script. That is known sooner, because the library remembers no character.
    mixed = [word for word in odd if len({*map(_script, word)} - {"COMMON"}) > 1]
    if not mixed:
        return []
    from confusable_homoglyphs.confusables import is_dangerous  # noqa: PLC0415  # likewise

    return [word for word in mixed if is_dangerous(word, preferred_aliases=["latin"])]


def domains(texts: Iterable[str]) -> dict[str, str]:
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
