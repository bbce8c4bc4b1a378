"""Graphs that call `interrupt()` themselves: nobody is asked before it is known how the answer is read."""

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from agent_adapter.dialects import custom
from agent_adapter.edit_check import RefusedAnswerError
from agent_adapter.errors import (
    DecisionNotAllowedError,
    InvalidRequestError,
    UnknownDialectError,
)
from agent_adapter.integrations.langgraph import run
from agent_adapter.testing import ScriptedReviewer, approve, edit
from agent_adapter.worker.langgraph import ResumableGraph
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    answers_to_model,
    in_a_node,
    run_thread,
    run_through_stream,
)
from tests.support.deciding import deciding
from tests.support.scripted_model import ScriptedModel, says

SEND = {"question": "Send the invoices?"}


class Heard(TypedDict):
    heard: Annotated[list[Any], operator.add]


def asking(**questions):
    """Make a graph with a node for each question, side by side, that writes down what it is answered."""
    builder = StateGraph(Heard)
    for name, question in questions.items():
        builder.add_node(name, lambda state, q=question: {"heard": [interrupt(q)]})
        builder.add_edge(START, name)
    return builder.compile(checkpointer=InMemorySaver())


async def run_until_asked(graph, input, *, approvals, config, dialect=None):
    """Do it as a process that asks and leaves the rest to a worker."""
    resumable = ResumableGraph("raw", graph, version="1", dialect=dialect)
    return await resumable.start(input, approvals=approvals, config=config)


EVERY_WAY = pytest.mark.parametrize("way", [run, run_through_stream, run_until_asked])


@EVERY_WAY
@pytest.mark.parametrize("value", ["Send?", None, SEND])
async def test_question_of_unknown_form_is_refused_before_anybody_is_asked(way, value):
    """A node that says `if interrupt("Send?")` would take every sentence for a yes, so nobody guesses what it reads."""
    graph, approvals = asking(ask=value), deciding()

    with pytest.raises(UnknownDialectError, match=r'(?s)how it reads the answer.*dialect="boolean"'):
        await way(graph, {"heard": []}, approvals=approvals, config=CONFIG)

    assert approvals.reviewer.asked == []
    assert [pause.value for pause in (await graph.aget_state(CONFIG)).interrupts] == [value]


async def test_answer_that_a_callable_cannot_write_resumes_nothing():
    """The thread waits, and the decision is there for the next attempt."""
    graph, approvals = asking(ask=SEND), deciding(approve())

    with pytest.raises(DecisionNotAllowedError, match="null"):
        await run_thread(graph, approvals, {"heard": []}, dialect=custom(lambda decision: None))

    good = custom(lambda decision: [decision.type])
    result = await run_thread(graph, approvals, None, dialect=good)
    assert result["heard"] == [["approve"]]
    assert len(approvals.reviewer.asked) == 1


# --- Who asks, and edits --------------------------------------------------------------------------------------------------

BUILD = {"build": 17, "to": "production"}


def release(build: int, to: str = "staging") -> str:
    """Release a build."""
    return str(interrupt({"build": build, "to": to}))


def agent_with(tool, saver=None):
    """Make an agent that calls this tool once."""
    model = ScriptedModel(turns=[says((tool.__name__, {"build": 17})), DONE])
    return create_agent(model, [tool], checkpointer=saver)


async def delegate(build: int) -> str:
    """Run an agent."""
    return str(await agent_with(release).ainvoke(GO))


@pytest.mark.parametrize(
    ("graph", "input", "name"),
    [
        (lambda: asking(deploy=BUILD), {"heard": []}, "deploy"),
        (lambda: agent_with(release, InMemorySaver()), GO, "release"),
        (lambda: in_a_node(agent_with(release)), GO, "release"),
        (lambda: agent_with(delegate, InMemorySaver()), GO, "delegate"),
    ],
    ids=["a node", "a tool", "a tool of a graph that is a node", "a graph in a tool"],
)
@EVERY_WAY
async def test_card_names_the_tool_or_the_node_that_asks(way, graph, input, name):
    """It is also the name that the rules of a policy match."""
    approvals = deciding(approve())

    await way(graph(), input, approvals=approvals, config=CONFIG, dialect="boolean")

    (asked,) = approvals.asked
    assert [action.name for action in asked.request.action_requests] == [name]


async def test_question_of_a_tool_is_found_again_by_another_process():
    """Its name is read from the checkpoint."""
    saver, how = InMemorySaver(), {"approvals": deciding(), "config": CONFIG, "dialect": "boolean"}

    asked = await run_until_asked(agent_with(release, saver), GO, **how)

    assert await run_until_asked(agent_with(release, saver), None, **how) == asked


@pytest.mark.parametrize(
    ("shown", "fields"),
    [
        (BUILD, {"build", "to"}),
        ({"build": 17}, {"build", "to"}),
        ({"to": "production"}, None),
        ({**BUILD, "question": "Release?"}, None),
        ("Release?", None),
    ],
)
async def test_question_of_a_tool_has_its_schema_only_with_its_arguments(shown, fields):
    """A form of the tool's fields would not fit what else a question may show."""

    def release(build: int, to: str = "staging") -> str:
        """Release a build."""
        return str(interrupt(shown))

    approvals = deciding(approve())
    await run_thread(agent_with(release, InMemorySaver()), approvals, dialect="boolean")

    (config,) = approvals.asked[0].request.review_configs
    assert (config.args_schema and set(config.args_schema["properties"])) == fields


async def test_edit_that_the_tool_would_read_as_another_value_runs_nothing():
    """As for every other edit of its arguments; the thread waits, and people are asked again."""
    graph, approvals = agent_with(release, InMemorySaver()), deciding(edit({"build": "18"}))
    dialect = custom(lambda decision: {"go": False}, edit=lambda args: {"go": True, **args})

    with pytest.raises(RefusedAnswerError, match="the edited release does not fit its tool"):
        await run_thread(graph, approvals, dialect=dialect)

    approvals.reviewer = ScriptedReviewer([edit({"build": 18})])
    result = await run_thread(graph, approvals, None, dialect=dialect)
    assert answers_to_model(result)["call_1"][1] == str({"go": True, "build": 18})


# --- Breakpoints ---------------------------------------------------------------------------------------------------------


def two_steps():
    builder = StateGraph(Heard)
    builder.add_node("first", lambda state: {"heard": ["first"]})
    builder.add_node("second", lambda state: {"heard": ["second"]})
    return builder.add_edge(START, "first").add_edge("first", "second")


@pytest.mark.parametrize("kind", ["interrupt_before", "interrupt_after"])
@pytest.mark.parametrize("where", ["compiled", "inside", "options"])
async def test_graph_with_a_breakpoint_is_refused_before_it_runs(kind, where):
    """It would stop there as if it had finished, with nobody asked; also where a graph that is a node has it."""
    given = {} if where == "options" else {kind: ["first"]}
    graph = two_steps().compile(checkpointer=InMemorySaver(), **given)
    if where == "inside":
        graph.checkpointer = None
        outer = StateGraph(Heard).add_node("inner", graph).add_edge(START, "inner")
        graph = outer.compile(checkpointer=InMemorySaver())
    options = {kind: "*"} if where == "options" else {}

    with pytest.raises(InvalidRequestError, match=kind):
        await run_thread(graph, deciding(), {"heard": []}, options=options)

    assert (await graph.aget_state(CONFIG)).values == {}


@EVERY_WAY
async def test_breakpoint_that_nobody_could_see_before_is_not_an_end(way):
    """A node calls a graph of its own, which stops: the run says so and is not finished."""
    hidden = [two_steps().compile(interrupt_before=["second"])]

    async def call(state):
        return await hidden[0].ainvoke({"heard": []})

    graph = StateGraph(Heard).add_node("call", call).add_edge(START, "call")
    graph = graph.compile(checkpointer=InMemorySaver())

    with pytest.raises(InvalidRequestError, match=r"stopped before 'call'.*nobody was asked"):
        await way(graph, {"heard": []}, approvals=deciding(), config=CONFIG)
