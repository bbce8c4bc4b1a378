"""Streaming through pauses gives the graph's own chunks."""

from contextlib import aclosing

import pytest

from agent_adapter.integrations.langgraph import stream
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office, run_thread
from tests.support.scripted_model import says

ANSWERS = {"send_email": approve(), "delete_file": reject("no"), "ask_user": respond("staging")}


def approvals():
    return InMemoryApprovalClient(ScriptedReviewer(ANSWERS))


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_stream_goes_through_every_round(mode):
    """One iteration, several pauses, the last chunk is the end of the run."""
    office = Office()
    turns = [says(("delete_file", {"path": path})) for path in ("a", "b")]
    reviewer = ScriptedReviewer({"delete_file": approve()})

    chunks = [
        chunk
        async for chunk in stream(
            office.agent(*turns, DONE, mode=mode),
            GO,
            approvals=InMemoryApprovalClient(reviewer),
            config=CONFIG,
            stream_mode="updates",
        )
    ]

    assert [action.args["path"] for action in reviewer.asked] == ["a", "b"]
    assert office.ran == [("delete_file", {"path": "a"}), ("delete_file", {"path": "b"})]
    assert sum("__interrupt__" in chunk for chunk in chunks) == 2
    assert [chunk["model"]["messages"][0].content for chunk in chunks if "model" in chunk] == ["", "", "done"]


async def test_stream_of_a_paused_thread_starts_with_its_question():
    """`input=None` asks at once, without running the paused node again."""
    office = Office()
    agent = office.agent(TURN, DONE)
    await agent.ainvoke(GO, CONFIG)

    chunks = [
        chunk
        async for chunk in stream(agent, None, approvals=approvals(), config=CONFIG, stream_mode="updates")
    ]

    assert not any("__interrupt__" in chunk for chunk in chunks)
    assert office.names() == ["read_file", "send_email"]


async def test_stream_left_while_resuming_can_be_gone_on_with():
    """The claim is given back, so the same decisions still resume the thread."""
    office, asked = Office(), approvals()
    agent = office.agent(TURN, DONE)

    settings = {"approvals": asked, "config": CONFIG, "stream_mode": ["tasks"]}
    async with aclosing(stream(agent, GO, **settings)) as chunks:
        async for _ in chunks:
            if asked.reviewer.asked:
                break
    result = await run_thread(agent, asked, None)

    assert result["messages"][-1].content == "done"
    assert len(asked.reviewer.asked) == 3
