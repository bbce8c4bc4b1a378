"""Runs that outlive their process: an agent in LangGraph and one of the OpenAI Agents SDK, people who decide, and workers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from agents import Agent, function_tool, set_tracing_disabled
from agents.testing import ModelStep, assistant_message, function_call
from agents.testing import ScriptedModel as ScriptedAnswers
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent_adapter import ApprovalClient, approval_key, approval_receipt
from agent_adapter.cipher import STATE_KEY, Cipher
from agent_adapter.contract.hitl import ApproveDecision, Decision
from agent_adapter.contract.receipt import Receipt
from agent_adapter.integrations.openai_agents import editable
from agent_adapter.redis.pool import end_task
from agent_adapter.worker import ResumeWorker
from agent_adapter.worker.langgraph import ResumableGraph
from agent_adapter.worker.loop import Over
from agent_adapter.worker.openai_agents import ResumableAgent
from bot.store.records import ApprovalStore
from tests.support.deciding import admit, record, start_retention
from tests.support.scripted_model import ScriptedModel, says
from tests.support.topologies import scanned

# The SDK would send what it traces to its maker.
set_tracing_disabled(True)

SHORT = timedelta(milliseconds=300)
TURNS = (
    says(("send_email", {"to": "al"}), ("delete_file", {"path": "report.txt"})),
    says(("send_email", {"to": "bo"}), first_call=3),
    says(text="done"),
)
GO = {"messages": [("user", "go")]}
RAN = ["delete_file report.txt", "send_email al", "send_email bo"]
"""What runs, in alphabetical order, when everything is approved."""


@asynccontextmanager
async def threads_in(database: str) -> AsyncIterator[Any]:
    """Open the threads of graphs in a database: PostgreSQL by its address, SQLite by its path."""
    if not database.startswith("postgresql:"):
        async with AsyncSqliteSaver.from_conn_string(database) as saver:
            yield saver
        return
    async with AsyncPostgresSaver.from_conn_string(database) as saver:
        await saver.setup()
        yield saver


def thread(id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": id}}


class Notes:
    """What tools did, under which keys and receipts, and what the owners of runs were told."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.keys: list[tuple[str, str | None]] = []
        self.receipts: list[Receipt | None] = []
        self.over: list[Over] = []

    def ran(self, call: str) -> None:
        self.calls.append(call)
        self.keys.append((call, approval_key()))
        self.receipts.append(approval_receipt())

    async def inside(self) -> None:
        """Stand still inside a tool, after its effect, where a test wants it to."""

    async def tell(self, over: Over) -> None:
        self.over.append(over)


def a_graph(
    notes: Notes, saver: Any, *, version: str = "1", mode: str = "batched", more: Any = (), **given: Any
) -> ResumableGraph:
    """An agent in LangGraph that sends two emails and deletes a file between, all of it gated."""

    def send_email(to: str) -> str:
        """Send an email."""
        notes.ran(f"send_email {to}")
        return "sent"

    async def delete_file(path: str) -> str:
        """Delete a file."""
        notes.ran(f"delete_file {path}")
        await notes.inside()
        return "deleted"

    review = HumanInTheLoopMiddleware({"send_email": True, "delete_file": True}, interrupt_mode=mode)
    model, tools = ScriptedModel(turns=TURNS), [send_email, delete_file]
    graph = create_agent(model, tools, middleware=[review, *more], checkpointer=saver)
    return ResumableGraph("office", graph, version=version, over=notes.tell, **given)


def an_openai_agent(notes: Notes, *, version: str = "1", **given: Any) -> ResumableAgent:
    """The same agent with the OpenAI Agents SDK. Its model tells its turn by what it has seen."""

    @editable
    @function_tool(needs_approval=True)
    def send_email(to: str) -> str:
        """Send an email."""
        notes.ran(f"send_email {to}")
        return f"sent to {to}"

    @function_tool(needs_approval=True, failure_error_function=None)
    async def delete_file(path: str) -> str:
        """Delete a file."""
        notes.ran(f"delete_file {path}")
        await notes.inside()
        return f"deleted {path}"

    turns = [
        [
            function_call("send_email", {"to": "al"}, call_id="call_1"),
            function_call("delete_file", {"path": "report.txt"}, call_id="call_2"),
        ],
        [function_call("send_email", {"to": "bo"}, call_id="call_3")],
        [assistant_message("done")],
    ]

    def answer(call: Any) -> list[Any]:
        """Choose the turn by what the model is told, so that asking again says the same."""
        items = call.input if isinstance(call.input, list) else []
        answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
        return turns[len(answered & {"call_1", "call_3"})]

    model = ScriptedAnswers([ModelStep.respond(answer) for _ in range(10)])
    agent = Agent(name="office", model=model, tools=[send_email, delete_file])
    return ResumableAgent("office", agent, version=version, over=notes.tell, **given)


def a_client(
    redis_url: str, *, agent: str = "billing", keys: Sequence[str] = (), lease: timedelta = SHORT
) -> ApprovalClient:
    """A client whose leases are short, or as long as nobody is meant to take over."""
    return ApprovalClient.from_url(
        redis_url,
        agent=agent,
        state_cipher=Cipher(keys, variable=STATE_KEY),
        grace=SHORT,
        claim_lease=lease,
        reconcile_every=timedelta(seconds=1),
    )


async def decide(store: ApprovalStore, interrupt_id: str, *decisions: Decision) -> None:
    """Decide each action in turn, those that are left with an approval, as the bot would."""
    for index in range(len((await admit(store, interrupt_id)).actions)):
        decision = decisions[index] if index < len(decisions) else ApproveDecision()
        await record(store, interrupt_id, {index: decision})
    await start_retention(store, interrupt_id)


@asynccontextmanager
async def working(approvals: ApprovalClient, *registry: Any, **given: Any) -> AsyncIterator[ResumeWorker]:
    """Let a worker work while the body runs."""
    settings = {"sweep": timedelta(milliseconds=20), "lease": SHORT, **given}
    worker = ResumeWorker(approvals, registry, **settings)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        await end_task(task)


async def ids(store: ApprovalStore, kind: str = "req") -> list[str]:
    """Give the ids of every record, oldest first."""
    prefix = store.keys.prefix + f"{kind}:"
    found = [key.removeprefix(prefix) for key in await scanned(store._redis, f"{prefix}*")]
    created = {id: int(await store._redis.hget(prefix + id, "created")) for id in found}
    return sorted(found, key=created.__getitem__)


async def owed(store: ApprovalStore) -> int:
    """Count the runs that are owed to workers, once the bot has taken what the agent noted."""
    await store.take_inbox("billing")
    return int(await store._redis.zcard(store.keys.unresumed))


async def resumed(store: ApprovalStore, interrupt_id: str) -> bool:
    state = await store.load(interrupt_id)
    return bool(state and state.resumed_at)
