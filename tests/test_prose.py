"""The documentation is written in short sentences."""

import pytest

from tests.support.prose import MOST, ROOT, average, pages, sentences


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_sentences_of_a_page_are_short_on_average(page):
    """A tired reader whose first language is another gets through; the longest sentences are named."""
    found = sentences(page.read_text(encoding="utf-8"))
    longest = sorted(found, key=lambda each: -each.words)[:5]

    assert average(found) <= MOST, [
        f"line {each.line}: {each.words} words: {each.text[:70]}…" for each in longest
    ]


def test_a_sentence_is_counted_as_it_is_read():
    """Code is one word, a link is its text; headings, fenced code and short table cells do not count."""
    text = "# Title of it\n\nRun `make a b c` first. See [the page](x.md)\nof rules.\n\n```text\nno words here at all\n```\n\n- One item of three.\n| not a sentence | A cell of five words. |\n"

    assert [sentence.words for sentence in sentences(text)] == [3, 5, 4, 5]
