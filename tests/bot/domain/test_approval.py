"""The record as the bot sees it: who is looking at a card, and what no outcome may repeat."""

from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.admission import Terms
from bot.domain.approval import CLAIMED, Assignment
from bot.domain.votes import Vote
from tests.support.builders import NOW, a_state, an_action, an_interrupt, edited

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
        marks={CLAIMED: {0: Assignment(ERIK, since, until=NOW + 20 * MINUTE)}},
        votes={0: (vote,)},
        now=NOW + 10 * MINUTE,
    )

    assert (state.assignment_at(0) is None) is is_over


def test_the_masks_of_every_call_of_the_batch_count_as_asked_and_as_it_ran():
    """One call may answer with what another was given, or with what only the edited call had."""
    interrupt = an_interrupt(an_action("login", {"password": "hunter22"}), an_action("pay", {"amount": 5}))
    masks = Terms(approvers=("U0ERIK",), mask=("password",))
    state = a_state(interrupt, own={0: masks}, decided={0: edited("login", password="another-key")})

    assert {*state.secrets} == {"hunter22", "another-key"}
