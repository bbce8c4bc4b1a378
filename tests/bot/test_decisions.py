"""What speaks against a decision, whatever button it came from."""

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from bot.decisions import first_objection
from tests.support.builders import a_state, an_action, an_interrupt


@pytest.mark.parametrize("decision", [ApproveDecision(always=True), RejectDecision(always=True)])
def test_a_decision_for_the_whole_run_needs_an_agent_that_can_keep_it(decision):
    """Where the agent asks about one call only, nobody decides about later ones."""
    once = a_state(an_interrupt(an_action()))
    later = a_state(an_interrupt(an_action(allow_always=True)))

    assert "asks about this one call of action 1 only" in first_objection(once, "U0ERIK", {0: decision})
    assert not first_objection(later, "U0ERIK", {0: decision})
