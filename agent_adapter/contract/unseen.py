"""Characters that nobody sees in a text, or that change the order in which it is read."""

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
