"""A process ends at any point; another goes on with the same question, and nobody is asked twice."""

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from agent_adapter.errors import ConsumedError
from agent_adapter.integrations.langgraph import run
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, reject, respond
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office, answers_to_model
from tests.support.scripted_model import ScriptedModel, says

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])
GOOD = {"send_email": approve(), "delete_file": reject("keep it"), "ask_user": respond("staging")}


class KilledError(Exception):
    """Stands for the end of a process."""


class Approvals(InMemoryApprovalClient):
    """Lives longer than the agents' processes, as the store does."""

    def __init__(self, reviewer):
        super().__init__(reviewer)
        self.published = []

    async def publish(self, interrupt):
        found = await super().publish(interrupt)
        self.published.append(found)
        return found


def killed(action, config):
    raise KilledError


def nobody_may_be_asked(action, config):
    raise AssertionError(f"asked again about {action.name}")


@MODES
async def test_new_process_finds_the_question_of_the_old_one(mode, tmp_path):
    """The pause is read from the checkpoint, not made again: one record, and the model is not called again."""
    office, approvals = Office(), Approvals(killed)
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        with pytest.raises(KilledError):
            await run(
                office.agent(TURN, DONE, mode=mode, checkpointer=saver),
                GO,
                approvals=approvals,
                config=CONFIG,
            )
    approvals.reviewer = ScriptedReviewer(GOOD)

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        result = await run(
            office.agent(TURN, DONE, mode=mode, checkpointer=saver), None, approvals=approvals, config=CONFIG
        )

    assert len(set(approvals.published)) == 1
    assert office.names() == ["read_file", "send_email"]
    assert answers_to_model(result)["call_3"][1].endswith("with reason: keep it")
    assert answers_to_model(result)["call_4"] == ("success", "staging")


@MODES
async def test_decisions_made_while_no_process_lived_are_used(mode):
    """The answer waits in its record."""
    office, approvals = Office(), Approvals(killed)
    saver = InMemorySaver()
    with pytest.raises(KilledError):
        await run(
            office.agent(TURN, DONE, mode=mode, checkpointer=saver), GO, approvals=approvals, config=CONFIG
        )
    approvals.reviewer = ScriptedReviewer(GOOD)
    await approvals.wait(approvals.published[0])
    approvals.reviewer = nobody_may_be_asked

    await run(
        office.agent(TURN, DONE, mode=mode, checkpointer=saver), None, approvals=approvals, config=CONFIG
    )

    assert office.names() == ["read_file", "send_email"]


async def test_paused_node_is_not_run_again_to_find_its_question():
    """Once to pause, once to resume: what comes before a pause in its node is not done a third time."""
    executions = []

    def ask(state):
        executions.append("ask")
        return {"notes": [ask_to_delete("a")]}

    graph = StateGraph(Notes).add_node(ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    approvals = Approvals(killed)
    with pytest.raises(KilledError):
        await run(graph, {"notes": []}, approvals=approvals, config=CONFIG)
    approvals.reviewer = ScriptedReviewer([approve()])

    result = await run(graph, None, approvals=approvals, config=CONFIG)

    assert result["notes"] == ["approve"]
    assert executions == ["ask", "ask"]


async def test_rest_of_a_partly_resumed_turn_is_the_same_question():
    """In per_call mode some pauses can be answered by hand; the rest still leads to the first record."""
    office, approvals = Office(), Approvals(killed)
    agent = office.agent(TURN, DONE, mode="per_call")
    with pytest.raises(KilledError):
        await run(agent, GO, approvals=approvals, config=CONFIG)
    first, *rest = (await agent.aget_state(CONFIG)).interrupts
    await agent.ainvoke(Command(resume={first.id: {"type": "approve"}}), CONFIG)
    assert (await agent.aget_state(CONFIG)).interrupts == tuple(rest)
    approvals.reviewer = ScriptedReviewer(GOOD)

    result = await run(agent, None, approvals=approvals, config=CONFIG)

    assert len(set(approvals.published)) == 1
    assert office.names() == ["read_file", "send_email"]
    assert answers_to_model(result)["call_4"] == ("success", "staging")


async def test_failed_tool_is_tried_again_with_its_decision():
    """In per_call mode the call that failed is still pending: the person is not asked again, and the others do not run twice."""
    office = Office(breaks={"b"})
    approvals = Approvals(ScriptedReviewer({"delete_file": [approve(), approve(), reject("keep c")]}))
    turn = says(*(("delete_file", {"path": path}) for path in "abc"))
    agent = office.agent(turn, DONE, mode="per_call", interrupt_on={"delete_file": True})
    with pytest.raises(OSError, match="cannot delete b"):
        await run(agent, GO, approvals=approvals, config=CONFIG)
    office.breaks.clear()
    approvals.reviewer = nobody_may_be_asked

    result = await run(agent, None, approvals=approvals, config=CONFIG)

    assert len(set(approvals.published)) == 1
    assert sorted(args["path"] for _, args in office.ran) == ["a", "b", "b"]
    assert result["messages"][-1].content == "done"


async def test_failure_after_the_answer_was_taken_settles_the_question():
    """The decisions are in the thread: going on needs no person, and nothing is resumed a second time."""
    office = Office(breaks={"report.txt"})
    approvals = Approvals(ScriptedReviewer({**GOOD, "delete_file": approve()}))
    agent = office.agent(TURN, DONE)
    with pytest.raises(OSError, match=r"cannot delete report\.txt"):
        await run(agent, GO, approvals=approvals, config=CONFIG)
    with pytest.raises(ConsumedError):
        async with approvals.resuming(approvals.published[0]):
            pass
    office.breaks.clear()
    approvals.reviewer = nobody_may_be_asked

    result = await run(agent, None, approvals=approvals, config=CONFIG)

    assert result["messages"][-1].content == "done"


async def test_cancelled_run_that_had_taken_the_answer_settles_the_question():
    """A server cancels its request while an approved tool works: the thread goes on later, without the person."""
    approvals = Approvals(ScriptedReviewer({"wait_long": approve()}))
    started, release = asyncio.Event(), asyncio.Event()

    async def wait_long() -> str:
        """Wait."""
        started.set()
        await release.wait()
        return "waited"

    agent = create_agent(
        ScriptedModel(turns=[says(("wait_long", {})), DONE]),
        [wait_long],
        middleware=[HumanInTheLoopMiddleware({"wait_long": True})],
        checkpointer=InMemorySaver(),
    )
    running = asyncio.create_task(run(agent, GO, approvals=approvals, config=CONFIG))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ConsumedError):
        async with approvals.resuming(approvals.published[0]):
            pass
    release.set()

    result = await run(agent, None, approvals=approvals, config=CONFIG)

    assert answers_to_model(result)["call_1"] == ("success", "waited")
    assert len(approvals.reviewer.asked) == 1


class Notes(TypedDict):
    notes: Annotated[list[str], operator.add]


def ask_to_delete(path):
    answer = interrupt(
        {
            "action_requests": [{"name": "delete_file", "args": {"path": path}}],
            "review_configs": [{"action_name": "delete_file", "allowed_decisions": ["approve", "reject"]}],
        }
    )
    return answer["decisions"][0]["type"]


@pytest.mark.parametrize("nested", [False, True], ids=["outer", "inner"])
@pytest.mark.parametrize("saved", ["with its next pause", "without its next pause"])
async def test_branch_that_went_on_beside_a_failed_one_is_asked_its_next_question(saved, nested):
    """Neither is a person asked twice, nor does an old answer reach a question that nobody has decided."""
    failures = ["disk full"]
    passed = asyncio.Event()

    async def twice(state):
        first = ask_to_delete("a1")
        passed.set()
        if saved == "without its next pause" and failures:
            await asyncio.sleep(60)
        return {"notes": [f"twice: {first} {ask_to_delete('a2')}"]}

    async def fails(state):
        answer = ask_to_delete("b")
        if failures:
            await passed.wait()
            await asyncio.sleep(0.05)
            raise OSError(failures.pop())
        return {"notes": [f"fails: {answer}"]}

    builder = StateGraph(Notes).add_node("fails", fails).add_node("twice", twice)
    builder.add_edge(START, "fails").add_edge(START, "twice")
    if nested:
        builder = StateGraph(Notes).add_node("inner", builder.compile()).add_edge(START, "inner")
    graph = builder.compile(checkpointer=InMemorySaver())
    reviewer = ScriptedReviewer(
        {"delete_file": lambda action: reject() if action.args["path"] == "a2" else approve()}
    )
    approvals = Approvals(reviewer)
    with pytest.raises(OSError, match="disk full"):
        await run(graph, {"notes": []}, approvals=approvals, config=CONFIG)

    result = await run(graph, None, approvals=approvals, config=CONFIG)

    assert sorted(result["notes"]) == ["fails: approve", "twice: approve reject"]
    assert sorted(action.args["path"] for action in reviewer.asked) == ["a1", "a2", "b"]
