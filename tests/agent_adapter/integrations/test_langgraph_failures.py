"""Answers that would break a thread are refused before it is resumed, and it can still be answered."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, field_validator

from agent_adapter.contract.hitl import UnknownDecision
from agent_adapter.contract.interrupt import Resume
from agent_adapter.errors import ClaimedError, ConsumedError, DecisionNotAllowedError
from agent_adapter.integrations.langgraph import to_request, to_resume
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, respond
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office, run_thread
from tests.support.deciding import deciding
from tests.support.scripted_model import ScriptedModel, says

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])
GOOD = {"send_email": approve(), "delete_file": approve(), "ask_user": respond("staging")}


def resume_of(pauses, answers, *, status="decided"):
    """Give a resume with these answers by tool, as it would come from a store that was tampered with."""
    actions = to_request(pauses).action_requests
    decisions = [answers[action.name] for action in actions if action.name in answers]
    decisions = tuple(answer(actions[0]) if callable(answer) else answer for answer in decisions)
    return Resume.model_construct(
        interrupt_id="test.1", status=status, decisions=decisions, records=(None,) * len(decisions)
    )


BAD = {
    "too few decisions": ({"send_email": approve(), "delete_file": approve()}, "2 decisions for 3 actions"),
    "a kind that is not allowed": (
        {**GOOD, "delete_file": respond("x")},
        r"\(delete_file\): respond is not one of approve, reject",
    ),
    "a kind that nobody knows": (
        {**GOOD, "send_email": UnknownDecision(type="maybe")},
        "'maybe' is not one of approve",
    ),
    "an open action": ({**GOOD, "send_email": None}, r"\(send_email\) was left open"),
    "a decision that is no object": ({**GOOD, "send_email": ["approve"]}, "decision"),
    "respond without a message": ({**GOOD, "ask_user": {"type": "respond"}}, "message: Field required"),
    "edit without arguments": (
        {**GOOD, "send_email": {"type": "edit", "edited_action": {"name": "send_email"}}},
        "edited_action.args: Field required",
    ),
    "edit to another tool": (
        {
            **GOOD,
            "send_email": {"type": "edit", "edited_action": {"name": "delete_file", "args": {"path": "x"}}},
        },
        "may not change the tool to 'delete_file'",
    ),
    "edit to an unknown tool": (
        {**GOOD, "send_email": {"type": "edit", "edited_action": {"name": "nope", "args": {}}}},
        "may not change the tool to 'nope'",
    ),
    "edited arguments that are no JSON": (
        {**GOOD, "send_email": edit({"to": "a", "subject": float("nan")})},
        "nan is not a JSON number",
    ),
    "edited arguments that miss one": ({**GOOD, "send_email": edit({"to": "only"})}, "args.subject: Field required"),
    "edited arguments of another type": (
        {**GOOD, "send_email": edit({"to": "a", "subject": ["s"]})},
        "args.subject: Input should be a valid string",
    ),
}  # fmt: skip


@MODES
@pytest.mark.parametrize(("answers", "says_what"), BAD.values(), ids=BAD)
async def test_bad_answer_is_refused_and_the_thread_can_still_be_answered(mode, answers, says_what):
    """One clear sentence, nothing resumed, nothing run, and a good answer works afterwards."""
    office = Office()
    agent = office.agent(TURN, DONE, mode=mode)
    await agent.ainvoke(GO, CONFIG)
    pauses = (await agent.aget_state(CONFIG)).interrupts
    before = list(office.ran)

    with pytest.raises(DecisionNotAllowedError, match=says_what):
        await agent.ainvoke(to_resume(resume_of(pauses, answers), pauses, tools=office.tools), CONFIG)

    assert office.ran == before
    assert (await agent.aget_state(CONFIG)).interrupts == pauses
    result = await agent.ainvoke(to_resume(resume_of(pauses, GOOD), pauses), CONFIG)
    assert office.names() == ["delete_file", "read_file", "send_email"]
    assert result["messages"][-1].content == "done"


@pytest.mark.parametrize("status", ["withdrawn", "refused"])
async def test_nothing_resumes_from_an_interrupt_that_ended_otherwise(status):
    """Decisions that people made before it was withdrawn do not run."""
    agent = Office().agent(TURN, DONE)
    pauses = (await agent.ainvoke(GO, CONFIG))["__interrupt__"]

    with pytest.raises(DecisionNotAllowedError, match=f"was {status}"):
        to_resume(resume_of(pauses, GOOD, status=status), pauses)


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

    review = HumanInTheLoopMiddleware({"pay": True})
    model = ScriptedModel(turns=[says(("pay", asked)), DONE])
    return create_agent(model, [pay], middleware=[review], checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"to": " ADMIN", "cents": 5}, r'args\.to: " ADMIN" was approved, but "admin" would have run'),
        ({"to": "al", "cents": "5"}, r'args\.cents: "5" was approved, but 5 would have run'),
        ({"to": "al", "cents": 5, "limit": 10}, r"args\.limit: 10 was approved, but no value would have run"),
    ],
)
async def test_an_edit_that_the_tool_would_turn_into_another_value_is_refused(args, said):
    """The tool reads its arguments with a model of its own; what it would make of the edit is not what was approved."""
    paid = []
    agent = paying(paid, to="bo", cents=1)
    approvals = deciding(pay=edit(args))

    with pytest.raises(
        DecisionNotAllowedError, match=f"edited pay does not fit its tool: {said}.*; nothing was resumed"
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


@MODES
async def test_two_runs_of_one_paused_thread_resume_it_once(mode):
    """The second finds the question being answered, or answered; the tools run once."""
    office = Office()
    agent = office.agent(TURN, DONE, mode=mode)
    await agent.ainvoke(GO, CONFIG)
    pauses = (await agent.aget_state(CONFIG)).interrupts
    approvals = InMemoryApprovalClient(ScriptedReviewer(GOOD))
    mine = approvals.interrupt(
        to_request(pauses, tools=office.tools),
        run="thread-1",
        pauses=[pause.id for pause in pauses for _ in pause.value.get("action_requests", [None])],
    )

    async with approvals.reviewing(mine) as resume:
        with pytest.raises(ClaimedError):
            await run_thread(agent, approvals, None)
        await agent.ainvoke(to_resume(resume, pauses), CONFIG)
    with pytest.raises(ConsumedError):
        async with approvals.reviewing(mine):
            pass

    assert office.names() == ["delete_file", "read_file", "send_email"]


async def test_a_finished_thread_is_not_run_again():
    """`input=None` on a thread without a pause asks nobody and runs no tool twice."""
    office = Office()
    agent = office.agent(TURN, DONE)
    approvals = InMemoryApprovalClient(ScriptedReviewer(GOOD))
    await run_thread(agent, approvals)
    before = list(office.ran)

    await run_thread(agent, approvals, None)

    assert office.ran == before
    assert len(approvals.reviewer.asked) == 3
