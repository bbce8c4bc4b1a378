"""With every framework that runs its tools in our process, the card says what became of them, without a line of the user's."""

import asyncio

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter.integrations import openai_agents
from agent_adapter.integrations.langgraph import run
from tests.acceptance.test_deepagents import Team, mail, task
from tests.agent_adapter.integrations import desk
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office
from tests.conftest import an_agent
from tests.support.people import Someone, words
from tests.support.redis_users import address_for
from tests.support.scripted_model import says
from tests.support.workers import Notes, a_graph, an_openai_agent, thread, working


@pytest.fixture
async def dana(start_bot, slack):
    await start_bot()
    return Someone(slack, "U0DANA")


@pytest.fixture
async def worker(redis_url):
    """The client of a worker, with a worker's rights in Redis."""
    async with an_agent(address_for(redis_url, "worker", "billing")) as client:
        yield client


def title_of(card):
    return card["blocks"][0]["text"]["text"]


async def test_langchain_says_which_call_failed(dana, client):
    """Two run side by side, and one of them raises: the run fails, and both calls are known."""
    office = Office(breaks={"report.txt"})
    running = asyncio.create_task(run(office.agent(TURN, DONE), GO, approvals=client, config=CONFIG))
    card = await dana.card("if nobody")
    await dana.press(card, "approve_all:0")
    await dana.fill(await dana.opened(card, "respond:2"), Your_answer="staging")
    with pytest.raises(OSError, match="cannot delete"):
        await running

    card = await dana.card("cannot delete report.txt")

    assert title_of(card).startswith("❌ 1 of 2 failed: ")
    assert "the agent has resumed" not in words([card["blocks"][0]])


async def test_deepagents_says_what_a_subagent_did(dana, client):
    """The tool that started the subagent has stopped meanwhile for a question, so nobody knows when it ends."""
    team = Team()
    mailer = team.member("mailer", mail("al"))
    lead = team.lead(
        says(task("mailer")), subagents=[mailer], interrupt_on={"send_email": True, "task": True}
    )
    running = asyncio.create_task(run(lead, GO, approvals=client, config=CONFIG))
    await dana.press(await dana.card("billing: task"), "approve:0")
    await dana.press(await dana.card("billing: send_email"), "approve:0")
    await running

    assert title_of(await dana.card("sent to al")).endswith(", done")
    assert not title_of(await dana.card("task")).endswith("done")


async def test_the_openai_agents_sdk_says_what_its_tools_did(dana, client):
    team = desk.Desk().agent(desk.says(("send_email", desk.MAIL)), desk.DONE)
    running = asyncio.create_task(openai_agents.run(team, "go", approvals=client))
    await dana.press(await dana.card("if nobody"), "approve:0")
    await running

    assert title_of(await dana.card("the agent has resumed")).endswith(", done")


@pytest.mark.parametrize("framework", ["langgraph", "openai_agents"])
async def test_a_worker_says_what_became_of_the_run_of_another_process(dana, client, worker, framework):
    """One process asks, another one runs the approved calls."""
    notes = Notes()
    if framework == "langgraph":
        owned = a_graph(notes, InMemorySaver())
        await owned.start(GO, approvals=client, config=thread("t"))
    else:
        owned = an_openai_agent(notes)
        await owned.start("go", approvals=client)
    await dana.press(await dana.card("if nobody"), "approve_all:0")

    async with working(worker, owned):
        card = await dana.card(", done", within=60)

    assert title_of(card).startswith("✅ ")
