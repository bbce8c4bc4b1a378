"""One agent in every framework: it pays in one turn, and goes on where a process before it has stored something."""

import asyncio
import operator
import re
from copy import deepcopy
from functools import partial
from typing import Annotated, TypedDict

from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel as SdkModel
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic_ai import Agent as PydanticAgent

from agent_adapter import approval_key, requires_receipt
from agent_adapter.dialects import custom
from agent_adapter.integrations import (
    functions,
    langchain_dev_utils,
    langgraph,
    openai_agents,
    pydantic_ai,
    xpert,
)
from agent_adapter.integrations.openai_agents import PausedRun, editable
from agent_adapter.receipts.ring import Ring
from agent_adapter.sync import SyncApprovalClient
from tests.agent_adapter.integrations import counter, desk
from tests.agent_adapter.integrations.office import (
    CONFIG,
    DONE,
    GO,
    answers_to_model,
    gated,
    run_through_stream,
)
from tests.support.scripted_model import ScriptedModel, says

ANY = "approve edit reject respond"


def pays(*orders):
    return [("pay", {"order": order}) for order in orders]


class Till:
    """A tool that pays; what it paid, and the keys of those calls.

    What outlives a process is here, too: the threads of graphs, or the text of a run.
    """

    def __init__(self, approvals=None):
        self.paid, self.keys, self.saver, self.text = [], [], InMemorySaver(), ""
        free = set()
        self.guard = approvals and requires_receipt(
            keys=getattr(approvals, "ring", Ring()),
            audience="test",
            tool="pay",
            used=lambda key, _at: key not in free and not free.add(key),
        )

    def guarded(self, function):
        """Have a tool check the receipt of its call, where there are approvals that sign one."""
        return self.guard(function) if self.guard else function

    @property
    def is_stored(self):
        """Whether another process can go on."""
        return bool(self.text or self.saver.storage)

    def stored(self):
        """Give a copy of what is stored."""
        return deepcopy(self.saver), self.text

    def change(self):
        """Write another order into what is stored, other than into what people were asked."""
        self.text = re.sub(r'(order\\*":\s*)1', r"\g<1>2", self.text)
        for place, (kind, data) in self.saver.blobs.items():
            self.saver.blobs[place] = kind, data.replace(b"order\x01", b"order\x02")
        for of_task in self.saver.writes.values():
            for place, (task, channel, (kind, data), *path) in of_task.items():
                if channel != INTERRUPT:
                    of_task[place] = task, channel, (kind, data.replace(b"order\x01", b"order\x02")), *path

    def pay(self, order: int) -> str:
        """Pay."""
        if order < 0:
            raise ValueError("no such order")
        self.paid.append(order)
        self.keys.append(approval_key())
        return f"paid {order}"


# --- Programs of one's own ----------------------------------------------------------------------------------------


async def plain_function(till, approvals, *orders, key="", **options):
    @till.guarded
    async def pay(order: int) -> str:
        return till.pay(order)

    async def call(number, order):
        named = {"key": f"{key}{number}"} if key else {"on_reject": str}
        return await functions.run(pay, {"order": order}, approvals=approvals, **named, **options)

    return [await call(*each) for each in enumerate(orders)]


function_with_a_key = partial(plain_function, key="order")


async def function_that_blocks(till, approvals, *orders, **options):
    def ask():
        with SyncApprovalClient(approvals) as client:
            gate = functions.requires_approval(client, on_reject=str, **options)
            return [gate(till.guarded(till.pay))(order) for order in orders]

    return await asyncio.to_thread(ask)


async def asks(till, approvals, *orders, **options):
    calls = await approvals.ask_all(pays(*orders), allowed=ANY, run="month", **options)
    return [till.pay(**call.args) for call in calls]


async def xpert_ai(till, approvals, *orders, **options):
    """Stands where XpertAI does: it sends an event, and acts on what comes back."""
    config = {"actionName": "pay", "allowedDecisions": ["approve", "edit", "reject"]}
    review = {
        "actionRequests": [{"name": "pay", "args": args} for _, args in pays(*orders)],
        "reviewConfigs": [config for _ in orders],
    }
    task = {"interrupts": [{"id": "d5e8b2522f3c86bbdc5989438b46539c", "value": review}]}
    said = []

    def act(resume):
        for order, decision in zip(orders, resume["decisions"], strict=True):
            args = decision.get("editedAction", {"args": {"order": order}})["args"]
            said.append(decision["message"] if decision["type"] == "reject" else till.pay(**args))

    event = {"type": "event", "event": "on_interrupt", "data": {"tasks": [task]}}
    await xpert.run(event, approvals=approvals, thread_id="1", send=act, **options)
    return said


# --- LangChain and LangGraph --------------------------------------------------------------------------------------


def _graph(till, mode, *orders):
    @tool
    @till.guarded
    def pay(order: int) -> str:
        """Pay."""
        return till.pay(order)

    turns = says(*pays(*orders)), DONE
    given = {"model": ScriptedModel(turns=turns), "checkpointer": till.saver}
    asks_itself = {
        "by their handler": human_in_the_loop,
        "by our handler": human_in_the_loop(handler=langchain_dev_utils.handler),
    }
    if mode == "deep":
        return create_deep_agent(tools=[pay], interrupt_on={"pay": True}, **given)
    if mode in asks_itself:
        return create_agent(tools=[asks_itself[mode](pay)], **given)
    return gated([pay], *turns, mode=mode, saver=till.saver)


def _how(till, approvals, options):
    """Give the input, unless the thread has begun, and the options."""
    return None if till.is_stored else GO, {"approvals": approvals, "config": CONFIG, **options}


async def langchain(till, approvals, *orders, mode="batched", **options):
    input, how = _how(till, approvals, options)
    run = langchain_dev_utils.run if "handler" in mode else langgraph.run
    return answers_to_model(await run(_graph(till, mode, *orders), input, **how))


deepagents = partial(langchain, mode="deep")
langchain_per_call = partial(langchain, mode="per_call")
dev_utils = partial(langchain, mode="by their handler")
with_our_handler = partial(langchain, mode="by our handler")


async def langchain_stream(till, approvals, *orders, **options):
    input, how = _how(till, approvals, options)
    return answers_to_model(await run_through_stream(_graph(till, "batched", *orders), input, **how))


class Calls(TypedDict):
    calls: list[dict[str, int]]
    said: Annotated[list[str], operator.add]


async def interrupts(till, approvals, *orders, **options):
    """A node for each order asks by itself, side by side, and reads an answer of its own."""

    def pay(state, number):
        args = state["calls"][number]
        answer = interrupt(args)
        return {"said": [answer["message"] if "message" in answer else till.pay(**answer.get("args", args))]}

    builder = StateGraph(Calls)
    for number in range(len(orders)):
        builder.add_node(f"pay {number}", partial(pay, number=number)).add_edge(START, f"pay {number}")
    dialect = custom(
        lambda decision: decision.model_dump(),
        allowed_decisions=["approve", "reject", "respond"],
        edit=lambda args: {"args": args},
    )
    input, how = _how(till, approvals, options)
    input = input and {"calls": [args for _, args in pays(*orders)]}
    result = await langgraph.run(builder.compile(till.saver), input, dialect=dialect, **how)
    return result["said"]


# --- The others ---------------------------------------------------------------------------------------------------


def _sdk_agent(till, *orders):
    @editable
    @function_tool(needs_approval=True)
    @till.guarded
    def pay(order: int) -> str:
        return till.pay(order)

    turns = [desk.DONE] if till.text else [desk.says(*pays(*orders)), desk.DONE]
    return Agent(name="Desk", model=SdkModel(turns), tools=[pay])


async def openai_sdk(till, approvals, *orders, **options):
    result = await openai_agents.run(_sdk_agent(till, *orders), "go", approvals=approvals, **options)
    return desk.answers_to_model(result)


async def openai_sdk_stream(till, approvals, *orders, **options):
    events = openai_agents.stream(_sdk_agent(till, *orders), "go", approvals=approvals, **options)
    async for _ in events:
        pass
    return desk.answers_to_model(events.result)


async def openai_sdk_stored(till, approvals, *orders, **options):
    if not till.text:
        agent = _sdk_agent(till, *orders)
        till.text = PausedRun.of(agent, await Runner.run(agent, "go")).dump()
    agent = _sdk_agent(till)
    paused = await PausedRun.load(agent, till.text)
    return desk.answers_to_model(await openai_agents.run(agent, paused, approvals=approvals, **options))


async def pydantic_ai_run(till, approvals, *orders, **options):
    turns = ["done"] if till.text else [counter.says(*pays(*orders)), "done"]
    agent = PydanticAgent(counter.model(*turns))
    agent.tool_plain(requires_approval=True)(till.guarded(till.pay))

    def save(conversation):
        # The end of a run has nothing to go on with.
        till.text = till.text or counter.dumped(conversation)

    at = {"conversation": counter.loaded(till.text)} if till.text else {"prompt": "go"}
    return counter.answers_to_model(
        await pydantic_ai.run(agent, **at, approvals=approvals, save=save, **options)
    )


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

        @till.guarded
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
    "deepagents": deepagents,
    "langchain-dev-utils": dev_utils,
    "langchain-dev-utils, our handler": with_our_handler,
}
TURNS = {
    **GRAPHS,
    "openai": openai_sdk,
    "openai, stored": openai_sdk_stored,
    "openai, streamed": openai_sdk_stream,
    "pydantic-ai": pydantic_ai_run,
    "spoon": spoon,
}
"""All calls of a turn are one question."""
RUNS = {**TURNS, "function": plain_function, "function that blocks": function_that_blocks}
