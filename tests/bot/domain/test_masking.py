"""What the policy masks: an edit never touches it, and nothing of it is left in what an agent says."""

import pytest

from bot.domain.masking import MAX_SCRUBBING, masked_change, scrub_all
from bot.sentences import in_text

ASKED = {"to": "dana", "card": {"pin": "1234", "name": "Dana"}}


@pytest.mark.parametrize(
    ("edited", "touched"),
    [
        (ASKED, None),
        ({"to": "erik", "card": {"pin": "1234", "name": "Erik"}}, None),
        ({"to": "dana", "card": {"pin": "9999", "name": "Dana"}}, "pin"),
        ({"to": "dana", "card": {"name": "Dana"}}, "pin"),
        ({"to": "dana", "pin": "1234", "card": {"name": "Dana"}}, "pin"),
        ({**ASKED, "others": [{"pin": "9999"}]}, "pin"),
    ],
    ids=["as it was", "something else changed", "changed", "taken away", "moved", "one more"],
)
def test_an_edit_that_touches_what_is_masked_is_noticed(edited, touched):
    """At any depth: whoever agrees with the edit could not see it."""
    assert masked_change(ASKED, edited, ["pin"]) == touched


def test_an_edit_that_brings_in_what_is_masked_is_noticed():
    """Nothing of the call was masked before."""
    assert masked_change({"to": "dana"}, {"to": "dana", "pin": "9999"}, ["pin"]) == "pin"


def test_nothing_is_said_where_looking_for_what_is_masked_would_take_too_long():
    """However short the texts are: to look into each of them costs something."""
    secrets = [f"secret {number}" for number in range(1000)]
    few, many = [["abc"] * count for count in (10, MAX_SCRUBBING // len(secrets) // 20)]

    assert scrub_all(few, secrets) == few
    assert scrub_all(many, secrets) == in_text.TOO_MANY_MASKED
