"""A process ends at any point; another goes on with the same question, and nobody is asked twice."""

import asyncio
from contextlib import aclosing

import pytest

from agent_adapter.errors import ConsumedError
from agent_adapter.integrations.langgraph import stream
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, reject, respond
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    TURN,
    Office,
    answers_to_model,
    gated,
    run_thread,
)
from tests.support.scripted_model import says

GOOD = {"send_email": approve(), "delete_file": reject("keep it"), "ask_user": respond("staging")}


def nobody_may_be_asked(action, config):
    raise AssertionError(f"asked again about {action.name}")


async def test_failed_tool_is_tried_again_with_its_decision():
    """In per_call mode the call that failed is still pending: the person is not asked again, and the others do not run twice."""
    office = Office(breaks={"b"})
    approvals = InMemoryApprovalClient(
        ScriptedReviewer({"delete_file": [approve(), approve(), reject("keep c")]})
    )
    turn = says(*(("delete_file", {"path": path}) for path in "abc"))
    agent = office.agent(turn, DONE, mode="per_call", interrupt_on={"delete_file": True})
    with pytest.raises(OSError, match="cannot delete b"):
        await run_thread(agent, approvals)
    office.breaks.clear()
    approvals.reviewer = nobody_may_be_asked

    result = await run_thread(agent, approvals, None)

    assert len(approvals.asked) == 1
    assert sorted(args["path"] for _, args in office.ran) == ["a", "b", "b"]
    assert result["messages"][-1].content == "done"


@pytest.mark.parametrize("ends", ["fails", "is cancelled"])
async def test_run_that_ended_after_it_had_taken_the_answer_settles_the_question(ends):
    """The decisions are in the thread: it goes on later without the person, and nothing is resumed a second time."""
    approvals = InMemoryApprovalClient(ScriptedReviewer({"wait_long": approve()}))
    started, release = asyncio.Event(), asyncio.Event()

    async def wait_long() -> str:
        """Wait."""
        started.set()
        if ends == "fails" and not release.is_set():
            raise OSError("no disk")
        await release.wait()
        return "waited"

    agent = gated([wait_long], says(("wait_long", {})), DONE)
    running = asyncio.create_task(run_thread(agent, approvals))
    await started.wait()
    if ends == "is cancelled":
        running.cancel()
    with pytest.raises(OSError if ends == "fails" else asyncio.CancelledError):
        await running
    with pytest.raises(ConsumedError):
        async with approvals.resuming(approvals.asked[0].id):
            pass
    release.set()

    result = await run_thread(agent, approvals, None)

    assert answers_to_model(result)["call_1"] == ("success", "waited")
    assert len(approvals.reviewer.asked) == 1


async def test_stream_left_while_resuming_can_be_gone_on_with():
    """The claim is given back, so the same decisions still resume the thread."""
    office, asked = Office(), InMemoryApprovalClient(ScriptedReviewer(GOOD))
    agent = office.agent(TURN, DONE)

    settings = {"approvals": asked, "config": CONFIG, "stream_mode": ["tasks"]}
    async with aclosing(stream(agent, GO, **settings)) as chunks:
        async for _ in chunks:
            if asked.reviewer.asked:
                break
    result = await run_thread(agent, asked, None)

    assert result["messages"][-1].content == "done"
    assert len(asked.reviewer.asked) == 3
