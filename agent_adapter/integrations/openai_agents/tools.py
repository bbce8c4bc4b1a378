"""Tools of the OpenAI Agents SDK whose arguments a person may change before they run.

The SDK has no edit, and refuses calls that were changed in its state. So the tool itself replaces the arguments of the one
edited call, while its run is resumed.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

from agents import Agent, FunctionTool, RunContextWrapper, TContext, Tool, ToolApprovalItem, ToolOutputText
from agents.function_schema import function_schema
from agents.tool import ValidToolOutputPydanticModels
from agents.tool_context import ToolContext
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from agent_adapter.contract.arguments import encode
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.function_schema import check_arguments_kept

_NOTE = "[A person changed the arguments of this call before it ran."

CallKey: TypeAlias = tuple[str, str, str, str]
"""Agent, tool, call id and the model's own arguments. A call id alone is not enough: other runs may use it again."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The arguments that one call runs with instead of its own."""

    args: dict[str, Any]
    lasting: bool = False
    """Whether they are used at every call: an agent as a tool is called again after each pause inside it."""


Edits: TypeAlias = dict[CallKey, Edit]

_edits: ContextVar[Edits | None] = ContextVar("assent_edits", default=None)


def call_key(item: ToolApprovalItem) -> CallKey:
    """Return the key of a paused call, as its tool will see it."""
    return item.agent.name, item.tool_name or "", item.call_id or "", item.arguments or ""


@contextmanager
def editing(edits: Edits | None = None) -> Iterator[Edits]:
    """Let edited calls run with their new arguments. Put both `to_resume` and the run that it resumes into the body."""
    edits = {} if edits is None else edits
    token = _edits.set(edits)
    try:
        yield edits
    finally:
        _edits.reset(token)


def open_edits() -> Edits | None:
    """Return the edits of the surrounding `editing`; `None` outside of one."""
    return _edits.get()


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
    if isinstance(tool.on_invoke_tool, Editable):
        return tool
    changed = copy(tool)
    changed.on_invoke_tool = Editable(tool)
    changed.needs_approval = _policy(tool)
    return changed


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


class Editable:
    """Invokes a tool, with a person's arguments if its call was edited."""

    def __init__(self, tool: FunctionTool) -> None:
        self.tool = tool
        self._model = _model(tool)

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        """Invoke the tool."""
        edits = _edits.get() or {}
        key = (
            context.agent.name if context.agent else "",
            context.tool_name,
            context.tool_call_id,
            arguments,
        )
        edit = edits.get(key)
        if edit is None:
            _refuse_another_call(key, edits)
            return await self.tool.on_invoke_tool(context, arguments)
        if not edit.lasting:
            del edits[key]
        return _with_note(edit.args, await self.tool.on_invoke_tool(context, encode(edit.args)))

    def check(self, args: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
        """Refuse edited arguments that the tool would not accept, or would change into other values."""
        schema = self.tool.params_json_schema
        known = schema.get("properties", {})
        if missing := [name for name in schema.get("required", ()) if name not in args]:
            raise InvalidRequestError(f"args.{missing[0]}: field required")
        if schema.get("additionalProperties") is False and (
            extra := [name for name in args if name not in known]
        ):
            raise InvalidRequestError(
                f"args.{extra[0]}: no such argument; the arguments are {', '.join(known)}"
            )
        if self._model:
            check_arguments_kept(self._model, args, asked)


def _refuse_another_call(key: CallKey, edits: Edits) -> None:
    """Refuse to run the model's arguments if it is unclear whether an edit belongs to this call or to another one."""
    _, tool, call_id, _ = key
    if any(edited[1:3] == (tool, call_id) for edited in edits):
        raise DecisionNotAllowedError(
            f"call id {call_id} of {tool} was edited, and comes again with another agent or other arguments: it was not run; "
            "the model server must give each call an id of its own"
        )


def _model(tool: FunctionTool) -> type[BaseModel] | None:
    """Return the pydantic model of the arguments; `None` for a tool that was not made from a function."""
    function = getattr(tool, "__wrapped__", None)
    if function is None:
        return None
    return function_schema(function, use_docstring_info=False, strict_json_schema=False).params_pydantic_model


def without_note(output: Any) -> str:
    """Return what a tool answered, without the note that tells the model about an edit."""
    parts = output if isinstance(output, list | tuple) else [output]
    texts = [
        str(part.get("text", "") if isinstance(part, Mapping) else getattr(part, "text", part))
        for part in parts
    ]
    if texts and texts[0].startswith(_NOTE):
        _, _, texts[0] = texts[0].partition("]\n\n")
    return "\n".join(filter(None, texts))


def _with_note(args: Mapping[str, Any], output: Any) -> Any:
    note = f"{_NOTE} It was called with: {encode(args)}]"
    parts = list(output) if isinstance(output, list | tuple) else [output]
    is_structured = all(
        part.get("type") in {"text", "image", "file"}
        if isinstance(part, Mapping)
        else isinstance(part, ValidToolOutputPydanticModels)
        for part in parts
    )
    return [ToolOutputText(text=note), *parts] if parts and is_structured else f"{note}\n\n{output}"


def _policy(tool: FunctionTool) -> Any:
    """Keep the SDK's rule about `needs_approval` callables, which the SDK applies only to its own invokers.

    A callable may let a call run unasked only if it sees the arguments exactly as they will run. A call without one of the
    parameters, or with another type, is always asked about.
    """
    policy, model = tool.needs_approval, _model(tool)
    if not callable(policy) or model is None:
        return policy

    async def needs_approval(context: RunContextWrapper[Any], params: dict[str, Any], call_id: str) -> bool:
        try:
            runs = model.model_validate(params, strict=True).model_dump(mode="json")
        except (ValidationError, PydanticSerializationError):
            return True
        if runs != params:
            return True
        answer = policy(context, params, call_id)
        return bool(await answer if inspect.isawaitable(answer) else answer)

    return needs_approval
