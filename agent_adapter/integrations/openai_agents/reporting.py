# ruff: noqa: SLF001  # the SDK has no public name for the function inside of a tool
"""Reports what became of the approved calls of a run.

The SDK hands an error of a tool to the model as the tool's output, and calls hooks only for the tools of a run's own agents.
So a tool is watched from inside: below what the SDK makes of its errors, and in whichever run it is called.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from agents import (
    Agent,
    CustomTool,
    FunctionTool,
    RunContextWrapper,
    ShellCommandRequest,
    ShellExecutor,
    ShellResult,
    ShellTool,
    Tool,
    ToolTimeoutError,
)

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.outcome import Outcome
from agent_adapter.idempotency import finding
from agent_adapter.integrations.openai_agents.paused import PausedRun
from agent_adapter.integrations.openai_agents.tools import Editable, editing, without_note

Invoke: TypeAlias = Callable[[Any, str], Any]
Report: TypeAlias = Callable[[Any, Outcome], None]
"""Takes the context of a tool, or the id of a shell call, and what became of the call."""

_WATCHED = "_assent_watched"
_HEAD_START = 0.1
"""Seconds by which the SDK's clock of a time limit may be ahead of ours: it starts before the tool does."""
_report: ContextVar[Report | None] = ContextVar("assent_report", default=None)


@contextmanager
def reporting(report: Report) -> Iterator[None]:
    """In the body, watched tools report what becomes of each call. Tasks that start in the body do, too."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


@contextmanager
def going_on(paused: PausedRun, approvals: ApprovalClient) -> Iterator[None]:
    """In the body, a decided run goes on: its tools have the edits and the keys of their calls, and report what became of them."""
    for item in paused.state.get_interruptions():
        _watch_tools(item.agent)

    def report(context: Any, outcome: Outcome) -> None:
        key = paused.key_of_shell(context) if isinstance(context, str) else paused.key(context)
        if key:
            interrupt_id, _, _ = key.rpartition(":")
            approvals.report_later(key, outcome, claim=paused.claims.get(interrupt_id, ""))

    with editing(paused.edits), finding(paused.key), reporting(report):
        yield


def _watch_tools(agent: Agent[Any]) -> None:
    """Watch the tools of an agent, and those that it gets from MCP servers: it gets new ones for each turn."""
    for tool in agent.tools:
        watch(tool)
    list_tools = agent.get_mcp_tools
    if not agent.mcp_servers or hasattr(list_tools, _WATCHED):
        return

    @wraps(list_tools)
    async def listed(run_context: RunContextWrapper[Any]) -> list[Tool]:
        found = await list_tools(run_context)
        for tool in found:
            watch(tool)
        return found

    setattr(listed, _WATCHED, True)
    agent.get_mcp_tools = listed  # type: ignore[method-assign]  # of this agent only


def watch(tool: Tool) -> None:
    """Watch a tool. Outside of `reporting`, it does what it did before."""
    if isinstance(tool, ShellTool) and tool.executor:
        tool.executor = _watched_shell(tool.executor)
    if not isinstance(tool, FunctionTool | CustomTool):
        return
    invoker: Any = tool.on_invoke_tool
    if isinstance(invoker, Editable):
        watch(invoker.tool)
    elif hasattr(invoker, "_invoke_tool_impl"):
        invoker._invoke_tool_impl = _watched(invoker._invoke_tool_impl, tool)
    elif not (_is_of_sdk(invoker) or getattr(invoker, "__self__", None) is tool):
        tool.on_invoke_tool = _watched(invoker, tool)


def _is_of_sdk(invoker: Any) -> bool:
    """Whether the SDK itself made this invoker. It may turn errors into answers, which would be reported as results."""
    return str(getattr(invoker, "__module__", "")).partition(".")[0] == "agents"


def _watched(invoke: Invoke, tool: FunctionTool | CustomTool) -> Invoke:
    if hasattr(invoke, _WATCHED):
        return invoke

    @wraps(invoke)
    async def watched(context: Any, arguments: str) -> Any:
        report = _report.get()
        if report is None:
            return await _ended(invoke(context, arguments))
        started = asyncio.get_running_loop().time()
        try:
            result = await _ended(invoke(context, arguments))
        except asyncio.CancelledError:
            # A run that is cancelled may go on elsewhere, and calls the tool again.
            limit = getattr(tool, "timeout_seconds", None)
            if limit is not None and asyncio.get_running_loop().time() - started >= limit - _HEAD_START:
                slow = ToolTimeoutError(tool_name=tool.name, timeout_seconds=limit)
                report(context, Outcome.failed(slow))
            raise
        except Exception as error:
            report(context, Outcome.failed(error))
            raise
        if not (getattr(tool, "_is_agent_tool", False) and result is None):
            # An agent that stopped to ask people has no result yet, and is called again.
            report(context, Outcome.done(without_note(result)))
        return result

    setattr(watched, _WATCHED, True)
    return watched


async def _ended(result: Any) -> Any:
    """Wait for a result, where the function of a tool may be asynchronous or not."""
    return await result if isawaitable(result) else result


def _watched_shell(execute: Any) -> ShellExecutor:
    if hasattr(execute, _WATCHED):
        return cast("ShellExecutor", execute)

    @wraps(execute)
    async def watched(request: ShellCommandRequest) -> str | ShellResult:
        report = _report.get() or (lambda _call_id, _outcome: None)
        try:
            result = await _ended(execute(request))
        except Exception as error:
            report(request.data.call_id, Outcome.failed(error))
            raise
        report(request.data.call_id, _of_commands(result))
        return cast("str | ShellResult", result)

    setattr(watched, _WATCHED, True)
    return watched


def _of_commands(result: Any) -> Outcome:
    """Read what commands did. A command that ends with another code than 0 has failed, and so has one that timed out."""
    if not isinstance(result, ShellResult):
        return Outcome.done(result)
    text = "\n".join(
        filter(None, (words.strip() for each in result.output for words in (each.stdout, each.stderr)))
    )
    has_failed = any(each.status == "timeout" or each.exit_code for each in result.output)
    return Outcome.failed(text) if has_failed else Outcome.done(text)
