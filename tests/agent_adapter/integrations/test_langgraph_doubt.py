"""Models and agents that do what they should not: nothing runs twice, and nothing runs that nobody decided."""

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from agent_adapter.errors import InvalidRequestError
from agent_adapter.testing import approve, edit, reject, respond
from tests.agent_adapter.integrations.office import (
    DONE,
    GATED,
    GO,
    MAIL,
    Office,
    answers_to_model,
    in_a_node,
    run_thread,
    with_subagent,
)
from tests.support.deciding import deciding
from tests.support.scripted_model import ScriptedModel, says

OTHER = {**MAIL, "to": "b@x.com"}


def with_one_id(*calls):
    """Give a turn of a model that gives all its calls the same id."""
    return AIMessage(
        content="",
        tool_calls=[
            {"name": name, "args": args, "id": "call_0", "type": "tool_call"} for name, args in calls
        ],
    )


TWICE = with_one_id(("send_email", MAIL), ("send_email", OTHER))


def alone(office):
    """An agent by itself."""
    return office.agent(TWICE, DONE)


def as_a_node(office):
    """An agent that is a node of a graph."""
    return in_a_node(office.agent(TWICE, DONE))


def as_a_subagent(office):
    """An agent that a tool of another runs."""
    return with_subagent(office.tools, TWICE, DONE, interrupt_on=dict(GATED))


@pytest.mark.parametrize("make", [alone, as_a_node, as_a_subagent])
async def test_two_calls_of_one_id_are_refused_where_langchain_would_mix_them_up(make):
    """An edit of one would run twice, and the approved one never: nobody is asked, nothing runs, the cure is named."""
    office, approvals = Office(), deciding(edit({**MAIL, "to": "c@x.com"}), approve())
    graph = make(office)

    for given in (GO, None):
        with pytest.raises(InvalidRequestError, match=r"2 calls of one turn the id 'call_0'.*per_call"):
            await run_thread(graph, approvals, given)

    assert approvals.asked == ()
    assert office.ran == []


@pytest.mark.parametrize(
    ("first", "second", "sent"),
    [
        (approve(), approve(), ["a@x.com", "b@x.com"]),
        (approve(), reject("no"), ["a@x.com"]),
        (reject("no"), approve(), ["b@x.com"]),
        (edit({**MAIL, "to": "c@x.com"}), approve(), ["b@x.com", "c@x.com"]),
        (respond("done by hand"), edit({**MAIL, "to": "c@x.com"}), ["c@x.com"]),
    ],
    ids=["both", "first", "second", "edit", "respond and edit"],
)
async def test_review_per_call_keeps_two_calls_of_one_id_apart(first, second, sent):
    office = Office()
    approvals = deciding(first, second)

    await run_thread(office.agent(TWICE, DONE, mode="per_call"), approvals)

    assert sorted(args["to"] for _, args in office.ran) == sent


# --- A branch that asks twice, beside one that fails --------------------------------------------------------------


def ask_to_delete(path):
    """Ask as LangChain's review does."""
    config = {"action_name": "delete_file", "allowed_decisions": ["approve", "reject"]}
    asked = {"action_requests": [{"name": "delete_file", "args": {"path": path}}], "review_configs": [config]}
    return interrupt(asked)["decisions"][0]["type"]


class Notes(TypedDict):
    notes: Annotated[list[str], operator.add]


@pytest.mark.parametrize("place", ["outermost", "in a tool"])
@pytest.mark.parametrize("saved", ["with its next pause", "without its next pause"])
async def test_old_answer_reaches_no_new_question_of_a_branch_beside_a_failed_one(saved, place):
    """Neither is a person asked twice: what a crashed run has saved is gone on with first."""
    failures, passed = ["disk full"], asyncio.Event()

    async def twice(state):
        first = ask_to_delete("a1")
        passed.set()
        if saved == "without its next pause" and failures:
            await asyncio.Event().wait()
        return {"notes": [f"twice: {first} {ask_to_delete('a2')}"]}

    async def fails(state):
        answer = ask_to_delete("b")
        if failures:
            await passed.wait()
            # The other branch reaches its next pause meanwhile.
            for _ in range(20):
                await asyncio.sleep(0)
            raise OSError(failures.pop())
        return {"notes": [f"fails: {answer}"]}

    async def clean_up() -> str:
        """Clean up."""
        return " | ".join((await graph.ainvoke({"notes": []}))["notes"])

    builder = StateGraph(Notes).add_node("fails", fails).add_node("twice", twice)
    builder.add_edge(START, "fails").add_edge(START, "twice")
    graph, given = (
        builder.compile(checkpointer=None if place == "in a tool" else InMemorySaver()),
        {"notes": []},
    )
    outermost = graph
    if place == "in a tool":
        model, given = ScriptedModel(turns=[says(("clean_up", {})), DONE]), GO
        outermost = create_agent(model, [clean_up], checkpointer=InMemorySaver())
    approvals = deciding(delete_file=lambda action: reject() if action.args["path"] == "a2" else approve())
    with pytest.raises(OSError, match="disk full"):
        await run_thread(outermost, approvals, given)

    result = await run_thread(outermost, approvals, None)

    notes = result["notes"] if given is not GO else answers_to_model(result)["call_1"][1].split(" | ")
    assert sorted(notes) == ["fails: approve", "twice: approve reject"]
    assert sorted(action.args["path"] for action in approvals.reviewer.asked) == ["a1", "a2", "b"]
