"""Streams and programs without a loop: whoever listens gets the graph's own chunks, and a person decides in between."""

import asyncio
from contextlib import aclosing

import pytest
from deepagents import create_deep_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agent_adapter.integrations.langgraph import run, stream
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, reject
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, MAIL, Office
from tests.support.people import Someone
from tests.support.redis_users import address_for
from tests.support.scripted_model import ScriptedModel, says

MODES = ["values", "updates", "messages", "custom", "tasks", ["updates", "values"], ["messages", "updates"]]
ASKED = {"send_email": True, "delete_file": True}


def lead(office):
    """Make an agent with two subagents that both ask."""

    def member(name, *calls):
        return {
            "name": name,
            "description": name,
            "system_prompt": "Do it.",
            "model": ScriptedModel(turns=[says(*calls), says(text=f"{name} is done")]),
            "tools": office.tools,
        }

    members = [member("mailer", ("send_email", MAIL)), member("cleaner", ("delete_file", {"path": "a"}))]
    tasks = [("task", {"description": "Do it.", "subagent_type": member["name"]}) for member in members]
    return create_deep_agent(
        ScriptedModel(turns=[says(*tasks), DONE]),
        [],
        subagents=members,
        interrupt_on=ASKED,
        checkpointer=InMemorySaver(),
    )


async def by_hand(agent, settings):
    """Give every chunk as a caller gets it who answers the pauses without this library."""
    async with aclosing(agent.astream(GO, CONFIG, **settings)) as chunks:
        given = [chunk async for chunk in chunks]
    answers = {}
    for pause in (await agent.aget_state(CONFIG)).interrupts:
        (action,) = pause.value["action_requests"]
        kind = "approve" if action["name"] == "send_email" else "reject"
        answers[pause.id] = {"decisions": [{"type": kind}]}
    async with aclosing(agent.astream(Command(resume=answers), CONFIG, **settings)) as chunks:
        return given + [chunk async for chunk in chunks]


def shape(chunk):
    """Tell chunks apart without the ids and times in them."""
    match chunk:
        case {"type": kind, "ns": namespace, "data": data}:
            return kind, shape(namespace), shape(data)
        case str():
            return chunk.partition(":")[0]
        case dict():
            return tuple(sorted(chunk))
        case tuple() | list():
            return tuple(map(shape, chunk))
        case _:
            return type(chunk).__name__


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("stream_mode", MODES, ids=str)
async def test_chunks_of_subagents_are_those_of_the_graph(stream_mode, version):
    """Two subagents pause side by side; what is streamed is what LangGraph streams, in every mode and version."""
    settings = {"stream_mode": stream_mode, "version": version}
    expected = await by_hand(lead(Office()), {**settings, "subgraphs": True})
    office = Office()
    reviewer = ScriptedReviewer({"send_email": approve(), "delete_file": reject()})

    chunks = [
        chunk
        async for chunk in stream(
            lead(office),
            GO,
            approvals=InMemoryApprovalClient(reviewer),
            config=CONFIG,
            **settings,
            options={"subgraphs": True},
        )
    ]

    assert sorted(map(repr, map(shape, chunks))) == sorted(map(repr, map(shape, expected)))
    assert office.ran == [("send_email", {**MAIL})]


async def test_listener_hears_of_the_pause_and_then_of_what_was_decided(start_bot, slack, client):
    """The chunks stop at the pause, and go on when a person in Slack has decided."""
    await start_bot()
    office, dana = Office(), Someone(slack, "U0DANA")
    heard = []

    async def listen():
        chunks = stream(
            lead(office),
            GO,
            approvals=client,
            config=CONFIG,
            stream_mode="updates",
            options={"subgraphs": True},
        )
        async for _, update in chunks:
            heard.extend(update)

    listening = asyncio.create_task(listen())
    card = await dana.card("if nobody")
    before = list(heard)
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(await dana.showing("reject:1"), "reject:1"))
    await listening

    assert before[-1] == "__interrupt__"
    assert "tools" not in before
    assert "tools" in heard[len(before) :]
    assert office.ran == [("send_email", MAIL)]


async def test_program_without_a_loop_runs_and_listens(start_bot, slack, redis_url):
    """`SyncApprovalClient.run` drives `run`, and a function that iterates over `stream`, from any thread."""
    await start_bot()
    office, dana = Office(), Someone(slack, "U0DANA")

    def work():
        with SyncApprovalClient.from_url(
            address_for(redis_url, "agent", "billing"), agent="billing"
        ) as approvals:
            ask = {"approvals": approvals.client, "config": CONFIG}
            result = approvals.run(run(agent, GO, **ask))

            async def listen():
                chunks = stream(agent, {"messages": [("user", "again")]}, **ask, stream_mode="updates")
                return [name async for chunk in chunks for name in chunk]

            return result["messages"][-1].content, approvals.run(listen())

    turns = [says(("send_email", MAIL)), DONE, says(("delete_file", {"path": "a"})), DONE]
    agent = office.agent(*turns)
    working = asyncio.create_task(asyncio.to_thread(work))
    await dana.press(await dana.card("send_email"), "approve:0")
    await dana.press(await dana.card("delete_file"), "approve:0")
    answer, heard = await working

    assert answer == "done"
    assert heard[-3:] == ["tools", "model", "HumanInTheLoopMiddleware.after_model"]
    assert office.ran == [("send_email", MAIL), ("delete_file", {"path": "a"})]
