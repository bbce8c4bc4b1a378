"""Text of others, made literal: nothing invisible, nothing active, nothing cut silently."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import Any

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.reviewed import IGNORABLE, is_unseen
from bot.sentences import in_text
from bot.text.emoji import KEYCAP, SEQUENCE

_NAMED = {"\t": "\\t"}
_MAX_MARKS = 8
_COUNTED = re.compile(r"\\| {21,}|\n{5,}")
_SPECIAL = re.compile(rf"{KEYCAP}|{_COUNTED.pattern}|[^ -~\n]+")
# Most texts: there is nothing to spell out in them.
_ORDINARY = re.compile(r"[!-\[\]-~]*(?: [!-\[\]-~]+)*")
_JOINERS = re.compile("[\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]")
_SCRIPTS = range(0x300, 0x1E950)
# No dot: it separates the names in a path.
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,60}")


def char_ranges(chars: Iterable[str]) -> str:
    """Write characters as ranges for a pattern. A list of single characters would be slow."""
    runs: list[list[str]] = []
    for char in chars:
        if runs and ord(char) == ord(runs[-1][-1]) + 1:
            runs[-1][1:] = [char]
        else:
            runs.append([char])
    return "".join("-".join(run) for run in runs)


# Quick checks of a text. Outside of the basic plane they find too much.
_BLANK = re.compile(f"[{char_ranges(map(chr, sorted(IGNORABLE)))}]")
_DRAWN_OVER = (char for char in map(chr, range(0x300, 0x10000)) if unicodedata.category(char) in {"Mn", "Me"})
_MANY_MARKS = re.compile(f"[{char_ranges(_DRAWN_OVER)}]{{{_MAX_MARKS + 1}}}|[\U00010000-\U0001e94f]")
# Characters that Unicode may join with the letter before: marks, and the vowels and consonants of some scripts.
_MARKS = char_ranges(filter(unicodedata.combining, map(chr, _SCRIPTS))) + (
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1161-\u1175\u11a8-\u11c2\u1b35"
    "\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
)
# The ranges with single letters for which Unicode has another spelling.
_SINGLE = (
    "\u0340-\u0387\u0958-\u095f\u09dc-\u09df\u0a33-\u0a5e\u0b5c\u0b5d\u0f43-\u0fb9\u1f71-\u1ffd\u2126\u212a\u212b\u2329\u232a\u2adc"
    "\uf900-\ufad9\ufb1d-\ufb4e\U0001d15e-\U0001d1c0\U0002f800-\U0002fa1d"
)
_LETTER = re.compile(f"[^\n{_MARKS}][{_MARKS}]+|[{_SINGLE}]")
# Where letters with marks can be, each with the character before. Searching the whole text would take long.
_BESIDE_ASCII = re.compile("[^\n]?[^\x00-\x7f]+")
_LONGEST_LETTER = 32
LONG_LETTER = re.compile(f"[{_MARKS}]{{{_LONGEST_LETTER}}}")
"""More marks than any letter has. Unicode sorts them, which takes quadratic time."""
_JOINED = re.compile(f"({SEQUENCE.pattern})")
_NOT_ASCII = re.compile(r"[^ -~\n]+")
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
_STATEMENT = 40
# Half a number reads as another number. A space between digits is part of the number.
_WORD_END = re.compile(r"\n|(?<!\d) | (?!\d)")
_LONG_WORD = 200


def visible(text: str) -> str:
    r"""Write text so that every character of it can be seen.

    Invisible, reordering, private, unassigned and odd-space code points become `\u{HEX}` (`\u{HEX*n}` for a row of the
    same), a tab `\t`, a backslash `\\`; more than 20 spaces, 3 blank lines or 8 combining marks in a row are counted or
    spelled. Emoji of several code points stay. A letter that is written as a letter and its marks, where there is one
    for both, is followed by `\+`; in any other spelling that Unicode takes for the same, its code points are spelled.
    Newlines stay. Two different texts never become the same one.
    """
    if _ORDINARY.fullmatch(text):
        return text
    escape = _SPECIAL if _is_odd(text) else _COUNTED
    escaped = escape.sub(_escape, text)
    return _BESIDE_ASCII.sub(_distinguish_letters, escaped) if has_decomposed(text) else escaped


def one_line(text: str) -> str:
    r"""Write text like `visible`, its newlines as `\n`."""
    return visible(text).replace("\n", "\\n")


def has_decomposed(text: str) -> bool:
    """Say whether another text would look the same, because this is not the usual spelling in Unicode."""
    return not text.isascii() and not _is_composed(text)


def has_hidden(text: str) -> bool:
    """Say whether a reader of the raw text would miss characters of it. Emoji of several code points have none."""
    return has_invisible(SEQUENCE.sub(" ", text) if _JOINERS.search(text) else text)


def has_invisible(text: str) -> bool:
    """Say whether there is any character that nobody sees, also inside of an emoji."""
    return _is_odd(text) and any(
        kind == "hidden" or (kind == "mark" and len(row) > _MAX_MARKS)
        for match in _NOT_ASCII.finditer(text)
        for kind, row in _rows(match[0].replace("\t", ""))
    )


def respelled(text: str, spell: Callable[[str], str]) -> str:
    """Spell every character that nobody sees, and those by which a text only looks like another one."""
    if has_decomposed(text):
        text = _LETTER.sub(lambda match: _respelled_letter(match[0], spell), text)
    return "".join(spell(char) if char != "\n" and has_invisible(char) else char for char in text)


def runs_right_to_left(text: str) -> bool:
    """Say whether some of it is drawn from right to left: it may change places with what stands beside it."""
    return not text.isascii() and any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text)


def _is_composed(text: str) -> bool:
    """Whether Unicode has no other spelling for it. A row of marks that no letter has counts as another spelling."""
    return not LONG_LETTER.search(text) and unicodedata.is_normalized("NFC", text)


def _respelled_letter(letter: str, spell: Callable[[str], str]) -> str:
    if _is_composed(letter):
        return letter
    base = letter[0] if unicodedata.is_normalized("NFC", letter[0]) else ""
    return base + "".join(map(spell, letter[len(base) :]))


def mrkdwn(text: str) -> str:
    """Escape text for a mrkdwn object: no mention, link, channel or date of its own. Once, and only there."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def without_marks(text: str) -> str:
    """Take bold and code out of the bot's own words. A notification and a screen reader would say these marks."""
    return text.replace("*", "").replace("`", "")


def units(text: str) -> int:
    """Count text in UTF-16 code units, the stricter reading of Slack's limits."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def head(text: str, size: int) -> str:
    """Give the longest beginning of at most so many units that splits no character from its combining marks."""
    if len(text) <= size and units(text) <= size:
        return text
    # Every character takes at least one unit, so the rest does not matter.
    found = text[:size]
    if not found.isascii():
        found = found.encode("utf-16-le", "surrogatepass")[: 2 * size].decode("utf-16-le", "ignore")
    while found and unicodedata.combining(text[len(found)]):
        found = found[:-1]
    return found


def clip(text: str, size: int, end: str = "") -> str:
    """Shorten text to so many units (40 or more), at the end of a word, saying how many characters are missing, or else `end`."""
    if units(text) <= size:
        return text
    kept = len(head(text, size - _STATEMENT))
    ends = (found.start() for found in _WORD_END.finditer(text, max(kept - _LONG_WORD, 0), kept + 2))
    kept = max((end for end in ends if 0 < end <= kept), default=kept)
    return text[:kept] + (end or in_text.more_characters(len(text) - kept))


def pieces(text: str, size: int) -> list[str]:
    """Cut text into consecutive pieces of at most so many units, none of them empty."""
    if 2 * len(text) <= size:
        return [text] if text else []
    found = []
    while text:
        # A row of marks that is longer than a piece is cut, because every piece has to make progress.
        piece = head(text, size) or text[: size // 2]
        found.append(piece)
        text = text[len(piece) :]
    return found


def _is_odd(text: str) -> bool:
    """Say whether there may be something to spell out. This is quick, because most texts have nothing."""
    if not text.replace("\n", "").isprintable():
        return True
    return not text.isascii() and bool(_BLANK.search(text) or _MANY_MARKS.search(text))


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    match found[0]:
        case "\\":
            return "\\\\"
        case " ":
            return f"\\{{{in_text.spaces(len(found))}}}"
        case "\n":
            return f"\n\\{{{in_text.blank_lines(len(found) - 1)}}}\n"
        case first if first in "0123456789#*":
            return found
        case _:
            if not _JOINERS.search(found):
                return _spelled(found)
            parts = _JOINED.split(found)
            return "".join(part if SEQUENCE.fullmatch(part) else _spelled(part) for part in parts)


def _spelled(text: str) -> str:
    return "".join(_spell(kind, row) for kind, row in _rows(text))


def _distinguish_letters(match: re.Match[str]) -> str:
    return _LETTER.sub(_distinguish, match[0])


def _distinguish(match: re.Match[str]) -> str:
    letter = match[0]
    return _spelling(letter) if len(letter) <= _MAX_MARKS else _spelling.__wrapped__(letter)


@lru_cache(maxsize=4_096)
def _spelling(letter: str) -> str:
    """Write a letter and its marks so that they look like no other spelling of the same."""
    if _is_composed(letter):
        return letter
    if 1 < len(letter) <= _LONGEST_LETTER and unicodedata.is_normalized("NFD", letter):
        return f"{letter}\\+"
    return _respelled_letter(letter, lambda char: _code(char, 1))


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
    if is_unseen(char):
        return "hidden"
    return "mark" if unicodedata.category(char) in {"Mn", "Me"} else "shown"


def key_text(key: str) -> str:
    """Write the name of an argument: in quotes, where it is not a plain word."""
    # A quote inside the name is spelled out, so that the name ends where its quotes end.
    return key if _PLAIN_KEY.fullmatch(key) else '"' + one_line(key).replace('"', "\\u{22}") + '"'


# --- Values of an agent and names of people beside our own words, on one line -------------------------------------------
# Whatever an agent wrote that could read as a sentence of ours is in quotes. A title has no mention, and people choose
# their names freely.

_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]{0,20}")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_UNIT = re.compile("[A-Z]{3}")
# A colon that could begin an emoji, but not that of a time; and what could begin or end bold, struck out or code.
_ACTS = re.compile(r":(?=[^\s:]+:)(?!(?<=[0-9]{2}:)[0-9]{2}:[0-9]{2})|(?<!\w)[*~`](?=\S)|(?<=\S)[*~`](?!\w)")
# What looks like the quotes around a text.
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\u2033\uff02\u02ee\u3003', "'"))
CUT = "…"
_LONGEST = 30
_BETWEEN = "-'\u2019."
_NOT_A_LETTER = re.compile(r"^[\W\d_]+")


def each_apart(values: list[Any], room: int) -> list[str]:
    """Write each of some values: numbers, dates and a unit of three capitals beside a number bare, others in quotes.

    One that takes more than so many units ends with … within its quotes.
    """
    numbers = [_is_number(value) for value in values]
    return [
        value
        if isinstance(value, str) and _UNIT.fullmatch(value) and any(numbers[max(at - 1, 0) : at + 2])
        else written(value, room)
        for at, value in enumerate(values)
    ]


def written(value: Any, room: int) -> str:
    """Write one value: a number, a date, true, false and null as they are, any other text in quotes that nothing in it ends."""
    text = value if isinstance(value, str) else encode(value)
    is_bare = _is_number(value) or value is None or isinstance(value, bool) or _DATE.fullmatch(text)
    return cut(text if is_bare else '"' + one_line(text).translate(_QUOTES) + '"', room)


def cut(text: str, room: int) -> str:
    """Shorten a line to so many units. One that is cut ends with …, and the quotes in which it is cut are closed."""
    if units(text) <= room:
        return text
    kept = head(text, max(room - 2, 1)) + CUT
    return kept + '"' * (kept.count('"') % 2)


def mrkdwn_line(text: str) -> str:
    r"""Write such a line for a mrkdwn text: nothing in it is a link, a mention, an emoji or in a style (`\u{3A}`, `\u{2A}`)."""
    return mrkdwn(_ACTS.sub(lambda found: f"\\u{{{ord(found[0]):X}}}", text))


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


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
