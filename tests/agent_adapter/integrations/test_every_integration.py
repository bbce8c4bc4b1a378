"""What every integration does alike, whatever the framework: one call, each decision, each way to end."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from agents import Agent, function_tool
from agents.testing import ScriptedModel as SdkModel
from agents.tool_context import ToolContext
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter import Outcome, approval_key, approval_receipt, requires_receipt
from agent_adapter.errors import ConsumedError, InterruptExpiredError
from agent_adapter.integrations import functions, langchain_dev_utils, langgraph, openai_agents
from agent_adapter.integrations.openai_agents import editable
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import approve, edit, reject, respond
from tests.agent_adapter.integrations import desk
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, answers_to_model
from tests.agent_adapter.integrations.test_openai_agents_realtime import Talk
from tests.support.deciding import deciding
from tests.support.lanes import require_spoonai
from tests.support.scripted_model import ScriptedModel, says

CALL = ("pay", {"order": 17})


class Till:
    """A tool that pays, which runs only with the receipt of its call; what it paid, and the keys of those calls."""

    def __init__(self, approvals):
        self.paid, self.keys = [], []
        free = set()
        self.guard = requires_receipt(
            keys=approvals.ring,
            audience="test",
            tool="pay",
            used=lambda key, _at: key not in free and not free.add(key),
        )

    def pay(self, order: int) -> str:
        if order < 0:
            raise ValueError("no such order")
        self.paid.append(order)
        self.keys.append(approval_key())
        return f"paid {order}"


async def plain_function(till, approvals, **options):
    @till.guard
    async def pay(order: int) -> str:
        return till.pay(order)

    return await functions.run(pay, CALL[1], approvals=approvals, on_reject=str, **options)


async def function_that_blocks(till, approvals, **options):
    def ask():
        with SyncApprovalClient(approvals) as client:
            gate = functions.requires_approval(client, on_reject=str, **options)
            return gate(till.guard(till.pay))(**CALL[1])

    return await asyncio.to_thread(ask)


def _graph(till, mode):
    @tool
    @till.guard
    def pay(order: int) -> str:
        """Pay."""
        return till.pay(order)

    asks_itself = mode == "by the tool"
    return create_agent(
        ScriptedModel(turns=[says(CALL), DONE]),
        [human_in_the_loop(pay) if asks_itself else pay],
        middleware=[] if asks_itself else [HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)],
        checkpointer=InMemorySaver(),
    )


async def langchain(till, approvals, mode="batched", **options):
    run = langchain_dev_utils.run if mode == "by the tool" else langgraph.run
    return answers_to_model(await run(_graph(till, mode), GO, approvals=approvals, config=CONFIG, **options))


async def langchain_per_call(till, approvals, **options):
    return await langchain(till, approvals, "per_call", **options)


async def dev_utils(till, approvals, **options):
    return await langchain(till, approvals, "by the tool", **options)


async def langchain_stream(till, approvals, **options):
    graph = _graph(till, "batched")
    async for _ in langgraph.stream(graph, GO, approvals=approvals, config=CONFIG, **options):
        pass
    return answers_to_model((await graph.aget_state(CONFIG)).values)


def _sdk_agent(till):
    @editable
    @function_tool(needs_approval=True)
    @till.guard
    def pay(context: ToolContext[Any], order: int) -> str:
        return till.pay(order)

    return Agent(name="Desk", model=SdkModel([desk.says(CALL), desk.DONE]), tools=[pay])


async def openai_sdk(till, approvals, **options):
    result = await openai_agents.run(_sdk_agent(till), "go", approvals=approvals, **options)
    return desk.answers_to_model(result)


async def openai_sdk_stream(till, approvals, **options):
    events = openai_agents.stream(_sdk_agent(till), "go", approvals=approvals, **options)
    async for _ in events:
        pass
    return desk.answers_to_model(events.result)


async def realtime(till, approvals, **options):
    async with Talk(approvals, *_sdk_agent(till).tools, **options) as talk:
        said = await talk.says(json.dumps(CALL[1]))
        # The model hears it before the answer is used up.
        async with asyncio.timeout(30):
            while any(task.get_name().startswith("review of") for task in asyncio.all_tasks()):
                await asyncio.sleep(0)
        return said


async def spoon(till, approvals, **options):
    require_spoonai()
    from spoon_ai.agents import ToolCallAgent
    from spoon_ai.tools import ToolManager
    from spoon_ai.tools.base import BaseTool

    from agent_adapter.integrations import spoon
    from tests.agent_adapter.integrations import spoon_office

    schema = {"type": "object", "properties": {"order": {"type": "integer"}}}

    class Pay(BaseTool):
        name: str = "pay"
        description: str = "Pay."
        parameters: dict = schema

        @till.guard
        async def execute(self, order: int) -> str:
            return till.pay(order)

    agent = ToolCallAgent(
        llm=spoon_office.ScriptedBot(spoon_office.says(CALL), spoon_office.DONE),
        available_tools=ToolManager([Pay()]),
    )
    await spoon.run(agent, "go", approvals=approvals, interrupt_on={"pay": True}, **options)
    return spoon_office.answers(agent)


RUNS = [
    plain_function, function_that_blocks, langchain, langchain_per_call, langchain_stream, dev_utils, openai_sdk,
    openai_sdk_stream, spoon,
]  # fmt: skip
EVERY = pytest.mark.parametrize("ask", [*RUNS, realtime])


@EVERY
@pytest.mark.parametrize(
    ("decision", "paid", "heard", "outcome"),
    [
        (approve(), [17], "paid 17", Outcome.done("paid 17")),
        (edit({"order": 8}), [8], "paid 8", Outcome.done("paid 8")),
        (reject("Too much."), [], "Too much.", None),
        (respond("Ask Mira."), [], "Ask Mira.", None),
        (None, [], "Nobody decided in time.", None),
    ],
    ids=["approve", "edit", "reject", "respond", "silence"],
)
async def test_each_decision_does_what_it_says(ask, decision, paid, heard, outcome):
    """The approved call runs as it was shown, with a person's changes or not at all; it has its key and its receipt.

    What became of it is reported, and its answer is used up. Silence never reads as what a person said.
    """
    approvals = deciding(decision)
    till = Till(approvals)

    said = await ask(till, approvals)

    assert [(action.name, action.args) for action in approvals.reviewer.asked] == [CALL]
    assert till.paid == paid
    assert heard in str(said)
    assert decision or "A person" not in str(said)
    (asked,) = approvals.asked
    assert till.keys == [f"{asked.id}:0" for _ in paid]
    assert approval_key() is approval_receipt() is None
    (reported,) = (await approvals.record(asked.id)).outcomes()
    assert (reported and reported.outcome) == outcome
    with pytest.raises(ConsumedError):
        await approvals.publish(asked)


@pytest.mark.parametrize("ask", RUNS)
async def test_silence_is_an_error_where_the_caller_wants_one(ask):
    """Nothing runs, and the run ends with it."""
    approvals = deciding(None)
    till = Till(approvals)

    with pytest.raises(InterruptExpiredError):
        await ask(till, approvals, on_expiry="raise")

    assert till.paid == []


@EVERY
async def test_the_error_of_an_approved_call_is_reported(ask):
    """Whether it ends the run, or the model reads it."""
    approvals = deciding(edit({"order": -1}))

    with suppress(Exception):  # each framework has its own
        await ask(Till(approvals), approvals)

    (reported,) = (await approvals.record(approvals.asked[0].id)).outcomes()
    assert reported.outcome.status == "failed"
    assert "no such order" in reported.outcome.text
