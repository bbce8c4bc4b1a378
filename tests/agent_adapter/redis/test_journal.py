"""For how long a process keeps what it writes."""

import pytest

from agent_adapter.errors import InvalidRequestError
from agent_adapter.redis import journal
from agent_adapter.redis.journal import Journal


def test_nothing_is_kept_unless_the_operator_says_so():
    """What a server does not know any more was mostly restored on purpose."""
    assert Journal.of(None).kept == 0.0


def test_the_operator_says_for_how_long(monkeypatch):
    """For agents, in their environment."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", "30")
    assert Journal.of(None).kept == 30.0


@pytest.mark.parametrize("given", ["-1", "601", "nan", "two minutes"])
def test_a_wrong_number_of_seconds_names_the_setting(monkeypatch, given):
    """The agent does not start, and its owner reads what to write."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", given)
    with pytest.raises(InvalidRequestError, match=r"ASSENT_REASSERT_SECONDS: .+ from 0 to 600"):
        Journal.of(None)


def test_what_was_written_before_a_long_outage_may_be_lost_also_after_a_connection_was_lost_again(
    monkeypatch,
):
    """Nothing is written while nobody answers. The same server that is reached anew has lost nothing more."""
    now = [0.0]
    monkeypatch.setattr(journal.time, "monotonic", lambda: now[0])
    kept = Journal()
    for now[0] in range(100, 401, 3):
        kept.note_outage(is_certain=False)
    kept.note_outage()

    assert kept.may_have_lost(age=310)
    assert not kept.may_have_lost(age=330)
    now[0] = 450.0
    kept.note_outage(is_certain=False)
    kept.note_same()
    assert kept.may_have_lost(age=360)
