"""How the tools of a LangGraph run learn for which decided call they run.

A pause does not say which tool call it is about, only its name and arguments; the thread's messages do. A tool is told
apart by the graph that it runs in, its call id, its name and its arguments.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.context import register_configure_hook
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.errors import GraphBubbleUp
from langgraph.types import Interrupt as Pause
from langgraph.types import PregelTask, StateSnapshot

from agent_adapter.calls import enter
from agent_adapter.contract.hitl import ActionRequest, ApproveDecision, EditDecision, RejectDecision
from agent_adapter.contract.identity import digest
from agent_adapter.contract.interrupt import Resume

Inside: TypeAlias = Callable[[StateSnapshot, PregelTask], Awaitable[CheckpointTuple | None]]
Keys: TypeAlias = Mapping[str, str]
"""Key of each call, by the digest of its graph's checkpoint namespace, its id, its name and its arguments.

Besides, that of each task that asked by itself, by the digest of the task's namespace.
"""

# LangGraph gives such a tag to the run of a node, and to nothing inside it.
_NODE = "graph:step:"


@dataclass(frozen=True, slots=True)
class Begun:
    """What was approved and has begun, until the node around it has come to a good end: only then LangGraph keeps it."""

    calls: dict[UUID | None, tuple[str, str]] = field(default_factory=dict)
    """Name, and namespace of the task around it, of each decided call, and of each task that asked by itself."""
    tasks: dict[UUID, str] = field(default_factory=dict)
    """Namespace of each node that runs."""

    def in_doubt(self) -> list[str]:
        """Name what may have had an effect, where the run failed and does not know what it gave."""
        return list(dict.fromkeys(name for name, _ in list(self.calls.values())))

    def settle(self, namespace: str) -> None:
        """Forget what ran in a task, at any depth: its node has ended, whatever was raised inside."""
        for run_id, (_, inside) in list(self.calls.items()):
            if inside == namespace or inside.startswith(f"{namespace}|"):
                self.calls.pop(run_id, None)


@contextmanager
def telling_tools(keys: Keys) -> Iterator[Begun]:
    """Let the tools that the body runs know their keys, besides those that are known around it."""
    before = _handler.get()
    known, begun = (before.keys, before.begun) if before else ({}, Begun())
    _handler.set(_Teller({**known, **keys}, begun))
    try:
        yield begun
    finally:
        _handler.set(before)


async def keys_of(
    resume: Resume,
    asked: Sequence[tuple[str, Sequence[ActionRequest]]],
    state: StateSnapshot,
    inside: Inside,
) -> dict[str, str]:
    """Name the calls that these decisions let run, and the tasks that go on with what asked by itself.

    Args:
        resume: Its decisions are in the order of the actions.
        asked: The id of each pause, and its actions.
        state: Of the thread, with its subgraphs.
        inside: Reads what a graph has stored that runs inside a task, such as a subagent of a tool.
    """
    places = {pause: place async for pause, place in _places(state, inside)}
    found: dict[str, str] = {}
    position = 0
    for pause_id, actions in asked:
        place = places.get(pause_id, _Place("", [], None))
        for action in actions:
            decision, call_id = resume.decisions[position], action.id or _next_id(place.calls, action)
            args = decision.edited_action.args if isinstance(decision, EditDecision) else action.args
            if call_id and isinstance(decision, ApproveDecision | EditDecision):
                found[digest("call", place.namespace, call_id, action.name, args)] = resume.key(position)
            if place.task and not isinstance(decision, RejectDecision) and not (call_id and place.is_inside):
                # Tools tell of themselves. Of what else comes after such a pause, only its task tells.
                found[digest("task", place.task)] = resume.key(position)
            position += 1
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a pause was asked."""

    namespace: str
    """Of its graph."""
    calls: list[dict[str, Any]]
    """The model's newest there."""
    task: str | None
    """Namespace of the task that a state lists."""
    is_inside: bool = False
    """Whether the pause is of a graph that runs inside this task."""


async def _places(state: StateSnapshot, inside: Inside) -> AsyncIterator[tuple[str, _Place]]:
    """Give the place of each pause."""
    for task in state.tasks:
        if isinstance(task.state, StateSnapshot):
            async for place in _places(task.state, inside):
                yield place
        elif task.interrupts:
            stored = await inside(state, task)
            for pause in task.interrupts:
                yield pause.id, _place(stored, pause, state, task)


def _place(stored: CheckpointTuple | None, pause: Pause, state: StateSnapshot, task: PregelTask) -> _Place:
    """Find a pause in what the graph inside a task has stored, as no state lists such a graph, or else in the task."""
    around = namespace_of(state, task)
    writes = [value for _, channel, value in (stored and stored.pending_writes) or () if channel == INTERRUPT]
    if stored and any(pause.id == waiting.id for value in writes for waiting in value):
        calls = _newest_calls(stored.checkpoint["channel_values"])
        return _Place(_namespace(stored.config), calls, around, is_inside=True)
    return _Place(_namespace(state.config), _newest_calls(state.values), around)


def namespace_of(state: StateSnapshot, task: PregelTask) -> str:
    """Name the place of what runs inside a task."""
    around = state.config["configurable"].get("checkpoint_ns")
    return "|".join(filter(None, (around, f"{task.name}:{task.id}")))


def _namespace(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _newest_calls(values: Any) -> list[dict[str, Any]]:
    messages = values.get("messages") if isinstance(values, dict) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, AIMessage) and message.tool_calls:
            return [dict(call) for call in message.tool_calls]
    return []


def _next_id(calls: list[dict[str, Any]], action: ActionRequest) -> str | None:
    """Find the call of an action, and use it and those before up: a pause keeps the order of the model's calls."""
    for index, call in enumerate(calls):
        if (call["name"], call["args"]) == (action.name, action.args):
            del calls[: index + 1]
            return str(call["id"])
    return None


class _Teller(BaseCallbackHandler):
    """Enters the key of each tool as it starts, in the tool's own context."""

    run_inline = True

    def __init__(self, keys: Keys, begun: Begun) -> None:
        self.keys = keys
        self.begun = begun

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,  # noqa: ARG002  # LangChain passes it by place
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        task = _task_of(metadata)
        try:
            call = digest(
                "call", task.rpartition("|")[0], more.get("tool_call_id"), serialized.get("name"), inputs
            )
        except (TypeError, ValueError):
            # Arguments that are no JSON were never asked about.
            return enter(None)
        key = self.keys.get(call)
        if key or self._asked(task):
            # It says more than the name of its node.
            self.begun.calls.pop(parent_run_id, None)
            self.begun.calls[run_id] = str(serialized.get("name")), task
        return enter(key)

    def on_tool_end(self, *_args: Any, **_more: Any) -> None:
        enter(None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        self._pause(error, run_id)
        enter(None)

    def on_chain_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002  # LangChain passes it by place
        inputs: Any,  # noqa: ARG002
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **_more: Any,
    ) -> None:
        task = _task_of(metadata)
        if task and any(tag.startswith(_NODE) for tag in tags or ()):
            self.begun.tasks[run_id] = task
            if self._asked(task):
                self.begun.calls[run_id] = str((metadata or {}).get("langgraph_node")), task

    def on_chain_end(self, *_args: Any, run_id: UUID, **_more: Any) -> None:
        if task := self.begun.tasks.pop(run_id, None):
            self.begun.settle(task)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        self.begun.tasks.pop(run_id, None)
        self._pause(error, run_id)

    def _asked(self, task: str) -> bool:
        return digest("task", task) in self.keys

    def _pause(self, error: BaseException, run_id: UUID) -> None:
        """Forget what paused: it asks, and begins anew when it is answered."""
        if isinstance(error, GraphBubbleUp):
            self.begun.calls.pop(run_id, None)


def _task_of(metadata: dict[str, Any] | None) -> str:
    """Give the namespace of the task that something runs in."""
    return str((metadata or {}).get("langgraph_checkpoint_ns", ""))


_handler: ContextVar[_Teller | None] = ContextVar("approval_keys", default=None)
register_configure_hook(_handler, inheritable=True)
