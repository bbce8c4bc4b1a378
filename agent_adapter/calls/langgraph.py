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
from langgraph.types import Interrupt as Pause
from langgraph.types import PregelTask, StateSnapshot

from agent_adapter.calls import enter
from agent_adapter.contract.hitl import ActionRequest, ApproveDecision, EditDecision
from agent_adapter.contract.identity import digest
from agent_adapter.contract.interrupt import Resume

Inside: TypeAlias = Callable[[StateSnapshot, PregelTask], Awaitable[CheckpointTuple | None]]
Keys: TypeAlias = Mapping[str, str]
"""Key of each call, by the digest of its graph's checkpoint namespace, its id, its name and its arguments."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The tools of decided calls that were begun, and have not come to a good end."""

    running: dict[UUID, str] = field(default_factory=dict)
    raised: list[tuple[str, BaseException]] = field(default_factory=list)

    def in_doubt(self, failure: BaseException) -> list[str]:
        """Name those that may have had an effect, though the run failed and does not know what they gave."""
        causes = list(_causes(failure))
        raised = [name for name, error in self.raised if any(error is cause for cause in causes)]
        return [*self.running.values(), *raised]


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
    """Name the calls that these decisions let run.

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
        namespace, calls = places.get(pause_id, ("", []))
        for action in actions:
            decision, call_id = resume.decisions[position], action.id or _next_id(calls, action)
            args = decision.edited_action.args if isinstance(decision, EditDecision) else action.args
            if call_id and isinstance(decision, ApproveDecision | EditDecision):
                found[digest("call", namespace, call_id, action.name, args)] = resume.key(position)
            position += 1
    return found


async def _places(
    state: StateSnapshot, inside: Inside
) -> AsyncIterator[tuple[str, tuple[str, list[dict[str, Any]]]]]:
    """Give each pause with the namespace of its graph and the model's newest calls there."""
    for task in state.tasks:
        if isinstance(task.state, StateSnapshot):
            async for place in _places(task.state, inside):
                yield place
        elif task.interrupts:
            stored = await inside(state, task)
            for pause in task.interrupts:
                yield (
                    pause.id,
                    _place(stored, pause) or (_namespace(state.config), _newest_calls(state.values)),
                )


def _place(stored: CheckpointTuple | None, pause: Pause) -> tuple[str, list[dict[str, Any]]] | None:
    """Find a pause in what the graph inside a task has stored: no state lists such a graph."""
    if stored is None:
        return None
    writes = [value for _, channel, value in stored.pending_writes or () if channel == INTERRUPT]
    if not any(pause.id == waiting.id for value in writes for waiting in value):
        return None
    return _namespace(stored.config), _newest_calls(stored.checkpoint["channel_values"])


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
        inputs: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        namespace = (metadata or {}).get("langgraph_checkpoint_ns", "").rpartition("|")[0]
        try:
            call = digest("call", namespace, more.get("tool_call_id"), serialized.get("name"), inputs)
        except (TypeError, ValueError):
            # Arguments that are no JSON were never asked about.
            return enter(None)
        if key := self.keys.get(call):
            self.begun.running[run_id] = str(serialized.get("name"))
        return enter(key)

    def on_tool_end(self, *_args: Any, run_id: UUID, **_more: Any) -> None:
        self.begun.running.pop(run_id, None)
        enter(None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        if name := self.begun.running.pop(run_id, None):
            self.begun.raised.append((name, error))
        enter(None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__ or error.__context__


_handler: ContextVar[_Teller | None] = ContextVar("approval_keys", default=None)
register_configure_hook(_handler, inheritable=True)
