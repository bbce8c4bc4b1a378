"""An agent takes the answer and dies: people and operators see that its run did not go on."""

import asyncio
import os
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from agent_adapter import Context
from tests.acceptance.test_http_api import read
from tests.conftest import an_agent
from tests.support.builders import an_interrupt
from tests.support.http_api import a_key, speaking
from tests.support.people import Someone, words
from tests.support.redis_users import address_for

ROOT = Path(__file__).parents[2]
LAPSED = "the agent took the answer and did not finish"
ASKED = an_interrupt(context=Context())


@pytest.fixture
async def bot(start_bot):
    return await start_bot()


@pytest.fixture
def dana(slack, bot):
    return Someone(slack, "U0DANA")


async def approved(client, dana):
    """Ask about one action, which is approved."""
    interrupt_id = await client.publish(ASKED)
    await dana.press(await dana.card("wants to run"), "approve:0")
    await client.wait(interrupt_id)
    return interrupt_id


async def take(client, interrupt_id):
    """Do what a process does that is killed right after it has taken the answer."""
    await client._records.take(interrupt_id, client._records.new_owner(), 1_000)


@pytest.mark.usefixtures("known_agent")
async def test_card_and_api_say_that_an_agent_took_the_answer_and_died(bot, dana, client, redis_url):
    """Whoever looks is told that what was approved may have run; when another process goes on, the card says that."""
    interrupt_id = await approved(client, dana)
    await dana.card("waiting for the agent")
    await take(client, interrupt_id)

    card = await dana.card(LAPSED)

    assert "what was approved may have run" in words(card["blocks"])
    async with speaking(bot.port, await a_key(redis_url)) as caller:
        state = await read(caller, interrupt_id)
        assert (state["status"], state["resumed_at"]) == ("decided", None)
        assert state["claim_lapsed_at"] is not None
        async with an_agent(redis_url) as other, other.resuming(interrupt_id, interrupt=ASKED):
            await dana.card("waiting for the agent")
            assert (await read(caller, interrupt_id))["claim_lapsed_at"] is None
        await dana.card("the agent has resumed")
        assert (await read(caller, interrupt_id))["claim_lapsed_at"] is None


async def test_second_process_that_dies_is_shown_as_the_first_was(dana, client):
    """Each claim that nobody finishes is noted."""
    interrupt_id = await approved(client, dana)
    for _ in range(2):
        await take(client, interrupt_id)
        await dana.card(LAPSED)
        async with client.resuming(interrupt_id, interrupt=ASKED):
            await dana.card("waiting for the agent")
            break


async def test_agent_that_takes_longer_than_its_claim_is_not_called_dead(bot, dana, client):
    """It renews its claim while it works."""
    interrupt_id = await approved(client, dana)

    async with client.resuming(interrupt_id, interrupt=ASKED):
        await asyncio.sleep(3)
        assert not (await bot.store.load(interrupt_id)).claim_has_lapsed

    await dana.card("the agent has resumed")


async def test_agent_that_gives_the_answer_back_is_not_called_dead(bot, dana, client):
    """An error in its run is no death: the answer waits for the next attempt."""
    interrupt_id = await approved(client, dana)
    with pytest.raises(OSError, match="disk full"):
        async with client.resuming(interrupt_id, interrupt=ASKED):
            raise OSError("disk full")

    await asyncio.sleep(2)

    state = await bot.store.load(interrupt_id)
    assert (state.claim_has_lapsed, state.claimed_until) == (False, None)
    async with client.resuming(interrupt_id, interrupt=ASKED):
        pass
    async with asyncio.timeout(30):
        while (await bot.store.owed())["due"]:
            await asyncio.sleep(0.01)


DIES = {
    "a plain function": """
        async def run(client):
            await functions.run(pay, {"amount": 5}, approvals=client)
    """,
    "LangGraph": """
        async def run(client):
            review = HumanInTheLoopMiddleware({"pay": True})
            turns = (says(("pay", {"amount": 5})), says(text="done"))
            graph = create_agent(ScriptedModel(turns=turns), [pay], middleware=[review], checkpointer=InMemorySaver())
            config = {"configurable": {"thread_id": "t"}}
            await langgraph.run(graph, {"messages": [("user", "go")]}, approvals=client, config=config)
    """,
    "the OpenAI Agents SDK": """
        async def run(client):
            model = SdkModel([[function_call("pay", {"amount": 5}, call_id="call_1")], [assistant_message("done")]])
            agent = Agent(name="desk", model=model, tools=[function_tool(needs_approval=True)(pay)])
            await openai_agents.run(agent, "go", approvals=client)
    """,
}
"""Programs whose process dies inside of the approved tool."""

PROGRAM = """
import asyncio, os, sys
from datetime import timedelta
from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel as SdkModel, assistant_message, function_call
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from agent_adapter import ApprovalClient
from agent_adapter.integrations import functions, langgraph, openai_agents
from tests.support.scripted_model import ScriptedModel, says

set_tracing_disabled(True)

async def pay(amount: int) -> str:
    '''Pay.'''
    os._exit(9)

async def main():
    lease = timedelta(seconds=1)
    async with ApprovalClient.from_url(sys.argv[1], agent="billing", claim_lease=lease) as client:
        await run(client)
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("program", DIES.values(), ids=DIES)
async def test_process_that_dies_in_the_approved_tool_is_said_so(bot, dana, redis_url, program):
    """Nobody reports the call, so its card neither says that it is done nor that the agent has gone on."""
    text = f"{PROGRAM}\n{dedent(program)}\nasyncio.run(main())\n"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        text,
        address_for(redis_url, "agent", "billing"),
        cwd=ROOT,
        env={name: os.environ[name] for name in ("PATH", "ASSENT_RING")},
    )
    try:
        await dana.press(await dana.card("pay", within=60), "approve:0")
        assert await asyncio.wait_for(process.wait(), 60) == 9
    finally:
        if process.returncode is None:
            process.kill()

    card = await dana.card(LAPSED, within=60)

    assert not card["blocks"][0]["text"]["text"].endswith("done")
