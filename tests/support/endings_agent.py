"""An agent in a process of its own. It asks about four calls at once, each in a run of its own: `NAME ADDRESS ADDRESS`.

The first call returns, the second raises an error, the third kills the process, and the fourth is as the first. The addresses
are those of an agent and of a worker.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from agent_adapter import ActionRequest, ApprovalClient, Context, HITLRequest, Outcome, ReviewConfig
from agent_adapter.integrations import functions
from agent_adapter.sync import SyncApprovalClient

Run = Callable[[ApprovalClient, int, Context], Awaitable[Any]]
SECOND = timedelta(seconds=1)


async def pay(amount: int) -> str:
    """Pay."""
    return pay_now(amount)


def pay_now(amount: int) -> str:
    """Pay."""
    if amount == 2:
        raise OSError("no funds")
    if amount == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"


def a_client(address: str) -> ApprovalClient:
    return ApprovalClient.from_url(address, agent="billing", claim_lease=SECOND, reconcile_every=SECOND)


def request(amount: int) -> HITLRequest:
    return HITLRequest(
        action_requests=(ActionRequest(name="pay", args={"amount": amount}),),
        review_configs=(ReviewConfig(action_name="pay", allowed_decisions=["approve", "reject"]),),
    )


async def function(client: ApprovalClient, amount: int, context: Context) -> None:
    await functions.run(pay, {"amount": amount}, approvals=client, context=context)


async def decorated(client: ApprovalClient, amount: int, context: Context) -> None:
    await functions.requires_approval(client, context=context)(pay)(amount=amount)


async def blocking(_: ApprovalClient, amount: int, context: Context) -> None:
    def pay(amount: int) -> str:
        return pay_now(amount)

    def ask() -> None:
        given = {"agent": "billing", "claim_lease": SECOND, "reconcile_every": SECOND}
        with SyncApprovalClient.from_url(sys.argv[2], **given) as client:
            functions.requires_approval(client, context=context)(pay)(amount=amount)

    await asyncio.to_thread(ask)


async def reviewing(client: ApprovalClient, amount: int, context: Context) -> None:
    async with client.reviewing(client.interrupt(request(amount), context=context)) as resume:
        try:
            result = await pay(amount)
        except OSError as error:
            await client.report(resume.interrupt_id, 0, Outcome.failed(error))
        else:
            await client.report(resume.interrupt_id, 0, Outcome.done(result))


async def review(client: ApprovalClient, amount: int, context: Context) -> None:
    await client.review(request(amount), context=context)
    await pay(amount)


def config(amount: int) -> Any:
    return {"configurable": {"thread_id": str(amount)}}


def a_graph(amount: int) -> Any:
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langgraph.checkpoint.memory import InMemorySaver

    from tests.support.scripted_model import ScriptedModel, says

    return create_agent(
        ScriptedModel(turns=(says(("pay", {"amount": amount})), says(text="done"))),
        [pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
        checkpointer=InMemorySaver(),
    )


GO: Any = {"messages": [("user", "go")]}


async def graph(client: ApprovalClient, amount: int, context: Context) -> None:
    from agent_adapter.integrations import langgraph

    await langgraph.run(a_graph(amount), GO, approvals=client, config=config(amount), context=context)


async def stream(client: ApprovalClient, amount: int, context: Context) -> None:
    from agent_adapter.integrations import langgraph

    given = {"approvals": client, "config": config(amount), "context": context}
    async for _ in langgraph.stream(a_graph(amount), GO, **given):
        pass


async def subagent(client: ApprovalClient, amount: int, context: Context) -> None:
    from deepagents import create_deep_agent
    from langgraph.checkpoint.memory import InMemorySaver

    from agent_adapter.integrations import langgraph
    from tests.support.scripted_model import ScriptedModel, says

    task = "task", {"description": "Pay.", "subagent_type": "cashier"}
    cashier: Any = {
        "name": "cashier",
        "description": "Pays.",
        "system_prompt": "Pay.",
        "model": ScriptedModel(turns=[says(("pay", {"amount": amount})), says(text="done")]),
        "tools": [pay],
    }
    lead = create_deep_agent(
        ScriptedModel(turns=[says(task), says(text="done")]),
        [pay],
        subagents=[cashier],
        interrupt_on={"pay": True},
        checkpointer=InMemorySaver(),
    )
    await langgraph.run(lead, GO, approvals=client, config=config(amount), context=context)


async def dev_utils(client: ApprovalClient, amount: int, context: Context) -> None:
    from langchain.agents import create_agent
    from langchain_dev_utils.tool_calling import human_in_the_loop_async
    from langgraph.checkpoint.memory import InMemorySaver

    from agent_adapter.integrations import langchain_dev_utils
    from tests.support.scripted_model import ScriptedModel, says

    model = ScriptedModel(turns=(says(("pay", {"amount": amount})), says(text="done")))
    agent = create_agent(model, [human_in_the_loop_async(pay)], checkpointer=InMemorySaver())
    given = {"approvals": client, "config": config(amount), "context": context}
    await langchain_dev_utils.run(agent, GO, **given)


async def node(client: ApprovalClient, amount: int, context: Context) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.types import interrupt

    from agent_adapter.integrations import langgraph

    async def asks(_: Any) -> Any:
        asked = {"action": "pay", "args": {"amount": amount}}
        interrupt({"action_request": asked, "config": {"allow_accept": True}})
        await pay(amount)
        return {"messages": []}

    built = StateGraph(MessagesState)
    built.add_node("asks", asks)
    built.add_edge(START, "asks")
    compiled = built.compile(checkpointer=InMemorySaver())
    await langgraph.run(compiled, GO, approvals=client, config=config(amount), context=context)


def a_cashier(amount: int) -> Any:
    from agents import Agent, function_tool, set_tracing_disabled
    from agents.testing import ScriptedModel, assistant_message, function_call

    set_tracing_disabled(True)
    calls = [[function_call("pay", {"amount": amount}, call_id="call_1")], [assistant_message("done")]]
    return Agent(name="cashier", model=ScriptedModel(calls), tools=[function_tool(needs_approval=True)(pay)])


async def sdk(client: ApprovalClient, amount: int, context: Context) -> None:
    from agent_adapter.integrations import openai_agents

    await openai_agents.run(a_cashier(amount), "go", approvals=client, context=context)


async def sdk_stream(client: ApprovalClient, amount: int, context: Context) -> None:
    from agent_adapter.integrations import openai_agents

    async for _ in openai_agents.stream(a_cashier(amount), "go", approvals=client, context=context):
        pass


async def sdk_inside(client: ApprovalClient, amount: int, context: Context) -> None:
    from agents import Agent
    from agents.testing import ScriptedModel, assistant_message, function_call

    from agent_adapter.integrations import openai_agents

    ask = a_cashier(amount).as_tool("ask", "Ask the cashier.")
    calls = [[function_call("ask", {"input": "pay"}, call_id="call_7")], [assistant_message("done")]]
    lead = Agent(name="lead", model=ScriptedModel(calls), tools=[ask])
    await openai_agents.run(lead, "go", approvals=client, context=context)


async def realtime(client: ApprovalClient, amount: int, context: Context) -> None:
    from tests.agent_adapter.integrations.test_openai_agents_realtime import Talk

    async with Talk(client, context=context) as talk:
        talk.does = pay_now
        await talk.says(f'{{"amount": {amount}}}')
        await asyncio.Event().wait()


async def spoon(client: ApprovalClient, amount: int, context: Context) -> None:
    from spoon_ai.agents import ToolCallAgent
    from spoon_ai.tools import ToolManager
    from spoon_ai.tools.base import BaseTool

    from agent_adapter.integrations.spoon import run
    from tests.agent_adapter.integrations.spoon_office import DONE, ScriptedBot, says

    class Pay(BaseTool):  # type: ignore[misc]  # SpoonAI ships no types
        name: str = "pay"
        description: str = "Pay."
        parameters: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "integer"}}}  # noqa: RUF012  # pydantic copies it for each tool

        async def execute(self, amount: int) -> str:
            return await pay(amount)

    bot = ScriptedBot(says(("pay", {"amount": amount})), DONE)
    agent = ToolCallAgent(llm=bot, available_tools=ToolManager([Pay()]))
    await run(agent, "go", approvals=client, interrupt_on={"pay": True}, context=context)


async def worker(client: ApprovalClient, amount: int, context: Context) -> None:
    from agent_adapter.worker.langgraph import ResumableGraph
    from tests.support.workers import working

    owned = ResumableGraph(f"office-{amount}", a_graph(amount), version="1")
    await owned.start(GO, approvals=client, config=config(amount), context=context)
    async with a_client(sys.argv[3]) as of_worker, working(of_worker, owned):
        await asyncio.Event().wait()


async def sdk_worker(client: ApprovalClient, amount: int, context: Context) -> None:
    from agent_adapter.worker.openai_agents import ResumableAgent
    from tests.support.workers import working

    owned = ResumableAgent(f"office-{amount}", a_cashier(amount), version="1")
    await owned.start("go", approvals=client, context=context)
    async with a_client(sys.argv[3]) as of_worker, working(of_worker, owned):
        await asyncio.Event().wait()


RUNS: dict[str, Run] = {
    "a plain function": function,
    "a decorated function": decorated,
    "a decorated function that blocks": blocking,
    "reviewing, with reports": reviewing,
    "review, and nothing more": review,
    "LangGraph": graph,
    "LangGraph, streamed": stream,
    "a subagent of deepagents": subagent,
    "langchain-dev-utils": dev_utils,
    "a question of a node": node,
    "the OpenAI Agents SDK": sdk,
    "the OpenAI Agents SDK, streamed": sdk_stream,
    "the OpenAI Agents SDK, an agent as a tool": sdk_inside,
    "a realtime session": realtime,
    "SpoonAI": spoon,
    "a worker of LangGraph": worker,
    "a worker of the OpenAI Agents SDK": sdk_worker,
}


async def main() -> None:
    """Run all four. An error of one ends no other."""
    run = RUNS[sys.argv[1]]
    async with a_client(sys.argv[2]) as client:
        runs = (run(client, amount, Context(title=f"call {amount}")) for amount in (1, 2, 3, 4))
        await asyncio.gather(*runs, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
