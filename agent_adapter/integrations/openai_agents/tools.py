# ruff: noqa: SLF001  # the SDK has no public name for the function inside of a tool
"""Tools of the OpenAI Agents SDK, watched from inside while a decided run goes on.

The SDK has no edit, and refuses calls that were changed in its state. It hands an error of a tool to the model as the tool's
output, and calls hooks only for the tools of a run's own agents. So each tool is wrapped below what the SDK makes of its
errors: there a call gets a person's arguments, and what became of it is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, replace
from functools import wraps
from inspect import isawaitable
from typing import Any, NamedTuple, TypeAlias, cast

from agents import (
    Agent,
    CustomTool,
    FunctionTool,
    RunContextWrapper,
    TContext,
    Tool,
    ToolApprovalItem,
    ToolOutputText,
)
from agents.function_schema import function_schema
from agents.tool import ValidToolOutputPydanticModels

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.outcome import Outcome
from agent_adapter.dialects.answers import edit_note
from agent_adapter.edit_check import schema_problem
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.function_schema import check_arguments_kept
from agent_adapter.idempotency import running_as

Invoke: TypeAlias = Callable[[Any, str], Any]
CallKey: TypeAlias = tuple[str, str, str, str]
"""Agent, tool, call id and the model's own arguments. A call id alone is not enough: other runs may use it again."""


@dataclass(frozen=True, slots=True)
class DecidedCall:
    """A call that people have decided about."""

    key: str = ""
    """For `approval_key`."""
    claim: str = ""
    """The claim under which its question was answered."""
    args: dict[str, Any] | None = None
    """A person's arguments, which it runs with instead of its own."""
    is_agent: bool = False
    """Whether it is an agent as a tool, which is called again after each pause inside it."""


Calls: TypeAlias = dict[CallKey, DecidedCall]


class _GoingOn(NamedTuple):
    calls: Calls
    approvals: ApprovalClient

    def report(self, call: DecidedCall, outcome: Outcome) -> None:
        if call.key:
            self.approvals.report_later(call.key, outcome, claim=call.claim)


_EDITABLE, _WRAPPED = "_assent_editable", "_assent_wrapped"
_going_on: ContextVar[_GoingOn | None] = ContextVar("assent_going_on", default=None)


def call_key(item: ToolApprovalItem) -> CallKey:
    """Return the key of a paused call, as its tool will see it."""
    return item.agent.name, item.tool_name or "", item.call_id or "", item.arguments or ""


def approval_key_in(calls: Calls, context: Any) -> str | None:
    """Return the approval key of the decided call that runs in this tool context; `None` for any other call."""
    call = calls.get(_key_of(context))
    return call.key or None if call else None


def _key_of(context: Any) -> CallKey:
    named = (getattr(context, name, None) for name in ("tool_name", "tool_call_id", "tool_arguments"))
    return cast("CallKey", (getattr(getattr(context, "agent", None), "name", ""), *named))


def editable(tool: FunctionTool) -> FunctionTool:
    """Return a copy of a tool whose calls a person may edit.

    Use it on function tools (`@editable` above `@function_tool`) and on agents as tools. After an edit, the output tells the
    model that a person changed the arguments, and which arguments were used.

    Raises:
        InvalidRequestError: when the tool cannot be edited this way.
    """
    if not isinstance(tool, FunctionTool):
        raise InvalidRequestError(
            f"{getattr(tool, 'name', tool)}: only function tools and agents as tools can be edited: "
            "write @editable above @function_tool"
        )
    if tool.output_json_schema is not None:
        raise InvalidRequestError(
            f"{tool.name}: its output has a schema, so the result could not tell the model about an edit"
        )
    changed = copy(tool)
    setattr(changed, _EDITABLE, True)
    return changed


def is_editable(tool: Tool | None) -> bool:
    """Whether a person may edit the calls of this tool."""
    return hasattr(tool, _EDITABLE)


class EditableMCPAgent(Agent[TContext]):
    """An `Agent` whose calls to local MCP servers a person may edit too.

    The SDK makes new tools of MCP servers for each turn, so `editable` cannot be used on them.
    """

    mcp_tools: Sequence[Tool] = ()
    """The tools of its servers, from the last listing."""

    async def get_mcp_tools(self, run_context: RunContextWrapper[TContext]) -> list[Tool]:
        """List the tools of the servers."""
        listed = await super().get_mcp_tools(run_context)
        self.mcp_tools = [
            editable(tool) if isinstance(tool, FunctionTool) and tool.output_json_schema is None else tool
            for tool in listed
        ]
        return list(self.mcp_tools)


def check_edit(tool: FunctionTool, args: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse edited arguments that the tool would not accept, or would change into other values."""
    try:
        if problem := schema_problem(args, tool.params_json_schema):
            raise DecisionNotAllowedError(f"the edited {tool.name} {problem}; nothing was resumed")
        # Only a tool that was made from a function has one.
        if function := getattr(tool, "__wrapped__", None):
            schema = function_schema(function, use_docstring_info=False, strict_json_schema=False)
            check_arguments_kept(schema.params_pydantic_model, args, asked)
    except InvalidRequestError as error:
        raise DecisionNotAllowedError(
            f"the edited {tool.name} does not fit its tool: {error}; nothing was resumed"
        ) from error


@contextmanager
def going_on(calls: Calls, agents: Iterable[Agent[Any]], approvals: ApprovalClient) -> Iterator[None]:
    """In the body, tools have the edits and the keys of their decided calls, and report what became of them.

    Other calls in the body have no key.
    """
    for agent in agents:
        _wrap_tools(agent)
    token = _going_on.set(_GoingOn(calls, approvals))
    try:
        with running_as(None):
            yield
    finally:
        _going_on.reset(token)


def _wrap_tools(agent: Agent[Any]) -> None:
    """Wrap the tools of an agent, and those that it gets from MCP servers: it gets new ones for each turn."""
    for tool in agent.tools:
        _wrap(tool)
    list_tools = agent.get_mcp_tools
    if not agent.mcp_servers or hasattr(list_tools, _WRAPPED):
        return

    @wraps(list_tools)
    async def listed(run_context: RunContextWrapper[Any]) -> list[Tool]:
        found = await list_tools(run_context)
        for tool in found:
            _wrap(tool)
        return found

    setattr(listed, _WRAPPED, True)
    agent.get_mcp_tools = listed  # type: ignore[method-assign]  # of this agent only


def _wrap(tool: Tool) -> None:
    """Wrap the function of a tool. Outside of `going_on`, it does what it did before."""
    if isinstance(tool, FunctionTool | CustomTool):
        invoker: Any = tool.on_invoke_tool
        if hasattr(invoker, "_invoke_tool_impl"):
            invoker._invoke_tool_impl = _wrapped(invoker._invoke_tool_impl)
        elif is_editable(tool) or not str(getattr(invoker, "__module__", "")).startswith("agents."):
            # What the SDK makes itself turns errors into answers, which would be reported as results.
            tool.on_invoke_tool = _wrapped(invoker)


def _wrapped(invoke: Invoke) -> Invoke:
    if hasattr(invoke, _WRAPPED):
        return invoke

    @wraps(invoke)
    async def wrapped(context: Any, arguments: str) -> Any:
        run, key = _going_on.get(), _key_of(context)
        call = run.calls.get(key) if run else None
        if run is None or call is None:
            _refuse_another_call(key, run.calls if run else {})
            return await _ended(invoke(context, arguments))
        if not call.is_agent:
            # The edit is of this call only.
            run.calls[key] = replace(call, args=None)
        try:
            # Calls inside of an agent have keys of their own.
            with running_as(None if call.is_agent else call.key or None):
                result = await _ended(invoke(context, arguments if call.args is None else encode(call.args)))
        except Exception as error:
            run.report(call, Outcome.failed(error))
            raise
        if call.is_agent and result is None:
            # It stopped to ask people, and is called again.
            return None
        run.report(call, Outcome.done(_text_of(result)))
        return result if call.args is None else _with_note(call.args, result)

    setattr(wrapped, _WRAPPED, True)
    return wrapped


async def _ended(result: Any) -> Any:
    """Wait for a result, where the function of a tool may be asynchronous or not."""
    return await result if isawaitable(result) else result


def _refuse_another_call(key: CallKey, calls: Calls) -> None:
    """Refuse to run the model's arguments if it is unclear whether an edit belongs to this call or to another one."""
    _, tool, call_id, _ = key
    if any(other[1:3] == (tool, call_id) and call.args is not None for other, call in calls.items()):
        raise DecisionNotAllowedError(
            f"call id {call_id} of {tool} was edited, and comes again with another agent or other arguments: it was not run; "
            "the model server must give each call an id of its own"
        )


def _text_of(output: Any) -> str:
    parts = output if isinstance(output, list | tuple) else [output]
    texts = (
        str(part.get("text", "") if isinstance(part, Mapping) else getattr(part, "text", part))
        for part in parts
    )
    return "\n".join(filter(None, texts))


def _with_note(args: Mapping[str, Any], output: Any) -> Any:
    note = edit_note(args)
    parts = list(output) if isinstance(output, list | tuple) else [output]
    is_structured = all(
        part.get("type") in {"text", "image", "file"}
        if isinstance(part, Mapping)
        else isinstance(part, ValidToolOutputPydanticModels)
        for part in parts
    )
    return [ToolOutputText(text=note), *parts] if parts and is_structured else f"{note}\n\n{output}"
