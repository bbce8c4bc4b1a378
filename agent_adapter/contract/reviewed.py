"""Files that people review: a program must read them as they look, so what nobody sees there is refused with its line."""

import re
import unicodedata

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Code points outside Cf that renderers draw as nothing (Unicode's Default_Ignorable_Code_Point), and the blank Braille cell.
IGNORABLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x2800, 0x3164, 0xFFA0}
    # Blank glyphs and placeholders of other scripts.
    | {0x2D7F, 0xFFFC, 0x1107F, 0x16FE4, 0x1D159}
    | {*range(0x180B, 0x180E), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)}
)


def is_unseen(char: str) -> bool:
    """Whether nobody sees this character: also a line break, a tab, and each space but the ordinary one."""
    return char != " " and (unicodedata.category(char) in _CATEGORIES or ord(char) in IGNORABLE)


# Emoji are several characters: a sign, and what follows it without a sign of its own.
_SIGN = re.compile("[\u2190-\u2bff\u3030-\u303d\U0001f000-\U0001faff][\ufe0e\ufe0f\u200d]+")
_ODD = re.compile(r"\r(?!\n)|[^\n\r\t -~]")


def unseen_in(text: str) -> tuple[int, str] | None:
    """Return the line and a sentence about the first character that nobody sees; `None` when there is none.

    A mark at the very beginning, emoji, tabs and usual line ends are no such characters.
    """
    plain = _SIGN.sub(lambda sign: sign[0] if is_unseen(sign[0][0]) else " " * len(sign[0]), text)
    for found in _ODD.finditer(plain, text.startswith("\ufeff")):
        if is_unseen(found[0]):
            code = f"U+{ord(found[0]):04X}"
            return _line(text, found.start()), f"{code} is there, which nobody sees: take it out"
    return None


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
