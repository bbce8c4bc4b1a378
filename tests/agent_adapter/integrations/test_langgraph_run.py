"""Running graphs of all shapes with approvals in between."""

import operator
from datetime import UTC, datetime
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, field_validator

from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.langgraph import run, to_request
from agent_adapter.testing import approve, edit, reject, respond
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    TURN,
    Office,
    answers_to_model,
    gated,
    in_a_node,
    run_thread,
)
from tests.support.deciding import deciding
from tests.support.scripted_model import ScriptedModel, says

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@MODES
async def test_calls_are_asked_in_the_models_order_in_every_round(mode):
    """Each call gets its own decision, although every turn of a model server begins again with the same call ids."""
    office = Office()
    turns = [says(*(("delete_file", {"path": f"{turn}{n}"}) for n in range(9))) for turn in "ab"]
    kept = {"a3", "b0", "b8"}
    approvals = deciding(delete_file=lambda call: reject() if call.args["path"] in kept else approve())

    result = await run_thread(office.agent(*turns, DONE, mode=mode), approvals)

    everything = [f"{turn}{n}" for turn in "ab" for n in range(9)]
    assert [action.args["path"] for action in approvals.reviewer.asked] == everything
    assert {args["path"] for _, args in office.ran} == {*everything} - kept
    # No reason is not an empty reason: the framework has words of its own.
    assert answers_to_model(result)["call_1"][1].startswith(
        "User rejected the tool call for `delete_file` with id"
    )


async def test_more_pauses_than_one_question_holds_are_asked_one_after_another():
    """A turn of more calls than a question holds is two questions; every call is asked once and runs once."""
    office, paths = Office(), [f"{number}.txt" for number in range(51)]
    turn = says(*(("delete_file", {"path": path}) for path in paths))
    approvals = deciding(delete_file=approve())

    await run_thread(office.agent(turn, DONE, mode="per_call"), approvals)

    assert [action.args["path"] for action in approvals.reviewer.asked] == paths
    assert sorted(args["path"] for _, args in office.ran) == sorted(paths)


# --- Graphs ----------------------------------------------------------------------------------------------------------


class Notes(TypedDict):
    notes: Annotated[list[str], operator.add]


def asks(name: str, path: str):
    """Make a node that asks before it notes."""
    asked = {
        "action_requests": [{"name": "delete_file", "args": {"path": path}}],
        "review_configs": [{"action_name": "delete_file", "allowed_decisions": ["approve", "reject"]}],
    }
    return lambda state: {"notes": [f"{name}: {interrupt(asked)['decisions'][0]['type']}"]}


class Tenant(TypedDict):
    tenant: str


async def test_options_reach_every_call_of_the_graph():
    """A graph with a runtime context has it before and after the pause."""

    def node(state: Notes, runtime: Runtime[Tenant]):
        return {"notes": [*asks("n", "x")(state)["notes"], runtime.context["tenant"]]}

    builder = StateGraph(Notes, context_schema=Tenant).add_node("n", node)
    graph = builder.add_edge(START, "n").add_edge("n", END).compile(checkpointer=InMemorySaver())
    options = {"context": {"tenant": "acme"}, "version": "v2"}

    result = await run_thread(graph, deciding(approve()), {"notes": []}, options=options)

    assert result.value["notes"] == ["n: approve", "acme"]


# --- What is refused before anything runs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "config", "checkpointer", "says_what"),
    [
        (GO, {}, InMemorySaver(), "thread_id"),
        (GO, {"configurable": {"thread_id": ""}}, InMemorySaver(), "thread_id"),
        (GO, {"configurable": {"thread_id": "t", "checkpoint_id": "c"}}, InMemorySaver(), "leave it out"),
        (GO, CONFIG, None, r"no checkpointer.*compile"),
        (None, CONFIG, InMemorySaver(), r"'.+' has never run: pass its first input.*same thread_id"),
    ],
)
async def test_what_could_not_be_resumed_is_refused_before_the_graph_runs(
    given, config, checkpointer, says_what
):
    """The sentence names what to pass."""
    office = Office()
    agent = office.agent(TURN, DONE)
    agent.checkpointer = checkpointer

    with pytest.raises(InvalidRequestError, match=says_what):
        await run(agent, given, approvals=deciding(), config=config)

    assert office.ran == []


@pytest.mark.parametrize("where", ["batched", "per_call", "in a node", "in a tool"])
async def test_misspelt_tool_in_the_middleware_is_refused_before_the_agent_runs(where):
    """The tool that was meant would run with nobody asked; also where the outer agent reviews nothing."""
    office = Office()
    mode = where if where == "per_call" else "batched"
    graph = office.agent(TURN, DONE, mode=mode, interrupt_on={"delete_fil": True, "send_email": True})
    if where.startswith("in"):
        inner, graph = graph, in_a_node(graph)

        async def hand_over(task: str) -> str:
            """Hand a task to the worker."""
            return str(await inner.ainvoke({"messages": [("user", task)]}))

        if where == "in a tool":
            graph = create_agent(ScriptedModel(turns=[DONE]), [hand_over], checkpointer=InMemorySaver())

    with pytest.raises(
        InvalidRequestError, match=r"interrupt_on\['delete_fil'\].*did you mean 'delete_file'"
    ):
        await run_thread(graph, deciding())

    assert office.ran == []


# --- Argument schemas ------------------------------------------------------------------------------------------------


async def schemas_of(graph, input=GO, **options):
    """Give the schema that each tool was published with."""
    approvals = deciding(send_email=None, delete_file=None, ask_user=respond("x"))
    await run_thread(graph, approvals, input, **options)
    return {c.action_name: c.args_schema for asked in approvals.asked for c in asked.request.review_configs}


@MODES
@pytest.mark.parametrize("is_inner", [False, True])
async def test_schemas_come_from_the_agents_own_tools(mode, is_inner):
    """Neither mode leaves the reviewer without a form, although batched pauses carry no schema."""
    graph = Office().agent(TURN, DONE, mode=mode)

    schema = (await schemas_of(in_a_node(graph) if is_inner else graph))["send_email"]

    assert schema["required"] == ["to", "subject"]
    assert schema["properties"]["body"] == {"default": "", "title": "Body", "type": "string"}


async def test_schemas_come_from_the_caller_where_the_graph_has_none():
    """Tools that a node calls by itself cannot be found; `tools=` names them."""
    builder = StateGraph(Notes).add_node("ask", asks("n", "x")).add_edge(START, "ask")
    here, there = (builder.compile(checkpointer=InMemorySaver()) for _ in range(2))

    assert (await schemas_of(here, {"notes": []}, tools=Office().tools))["delete_file"]["required"] == [
        "path"
    ]
    assert (await schemas_of(there, {"notes": []}))["delete_file"] is None


async def test_two_tools_of_one_name_are_not_mixed_up():
    """Where two agents of a graph have different tools of one name, no schema is better than the wrong one."""

    def delete_file(bucket: str) -> str:
        """Delete another kind of file."""
        return bucket

    inner = Office().agent(says(("delete_file", {"path": "a"})), DONE)
    inner.checkpointer = None
    builder = StateGraph(MessagesState).add_node("inner", inner).add_node("other", ToolNode([delete_file]))
    graph = builder.add_edge(START, "inner").compile(checkpointer=InMemorySaver())

    assert (await schemas_of(graph))["delete_file"] is None


async def test_lists_of_pauses_that_cannot_be_answered_are_refused():
    """No pause, one twice, or one of somebody else."""
    (pause,) = (await Office().agent(TURN, DONE).ainvoke(GO, CONFIG))["__interrupt__"]

    with pytest.raises(InvalidRequestError, match="no pauses"):
        to_request([])
    with pytest.raises(InvalidRequestError, match=f"{pause.id} is listed 2 times"):
        to_request([pause, pause])
    with pytest.raises(InvalidRequestError, match="not the id of a LangGraph pause"):
        to_request([type(pause)(pause.value, id="mine")])


# --- Edits that would run as something else --------------------------------------------------------------------------


class Payment(BaseModel):
    to: str
    cents: int = 1
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    call: Annotated[str, InjectedToolCallId]

    @field_validator("to")
    @classmethod
    def tidy(cls, to: str) -> str:
        """Take one form of each name."""
        return to.strip().lower()


def paying(paid, **asked):
    """Make an agent that asks to pay, with a tool that changes what it is given."""

    @tool(args_schema=Payment)
    def pay(to: str, cents: int, at: datetime, call: Annotated[str, InjectedToolCallId]) -> str:
        """Pay somebody."""
        paid.append((to, cents))
        return "paid"

    return gated([pay], says(("pay", asked)), DONE)


@pytest.mark.parametrize(
    ("args", "place"),
    [
        ({"to": " ADMIN", "cents": 5}, "to"),
        ({"to": "al", "cents": "5"}, "cents"),
        ({"to": "al", "cents": 5, "limit": 10}, "limit"),
    ],
)
async def test_an_edit_that_the_tool_would_turn_into_another_value_is_refused(args, place):
    """The tool reads its arguments with a model of its own; what it would make of the edit is not what was approved."""
    paid = []
    agent = paying(paid, to="bo", cents=1)
    approvals = deciding(pay=edit(args))

    with pytest.raises(
        DecisionNotAllowedError,
        match=rf"edited pay does not fit its tool: args\.{place}: its type .*; nothing was resumed",
    ):
        await run_thread(agent, approvals)

    assert paid == []


async def test_an_edit_leaves_what_it_does_not_touch_to_the_tool():
    """The model wrote the name and the time in its own way: the tool is called with them, as in a call without an edit."""
    paid, at = [], "2026-11-21T12:00+00:00"
    agent = paying(paid, to=" Bo", cents=1, at=at)
    approvals = deciding(pay=edit({"to": " Bo", "cents": 7, "at": at}))

    await run_thread(agent, approvals)

    assert paid == [("bo", 7)]
