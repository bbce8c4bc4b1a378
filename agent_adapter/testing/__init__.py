"""Approvals without Redis and Slack, for the tests of your own agent.

async def test_agent_keeps_the_file_when_told_so():
    reviewer = ScriptedReviewer({"send_email": approve(), "delete_file": reject("we still need it")})
    approvals = InMemoryApprovalClient(reviewer)

    result = await run(agent, {"messages": [("user", "tidy up")]}, approvals=approvals, config=config)

    reviewer.assert_all_asked()
    assert approvals.asked[0].route.channel == "C0OFFICE"
    assert "keep" in result["messages"][-1].text
"""

from agent_adapter.testing.memory import POLICY, REVIEWER, InMemoryApprovalClient
from agent_adapter.testing.reviewers import (
    Answer,
    Reviewer,
    ScriptedReviewer,
    UnexpectedActionError,
    approve,
    edit,
    reject,
    respond,
)

__all__ = [
    "POLICY",
    "REVIEWER",
    "Answer",
    "InMemoryApprovalClient",
    "Reviewer",
    "ScriptedReviewer",
    "UnexpectedActionError",
    "approve",
    "edit",
    "reject",
    "respond",
]
