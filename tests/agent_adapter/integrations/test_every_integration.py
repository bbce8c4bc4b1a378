"""What every integration does alike, whatever the framework: each decision, each way to end, each way to go wrong."""

import asyncio
import re
from contextlib import suppress
from functools import partial

import pytest
from agents import Agent, function_tool
from agents.testing import ScriptedModel as SdkModel
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_ai import Agent as PydanticAgent

from agent_adapter import Outcome, approval_key, approval_receipt, requires_receipt
from agent_adapter.errors import (
    ConsumedError,
    DecisionNotAllowedError,
    InterruptExpiredError,
    InterruptWithdrawnError,
)
from agent_adapter.integrations import functions, langchain_dev_utils, langgraph, openai_agents, pydantic_ai
from agent_adapter.integrations.openai_agents import editable
from agent_adapter.receipts.ring import Ring
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import approve, edit, reject, respond
from tests.agent_adapter.integrations import counter, desk
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, answers_to_model
from tests.support.deciding import deciding
from tests.support.faults import eventually
from tests.support.lanes import require_spoonai
from tests.support.scripted_model import ScriptedModel, says
from tests.support.workers import ids


def pays(*orders):
    return [("pay", {"order": order}) for order in orders]


class Till:
    """A tool that pays, which runs only with the receipt of its call; what it paid, and the keys of those calls."""

    def __init__(self, approvals):
        self.paid, self.keys = [], []
        free = set()
        self.guard = requires_receipt(
            keys=getattr(approvals, "ring", Ring()),
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


async def plain_function(till, approvals, *orders, **options):
    @till.guard
    async def pay(order: int) -> str:
        return till.pay(order)

    return [
        await functions.run(pay, {"order": order}, approvals=approvals, on_reject=str, **options)
        for order in orders
    ]


async def function_that_blocks(till, approvals, *orders, **options):
    def ask():
        with SyncApprovalClient(approvals) as client:
            gate = functions.requires_approval(client, on_reject=str, **options)
            return [gate(till.guard(till.pay))(order) for order in orders]

    return await asyncio.to_thread(ask)


def _graph(till, mode, *orders):
    @tool
    @till.guard
    def pay(order: int) -> str:
        """Pay."""
        return till.pay(order)

    asks_itself = {
        "by their handler": human_in_the_loop,
        "by our handler": human_in_the_loop(handler=langchain_dev_utils.handler),
    }
    return create_agent(
        ScriptedModel(turns=[says(*pays(*orders)), DONE]),
        [asks_itself[mode](pay) if mode in asks_itself else pay],
        middleware=[]
        if mode in asks_itself
        else [HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)],
        checkpointer=InMemorySaver(),
    )


async def langchain(till, approvals, *orders, mode="batched", **options):
    run = langchain_dev_utils.run if "handler" in mode else langgraph.run
    graph = _graph(till, mode, *orders)
    return answers_to_model(await run(graph, GO, approvals=approvals, config=CONFIG, **options))


langchain_per_call = partial(langchain, mode="per_call")
dev_utils = partial(langchain, mode="by their handler")
with_our_handler = partial(langchain, mode="by our handler")


async def langchain_stream(till, approvals, *orders, **options):
    graph = _graph(till, "batched", *orders)
    async for _ in langgraph.stream(graph, GO, approvals=approvals, config=CONFIG, **options):
        pass
    return answers_to_model((await graph.aget_state(CONFIG)).values)


def _sdk_agent(till, *orders):
    @editable
    @function_tool(needs_approval=True)
    @till.guard
    def pay(order: int) -> str:
        return till.pay(order)

    return Agent(name="Desk", model=SdkModel([desk.says(*pays(*orders)), desk.DONE]), tools=[pay])


async def openai_sdk(till, approvals, *orders, **options):
    result = await openai_agents.run(_sdk_agent(till, *orders), "go", approvals=approvals, **options)
    return desk.answers_to_model(result)


async def openai_sdk_stream(till, approvals, *orders, **options):
    events = openai_agents.stream(_sdk_agent(till, *orders), "go", approvals=approvals, **options)
    async for _ in events:
        pass
    return desk.answers_to_model(events.result)


async def pydantic_ai_run(till, approvals, *orders, **options):
    agent = PydanticAgent(counter.model(counter.says(*pays(*orders)), "done"))
    agent.tool_plain(requires_approval=True)(till.guard(till.pay))
    return counter.answers_to_model(await pydantic_ai.run(agent, "go", approvals=approvals, **options))


async def spoon(till, approvals, *orders, **options):
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
        llm=spoon_office.ScriptedBot(spoon_office.says(*pays(*orders)), spoon_office.DONE),
        available_tools=ToolManager([Pay()]),
    )
    await spoon.run(agent, "go", approvals=approvals, interrupt_on={"pay": True}, **options)
    return spoon_office.answers(agent)


GRAPHS = {
    "langchain": langchain,
    "langchain, per call": langchain_per_call,
    "langchain, streamed": langchain_stream,
    "langchain-dev-utils": dev_utils,
    "langchain-dev-utils, our handler": with_our_handler,
}
TURNS = {
    **GRAPHS,
    "openai": openai_sdk,
    "openai, streamed": openai_sdk_stream,
    "pydantic-ai": pydantic_ai_run,
    "spoon": spoon,
}
"""All calls of a turn are one question."""
RUNS = {**TURNS, "function": plain_function, "function that blocks": function_that_blocks}


@pytest.fixture(autouse=True)
def package(request):
    if request.node.callspec.params["ask"] is spoon:
        require_spoonai()


def each(asks):
    return pytest.mark.parametrize("ask", asks.values(), ids=asks)


async def outcomes_of(approvals):
    found = [await approvals.record(asked.id) for asked in approvals.asked]
    return [reported and reported.outcome for record in found for reported in record.outcomes()]


@each(RUNS)
async def test_each_call_of_a_turn_becomes_what_was_decided_about_it(ask):
    """It runs as it was shown, with a person's changes or not at all, with its own key and receipt. What became of it is reported.

    Silence about one leaves the decisions about the others, and never reads as what a person said. The answer is used up.
    """
    approvals = deciding(approve(), edit({"order": 8}), reject("Too much."), respond("Ask Mira."), None)
    till = Till(approvals)

    said = str(await ask(till, approvals, 1, 2, 3, 4, 5))

    assert [(action.name, action.args) for action in approvals.reviewer.asked] == pays(1, 2, 3, 4, 5)
    assert len(approvals.asked) == (1 if ask in TURNS.values() else 5)
    assert sorted(till.paid) == [1, 8]
    assert all(words in said for words in ("paid 1", "paid 8", "Too much.", "Ask Mira."))
    assert not re.search(r"A person (rejected|did not approve)[^']*Nobody decided", said)
    asked = [f"{one.id}:{index}" for one in approvals.asked for index in range(len(one.pauses))]
    assert sorted(till.keys) == sorted(asked[:2])
    assert approval_key() is approval_receipt() is None
    assert await outcomes_of(approvals) == [Outcome.done("paid 1"), Outcome.done("paid 8"), None, None, None]
    for one in approvals.asked:
        with pytest.raises(ConsumedError):
            await approvals.publish(one)


@each(RUNS)
async def test_silence_is_an_error_where_the_caller_wants_one(ask):
    """Nothing runs, and the run ends with it."""
    approvals = deciding(None)
    till = Till(approvals)

    with pytest.raises(InterruptExpiredError):
        await ask(till, approvals, 17, on_expiry="raise")

    assert till.paid == []


@each(RUNS)
async def test_an_edit_that_does_not_fit_the_tool_runs_nothing_of_the_turn(ask):
    approvals = deciding(edit({"order": "many"}), approve())
    till = Till(approvals)

    with pytest.raises(DecisionNotAllowedError, match="does not fit"):
        await ask(till, approvals, 1, 2)

    assert till.paid == []
    # The card says that it did not run, and why. It can be asked again.
    assert "does not fit" in (await approvals.record(approvals.asked[0].id)).unused


@each(RUNS)
async def test_the_error_of_an_approved_call_is_reported(ask):
    """Whether it ends the run, or the model reads it."""
    approvals = deciding(edit({"order": -1}))

    with suppress(Exception):  # each framework has its own
        await ask(Till(approvals), approvals, 17)

    (outcome,) = await outcomes_of(approvals)
    assert outcome.status == "failed"
    assert "no such order" in outcome.text


IN_THIS_LOOP = {name: ask for name, ask in RUNS.items() if ask is not function_that_blocks}


@each(IN_THIS_LOOP)
async def test_a_question_that_was_withdrawn_ends_the_run(ask, client, store):
    """What people had decided about it does not run."""
    till = Till(client)
    running = asyncio.create_task(ask(till, client, 17))
    (interrupt_id,) = await eventually(lambda: ids(store))
    await store.settle(interrupt_id, "withdrawn", reason="not needed")

    with pytest.raises(InterruptWithdrawnError):
        await running
    assert till.paid == []


@each(IN_THIS_LOOP)
async def test_a_run_that_is_cancelled_takes_back_a_question_that_no_process_could_find_again(
    ask, client, store
):
    """A thread of LangGraph can be gone on with, so its question stays."""
    running = asyncio.create_task(ask(Till(client), client, 17))
    (interrupt_id,) = await eventually(lambda: ids(store))
    running.cancel()
    await asyncio.wait([running])

    assert bool((await store.load(interrupt_id)).withdraw_asked) is (ask not in GRAPHS.values())
