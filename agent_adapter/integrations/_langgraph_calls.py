"""How the tools of a LangGraph run get the key of the decided call that they run for.

A pause has the name and the arguments of a tool call, but not its id; the messages of the thread have it. A call is
identified by the graph that it runs in, its call id, its name and its arguments.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.types import Command

from agent_adapter.contract.arguments import digest
from agent_adapter.contract.hitl import ActionRequest, ApproveDecision, EditDecision, RejectDecision
from agent_adapter.contract.interrupt import Resume
from agent_adapter.contract.outcome import Outcome
from agent_adapter.idempotency import enter
from agent_adapter.integrations._places import Call, Place

Keys: TypeAlias = Mapping[str, str]
"""The key of each call, by a digest of its graph's checkpoint namespace, its id, its name and its arguments.

Also the key of each task that asked by itself, by a digest of the task's namespace. And the key of each call by the arguments
that the model gave: a tool that asks by itself starts with these, also where it was edited or adds its defaults to what it asks.
"""

Report: TypeAlias = Callable[[str, Outcome], None]
"""Takes the key of a call, and what became of it."""

# LangGraph gives such a tag to the run of a node, and to nothing inside it.
_NODE = "graph:step:"
# LangChain's node that asks: it does nothing else.
REVIEW = f"{HumanInTheLoopMiddleware.__name__}.after_model"


@dataclass(frozen=True, slots=True)
class Begun:
    """The approved calls that have started, until their node has ended: only then LangGraph stores their results."""

    calls: dict[UUID | None, tuple[str, str]] = field(default_factory=dict)
    """For each decided call, and each task that asked by itself: its name, and the namespace of the task around it."""
    tasks: dict[UUID, str] = field(default_factory=dict)
    """The namespace of each node that runs."""
    reports: dict[str, Report] = field(default_factory=dict)
    """For the key of each call: what takes its outcome."""
    tools: dict[UUID, tuple[str, str]] = field(default_factory=dict)
    """For each tool that runs for a decided call: its key, and the namespace of the task around it."""
    failed: dict[str, tuple[str, Outcome]] = field(default_factory=dict)
    """For the key of each call that failed: the namespace of its task, and the error. It may be tried again."""
    ended: list[tuple[str, str]] = field(default_factory=list)
    """Of each decided call whose node has ended: its name, and the namespace of the task around it."""
    raised: list[tuple[BaseException, str]] = field(default_factory=list)
    """The errors of nodes, also those that were caught, and the namespace of each; the innermost comes first."""

    def in_doubt(self, error: Exception) -> list[str]:
        """Name the calls that may have taken effect, although the thread may have no result of them.

        An error that no node inside has raised comes from the checkpointer, which may not have saved what has ended there.
        """
        place = next((f"{at}|" for raised, at in self.raised if raised is error), "")
        unsaved = [] if isinstance(error, GraphRecursionError) else self.ended
        begun = [*(call for call in unsaved if call[1].startswith(place)), *list(self.calls.values())]
        return list(dict.fromkeys(name for name, _ in begun))

    def settle(self, namespace: str) -> None:
        """Note that the calls of a task, at any depth, have ended, because its node has."""
        for run_id, (_, inside) in list(self.calls.items()):
            if _is_inside(inside, namespace) and (call := self.calls.pop(run_id, None)):
                self.ended.append(call)
        self.report_failed(
            [key for key, (inside, _) in list(self.failed.items()) if _is_inside(inside, namespace)]
        )

    def end(self, run_id: UUID, outcome: Outcome) -> None:
        """Take what became of a tool. An error is reported when its node ends, because the call may be tried again."""
        key, task = self.tools.pop(run_id)
        if outcome.status == "failed":
            self.failed[key] = task, outcome
        else:
            self.failed.pop(key, None)
            self.reports[key](key, outcome)

    def report_failed(self, keys: Iterable[str]) -> None:
        """Report these calls, if they failed and nobody tries them again."""
        for key in keys:
            if key in self.failed:
                _, outcome = self.failed.pop(key)
                self.reports[key](key, outcome)


@contextmanager
def passing_keys(keys: Keys, report: Report | None = None) -> Iterator[Begun]:
    """Pass these keys to the tools that the body runs, in addition to the keys of an outer `passing_keys`.

    `report` takes what became of each of these calls.
    """
    before = _handler.get()
    known, begun = (before.keys, before.begun) if before else ({}, Begun())
    own = frozenset(keys.values()) if report else frozenset()
    begun.reports.update({key: report for key in own if report})
    _handler.set(_KeyHandler({**known, **keys}, begun))
    try:
        yield begun
    finally:
        _handler.set(before)
        begun.report_failed(own)


def keys_of(resume: Resume, asked: Sequence[tuple[Place, Sequence[ActionRequest]]]) -> dict[str, str]:
    """Return the keys of the calls that these decisions let run, and of the tasks that asked by themselves."""
    found: dict[str, str] = {}
    position = 0
    for place, actions in asked:
        calls = list(place.calls)
        for action in actions:
            decision, key = resume.decisions[position], resume.key(position)
            call = {"id": action.id, "args": action.args} if action.id else _next_call(calls, action)
            if call and isinstance(decision, ApproveDecision | EditDecision):
                edited = [decision.edited_action.args] if isinstance(decision, EditDecision) else []
                for args in (call["args"], *edited):
                    found[digest("call", place.namespace, call["id"], action.name, args)] = key
            if place.task and not isinstance(decision, RejectDecision) and not (call and place.is_inside):
                # A tool call is recognised by itself. Anything else after such a pause is recognised by its task only.
                found[digest("task", place.task)] = key
            position += 1
    return found


def _next_call(calls: list[Call], action: ActionRequest) -> Call | None:
    """Find the call of an action, and remove it and the calls before it: a pause keeps the order of the model's calls.

    A tool may have asked together with its default arguments.
    """
    for index, call in enumerate(calls):
        if call["name"] == action.name and call["args"].items() <= action.args.items():
            del calls[: index + 1]
            return call
    return None


class _KeyHandler(BaseCallbackHandler):
    """Sets the key of each tool when the tool starts, in the tool's own context."""

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
        task, name = _task_of(metadata), str(serialized.get("name"))
        try:
            call = digest("call", task.rpartition("|")[0], more.get("tool_call_id"), name, inputs)
        except (TypeError, ValueError):
            # Nobody was asked about arguments that are not JSON.
            return enter(None)
        key = self.keys.get(call)
        if key in self.begun.reports:
            self.begun.tools[run_id] = str(key), task
        key = key or self._asked_by(parent_run_id, name)
        if key or self._asked(task):
            # The name of the tool says more than the name of its node.
            self.begun.calls.pop(parent_run_id, None)
            self.begun.calls[run_id] = name, task
        return enter(key)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_more: Any) -> None:
        if run_id in self.begun.tools:
            self.begun.end(run_id, _outcome_of(output))
        enter(None)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        self._pause(error, run_id)
        if run_id in self.begun.tools:
            self.begun.end(run_id, Outcome.failed(error))
        enter(None)

    def on_chain_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002  # LangChain passes it by place
        inputs: Any,  # noqa: ARG002  # likewise
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **_more: Any,
    ) -> None:
        task = _task_of(metadata)
        if task and any(tag.startswith(_NODE) for tag in tags or ()):
            self.begun.tasks[run_id] = task
            name = str((metadata or {}).get("langgraph_node"))
            if self._asked(task) and name != REVIEW:
                self.begun.calls[run_id] = name, task

    def on_chain_end(self, *_args: Any, run_id: UUID, **_more: Any) -> None:
        if task := self.begun.tasks.pop(run_id, None):
            self.begun.settle(task)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        if task := self.begun.tasks.pop(run_id, None):
            self.begun.raised.append((error, task))
        self._pause(error, run_id)

    def _asked_by(self, parent: UUID | None, name: str) -> str | None:
        """Return the key of the tool around a tool of the same name: it asked by itself, and runs what was decided."""
        around = self.begun.tools.get(parent) if parent else None
        return around[0] if around and self.begun.calls.get(parent, ("",))[0] == name else None

    def _asked(self, task: str) -> bool:
        return digest("task", task) in self.keys

    def _pause(self, error: BaseException, run_id: UUID) -> None:
        """Forget a call that paused: it starts again when its question is answered."""
        if isinstance(error, GraphBubbleUp):
            self.begun.calls.pop(run_id, None)
            self.begun.tools.pop(run_id, None)


def _outcome_of(output: Any) -> Outcome:
    """Read what a tool answered: a message, a command with messages, or a plain value."""
    if isinstance(output, Command):
        messages = output.update.get("messages") if isinstance(output.update, dict) else None
        found = [each for each in messages or () if isinstance(each, ToolMessage)]
        output = found[-1] if found else None
    if not isinstance(output, ToolMessage):
        return Outcome.done(output)
    text = _text_of(output.content)
    return Outcome.failed(text) if output.status == "error" else Outcome.done(text)


def _text_of(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    parts = [part if isinstance(part, str) else part.get("text", "") for part in content]
    return "\n".join(filter(None, parts))


def _is_inside(task: str, namespace: str) -> bool:
    return task == namespace or task.startswith(f"{namespace}|")


def _task_of(metadata: dict[str, Any] | None) -> str:
    """Return the namespace of the task that a callback comes from."""
    return str((metadata or {}).get("langgraph_checkpoint_ns", ""))


_handler: ContextVar[_KeyHandler | None] = ContextVar("approval_keys", default=None)
register_configure_hook(_handler, inheritable=True)
