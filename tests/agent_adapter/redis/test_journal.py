"""For how long a process keeps what it writes."""

import pytest

from agent_adapter.errors import InvalidRequestError
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
