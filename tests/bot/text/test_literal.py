"""Text of others is shown letter by letter, and never does anything."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.literal import clip, has_decomposed, has_hidden, head, mrkdwn, one_line, pieces, units, visible
from bot.text.look_alikes import misread_words
from tests.support.properties import bounded

NASTY = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "\\ \n\t\r\u200b\u202e\u0301\u00a0\U000e0041{}u*0123456789abcdefABCDEF spaceblank lines"
        ),
    )
)


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain & <b>", "plain & <b>"),
        ("C:\\new", "C:\\\\new"),
        ("pay \u202e001", "pay \\u{202E}001"),
        ("a\u200bb", "a\\u{200B}b"),
        ("a\u00a0b\u3000c", "a\\u{A0}b\\u{3000}c"),
        ("tag\U000e0041", "tag\\u{E0041}"),
        ("one\ntwo", "one\ntwo"),
        ("col\tumn\r", "col\\tumn\\u{D}"),
        ("\u200b" * 40, "\\u{200B*40}"),
        ("go" + " " * 50 + "!", "go\\{50 spaces}!"),
        ("go" + " " * 20 + "!", "go" + " " * 20 + "!"),
        ("up\n\n\n\n\n\ndown", "up\n\\{5 blank lines}\ndown"),
        ("up\n\n\n\ndown", "up\n\n\n\ndown"),
        ("x" + "\u0301" * 3, "x" + "\u0301" * 3),
        ("e" + "\u0301" * 3, "e" + "\u0301" * 3 + "\\+"),
        ("café cafe\u0301", "café cafe\u0301\\+"),
        ("o\u0323\u0302 ọ\u0302 ô\u0323 ộ", "o\u0323\u0302\\+ ọ\\u{302} ô\\u{323} ộ"),
        ("\u1100\u1161 가", "\u1100\u1161\\+ 가"),
        ("273 \u212a", "273 \\u{212A}"),
        ("क\u093c \u0958", "क\u093c \\u{958}"),
        ("e" + "\u0301" * 30, "e\\u{301*30}"),
        ("naïve 日本 😀", "naïve 日本 😀"),
    ],
)
def test_every_character_can_be_seen(raw, seen):
    """What a reader would miss is spelled or counted; the rest stays as it is."""
    assert visible(raw) == seen


def test_no_hidden_code_point_of_unicode_is_left():
    """Every code point of a hidden category is spelled, in every plane that has others than private or unassigned ones."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    every = "".join(map(chr, [*range(0x30000), *range(0xE0000, 0xE1000), sys.maxunicode]))

    left = {char for char in visible(every) if unicodedata.category(char) in hidden}

    assert left == {" ", "\n"}


@bounded(400)
@given(NASTY)
def test_what_is_seen_tells_exactly_what_is_there(raw):
    """The raw text can be read back from what is seen, so no two texts look alike."""
    assert _unseen(visible(raw)) == raw
    assert _unseen(one_line(raw)) == raw
    assert "\n" not in one_line(raw)


def test_no_letter_or_mark_that_is_drawn_as_nothing_is_left():
    """Fillers, joiners and variation selectors count as letters and marks, and would be seen no more than a zero width."""
    blank = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180d\u180f\u2800\u2d7f\u3164\ufe00\ufe0f\uffa0\ufffc"
    astral = "\U0001107f\U00016fe4\U0001d159\U000e0100\U000e01ef"

    for char in blank + astral:
        assert visible(f"a{char}b") == f"a\\u{{{ord(char):X}}}b"
        assert has_hidden(f"a{char}b")


EMOJI = [
    "👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d🚒", "🏴\u200d☠\ufe0f", "🏳\ufe0f\u200d🌈", "❤\ufe0f", "❤\ufe0f\u200d🔥", "☀\ufe0e", "1\ufe0f\u20e3",
    "👍🏿", "🇩🇪", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "🧑🏻\u200d🤝\u200d🧑🏿", "🕵\ufe0f\u200d♀\ufe0f", "⚡\ufe0f",
]  # fmt: skip


@pytest.mark.parametrize("emoji", EMOJI)
def test_emoji_are_drawn_as_they_are(emoji):
    """A family, a skin tone, a flag and a keycap hide nothing, wherever they are."""
    for text in (emoji, f"thanks {emoji}!", f"день{emoji}日{emoji}{emoji}"):
        assert visible(text) == text
        assert not has_hidden(text)


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("😀" + "\ufe0f" * 2, "😀\\u{FE0F}\\u{FE0F}"),
        ("❤" + "\ufe0f\ufe0e\ufe0f", "❤\ufe0f\\u{FE0E}\\u{FE0F}"),
        ("❤" + "\ufe0f" * 30, "❤\ufe0f\\u{FE0F*29}"),
        ("👨\u200d👩\u200d👧\u200d", "👨\u200d👩\u200d👧\\u{200D}"),
        ("😀\u200d😀", "😀\\u{200D}😀"),
        ("a\u200db", "a\\u{200D}b"),
        ("👨\u200d\u200d👩", "👨\\u{200D}\\u{200D}👩"),
        ("😀\U000e0068\U000e0069\U000e007f", "😀\\u{E0068}\\u{E0069}\\u{E007F}"),
        ("🏴\U000e0068\U000e0069\U000e007f", "🏴\\u{E0068}\\u{E0069}\\u{E007F}"),
        ("1\ufe0f", "1\\u{FE0F}"),
        ("x\ufe0f", "x\\u{FE0F}"),
    ],
)
def test_what_hides_beside_an_emoji_is_spelled(raw, seen):
    """Joiners, selectors and tags carry data where Unicode has no emoji for them."""
    assert visible(raw) == seen
    assert has_hidden(raw)


def _unseen(text: str) -> str:
    """Read visible text back: the inverse that proves nothing is lost."""

    def raw(match: re.Match[str]) -> str:
        code, count, spaces, lines = match["code"], match["count"], match["spaces"], match["lines"]
        if code:
            return chr(int(code, 16)) * int(count or 1)
        if spaces:
            return " " * int(spaces)
        if lines:
            return "\n" * (int(lines) + 1)
        return {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\+": ""}[match[0]]

    escape = (
        r"\\u\{(?P<code>[0-9A-F]+)(\*(?P<count>\d+))?\}|\\\{(?P<spaces>\d+) spaces\}"
        r"|(?:\n|\\n)\\\{(?P<lines>\d+) blank lines\}(?:\n|\\n)|\\\\|\\t|\\n|\\\+"
    )
    return re.sub(escape, raw, text)


def test_mrkdwn_takes_every_token_away():
    """No mention, link, channel or date survives, and text that is escaped already shows as it was."""
    assert mrkdwn("<!channel> <@U1> <https://evil|ok> &lt;") == (
        "&lt;!channel&gt; &lt;@U1&gt; &lt;https://evil|ok&gt; &amp;lt;"
    )


@pytest.mark.parametrize("amount", ["125000", "1 250 000", "restart"])
def test_clip_leaves_no_half_word_or_number(amount):
    """Half an amount reads as another amount: what is left is whole."""
    for before in range(40, 65):
        text = "pay EUR " + "." * (before - 8) + f" {amount} now" + "\nplease" * 30

        found = clip(text, 100).partition("…")[0]

        assert amount in found or found.rstrip().endswith(("EUR", "."))


@bounded(200)
@given(st.text(max_size=200), st.integers(4, 50))
def test_pieces_lose_nothing(text, size):
    """Pieces are within their size and add up to the text."""
    found = pieces(text, size)
    assert "".join(found) == text
    assert all(0 < units(piece) <= size for piece in found)


@pytest.mark.parametrize(
    "marks", ["\u0300\u0316", "\U0001d165\U0001d16d\u302e"], ids=["drawn over", "beside"]
)
def test_a_row_of_marks_of_any_length_is_written_before_anybody_waits(marks):
    """Unicode's own way to compare spellings sorts the marks of a letter, which takes minutes for so many."""
    text = "a" + marks * 150_000

    assert has_decomposed(text)
    assert visible(text) != visible(text[:-1])
    assert misread_words([text]) == misread_words([text[:-1]])


def test_clip_says_how_much_is_missing():
    """Nothing is ever cut silently."""
    assert clip("short", 40) == "short"
    assert clip("x" * 1_000, 100) == "x" * 60 + "… 940 more characters"


def test_head_keeps_a_letter_and_its_accent_together():
    """A cut between a letter and its combining mark would show another letter."""
    assert head("cafe\u0301s", 4) == "caf"
    assert head("ab😀", 3) == "ab"
