"""What agents and people write, as records keep it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.cipher import Cipher
from agent_adapter.errors import LockedRecordError
from agent_adapter.redis.scripts import opened
from tests.support.builders import a_key

NEW = a_key()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1)


@given(TEXTS)
def test_a_text_is_read_again_as_it_was_written(text):
    """Whatever it is: a text that looks encrypted, too."""
    cipher = Cipher([NEW])
    closed = cipher.close(text, record="billing.1", field="body")

    assert text not in closed or len(text) < 20
    assert opened(cipher, "billing.1", {"body": closed, "created": text}) == {"body": text, "created": text}


@given(LINE)
def test_the_words_before_a_text_stay(said):
    """A vote has its time before it, and what is in the text changes nothing about that."""
    cipher = Cipher([NEW])
    closed = cipher.close(said, record="billing.1", field="vote:0:U0")

    found = opened(cipher, "billing.1", {"vote:0:U0": f"17 approve t0 {closed}"})

    assert found == {"vote:0:U0": f"17 approve t0 {said}"}


@pytest.mark.parametrize("name", ["d:1", "vote:0:U1", "proposal:0", "body"])
def test_a_text_that_was_moved_to_another_field_is_not_read(name):
    """A decision about one action is none about another one, and nobody's vote."""
    cipher = Cipher([NEW])
    closed = cipher.close("{}", record="billing.1", field="d:0")

    with pytest.raises(LockedRecordError, match="for another place"):
        opened(
            cipher,
            "billing.1",
            {name: {"vote:0:U1": "1 a t ", "proposal:0": "n 1 p 1 "}.get(name, "") + closed},
        )
