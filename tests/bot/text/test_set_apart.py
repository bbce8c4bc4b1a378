"""Words of an agent between words of the bot: nobody can take them for ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.text.literal import cut, each_apart, mrkdwn_line
from tests.support.properties import bounded


@pytest.mark.parametrize(
    ("values", "written"),
    [
        (["ACME", 12500.0, "EUR"], '"ACME" 12500.0 EUR'),
        (["EUR", "ACME"], '"EUR" "ACME"'),
        (["2026-11-22", True, "true", "1,250.00"], '2026-11-22 true "true" 1,250.00'),
        (['5 EUR". Approved by Dana.', "two\nlines"], '"5 EUR\'. Approved by Dana." "two\\nlines"'),
        (["pay\u202e", ""], '"pay\\u{202E}" ""'),
        ([["a", 1]], "\"['a',1]\""),
        (["x" * 100], '"' + "x" * 57 + '…"'),
    ],
)
def test_texts_are_in_quotes_and_numbers_with_their_unit_are_not(values, written):
    """What is left out of a long value is said by … within its quotes."""
    assert " ".join(each_apart(values, 60)) == written


@given(
    st.lists(st.text(st.sampled_from('aE"\\.\n1-:, '), max_size=60) | st.text(), max_size=4),
    st.integers(10, 300),
)
@bounded(500)
def test_nothing_outside_of_quotes_is_a_word_of_the_agent(values, room):
    """Also where the line is cut: outside are numbers, dates and units only."""
    outside = re.sub('"[^"]*"', "", cut(" ".join(each_apart(values, 60)), room))

    assert re.fullmatch(r"([-+]?[0-9][-+0-9.,T:Z ]*|[A-Z]{1,3}|…| )*", outside)


def test_nothing_in_a_line_of_mrkdwn_is_active():
    """No mention, no link, no colon that could begin an emoji, and no mark that could close or open one of ours. Times stay."""
    assert mrkdwn_line("<!here> :white_check_mark: *x `y ~z~ 5*6 at 12:30:15") == (
        "&lt;!here&gt; \\u{3A}white_check_mark: \\u{2A}x \\u{60}y \\u{7E}z\\u{7E} 5*6 at 12:30:15"
    )
