"""Turns paused calls into actions, and decisions into what the SDK does with a call."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from agents import FunctionTool, RunState, ToolApprovalItem, ToolOrigin, ToolOriginType

from agent_adapter.contract.arguments import decode_arguments
from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    HITLRequest,
    RejectDecision,
    RespondDecision,
    ReviewConfig,
)
from agent_adapter.contract.interrupt import Resume
from agent_adapter.contract.record import EXPIRED_MESSAGE
from agent_adapter.dialects.answers import check_answers, share_out
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.openai_agents.tools import (
    Edit,
    Editable,
    EditableMCPAgent,
    Edits,
    call_key,
    open_edits,
)

Answer: TypeAlias = tuple[ToolApprovalItem, Decision]
Answers: TypeAlias = Sequence[Answer]

SHOWN = ("action", "operation", "operations", "input", "environment", "pending_safety_checks")
"""The fields that say what a call without arguments does; the SDK compares two calls by them."""


def to_request(
    interruptions: Sequence[ToolApprovalItem], *, allow_always: Collection[str] = ()
) -> HITLRequest:
    """Collect the paused calls into one batch, in the order that the reviewer will see.

    Args:
        interruptions: The interruptions of a result or a state. Their tools are found through their agents.
        allow_always: Names of tools for which a decision may apply to the rest of the run.

    Returns:
        The batch, with one action for each call.

    Raises:
        InvalidRequestError: when a call cannot be reviewed as it is.
    """
    if not interruptions:
        raise InvalidRequestError("no interruptions: this run does not wait for anything")
    actions = tuple(_action(item) for item in interruptions)
    return HITLRequest(
        action_requests=actions,
        review_configs=tuple(
            _config(item, action, allow_always) for item, action in zip(interruptions, actions, strict=True)
        ),
    )


def to_resume(
    resume: Resume,
    state: RunState[Any],
    *,
    interruptions: Sequence[ToolApprovalItem] | None = None,
    allow_always: Collection[str] = (),
) -> RunState[Any]:
    """Apply the decisions to the state: all of them, or none when one does not fit.

    Args:
        resume: The answer; its decisions are in the order of the interruptions.
        state: The state of the paused run. If calls were edited, run it inside the same `editing()`.
        interruptions: The calls that are answered; by default all calls that the state waits for. A decision for later
            calls of a tool applies only to its own call while other calls of that tool are open.
        allow_always: As in `to_request`.

    Returns:
        The same state, ready for `Runner.run`.

    Raises:
        DecisionNotAllowedError: when a decision does not fit; the state is unchanged.
    """
    items = state.get_interruptions() if interruptions is None else interruptions
    answers = answers_to(resume, items, allow_always)
    edits = open_edits()
    if edits is None and any(isinstance(decision, EditDecision) for _, decision in answers):
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id}: a call was edited, which the state cannot hold: open `with editing():` around "
            "to_resume and the run, or use `run`; nothing was resumed"
        )
    decide(state, answers, {} if edits is None else edits)
    return state


def _action(item: ToolApprovalItem) -> ActionRequest:
    name = _name(item)
    if not name or not item.call_id:
        raise InvalidRequestError(
            f"a paused call of agent {item.agent.name!r} has no {'call id' if name else 'name'}, so it cannot be answered"
        )
    where = f"{name} ({item.call_id})"
    return ActionRequest(name=name, args=_args(item, where), description=_about(item), id=item.call_id)


def _name(item: ToolApprovalItem) -> str | None:
    return item.qualified_name or item.name


def _args(item: ToolApprovalItem, where: str) -> dict[str, Any]:
    """Return the arguments that will run, in readable form."""
    raw = _raw(item)
    if "arguments" in raw:
        text = item.arguments or "{}"
        return decode_arguments(text, where=where) if _is_object(text) else {"arguments": text}
    shown = {name: raw[name] for name in SHOWN if raw.get(name) not in (None, [])}
    whole = shown.pop("action", None) or shown.pop("operation", None)
    if isinstance(whole, Mapping):
        # A raw item is first an object with unset fields, and a full dictionary after it was stored.
        return {**{name: value for name, value in whole.items() if value is not None}, **shown}
    if not shown:
        raise InvalidRequestError(
            f"{where}: a call of type {raw.get('type')!r} has nothing that could be shown"
        )
    return shown


def _is_object(text: str) -> bool:
    """Whether a tool would read an object from the model's text. Any other text is shown as it is.

    Tools read it with `json`, which accepts more than `decode`: if a key appears twice, it uses the last value.
    """
    try:
        return isinstance(json.loads(text), dict)
    except RecursionError:
        return True
    except ValueError:
        return False


def _raw(item: ToolApprovalItem) -> Mapping[str, Any]:
    raw = item.raw_item
    return raw if isinstance(raw, Mapping) else raw.model_dump(exclude_none=True)


def _about(item: ToolApprovalItem) -> str | None:
    origin, label = item.tool_origin, _raw(item).get("server_label")
    if origin and is_agent(origin):
        return f"Hands this to the agent {origin.agent_name}."
    if server := label or (origin and origin.mcp_server_name):
        return f"A tool of the MCP server {server}."
    return None


def is_agent(origin: ToolOrigin | None) -> bool:
    """Whether a call goes to an agent that is used as a tool."""
    return origin is not None and origin.type is ToolOriginType.AGENT_AS_TOOL


def _config(item: ToolApprovalItem, action: ActionRequest, allow_always: Collection[str]) -> ReviewConfig:
    tool = _tool(item)
    may_edit = _editable(item) is not None and _is_object(item.arguments or "{}")
    return ReviewConfig(
        action_name=action.name,
        allowed_decisions=("approve", *(["edit"] if may_edit else []), "reject", "respond"),
        args_schema=tool.params_json_schema if tool else None,
        allow_always=action.name in allow_always,
        effects=("answer_as_rejection",),
    )


def _tool(item: ToolApprovalItem) -> FunctionTool | None:
    """Return the tool of a call. Tools of MCP servers are known only for an `EditableMCPAgent`."""
    if _raw(item).get("type") != "function_call":
        return None
    of_servers = item.agent.mcp_tools if isinstance(item.agent, EditableMCPAgent) else ()
    tools = [tool for tool in (*item.agent.tools, *of_servers) if isinstance(tool, FunctionTool)]
    return next((tool for tool in tools if tool.qualified_name == item.qualified_name), None)


def refuse_removed_tool(item: ToolApprovalItem) -> None:
    """Refuse a stored call if its agent no longer has the tool, before anybody is asked about it."""
    own = item.tool_origin is not None and item.tool_origin.type is not ToolOriginType.MCP
    if own and _tool(item) is None:
        raise InvalidRequestError(
            f"agent {item.agent.name!r} has no tool {item.qualified_name} any more, but this stored run waits for it: "
            "resume it with the version of the agent that has the tool"
        )


def _editable(item: ToolApprovalItem) -> Editable | None:
    tool = _tool(item)
    return tool.on_invoke_tool if tool and isinstance(tool.on_invoke_tool, Editable) else None


def answers_to(resume: Resume, items: Sequence[ToolApprovalItem], allow_always: Collection[str]) -> Answers:
    """Pair each call with its decision, after checking that the decision fits."""
    request = to_request(items, allow_always=allow_always)
    (given,) = share_out(resume, [request])
    decisions = check_answers(given, request)
    answers = list(zip(items, decisions, strict=True))
    for (item, decision), asked in zip(answers, request.action_requests, strict=True):
        if isinstance(decision, EditDecision) and (tool := _editable(item)):
            try:
                tool.check(decision.edited_action.args, asked.args)
            except InvalidRequestError as error:
                raise DecisionNotAllowedError(
                    f"the edited {item.name} does not fit its tool: {error}; nothing was resumed"
                ) from error
    return answers


def decide(state: RunState[Any], answers: Answers, edits: Edits, *, held: Answers = ()) -> list[Answer]:
    """Apply checked decisions.

    In the SDK, a decision for later calls also overwrites decisions about other calls of the turn. So decisions for later
    calls are applied first, and the decision about each call last. If two of them contradict each other, the rejection wins.

    Args:
        state: The state to apply them to.
        answers: The decisions.
        edits: Gets the arguments of edited calls.
        held: Decisions for later calls that an earlier call of this function returned.

    Returns:
        Decisions for later calls that were not applied, because other calls of that tool still wait for their own decision.
    """
    lasting = [*held, *(answer for answer in answers if getattr(answer[1], "always", False))]
    answered = [(item.agent.name, item.call_id) for item, _ in answers]
    waiting = {
        _name(item) for item in state.get_interruptions() if (item.agent.name, item.call_id) not in answered
    }
    for item, decision in sorted(lasting, key=lambda answer: isinstance(answer[1], RejectDecision)):
        if _name(item) in waiting:
            continue
        if isinstance(decision, ApproveDecision):
            state.approve(item, always_approve=True)
        else:
            state.reject(item, always_reject=True, rejection_message=words(decision))
    for item, decision in answers:
        edits.pop(call_key(item), None)
        match decision:
            case ApproveDecision():
                state.approve(item)
            case EditDecision():
                edits[call_key(item)] = Edit(decision.edited_action.args, lasting=is_agent(item.tool_origin))
                state.approve(item)
            case _:
                state.reject(item, rejection_message=words(decision))
    return [answer for answer in lasting if _name(answer[0]) in waiting]


def words(decision: Decision) -> str | None:
    """Return what the model reads instead of the tool's output; `None` for the SDK's own sentence."""
    match decision:
        case RespondDecision():
            return decision.message
        case RejectDecision(message=str() as reason) if reason.startswith(EXPIRED_MESSAGE):
            return f"This call was not executed. {reason}"
        case RejectDecision(message=str() as reason) if reason:
            return f"A person did not approve this call. Their reason: {reason}"
        case _:
            return None
