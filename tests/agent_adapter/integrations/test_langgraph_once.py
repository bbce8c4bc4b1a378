"""One thread, several callers: what was approved runs once, and an old answer resumes nothing."""

import asyncio
import operator
from contextlib import aclosing
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from agent_adapter.errors import ClaimedError, ConsumedError
from agent_adapter.integrations.langgraph import run, stream
from agent_adapter.testing import approve
from agent_adapter.worker.langgraph import ResumableGraph
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, MAIL, Office, run_thread
from tests.conftest import an_agent
from tests.support.deciding import deciding
from tests.support.faults import CHANNEL, eventually
from tests.support.people import Someone, words
from tests.support.scripted_model import ScriptedModel, says
from tests.support.workers import working


class Till:
    """An agent whose tool takes as long as the test wants."""

    def __init__(self):
        self.ran: list[int] = []
        self.began, self.goes_on = asyncio.Event(), asyncio.Event()

    def agent(self, saver, *, mode="batched"):
        async def refund(order: int) -> str:
            """Pay back."""
            self.ran.append(order)
            self.began.set()
            await self.goes_on.wait()
            return "refunded"

        return create_agent(
            ScriptedModel(turns=[says(("refund", {"order": 7})), DONE]),
            [refund],
            middleware=[HumanInTheLoopMiddleware({"refund": True}, interrupt_mode=mode)],
            checkpointer=saver,
        )


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


async def through_run(graph, input, **settings):
    await run(graph, input, **settings)


async def through_stream(graph, input, **settings):
    async with aclosing(stream(graph, input, **settings)) as chunks:
        async for _ in chunks:
            pass


@pytest.mark.parametrize("go", [through_run, through_stream])
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


async def test_stream_that_is_left_early_frees_the_thread():
    """Somebody stops reading while the graph runs; the next caller goes on."""
    till = Till()
    graph, approvals = a_release(till), deciding(approve())
    settings = {"approvals": approvals, "config": CONFIG, "dialect": "boolean"}
    till.goes_on.set()
    async with aclosing(stream(graph, {}, **settings)) as chunks:
        async for chunk in chunks:
            if "ask" in chunk or "__interrupt__" not in chunk:
                break
    await run(graph, None, **settings)
    assert (await graph.aget_state(CONFIG)).values["done"] == ["released"]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_second_process_finds_the_thread_in_use(start_bot, slack, redis_url, mode):
    """It calls `run` with None while the first one's approved tool runs, for longer than a lease: the tool runs once."""
    await start_bot()
    till, saver, dana = Till(), InMemorySaver(), Someone(slack, "U0DANA")
    async with an_agent(redis_url) as one, an_agent(redis_url) as two:
        first = asyncio.create_task(run_thread(till.agent(saver, mode=mode), one))
        await dana.press(await dana.card("refund"), "approve:0")
        await asyncio.wait_for(till.began.wait(), 60)
        for _ in range(4):
            with pytest.raises((ClaimedError, ConsumedError)):
                await asyncio.wait_for(run_thread(till.agent(saver, mode=mode), two, None), 10)
            await asyncio.sleep(0.5)
        till.goes_on.set()
        await asyncio.wait_for(first, 60)
    assert till.ran == [7]


async def test_cancelled_run_leaves_its_thread_to_one_of_two(start_bot, slack, redis_url):
    """A process is shut down inside a tool, and two start in its place: one of them goes on."""
    await start_bot()
    till, saver, dana = Till(), InMemorySaver(), Someone(slack, "U0DANA")
    async with an_agent(redis_url) as one, an_agent(redis_url) as two:
        first = asyncio.create_task(run_thread(till.agent(saver), one))
        await dana.press(await dana.card("refund"), "approve:0")
        await asyncio.wait_for(till.began.wait(), 60)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        till.began.clear()
        both = [asyncio.create_task(run_thread(till.agent(saver), client, None)) for client in (one, two)]
        ended, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED, timeout=10)
        assert [type(task.exception()) for task in ended] == [ClaimedError]
        await asyncio.wait_for(till.began.wait(), 60)
        till.goes_on.set()
        await asyncio.wait(both, timeout=10)
    assert till.ran == [7, 7]


async def test_start_finds_the_thread_that_a_worker_runs_in_use(start_bot, slack, redis_url):
    """`start` with None while a worker is inside the approved tool runs nothing."""
    await start_bot()
    till, saver, dana = Till(), InMemorySaver(), Someone(slack, "U0DANA")
    async with an_agent(redis_url) as one, an_agent(redis_url) as two:
        here, there = (ResumableGraph("till", till.agent(saver), version="1") for _ in range(2))
        await there.start(GO, approvals=two, config=CONFIG)
        async with working(one, here):
            await dana.press(await dana.card("refund"), "approve:0")
            await asyncio.wait_for(till.began.wait(), 60)
            with pytest.raises(ClaimedError, match="free again within"):
                await there.start(None, approvals=two, config=CONFIG)
            till.goes_on.set()
            await eventually(lambda: _has_ended(here))
    assert till.ran == [7]


async def _has_ended(resumable):
    return not (await resumable.graph.aget_state(CONFIG)).next


async def went_on_without(slack, card):
    """Tell whether the card, and not only the reply below it, says that nothing was resumed."""
    (shown,) = [message for message in await slack.messages(CHANNEL) if message["ts"] == card["ts"]]
    text = words(shown["blocks"])
    return "the agent could not go on" in text and "went on without this answer" in text


async def test_answer_of_a_thread_that_went_on_resumes_nothing(start_bot, slack, client):
    """The user writes again while a card is open; its answer comes too late, and the card says so."""
    await start_bot()
    office, dana = Office(), Someone(slack, "U0DANA")
    agent = office.agent(says(("send_email", MAIL)), says(text="never mind"), DONE)
    first = asyncio.create_task(run_thread(agent, client))
    card = await dana.card("send_email")
    await run_thread(agent, client, {"messages": [("user", "forget it")]})
    await dana.press(card, "approve:0")
    with pytest.raises(ConsumedError, match="went on without this answer"):
        await asyncio.wait_for(first, 60)

    await eventually(lambda: went_on_without(slack, card))
    assert not office.ran


@pytest.mark.parametrize("by_hand", [{"type": "reject"}, {"type": "approve"}])
async def test_worker_says_on_the_card_that_its_answer_came_too_late(start_bot, slack, client, by_hand):
    """Somebody resumes the thread by hand while a card is open: no worker resumes it, nor does its card say so."""
    await start_bot()
    office, dana = Office(), Someone(slack, "U0DANA")
    agent = office.agent(says(("send_email", MAIL)), DONE)
    resumable = ResumableGraph("office", agent, version="1")
    await resumable.start(GO, approvals=client, config=CONFIG)
    card = await dana.card("send_email")
    await agent.ainvoke(Command(resume={"decisions": [by_hand]}), CONFIG)
    ran = office.names()
    async with working(client, resumable):
        await dana.press(card, "approve:0")
        await eventually(lambda: went_on_without(slack, card))

    assert office.names() == ran
