"""Text of others is shown letter by letter, and never does anything."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.rendering.text import clip, has_hidden, head, mrkdwn, one_line, pieces, units, visible
from tests.bot.rendering.slack_side import bounded

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
        ("e" + "\u0301" * 3, "e" + "\u0301" * 3),
        ("e" + "\u0301" * 30, "e\\u{301*30}"),
        ("naïve 日本 😀", "naïve 日本 😀"),
    ],
)
def test_every_character_can_be_seen(raw, seen):
    """What a reader would miss is spelled or counted; the rest stays as it is."""
    assert visible(raw) == seen


def test_no_hidden_code_point_of_unicode_is_left():
    """Every code point of a hidden category is spelled, whichever block it is in."""
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    every = "".join(map(chr, range(sys.maxunicode + 1)))

    left = {char for char in visible(every) if unicodedata.category(char) in hidden}

    assert left == {" ", "\n"}


def test_no_letter_or_mark_that_is_drawn_as_nothing_is_left():
    """Fillers, joiners and variation selectors count as letters and marks, and would be seen no more than a zero width."""
    blank = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180d\u180f\u2800\u2d7f\u3164\ufe00\ufe0f\uffa0\ufffc"
    astral = "\U0001107f\U00016fe4\U0001d159\U000e0100\U000e01ef"

    for char in blank + astral:
        assert visible(f"a{char}b") == f"a\\u{{{ord(char):X}}}b"
        assert has_hidden(f"a{char}b")


@bounded(400)
@given(NASTY)
def test_what_is_seen_tells_exactly_what_is_there(raw):
    """The raw text can be read back from what is seen, so no two texts look alike."""
    assert _unseen(visible(raw)) == raw
    assert _unseen(one_line(raw)) == raw
    assert "\n" not in one_line(raw)


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
        return {"\\\\": "\\", "\\t": "\t", "\\n": "\n"}[match[0]]

    escape = (
        r"\\u\{(?P<code>[0-9A-F]+)(\*(?P<count>\d+))?\}|\\\{(?P<spaces>\d+) spaces\}"
        r"|(?:\n|\\n)\\\{(?P<lines>\d+) blank lines\}(?:\n|\\n)|\\\\|\\t|\\n"
    )
    return re.sub(escape, raw, text)


@pytest.mark.parametrize(
    "text", ["a\u200bb", "\u202eb", "x\r", "a\u00a0b", "e" + "\u0301" * 9, "\ufe0f", "\x00"]
)
def test_text_with_something_hidden_is_known(text):
    """A card can warn about it."""
    assert has_hidden(text)


@pytest.mark.parametrize("text", ["", "a b\nc\td", "naïve", "日本", "C:\\x", "e\u0301"])
def test_ordinary_text_hides_nothing(text):
    """Accents, other scripts, tabs and lines are no reason for a warning."""
    assert not has_hidden(text)


def test_mrkdwn_takes_every_token_away():
    """No mention, link, channel or date survives, and text that is escaped already shows as it was."""
    assert mrkdwn("<!channel> <@U1> <https://evil|ok> &lt;") == (
        "&lt;!channel&gt; &lt;@U1&gt; &lt;https://evil|ok&gt; &amp;lt;"
    )


def test_clip_says_how_much_is_missing():
    """Nothing is ever cut silently."""
    assert clip("short", 40) == "short"
    assert clip("x" * 1_000, 100) == "x" * 60 + "… 940 more characters"


@bounded(200)
@given(st.text(max_size=300), st.integers(40, 200))
def test_clip_keeps_to_its_size(text, size):
    """However Slack counts, a clipped text is within its limit."""
    assert units(clip(text, size)) <= size


@bounded(200)
@given(st.text(max_size=200), st.integers(4, 50))
def test_pieces_lose_nothing(text, size):
    """Pieces are within their size and add up to the text."""
    found = pieces(text, size)
    assert "".join(found) == text
    assert all(0 < units(piece) <= size for piece in found)


def test_head_keeps_a_letter_and_its_accent_together():
    """A cut between a letter and its combining mark would show another letter."""
    assert head("cafe\u0301s", 4) == "caf"
    assert head("ab😀", 3) == "ab"
