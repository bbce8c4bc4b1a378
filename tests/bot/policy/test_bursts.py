"""`burst: 5 in 1m`: after how many requests further ones join a queue."""

from datetime import timedelta

import pytest

from bot.domain.rules import Burst
from bot.policy.file import PolicyFileError, read_policy


def read(burst):
    text = f"default: {{channel: C0APPROVALS, approvers: [U0DANA], burst: {burst}}}\n"
    return read_policy(text, "policy.yaml").policy.default.burst


def test_a_burst_is_a_number_of_requests_in_a_time():
    """As people say it."""
    assert read("5 in 1m") == Burst(5, timedelta(minutes=1))
    assert read("20 in 1h") == Burst(20, timedelta(hours=1))


@pytest.mark.parametrize("burst", ["5", "5m", "0 in 1m", "101 in 1m", "5 in 2h", "5 in", "five in 1m", "[5]"])
def test_another_burst_is_refused_with_the_cure(burst):
    """The sentence says where, and what to write."""
    with pytest.raises(PolicyFileError, match=r"line 1: .*: write .* in "):
        read(burst)
