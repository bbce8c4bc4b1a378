"""Approvals without Redis and Slack, for the tests of your own agent.

async def test_agent_keeps_the_file_when_told_so():
    reviewer = ScriptedReviewer({"send_email": approve(), "delete_file": reject("we still need it")})
    approvals = InMemoryApprovalClient(reviewer)

    result = await run(agent, {"messages": [("user", "tidy up")]}, approvals=approvals, config=config)

    reviewer.assert_all_asked()
    assert approvals.asked[0].route.channel == "C0OFFICE"
    assert "keep" in result["messages"][-1].text
"""

from agent_adapter.testing.memory import (
    POLICY as POLICY,
    REVIEWER as REVIEWER,
    InMemoryApprovalClient as InMemoryApprovalClient,
)
from agent_adapter.testing.reviewers import (
    Answer as Answer,
    Reviewer as Reviewer,
    ScriptedReviewer as ScriptedReviewer,
    UnexpectedActionError as UnexpectedActionError,
    approve as approve,
    edit as edit,
    reject as reject,
    respond as respond,
)
