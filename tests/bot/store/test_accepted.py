"""What was accepted lately, and whether a record still has it."""

from dataclasses import replace

import pytest

from bot.store.accepted import MOST, Accepted, AcceptedLately

FINAL = Accepted("a.1", 0, "U0DANA", "click-1", 1_000, is_vote=False)
VOTE = Accepted("a.1", 0, "U0DANA", "click-1", 1_000, is_vote=True)


@pytest.mark.parametrize(
    ("accepted", "card", "is_there"),
    [
        (FINAL, {"d:0": "…", "t:0": "click-9 click-1"}, True),
        (FINAL, {"d:0": "…", "t:0": "click-2"}, False),
        (FINAL, {"d:1": "…", "t:1": "click-1"}, False),
        (FINAL, {}, False),
        (FINAL, {"votes:0": "U0DANA approve click-2 1500 {}"}, False),
        (VOTE, {"votes:0": "U0ERIK approve click-2 900 {}\nU0DANA approve click-1 1000 {}"}, True),
        (VOTE, {"votes:0": "U0ERIK approve click-2 1000 {}"}, False),
        (VOTE, {"d:0": "…", "t:0": "click-2 click-3"}, True),
        (VOTE, {"votes:0": "U0DANA reject click-2 1500 {}"}, True),
        (VOTE, {"votes:0": "U0DANA reject click-0 500 {}"}, False),
        (VOTE, {"out:0": "U0DANA 1200"}, True),
        (VOTE, {"out:0": "U0ERIK 1200\nU0DANA 800"}, False),
    ],
    ids=[
        "decided by it", "decided by another click", "another action is decided", "nothing is decided",
        "voted again since",
        "voted", "somebody else has voted", "decided without the vote", "voted otherwise since", "voted otherwise before",
        "taken out since", "taken out before",
    ],
)  # fmt: skip
def test_a_decision_is_there_when_the_record_has_it_or_what_came_after_it(accepted, card, is_there):
    """Otherwise its person is told that it does not count."""
    assert accepted.is_in(card) == is_there


def test_the_newest_decisions_are_remembered():
    """The older ones are forgotten, so the memory of a bot does not grow."""
    lately = AcceptedLately()
    for number in range(MOST + 10):
        lately.add(Accepted("a.1", number, "U0DANA", "click", 1, is_vote=False))

    [[remembered]] = lately.requests()
    assert len(remembered) == MOST
    assert remembered[-1].index == MOST + 9


def test_who_decides_after_two_minutes_lets_earlier_decisions_be_forgotten(monkeypatch):
    """No failover takes so long. While nobody decides, Redis may be away, and nothing is forgotten."""
    lately, now = AcceptedLately(), 0.0
    monkeypatch.setattr("bot.store.accepted.time.monotonic", lambda: now)
    lately.add(FINAL)
    now = 3_600.0
    assert lately.requests() == [[[FINAL]]]

    lately.add(later := replace(VOTE, token="click-2"))

    assert lately.requests() == [[[later]]]


def test_the_same_click_again_takes_back_nothing_that_an_agent_may_have_heard():
    """After a failover, a vote that was the last one that was needed may be one of two again."""
    lately = AcceptedLately()
    lately.add(replace(FINAL, may_have_run=True, was_last=True))
    lately.add(replace(VOTE, at=2_000))

    assert lately.requests() == [[[replace(FINAL, at=2_000, may_have_run=True, was_last=True)]]]
