"""Text of others, made literal: nothing invisible, nothing active, nothing cut silently."""

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Code points outside Cf that renderers draw as nothing (Unicode's Default_Ignorable_Code_Point), and the blank Braille cell.
_IGNORABLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x2800, 0x3164, 0xFFA0}
    # Blank glyphs and placeholders of other scripts.
    | {0x2D7F, 0xFFFC, 0x1107F, 0x16FE4, 0x1D159}
    | {*range(0x180B, 0x180E), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)}
)
_NAMED = {"\t": "\\t"}
_MAX_MARKS = 8
_SPECIAL = re.compile(r"\\| {21,}|\n{5,}|[^ -~\n]+")
_NOT_ASCII = re.compile(r"[^ -~\n]+")
_STATEMENT = 40


def visible(text: str) -> str:
    r"""Write text so that every character of it can be seen.

    Invisible, reordering, private, unassigned and odd-space code points become `\u{HEX}` (`\u{HEX*n}` for a row of the
    same), a tab `\t`, a backslash `\\`; more than 20 spaces, 3 blank lines or 8 combining marks in a row are counted or
    spelled. Newlines stay. Two different texts never become the same one.
    """
    return _SPECIAL.sub(_escape, text)


def one_line(text: str) -> str:
    r"""Write text like `visible`, its newlines as `\n`."""
    return visible(text).replace("\n", "\\n")


def has_hidden(text: str) -> bool:
    """Tell whether a reader of the raw text would miss characters of it."""
    return any(
        kind == "hidden" or (kind == "mark" and len(row) > _MAX_MARKS)
        for match in _NOT_ASCII.finditer(text)
        for kind, row in _rows(match[0].replace("\t", ""))
    )


def mrkdwn(text: str) -> str:
    """Escape text for a mrkdwn object: no mention, link, channel or date of its own. Once, and only there."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def units(text: str) -> int:
    """Count text as the stricter reading of Slack's limits does: in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def head(text: str, size: int) -> str:
    """Give the longest beginning of at most so many units that splits no character from its combining marks."""
    if units(text) <= size:
        return text
    if text.isascii():
        return text[:size]
    found = text.encode("utf-16-le", "surrogatepass")[: 2 * size].decode("utf-16-le", "ignore")
    while found and unicodedata.combining(text[len(found)]):
        found = found[:-1]
    return found


def clip(text: str, size: int) -> str:
    """Shorten text to so many units (40 or more), saying how many characters are missing."""
    if units(text) <= size:
        return text
    kept = head(text, size - _STATEMENT)
    return f"{kept}… {len(text) - len(kept):,} more characters"


def pieces(text: str, size: int) -> list[str]:
    """Cut text into consecutive pieces of at most so many units, none of them empty."""
    found = []
    while text:
        # A row of marks longer than a piece is cut after all: every piece must make progress.
        piece = head(text, size) or text[: size // 2]
        found.append(piece)
        text = text[len(piece) :]
    return found


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    match found[0]:
        case "\\":
            return "\\\\"
        case " ":
            return f"\\{{{len(found)} spaces}}"
        case "\n":
            return f"\n\\{{{len(found) - 1} blank lines}}\n"
        case _:
            return "".join(_spell(kind, row) for kind, row in _rows(found))


def _rows(text: str) -> list[tuple[str, str]]:
    return [(kind, "".join(row)) for kind, row in groupby(text, _kind)]


def _spell(kind: str, row: str) -> str:
    if kind == "shown" or (kind == "mark" and len(row) <= _MAX_MARKS):
        return row
    return "".join(_code(char, len(list(same))) for char, same in groupby(row))


def _code(char: str, count: int) -> str:
    name = _NAMED.get(char) or f"\\u{{{ord(char):X}}}"
    return name * count if count <= _MAX_MARKS else f"\\u{{{ord(char):X}*{count}}}"


@lru_cache(maxsize=65_536)
def _kind(char: str) -> str:
    category = unicodedata.category(char)
    if category in _HIDDEN_CATEGORIES or ord(char) in _IGNORABLE:
        return "hidden"
    return "mark" if category in {"Mn", "Me"} else "shown"
