"""A process notices that the clock of the Redis host was set, and takes no slow answer for it."""

import pytest

from bot.runtime.host_clock import Look, apart


@pytest.mark.parametrize(
    ("at", "asked", "answered", "is_step"),
    [
        (10_000, 10.0, 10.01, False),
        (10_400, 10.0, 10.01, False),
        (3_610_000, 10.0, 10.01, True),
        (-3_590_000, 10.0, 10.01, True),
        (13_000, 10.0, 10.01, True),
        (13_000, 10.0, 13.5, False),
        (60_000, 60.0, 60.01, False),
    ],
    ids=["in step", "a little off", "an hour ahead", "an hour back", "three seconds", "a slow answer", "a long pause"],
)  # fmt: skip
def test_a_step_is_what_neither_time_nor_a_slow_answer_explains(at, asked, answered, is_step):
    """Compared with the look before, ten seconds earlier in most of these."""
    assert Look(at, asked, answered).stepped_since(Look(0, 0.0, 0.01)) is is_step


@pytest.mark.parametrize(
    ("at", "says"), [(104.9, ""), (95.1, ""), (160, "60 seconds ahead of"), (40, "60 seconds behind")]
)
def test_clocks_that_are_more_than_some_seconds_apart_are_named(at, says):
    """Deadlines are by the clock of Redis, and people read theirs."""
    said = apart(at, 100)
    assert (said.startswith(f"the clock of Redis is {says}"), bool(said)) == (bool(says), bool(says))
