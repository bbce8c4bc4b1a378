"""How the tools of a LangGraph run get the key of the decided call that they run for.

A pause has the name and the arguments of a tool call, but not its id; the messages of the thread have it. A call is
identified by the graph that it runs in, its call id, its name and its arguments.
"""

from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

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

Also the key of each task that asked by itself, by a digest of the task's namespace. And the key of an edited call by its
arguments as they were asked: a tool that asks by itself starts with these. Such a tool may add its defaults to what it asks,
so the key is also known by its task and the arguments that the model gave; only what becomes of it is found by that.
"""

Report: TypeAlias = Callable[[str, Outcome], None]
"""Takes the key of a call, and what became of it."""

# LangGraph gives such a tag to the run of a node, and to nothing inside it.
_NODE = "graph:step:"


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
    """The errors of nodes, and the namespace of each; the innermost comes first."""

    def in_doubt(self) -> list[str]:
        """Name the calls that may have taken effect, although the failed run has no result of them."""
        return list(dict.fromkeys(name for name, _ in list(self.calls.values())))

    def unsaved(self, error: Exception) -> list[tuple[str, str]]:
        """Return the calls that have run, and whose results LangGraph may have failed to save with this error.

        An error that no node has raised comes from LangGraph itself, or from its checkpointer, while calls may still run.
        """
        if isinstance(error, GraphRecursionError):
            return []
        chain: list[BaseException] = [error]
        while cause := chain[-1].__cause__ or chain[-1].__context__:
            chain.append(cause)
        place = next((at for known, at in self.raised if any(known is each for each in chain)), None)
        if place is None:
            return [*self.ended, *list(self.calls.values())]
        return [call for call in self.ended if call[1].startswith(f"{place}|")]

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
def passing_keys(keys: Keys, report: Report | None = None, *, also: Collection[str] = ()) -> Iterator[Begun]:
    """Pass these keys to the tools that the body runs, in addition to the keys of an outer `passing_keys`.

    Args:
        keys: The keys of the decided calls.
        report: Takes what became of each of these calls.
        also: Names of tools whose calls are noted without a key: a crash lost what was decided about them.
    """
    before = _handler.get()
    known, begun = (before.keys, before.begun) if before else ({}, Begun())
    own = frozenset(keys.values()) if report else frozenset()
    begun.reports.update({key: report for key in own if report})
    _handler.set(_KeyHandler({**known, **keys}, begun, also))
    try:
        yield begun
    finally:
        _handler.set(before)
        begun.report_failed(own)


def keys_of(resume: Resume, asked: Sequence[tuple[Place, Sequence[ActionRequest]]]) -> dict[str, str]:
    """Return the keys of the calls that these decisions let run, and of the tasks that asked by themselves.

    Args:
        resume: The answer; its decisions are in the order of the actions.
        asked: Where each pause comes from, and its actions.
    """
    found: dict[str, str] = {}
    position = 0
    for place, actions in asked:
        calls = list(place.calls)
        for action in actions:
            decision, call_id = resume.decisions[position], action.id or _next_id(calls, action)
            args = decision.edited_action.args if isinstance(decision, EditDecision) else action.args
            if call_id and isinstance(decision, ApproveDecision | EditDecision):
                found[digest("call", place.namespace, call_id, action.name, args)] = resume.key(position)
                if isinstance(decision, EditDecision):
                    asked_as = digest("asked", place.namespace, call_id, action.name, action.args)
                    found[asked_as] = resume.key(position)
            elif place.task and not place.is_inside and isinstance(decision, ApproveDecision | EditDecision):
                for call in _with_defaults(calls, action):
                    found[digest("tool", place.task, action.name, call["args"])] = resume.key(position)
            if place.task and not isinstance(decision, RejectDecision) and not (call_id and place.is_inside):
                # A tool call is recognised by itself. Anything else after such a pause is recognised by its task only.
                found[digest("task", place.task)] = resume.key(position)
            position += 1
    return found


def _with_defaults(calls: Sequence[Mapping[str, Any]], action: ActionRequest) -> Iterator[Mapping[str, Any]]:
    """Give the calls that a tool may have asked about together with its default arguments."""
    for call in calls:
        args = call["args"]
        if call["name"] == action.name and args and args == {name: action.args.get(name) for name in args}:
            yield call


def _next_id(calls: list[Call], action: ActionRequest) -> str | None:
    """Find the call of an action, and remove it and the calls before it: a pause keeps the order of the model's calls."""
    for index, call in enumerate(calls):
        if (call["name"], call["args"]) == (action.name, action.args):
            del calls[: index + 1]
            return str(call["id"])
    return None


class _KeyHandler(BaseCallbackHandler):
    """Sets the key of each tool when the tool starts, in the tool's own context."""

    run_inline = True

    def __init__(self, keys: Keys, begun: Begun, also: Collection[str] = ()) -> None:
        self.keys = keys
        self.begun = begun
        self.also = also

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
        call = task.rpartition("|")[0], more.get("tool_call_id"), serialized.get("name"), inputs
        try:
            key, asked_as = self.keys.get(digest("call", *call)), self.keys.get(digest("asked", *call))
        except (TypeError, ValueError):
            # Nobody was asked about arguments that are not JSON.
            return enter(None)
        ran = key or asked_as or self.keys.get(digest("tool", task, serialized.get("name"), inputs))
        key = key or self._asked_by(parent_run_id, str(serialized.get("name")))
        if ran in self.begun.reports:
            self.begun.tools[run_id] = str(ran), task
        if key or self._asked(task) or serialized.get("name") in self.also:
            # The name of the tool says more than the name of its node.
            self.begun.calls.pop(parent_run_id, None)
            self.begun.calls[run_id] = str(serialized.get("name")), task
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
            if self._asked(task):
                self.begun.calls[run_id] = str((metadata or {}).get("langgraph_node")), task

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
