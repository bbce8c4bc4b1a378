"""Edits that would run as something else are refused, and a finished thread stays as it is."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, field_validator

from agent_adapter.errors import DecisionNotAllowedError
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, respond
from tests.agent_adapter.integrations.office import DONE, TURN, Office, run_thread
from tests.support.deciding import deciding
from tests.support.scripted_model import ScriptedModel, says

GOOD = {"send_email": approve(), "delete_file": approve(), "ask_user": respond("staging")}


class Payment(BaseModel):
    to: str
    cents: int = 1
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    call: Annotated[str, InjectedToolCallId]

    @field_validator("to")
    @classmethod
    def tidy(cls, to: str) -> str:
        """Take one form of each name."""
        return to.strip().lower()


def paying(paid, **asked):
    """Make an agent that asks to pay, with a tool that changes what it is given."""

    @tool(args_schema=Payment)
    def pay(to: str, cents: int, at: datetime, call: Annotated[str, InjectedToolCallId]) -> str:
        """Pay somebody."""
        paid.append((to, cents))
        return "paid"

    review = HumanInTheLoopMiddleware({"pay": True})
    model = ScriptedModel(turns=[says(("pay", asked)), DONE])
    return create_agent(model, [pay], middleware=[review], checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    ("args", "place"),
    [
        ({"to": " ADMIN", "cents": 5}, "to"),
        ({"to": "al", "cents": "5"}, "cents"),
        ({"to": "al", "cents": 5, "limit": 10}, "limit"),
    ],
)
async def test_an_edit_that_the_tool_would_turn_into_another_value_is_refused(args, place):
    """The tool reads its arguments with a model of its own; what it would make of the edit is not what was approved."""
    paid = []
    agent = paying(paid, to="bo", cents=1)
    approvals = deciding(pay=edit(args))

    with pytest.raises(
        DecisionNotAllowedError,
        match=rf"edited pay does not fit its tool: args\.{place}: its type .*; nothing was resumed",
    ):
        await run_thread(agent, approvals)

    assert paid == []


async def test_an_edit_leaves_what_it_does_not_touch_to_the_tool():
    """The model wrote the name and the time in its own way: the tool is called with them, as in a call without an edit."""
    paid, at = [], "2026-11-21T12:00+00:00"
    agent = paying(paid, to=" Bo", cents=1, at=at)
    approvals = deciding(pay=edit({"to": " Bo", "cents": 7, "at": at}))

    await run_thread(agent, approvals)

    assert paid == [("bo", 7)]


async def test_a_finished_thread_is_not_run_again():
    """`input=None` on a thread without a pause asks nobody and runs no tool twice."""
    office = Office()
    agent = office.agent(TURN, DONE)
    approvals = InMemoryApprovalClient(ScriptedReviewer(GOOD))
    await run_thread(agent, approvals)
    before = list(office.ran)

    await run_thread(agent, approvals, None)

    assert office.ran == before
    assert len(approvals.reviewer.asked) == 3
