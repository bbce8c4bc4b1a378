"""Names that look the same to a person and are different to a rule. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from bot.text.literal import has_invisible

_SEPARATORS = re.compile(r"[\s_./:~\\-]+")
# payInvoice, and PAYInvoice.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_MARKS = {"Mn", "Me"}
# Outside of ASCII, dashes, dots and signs of any kind separate words.
_SIGNS = {"Pd", "Pc", "Po", "Sm", "Sk", "So"}
_MODIFIERS = range(0x2B0, 0x300)
# Letters that are missing in the table of look-alikes, or are there for another letter.
_LETTERS = str.maketrans("кмтвнзКМТВНцκχτηωεղʋǀıƖƄƦƽ", "kmtbhzKMTBHukxtnwenvlilbRs")
_FIGURES = str.maketrans("01i|", "olll")
_SEPARATES = frozenset("-_.:/~\u00b7")
_SMALL_CAPITAL = re.compile("LATIN LETTER SMALL CAPITAL ([A-Z])")


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
    """Write a name without separators."""
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
    if kind in _MARKS or has_invisible(char):
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
