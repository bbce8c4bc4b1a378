"""A tool with `@requires_receipt` runs after an approval through each integration, without a line for it in the agent."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from agents import Agent, function_tool
from agents.testing import ModelStep, assistant_message, function_call
from agents.testing import ScriptedModel as ScriptedAnswers
from agents.tool_context import ToolContext
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter import ReceiptError, approval_key, approval_receipt, requires_receipt
from agent_adapter.integrations import functions, langgraph
from agent_adapter.integrations.openai_agents import editable
from agent_adapter.receipts.used import SqliteUsed
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, reject
from agent_adapter.worker import ResumeWorker
from agent_adapter.worker.langgraph import ResumableGraph
from agent_adapter.worker.openai_agents import ResumableAgent
from tests.support.scripted_model import ScriptedModel, says

CONFIG = {"configurable": {"thread_id": "t"}}
GO = {"messages": [("user", "go")]}
TURNS = [says(("pay", {"to": "al"}), ("send", {"to": "bo"}), ("pay", {"to": "cy"})), says(text="done")]


class Desk:
    """Tools that need a receipt, and what they did."""

    def __init__(self, approvals, tmp_path):
        self.ran = []
        self.used = SqliteUsed(tmp_path / "used.db")
        guard = requires_receipt(keys=approvals.ring, audience="test", used=self.used)

        @guard
        def pay(to: str, amount: int = 5) -> str:
            """Pay."""
            self.note("pay", to)
            return "paid"

        @guard
        async def send(to: str) -> str:
            """Send."""
            await asyncio.sleep(0)
            self.note("send", to)
            return "sent"

        self.pay, self.send = pay, send

    def note(self, name, to):
        key = approval_key()
        assert key
        self.ran.append((name, to, key.rpartition(":")[2]))


@pytest.fixture
def open_desk(tmp_path):
    desks = []

    def opened(*answers):
        approvals = InMemoryApprovalClient(ScriptedReviewer(list(answers)))
        desks.append(Desk(approvals, tmp_path))
        return approvals, desks[-1]

    yield opened
    for desk in desks:
        desk.used.close()


def an_agent(desk, mode="batched", turns=TURNS):
    review = HumanInTheLoopMiddleware({"pay": True, "send": True}, interrupt_mode=mode)
    return create_agent(
        ScriptedModel(turns=turns), [desk.pay, desk.send], middleware=[review], checkpointer=InMemorySaver()
    )


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_tools_of_langchain(open_desk, mode):
    approvals, desk = open_desk(approve(), edit({"to": "bob"}), reject("no"))

    await langgraph.run(an_agent(desk, mode), GO, approvals=approvals, config=CONFIG)

    assert sorted(desk.ran) == [("pay", "al", "0"), ("send", "bob", "1")]


async def test_tools_of_langchain_that_nobody_was_asked_about_do_not_run(open_desk):
    """Somebody took the middleware away: the tool itself holds."""
    approvals, desk = open_desk()
    agent = create_agent(ScriptedModel(turns=TURNS), [desk.pay, desk.send], checkpointer=InMemorySaver())

    with pytest.raises(ReceiptError, match="nobody has approved"):
        await langgraph.run(agent, GO, approvals=approvals, config=CONFIG)

    assert desk.ran == []


async def test_tools_of_a_subagent_of_deepagents(open_desk):
    approvals, desk = open_desk(approve())
    clerk = {
        "name": "clerk", "description": "Pays.", "system_prompt": "Pay.", "tools": [desk.pay],
        "interrupt_on": {"pay": True},
        "model": ScriptedModel(turns=[says(("pay", {"to": "al"})), says(text="paid")]),
    }  # fmt: skip
    task = {"description": "pay", "subagent_type": "clerk"}
    agent = create_deep_agent(
        ScriptedModel(turns=[says(("task", task)), says(text="done")]),
        subagents=[clerk],
        checkpointer=InMemorySaver(),
    )

    await langgraph.run(agent, GO, approvals=approvals, config=CONFIG)

    assert desk.ran == [("pay", "al", "0")]


def an_openai_agent(approvals, desk):
    guard = requires_receipt(keys=approvals.ring, audience="test", used=desk.used)

    @editable
    @function_tool(needs_approval=True, failure_error_function=None)
    @guard
    def pay(context: ToolContext[Any], to: str, amount: float = 5.0) -> str:
        """Pay."""
        desk.note("pay", to)
        return "paid"

    @function_tool(needs_approval=True, failure_error_function=None)
    @guard
    async def send(context: ToolContext[Any], to: str) -> str:
        """Send."""
        desk.note("send", to)
        return "sent"

    turn = [
        function_call("pay", {"to": "al", "amount": 1}, call_id="call_1"),
        function_call("send", {"to": "bo"}, call_id="call_2"),
        function_call("pay", {"to": "cy"}, call_id="call_3"),
    ]
    model = ScriptedAnswers([ModelStep(turn), ModelStep([assistant_message("done")])])
    return Agent(name="office", model=model, tools=[pay, send])


async def test_a_receipt_goes_on_to_a_tool_in_another_process(open_desk):
    """A tool that calls a server passes the receipt of its own call on."""
    approvals, _ = open_desk(approve())
    sent = {}

    async def send(to: str) -> str:
        receipt = approval_receipt()
        sent.update(receipt.meta())
        sent["header"] = receipt.header()
        return receipt.args

    assert await functions.run(send, {"to": "al"}, approvals=approvals) == '{"to":"al"}'
    assert set(sent) == {"io.assent/receipt", "header"}


async def worked_off(approvals, resumable, start):
    """Let a worker run what the starting process left."""
    over = asyncio.Event()
    resumable.over = lambda _: _tell(over)
    await start
    worker = ResumeWorker(approvals, [resumable], sweep=timedelta(milliseconds=20))
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(30):
        await over.wait()
    worker.stop()
    await running


async def _tell(over):
    over.set()


async def test_tools_of_a_graph_that_a_worker_goes_on_with(open_desk):
    approvals, desk = open_desk(approve(), edit({"to": "bob"}), reject("no"))
    resumable = ResumableGraph("office", an_agent(desk), version="1")

    await worked_off(approvals, resumable, resumable.start(GO, approvals=approvals, config=CONFIG))

    assert sorted(desk.ran) == [("pay", "al", "0"), ("send", "bob", "1")]


async def test_tools_of_an_openai_agent_that_a_worker_goes_on_with(open_desk):
    approvals, desk = open_desk(approve(), approve(), reject("no"))
    resumable = ResumableAgent("office", an_openai_agent(approvals, desk), version="1")

    await worked_off(approvals, resumable, resumable.start("go", approvals=approvals))

    assert sorted(desk.ran) == [("pay", "al", "0"), ("send", "bo", "1")]
