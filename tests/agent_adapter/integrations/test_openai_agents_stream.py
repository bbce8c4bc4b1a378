"""Streaming runs of the OpenAI Agents SDK through their pauses, and sessions."""

import asyncio
from contextlib import aclosing

import pytest
from agents import Runner, SQLiteSession, function_tool

from agent_adapter.errors import AgentAdapterError
from agent_adapter.integrations.openai_agents import PausedRun, run, stream
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, reject, respond
from tests.agent_adapter.integrations.desk import DONE, TURN, Desk, says
from tests.support.deciding import deciding

CANCEL = ("cancel_order", {"order": 7, "reason": "late"})
ANSWERS = {
    "send_email": edit({"to": "b@x.com", "body": ""}),
    "cancel_order": reject("no"),
    "ask_user": respond("staging"),
}


def names_of(events):
    """Give what happened to the run's items, in order."""
    return [event.name for event in events if event.type == "run_item_stream_event"]


async def test_a_stream_that_has_ended_has_the_result():
    """Calls, outputs and the last message came in one stream. The final output is what `run` would have returned, also after a pause; before the end, asking for it is an error."""
    desk = Desk()
    approvals = InMemoryApprovalClient(ScriptedReviewer(ANSWERS))
    streamed = stream(desk.agent(TURN, DONE), "go", approvals=approvals)

    with pytest.raises(AgentAdapterError, match="has not finished: iterate over its events"):
        _ = streamed.final_output
    names = names_of([event async for event in streamed])

    assert [names.count(name) for name in ("tool_called", "tool_output")] == [4, 4]
    assert names[-1] == "message_output_created"
    assert streamed.final_output == "done"
    assert len(streamed.result.to_input_list()) == 10


async def test_a_stream_that_is_left_stops_the_run_and_frees_the_question():
    """Nothing goes on behind the back of a caller who has gone."""
    desk, begun, ended = Desk(), asyncio.Event(), []

    @function_tool(needs_approval=True)
    async def think() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("think")
        return "thought"

    approvals = deciding(think=approve(), cancel_order=approve())
    agent = desk.agent(says(("think", {}), CANCEL), DONE, more=[think])
    paused = PausedRun.of(agent, await Runner.run(agent, "go"))
    interrupt = paused.interrupt(approvals)

    async def read():
        async with aclosing(stream(agent, paused, approvals=approvals)) as events:
            async for _ in events:
                pass

    reading = asyncio.create_task(read())
    await begun.wait()
    reading.cancel()
    await asyncio.wait([reading])

    async with asyncio.timeout(30):
        while not ended:
            await asyncio.sleep(0.01)
    async with approvals.reviewing(interrupt) as resume:
        assert len(resume.decisions) == 2


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_session_holds_everything_once(streamed):
    """The pause does not write an item twice, and the next run begins with all of it."""
    desk, session = Desk(), SQLiteSession("order-7")
    approvals = InMemoryApprovalClient(ScriptedReviewer(ANSWERS))
    agent = desk.agent(TURN, DONE)

    if streamed:
        _ = [event async for event in stream(agent, "go", approvals=approvals, session=session)]
    else:
        await run(agent, "go", approvals=approvals, session=session)

    items = await session.get_items()
    kinds = [item.get("type", "message") for item in items]
    assert kinds == ["message"] + ["function_call"] * 4 + ["function_call_output"] * 4 + ["message"]
    calls = [item["call_id"] for item in items if "call_id" in item]
    assert sorted(calls) == sorted(f"call_{n}" for n in (1, 2, 3, 4) for _ in range(2))
    session.close()
