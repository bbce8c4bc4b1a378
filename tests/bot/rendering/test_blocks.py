"""The blocks that cards and forms are made of."""

import pytest

from bot.rendering.blocks import json_size, literal_within

ROOM = 1_000


@pytest.mark.parametrize(
    "text", ["x" * 5_000, "line\n" * 1_000, '"' * 5_000], ids=["words", "lines", "escapes"]
)
def test_words_of_others_take_the_room_that_there_is_and_no_more(text):
    """However many characters of JSON each of theirs takes."""
    size = json_size(literal_within("told", text, ROOM))

    assert ROOM * 0.75 < size <= ROOM
