"""A node runs again from its start at each answer, and no more often than in LangGraph by hand."""

import asyncio
import operator
from inspect import isawaitable
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import NodeCancelledError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Send, interrupt

from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, reject
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, run_thread
from tests.support.scripted_model import ScriptedModel, says

NEW: dict[str, Any] = {"notes": []}


class Notes(TypedDict):
    notes: Annotated[list[str], operator.add]


class Diary:
    """What ran, in its order, and nodes that ask several questions."""

    def __init__(self, *failures):
        self.ran: list[str] = []
        self.failures = list(failures)

    def asks(self, *questions):
        """Give a node that asks one question after the other, and fails once after the first."""

        def node(state):
            self.ran.append("begins")
            for question in questions:
                if interrupt(question):
                    self.ran.append(question)
                if self.failures:
                    raise self.failures.pop()
            return NEW

        return node


def one_node(ask, saver=None):
    return StateGraph(Notes).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=saver)


def calls(step):
    """Give work that calls a task, or runs a graph."""

    async def work(state):
        await (step.ainvoke(NEW) if isinstance(step, Pregel) else step(state))
        return NEW

    return work


def calls_twice(step):
    """Give work that calls a task twice, side by side."""

    async def work(state):
        return [await begun for begun in [step(state) for _ in range(2)]]

    return work


def sends(ask, times):
    """Give a graph whose node is sent what it asks about, as often as this."""
    builder = StateGraph(Notes).add_node("ask", ask)
    return builder.add_conditional_edges(START, lambda state: [Send("ask", state)] * times, ["ask"])


def in_a_tool(work, saver):
    """Give an agent whose tool does this."""

    async def transfer(to: str) -> str:
        """Pay."""
        if isawaitable(given := work(to)):
            await given
        return "ok"

    model = ScriptedModel(turns=[says(("transfer", {"to": "al"})), DONE])
    return create_agent(model, [transfer], checkpointer=saver)


def in_a_function(work, saver):
    """Give a workflow of LangGraph's functional API that does this."""

    @entrypoint(checkpointer=saver)
    async def workflow(state):
        return await given if isawaitable(given := work(state)) else given

    return workflow


def twice(diary):
    return diary.asks("pay", "notify")


SHAPES = {
    "a node": lambda diary, saver: one_node(diary.asks("pay", "notify", "close"), saver),
    "sent": lambda diary, saver: sends(twice(diary), 2).compile(checkpointer=saver),
    "a graph that is a node": lambda diary, saver: one_node(one_node(twice(diary)), saver),
    "a tool": lambda diary, saver: in_a_tool(twice(diary), saver),
    "a function": lambda diary, saver: in_a_function(twice(diary), saver),
}  # fmt: skip
HIDDEN = {
    "a graph in a tool": lambda diary, saver: in_a_tool(calls(one_node(one_node(twice(diary)))), saver),
    "tasks side by side": lambda diary, saver: in_a_function(calls_twice(task(twice(diary))), saver),
    "a task in a node": lambda diary, saver: one_node(one_node(calls(task(twice(diary)))), saver),
}  # fmt: skip


def says_no_to(no):
    def answer(action):
        return reject() if action.args["value"] == no else approve()

    return ScriptedReviewer(dict.fromkeys(("ask", "transfer", "workflow"), answer))


async def by_hand(graph, input, no):
    """Answer all open questions, until there are none."""
    await graph.ainvoke(input, CONFIG)
    while pauses := (await graph.aget_state(CONFIG)).interrupts:
        await graph.ainvoke(Command(resume={pause.id: pause.value != no for pause in pauses}), CONFIG)


@pytest.mark.parametrize("no", [None, "notify"], ids=["all approved", "one rejected"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_nothing_runs_more_often_than_by_hand(shape, no):
    """What stands before a question runs once for each answer."""
    here, there = Diary(), Diary()
    input = GO if "tool" in shape else NEW

    await by_hand(SHAPES[shape](there, InMemorySaver()), input, no)
    approvals = InMemoryApprovalClient(says_no_to(no))
    await run_thread(SHAPES[shape](here, InMemorySaver()), approvals, input, dialect="boolean")

    assert sorted(here.ran) == sorted(there.ran)
    assert "pay" in here.ran
    assert ("notify" in here.ran) == (no is None)


@pytest.mark.parametrize("failure", [OSError, asyncio.CancelledError])
@pytest.mark.parametrize("shape", [*SHAPES, *HIDDEN])
async def test_old_answer_reaches_no_new_question(shape, failure):
    """Whoever approved to pay has not approved to notify, also when the run broke between the two questions."""
    diary = Diary(failure("down"))
    graph = {**SHAPES, **HIDDEN}[shape](diary, InMemorySaver())
    approvals = InMemoryApprovalClient(says_no_to("notify"))
    with pytest.raises((failure, NodeCancelledError)):
        await run_thread(graph, approvals, GO if "tool" in shape else NEW, dialect="boolean")

    await run_thread(graph, approvals, None, dialect="boolean")

    asked = [action.args["value"] for action in approvals.reviewer.asked]
    assert asked.count("pay") == asked.count("notify") > 0
    assert "pay" in diary.ran
    assert "notify" not in diary.ran
