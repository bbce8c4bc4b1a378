"""The record as the bot sees it: who is looking at a card."""

from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.approval import Assignment
from bot.domain.votes import Vote
from tests.support.builders import NOW, a_state

DANA, ERIK = "U0DANA", "U0ERIK"
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("voter", "after", "is_over"),
    [(ERIK, MINUTE, True), (ERIK, -MINUTE, False), (DANA, MINUTE, False)],
    ids=["their vote", "their vote from before", "a vote of somebody else"],
)
def test_an_assignment_ends_with_the_vote_of_its_holder(voter, after, is_over):
    """Erik is looking at it since five minutes; what he said before, or what others say, ends nothing."""
    since = NOW + 5 * MINUTE
    vote = Vote(voter, "approve", ApproveDecision(), at=str(int((since + after).timestamp() * 1000)))
    state = a_state(
        assignments={0: Assignment(ERIK, since, until=NOW + 20 * MINUTE)},
        votes={0: (vote,)},
        now=NOW + 10 * MINUTE,
    )

    assert (state.assignment_at(0) is None) is is_over
