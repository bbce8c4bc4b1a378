# ruff: noqa: SLF001  # the SDK has no public name for what a tool does with its errors
"""Reports what became of the approved calls of a run.

The SDK hands an error of a tool to the model as the tool's output. So a tool's own `failure_error_function` notes the error,
and the SDK's own sentences are recognised.
"""

from collections.abc import Mapping
from functools import wraps
from inspect import isawaitable
from typing import Any

from agents import FunctionTool, RunHooks, Tool, default_tool_error_function

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.outcome import Outcome
from agent_adapter.integrations.openai_agents.paused import PausedRun
from agent_adapter.integrations.openai_agents.tools import Editable, without_note

_NOTES_ERRORS, _ERROR = "_assent_notes_errors", "_assent_error"
_SDK_ERRORS = ("An error occurred while running the tool.", "An error occurred while parsing tool arguments.")


class Reporting(RunHooks[Any]):
    """Reports each decided call when it ends, and calls the owner's own hooks."""

    def __init__(self, approvals: ApprovalClient, paused: PausedRun, settings: Mapping[str, Any]) -> None:
        self._approvals = approvals
        self._paused = paused
        self._own = settings.get("hooks") or RunHooks[Any]()
        # Such a callback replaces the SDK's sentences, so an error looks like a result.
        self._knows_errors = getattr(settings.get("run_config"), "tool_error_formatter", None) is None
        self._running: set[str] = set()
        for name in ("on_llm_start", "on_llm_end", "on_agent_start", "on_agent_end", "on_handoff"):
            setattr(self, name, getattr(self._own, name))

    async def on_tool_start(self, context: Any, agent: Any, tool: Tool) -> None:
        if self._knows_errors and (key := self._paused.key(context)) and _notes_errors(tool):
            self._running.add(key)
        await self._own.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Tool, result: Any) -> None:
        key = self._paused.key(context) or ""
        if key in self._running:
            self._running.discard(key)
            self._report(key, _outcome(context, tool, result))
        await self._own.on_tool_end(context, agent, tool, result)

    def fail(self, error: Exception) -> None:
        """Report the calls that had started when the run failed with this error."""
        for key in sorted(self._running):
            self._report(key, Outcome.failed(error))
        self._running.clear()

    def _report(self, key: str, outcome: Outcome) -> None:
        interrupt_id, _, _ = key.rpartition(":")
        self._approvals.report_later(key, outcome, claim=self._paused.claims.get(interrupt_id, ""))


def _outcome(context: Any, tool: Tool, result: Any) -> Outcome:
    if noted := getattr(context, _ERROR, None):
        return Outcome.failed(noted)
    text = without_note(result)
    is_error = text.startswith((*_SDK_ERRORS, f"Tool '{tool.name}' timed out after"))
    return Outcome.failed(text) if is_error else Outcome.done(text)


def _notes_errors(tool: Tool) -> bool:
    """Have a tool with a `failure_error_function` of its own note its errors. Returns whether its errors are known."""
    if not isinstance(tool, FunctionTool):
        return False
    inner = tool.on_invoke_tool._tool if isinstance(tool.on_invoke_tool, Editable) else tool
    return all(_noting(each) for each in {id(each): each for each in (tool, inner)}.values())


def _noting(tool: FunctionTool) -> bool:
    try:
        own = tool._failure_error_function
    except AttributeError:
        return False
    if own is None or own is default_tool_error_function or hasattr(own, _NOTES_ERRORS):
        # Without one, the error ends the run. With the SDK's own, its sentence is recognised.
        return True

    @wraps(own)
    async def noting(context: Any, error: Exception) -> Any:
        setattr(context, _ERROR, error)
        found = own(context, error)
        return await found if isawaitable(found) else found

    setattr(noting, _NOTES_ERRORS, True)
    tool._failure_error_function = noting
    return True
