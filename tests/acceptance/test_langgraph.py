"""Agents in LangGraph, real ones: people decide in Slack, exactly that runs, and is told to the model."""

import asyncio
import operator
from typing import Annotated, Any

import pytest
from deepagents import FilesystemPermission, create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from agent_adapter import Context, approval_key, requires_receipt
from agent_adapter.integrations.langgraph import run, stream
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, MAIL, Office
from tests.support.people import words
from tests.support.scripted_model import ScriptedModel, says


@pytest.mark.usefixtures("bot")
async def test_tools_that_check_by_themselves_run_what_was_approved(client, dana, signing):
    """Each call once, by the receipt that the bot has signed for it."""
    ran, free = [], set()
    guard = requires_receipt(
        keys=signing.ring_path,
        audience="billing",
        used=lambda key, _at: key not in free and not free.add(key),
    )

    @guard
    def pay(to: str, amount: int = 5) -> str:
        """Pay."""
        ran.append((to, amount, approval_key()[-2:]))
        return "paid"

    agent = create_agent(
        ScriptedModel(turns=[says(("pay", {"to": "al"}), ("pay", {"to": "bo"})), DONE]),
        [pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
        checkpointer=InMemorySaver(),
    )
    noor = Context(requested_by="U0NOOR")
    running = asyncio.create_task(run(agent, GO, approvals=client, config=CONFIG, context=noor))
    await dana.press(await dana.showing("approve_all:0"), "approve_all:0")
    await running

    assert sorted(ran) == [("al", 5, ":0"), ("bo", 5, ":1")]


# --- Graphs that call `interrupt()` themselves ------------------------------------------------------------------------


class State(MessagesState):
    heard: Annotated[list[Any], operator.add]


def deletion(path):
    """Ask as LangGraph's older examples do."""
    flags = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}
    return [{"action_request": {"action": "delete_file", "args": {"path": path}}, "config": flags}]


@pytest.mark.usefixtures("bot")
async def test_questions_of_every_kind_side_by_side_are_one_card(client, dana):
    """Words, a yes or no, a HumanInterrupt and the review of an agent pause together; each hears its own answer."""
    office = Office()
    mailer = office.agent(says(("send_email", MAIL)), DONE)
    mailer.checkpointer = None
    builder = StateGraph(State).add_node("mailer", mailer).add_edge(START, "mailer")
    question = {"question": "Where to?", "build": 17, "targets": ["eu", "us"]}
    for name, asked in (("words", question), ("yes", "Deploy?"), ("listed", deletion("a.txt"))):
        builder.add_node(name, lambda state, q=asked: {"heard": [interrupt(q)]}).add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())

    def reads(payload):
        return "text" if payload == question else "boolean" if payload == "Deploy?" else None

    running = asyncio.create_task(run(graph, GO, approvals=client, config=CONFIG, dialect=reads))

    card = await dana.card("expires at")
    said = words(card["blocks"])
    asked = ["send_email", "Where to?", "Deploy?", "a.txt"]
    mail, where, deploy, listed = (sorted(asked, key=said.index).index(each) for each in asked)
    assert all(part in said for part in ("17", "eu", "us", "Asked by the subagent mailer."))
    for button, typed in (
        (f"edit:{mail}", {"to": "bo@x.com"}),
        (f"respond:{where}", {"your_answer": "Only to eu."}),
        (f"reject:{deploy}", {"reason": "Not on a Friday."}),
    ):
        await dana.fill(await dana.opened(card, button), **typed)
        for _ in await dana.slack.views(dana.user):
            await dana.close()
    # The last one has its buttons on the card.
    last = f"edit:{listed}"
    await dana.fill(await dana.opened(await dana.showing(last), last), path="b.txt")
    result = await running

    assert office.ran == [("send_email", {**MAIL, "to": "bo@x.com"})]
    edited = {"type": "edit", "args": {"action": "delete_file", "args": {"path": "b.txt"}}}
    assert sorted(result["heard"], key=str) == sorted(["Only to eu.", False, [edited]], key=str)


# --- Deep agents ------------------------------------------------------------------------------------------------------


def lead(office, *calls, permissions):
    """Make an agent with two subagents that both ask, and that makes these calls itself."""
    members = {"mailer": ("send_email", MAIL), "cleaner": ("delete_file", {"path": "a"})}
    subagents = [
        {
            "name": name,
            "description": name,
            "system_prompt": "Do it.",
            "model": ScriptedModel(turns=[says(call), says(text=f"{name} is done")]),
            "tools": office.tools,
        }
        for name, call in members.items()
    ]
    tasks = [("task", {"description": "Do it.", "subagent_type": name}) for name in members]
    return create_deep_agent(
        ScriptedModel(turns=[says(*tasks, *calls), DONE]),
        [],
        subagents=subagents,
        checkpointer=InMemorySaver(),
        interrupt_on={"send_email": True, "delete_file": True},
        permissions=permissions,
    )


@pytest.mark.usefixtures("bot")
async def test_calls_of_subagents_that_pause_side_by_side_are_one_card(client, dana):
    """Beside each call stands who asks, also after a file that is asked about. Whoever listens hears of each pause."""
    office, heard = Office(), []
    secret = FilesystemPermission(operations=["write"], paths=["/secret/**"], mode="interrupt")
    writes = [("write_file", {"file_path": f"/{at}.txt", "content": "one"}) for at in ("open", "secret/a")]
    team = lead(office, *writes, permissions=[secret])

    async def listen():
        chunks = stream(
            team, GO, approvals=client, config=CONFIG, stream_mode="updates", options={"subgraphs": True}
        )
        async for _, update in chunks:
            heard.extend(update)

    listening = asyncio.create_task(listen())
    first = await dana.card("/secret/a.txt")
    assert "/open.txt" not in words(first["blocks"])
    await dana.fill(await dana.opened(first, "edit:0"), content="ONE")
    card = await dana.showing("review:0")
    before, said = list(heard), words(card["blocks"])
    places = [said.index(part) for part in (MAIL["to"], "subagent mailer", "subagent cleaner")]
    assert places == sorted(places)
    await dana.press_one(card, "approve:0")
    await dana.fill(await dana.opened(await dana.showing("reject:1"), "reject:1"))
    await listening

    assert before[-1] == "__interrupt__"
    assert "tools" in heard[len(before) :]
    assert office.ran == [("send_email", MAIL)]
    files = (await team.aget_state(CONFIG)).values["files"]
    assert {path: file["content"] for path, file in files.items()} == {
        "/open.txt": "one",
        "/secret/a.txt": "ONE",
    }
