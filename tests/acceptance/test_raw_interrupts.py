"""Graphs that call `interrupt()` themselves: what they ask is shown whole, and they get what they read."""

import asyncio
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from agent_adapter.errors import UnknownDialectError
from agent_adapter.integrations.langgraph import run
from tests.agent_adapter.integrations.office import CONFIG, DONE, MAIL, Office
from tests.support.people import Someone, buttons, words
from tests.support.scripted_model import says


class Heard(TypedDict):
    heard: Annotated[list[Any], operator.add]


def asking(*questions):
    """Make a graph with a node for each question, side by side, that writes down what it is answered."""
    builder = StateGraph(Heard)
    for number, question in enumerate(questions):
        builder.add_node(f"ask_{number}", lambda state, q=question: {"heard": [interrupt(q)]})
        builder.add_edge(START, f"ask_{number}")
    return builder.compile(checkpointer=InMemorySaver())


async def press(dana, card, button, **typed):
    """Press a button; fill in its form where something is typed."""
    if typed:
        await dana.fill(await dana.opened(card, button), **typed)
    else:
        await dana.press(card, button)


QUESTIONS = {
    "a string": "Deploy build 17 to production?",
    "an object": {"question": "Deploy?", "build": 17, "targets": ["eu", "us"]},
    "a list": ["build 17", "build 18"],
    "a number": 17,
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
async def test_question_is_shown_whole_and_answered_in_words(start_bot, slack, client, question):
    """Any JSON may be asked; a node that is answered in words gets the words of the person."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    running = asyncio.create_task(run(asking(question), {}, approvals=client, config=CONFIG, dialect="text"))

    card = await dana.card("17")
    said = words(card["blocks"])
    values = question.values() if isinstance(question, dict) else [question]
    for part in (str(p) for v in values for p in (v if isinstance(v, list) else [v])):
        assert part in said
    assert not {"approve:0", "reject:0", "edit:0"} & set(buttons(card))
    await press(dana, card, "respond:0", your_answer="Only to eu.")

    assert (await running)["heard"] == ["Only to eu."]


@pytest.mark.parametrize(
    ("dialect", "button", "typed", "heard"),
    [
        ("boolean", "approve:0", {}, True),
        ("boolean", "reject:0", {"reason": "Not on a Friday."}, False),
        ("approve_reject", "approve:0", {}, "approve"),
        ("approve_reject", "reject:0", {"reason": "Not on a Friday."}, "reject"),
    ],
)
async def test_yes_and_no_are_what_the_node_reads(start_bot, slack, client, dialect, button, typed, heard):
    """There is nothing to type, and a rejection is never taken for a yes."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    running = asyncio.create_task(
        run(asking("Deploy?"), {}, approvals=client, config=CONFIG, dialect=dialect)
    )

    card = await dana.card("Deploy?")
    assert "respond:0" not in buttons(card)
    assert "only it knows what it does then" in words(card["blocks"])
    await press(dana, card, button, **typed)

    assert (await running)["heard"] == [heard]


async def test_nobody_is_asked_what_nobody_could_answer(start_bot, slack, client):
    """A question of unknown form gets no card; the caller gets a sentence, and the thread waits."""
    await start_bot()
    dana, graph = Someone(slack, "U0DANA"), asking("Deploy?")
    with pytest.raises(UnknownDialectError, match="how it reads the answer"):
        await run(graph, {}, approvals=client, config=CONFIG)

    running = asyncio.create_task(run(graph, None, approvals=client, config=CONFIG, dialect="boolean"))
    card = await dana.card("Deploy?")
    posted = [m for m in await slack.messages("C0APPROVALS") if m.get("blocks")]
    assert len(posted) == 1
    await dana.press(card, "approve:0")

    assert (await running)["heard"] == [True]


def deletion(path):
    """Ask as LangGraph's older examples do."""
    flags = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}
    return {"action_request": {"action": "delete_file", "args": {"path": path}}, "config": flags}


@pytest.mark.parametrize(
    ("button", "typed", "answer"),
    [
        ("approve:0", {}, {"type": "accept", "args": None}),
        (
            "edit:0",
            {"path": "b.txt"},
            {"type": "edit", "args": {"action": "delete_file", "args": {"path": "b.txt"}}},
        ),
        ("reject:0", {"reason": ""}, {"type": "ignore", "args": None}),
        ("respond:0", {"your_answer": "Later."}, {"type": "response", "args": "Later."}),
    ],
    ids=["approve", "edit", "reject", "respond"],
)
async def test_human_interrupt_is_answered_in_its_form(start_bot, slack, client, button, typed, answer):
    """A list gets a list, an object an object, each with the type and arguments that its node reads."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    asked = deletion("a.txt")
    listed = button in {"approve:0", "edit:0"}
    graph = asking([asked] if listed else asked)
    running = asyncio.create_task(run(graph, {}, approvals=client, config=CONFIG))

    card = await dana.card("delete_file")
    await press(dana, card, button, **typed)

    assert (await running)["heard"] == [[answer] if listed else answer]


async def test_questions_of_every_kind_side_by_side_are_one_card(start_bot, slack, client):
    """A sentence, a HumanInterrupt and the review of an agent pause together; each hears its own answer."""
    await start_bot()
    office, dana = Office(), Someone(slack, "U0DANA")

    class State(MessagesState):
        heard: Annotated[list[Any], operator.add]

    mailer = office.agent(says(("send_email", MAIL)), DONE)
    mailer.checkpointer = None
    builder = StateGraph(State).add_node("mailer", mailer).add_edge(START, "mailer")
    for name, question in (("sentence", "Deploy?"), ("listed", [deletion("a.txt")])):
        builder.add_node(name, lambda state, q=question: {"heard": [interrupt(q)]}).add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    running = asyncio.create_task(
        run(
            graph,
            {"messages": [("user", "go")]},
            approvals=client,
            config=CONFIG,
            dialect={"sentence": "text"},
        )
    )

    card = await dana.card("expires at")
    said = words(card["blocks"])
    order = sorted(range(3), key=lambda index: said.index(["send_email", "Deploy?", "a.txt"][index]))
    mail, sentence, listed = (order.index(index) for index in range(3))
    assert "Asked by the subagent mailer." in said
    await press(dana, card, f"edit:{mail}", to="bo@x.com")
    await press(dana, card, f"respond:{sentence}", your_answer="Tomorrow.")
    await press(dana, await dana.showing(f"reject:{listed}"), f"reject:{listed}", reason="")
    result = await running

    assert office.ran == [("send_email", {**MAIL, "to": "bo@x.com"})]
    assert sorted(result["heard"], key=str) == ["Tomorrow.", [{"type": "ignore", "args": None}]]
