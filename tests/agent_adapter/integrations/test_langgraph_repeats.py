"""A node runs again from its start at each answer, and no more often than in LangGraph by hand."""

import asyncio
import operator
from contextlib import aclosing
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import NodeCancelledError
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from agent_adapter.integrations.langgraph import stream
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, reject
from agent_adapter.worker.langgraph import ResumableGraph
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, run_thread
from tests.support.faults import eventually
from tests.support.scripted_model import ScriptedModel, says
from tests.support.workers import working

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


def a_node(diary, saver):
    """A node asks three times."""
    return one_node(diary.asks("pay", "notify", "close"), saver)


def sent(diary, saver):
    """Two nodes ask twice each, side by side."""
    builder = StateGraph(Notes).add_node("ask", diary.asks("pay", "notify"))
    builder.add_conditional_edges(START, lambda state: [Send("ask", state)] * 2, ["ask"])
    return builder.compile(checkpointer=saver)


def a_graph_as_node(diary, saver):
    """A graph that is a node asks twice."""
    return one_node(one_node(diary.asks("pay", "notify")), saver)


def before_a_graph(diary, saver):
    """A node asks, and then runs a graph that asks."""
    inner, ask = one_node(diary.asks("pay", "notify")), diary.asks("start")

    async def node(state):
        ask(state)
        await inner.ainvoke(NEW)
        return NEW

    return one_node(node, saver)


def in_a_tool(tool, saver):
    return create_agent(
        ScriptedModel(turns=[says(("transfer", {"to": "al"})), DONE]), [tool], checkpointer=saver
    )


def a_tool(diary, saver):
    """A tool asks twice."""
    ask = diary.asks("pay", "notify")

    def transfer(to: str) -> str:
        """Pay."""
        ask(to)
        return "ok"

    return in_a_tool(transfer, saver)


def a_graph_in_a_tool(diary, saver):
    """A tool runs a graph within a graph that asks twice; nothing of the tool says which."""
    graphs = [one_node(one_node(diary.asks("pay", "notify")))]

    async def transfer(to: str) -> str:
        """Pay."""
        await graphs[0].ainvoke(NEW)
        return "ok"

    return in_a_tool(transfer, saver)


def sent_in_a_tool(diary, saver):
    """A tool runs two graphs after each other, whose nodes were sent what they ask about."""
    builder = StateGraph(Notes).add_node("ask", diary.asks("pay", "notify"))
    graphs = [builder.add_conditional_edges(START, lambda state: [Send("ask", state)], ["ask"]).compile()]

    async def transfer(to: str) -> str:
        """Pay."""
        for _ in range(2):
            await graphs[0].ainvoke(NEW)
        return "ok"

    return in_a_tool(transfer, saver)


def in_a_function(work, saver):
    @entrypoint(checkpointer=saver)
    async def workflow(state):
        return await work(state)

    return workflow


def a_function(diary, saver):
    """A function of LangGraph's functional API asks twice."""
    ask = diary.asks("pay", "notify")

    async def work(state):
        return ask(state)

    return in_a_function(work, saver)


def a_task(diary, saver):
    """A function calls a task that asks twice."""
    return in_a_function(task(diary.asks("pay", "notify")), saver)


def tasks_after_each_other(diary, saver):
    """A function calls a task that asks twice, and then one that asks once."""
    ask, close = task(diary.asks("pay", "notify"), name="ask"), task(diary.asks("close"), name="close")

    async def work(state):
        await ask(state)
        return await close(state)

    return in_a_function(work, saver)


def tasks_side_by_side(diary, saver):
    """A function calls two tasks that ask twice each."""
    ask = task(diary.asks("pay", "notify"))

    async def work(state):
        return [await begun for begun in [ask(state) for _ in range(2)]]

    return in_a_function(work, saver)


def a_task_in_a_task(diary, saver):
    """A function calls a task that calls one that asks twice."""
    ask = task(diary.asks("pay", "notify"))

    @task
    async def outer(state):
        return await ask(state)

    return in_a_function(outer, saver)


def a_hidden_task(diary, saver):
    """A function takes a task that asks twice from where nothing says its name."""
    tasks = [task(diary.asks("pay", "notify"))]

    async def work(state):
        return await tasks[0](state)

    return in_a_function(work, saver)


def a_graph_in_a_task(diary, saver):
    """A function calls a task that runs a graph that asks twice."""
    inner = one_node(diary.asks("pay", "notify"))

    @task
    async def outer(state):
        return await inner.ainvoke(state)

    return in_a_function(outer, saver)


def a_task_in_a_node(diary, saver):
    """A node of a graph that is a node calls a task that asks twice."""
    ask = task(diary.asks("pay", "notify"))

    async def node(state):
        return await ask(state)

    return one_node(one_node(node), saver)


def a_task_in_a_tool(diary, saver):
    """A tool calls a task that asks twice."""
    ask = task(diary.asks("pay", "notify"))

    async def transfer(to: str) -> str:
        """Pay."""
        await ask(to)
        return "ok"

    return in_a_tool(transfer, saver)


SHAPES = [
    a_node, sent, a_graph_as_node, before_a_graph, a_tool, a_graph_in_a_tool, sent_in_a_tool, a_function, a_task,
    tasks_after_each_other, tasks_side_by_side, a_task_in_a_task, a_graph_in_a_task, a_task_in_a_node, a_task_in_a_tool,
]  # fmt: skip


def says_no_to(no):
    return ScriptedReviewer(
        {"interrupt": lambda action: reject() if action.args["value"] == no else approve()}
    )


async def by_hand(graph, input, no):
    """Answer all open questions, until there are none."""
    await graph.ainvoke(input, CONFIG)
    while pauses := (await graph.aget_state(CONFIG)).interrupts:
        await graph.ainvoke(Command(resume={pause.id: pause.value != no for pause in pauses}), CONFIG)


async def with_run(graph, input, no):
    approvals = InMemoryApprovalClient(says_no_to(no))
    await run_thread(graph, approvals, input, dialect="boolean")


async def with_stream(graph, input, no):
    approvals = InMemoryApprovalClient(says_no_to(no))
    async with aclosing(
        stream(graph, input, approvals=approvals, config=CONFIG, dialect="boolean")
    ) as chunks:
        async for _ in chunks:
            pass


async def with_workers(graph, input, no):
    approvals = InMemoryApprovalClient(says_no_to(no))
    resumable = ResumableGraph("diary", graph, version="1", dialect="boolean")
    await resumable.start(input, approvals=approvals, config=CONFIG)

    async def has_ended():
        return not (await graph.aget_state(CONFIG)).next

    async with working(approvals, resumable):
        await eventually(has_ended)


@pytest.mark.parametrize("go", [with_run, with_stream, with_workers])
@pytest.mark.parametrize("no", [None, "notify"], ids=["all approved", "one rejected"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_nothing_runs_more_often_than_by_hand(shape, no, go):
    """What stands before a question runs once for each answer, whoever gives it."""
    here, there = Diary(), Diary()
    graph = shape(here, InMemorySaver())
    input = GO if "tool" in shape.__name__ else NEW

    await by_hand(shape(there, InMemorySaver()), input, no)
    await go(graph, input, no)

    assert sorted(here.ran) == sorted(there.ran)
    assert "pay" in here.ran
    assert ("notify" in here.ran) == (no is None)


@pytest.mark.parametrize("failure", [OSError, asyncio.CancelledError])
@pytest.mark.parametrize("shape", [*SHAPES, a_hidden_task])
async def test_old_answer_reaches_no_new_question(shape, failure):
    """Whoever approved to pay has not approved to notify, also when the run broke between the two questions."""
    diary = Diary(failure("down"))
    graph, approvals = shape(diary, InMemorySaver()), InMemoryApprovalClient(says_no_to("notify"))
    with pytest.raises((failure, NodeCancelledError)):
        await run_thread(graph, approvals, GO if "tool" in shape.__name__ else NEW, dialect="boolean")

    await run_thread(graph, approvals, None, dialect="boolean")

    asked = [action.args["value"] for action in approvals.reviewer.asked]
    assert asked.count("pay") == asked.count("notify") > 0
    assert "pay" in diary.ran
    assert "notify" not in diary.ran
