"""One thread, several callers: what was approved runs once, and an old answer resumes nothing."""

import asyncio
import operator
from contextlib import AsyncExitStack
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from agent_adapter.errors import ClaimedError, ConsumedError
from agent_adapter.integrations.langgraph import run
from agent_adapter.redis.pool import open_redis
from agent_adapter.testing import ScriptedReviewer, approve
from agent_adapter.worker.langgraph import ResumableGraph
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    MAIL,
    Office,
    gated,
    run_thread,
    run_through_stream,
)
from tests.support.deciding import deciding, person
from tests.support.faults import eventually
from tests.support.scripted_model import says
from tests.support.workers import a_client, decide, ids, working


class Till:
    """An agent whose tool takes as long as the test wants."""

    def __init__(self):
        self.ran: list[int] = []
        self.began, self.goes_on = asyncio.Event(), asyncio.Event()

    def agent(self, saver):
        async def refund(order: int) -> str:
            """Pay back."""
            self.ran.append(order)
            self.began.set()
            await self.goes_on.wait()
            return "refunded"

        return gated([refund], says(("refund", {"order": 7})), DONE, saver=saver)


class Release(TypedDict):
    go: bool
    done: Annotated[list[Any], operator.add]


def a_release(till):
    """Give a graph that asks in one node and acts in the next."""

    async def act(state):
        till.ran.append(1)
        till.began.set()
        await till.goes_on.wait()
        return {"done": ["released"]}

    builder = StateGraph(Release)
    builder.add_node("ask", lambda state: {"go": interrupt("Release?")}).add_node("act", act)
    return builder.add_edge(START, "ask").add_edge("ask", "act").compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("go", [run, run_through_stream])
@pytest.mark.parametrize("input", [None, {}])
async def test_nobody_else_runs_a_thread_while_its_graph_runs(go, input):
    """A second call finds the thread in use, whether it goes on with it or has new input."""
    till = Till()
    graph, approvals = a_release(till), deciding(approve())
    settings = {"approvals": approvals, "config": CONFIG, "dialect": "boolean"}
    first = asyncio.create_task(go(graph, {}, **settings))
    await asyncio.wait_for(till.began.wait(), 60)
    with pytest.raises(ClaimedError):
        await asyncio.wait_for(go(graph, input, **settings), 60)
    till.goes_on.set()
    await first
    await run(graph, None, **settings)
    assert till.ran == [1]


async def renewed(redis_url, times):
    """Wait until the right to run the thread was renewed so often."""
    async with open_redis(redis_url) as redis, asyncio.timeout(60):
        (key,) = await redis.keys("{assent}:thread:*")
        for _ in range(times):
            left = await redis.pttl(key)
            while (now := await redis.pttl(key)) <= left:
                left = now
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", ["run", "worker"])
async def test_another_process_finds_the_thread_in_use(redis_url, kind):
    """It goes on with the thread while a process, or a worker, is inside the approved tool for longer than a lease: the tool runs once."""
    till, saver = Till(), InMemorySaver()
    async with (
        person(redis_url, ScriptedReviewer([approve()])), a_client(redis_url) as one, a_client(redis_url) as two, AsyncExitStack() as stack
    ):  # fmt: skip
        here, there = (ResumableGraph("till", till.agent(saver), version="1") for _ in range(2))
        if kind == "worker":
            await there.start(GO, approvals=two, config=CONFIG)
            await stack.enter_async_context(working(one, here))
        else:
            first = asyncio.create_task(run_thread(here.graph, one))
        await asyncio.wait_for(till.began.wait(), 60)
        for _ in range(2):
            with pytest.raises((ClaimedError, ConsumedError)):
                await asyncio.wait_for(run_thread(there.graph, two, None), 60)
            with pytest.raises((ClaimedError, ConsumedError)):
                await asyncio.wait_for(there.start(None, approvals=two, config=CONFIG), 60)
            await renewed(redis_url, 2)
        till.goes_on.set()
        await (eventually(lambda: has_ended(here.graph)) if kind == "worker" else first)
    assert till.ran == [7]


async def has_ended(graph):
    return not (await graph.aget_state(CONFIG)).next


async def test_answer_of_a_thread_that_went_on_resumes_nothing(client, store):
    """The user writes again while a card is open; its answer comes too late, and the record says so."""
    office = Office()
    agent = office.agent(says(("send_email", MAIL)), says(text="never mind"), DONE)
    first = asyncio.create_task(run_thread(agent, client))
    (interrupt_id,) = await eventually(lambda: ids(store))
    await run_thread(agent, client, {"messages": [("user", "forget it")]})
    await decide(store, interrupt_id)
    with pytest.raises(ConsumedError, match="went on without this answer"):
        await asyncio.wait_for(first, 60)

    assert "went on without this answer" in (await store.load(interrupt_id)).stalled
    assert not office.ran
