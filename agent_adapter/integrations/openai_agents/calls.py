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
from agent_adapter.integrations.openai_agents.tools import EditableMCPAgent, check_edit, is_editable

Answers: TypeAlias = Sequence[tuple[ToolApprovalItem, Decision]]

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


def to_resume(resume: Resume, state: RunState[Any], *, allow_always: Collection[str] = ()) -> RunState[Any]:
    """Apply the decisions to the state: all of them, or none when one does not fit.

    Args:
        resume: The answer, with one decision for each call that the state waits for.
        state: The state of the paused run.
        allow_always: As in `to_request`.

    Returns:
        The same state, ready for `Runner.run`.

    Raises:
        DecisionNotAllowedError: when a decision does not fit, or is an edit, which a state cannot hold; the state is unchanged.
    """
    answers = answers_to(resume, state.get_interruptions(), allow_always)
    if any(isinstance(decision, EditDecision) for _, decision in answers):
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id}: a call was edited, which the state cannot hold: use `run` or `PausedRun.decided`; "
            "nothing was resumed"
        )
    decide(state, answers)
    return state


def _action(item: ToolApprovalItem) -> ActionRequest:
    name = item.qualified_name or item.name
    if not name or not item.call_id:
        raise InvalidRequestError(
            f"a paused call of agent {item.agent.name!r} has no {'call id' if name else 'name'}, so it cannot be answered"
        )
    where = f"{name} ({item.call_id})"
    return ActionRequest(name=name, args=_args(item, where), description=_about(item), id=item.call_id)


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
    may_edit = is_editable(tool) and _is_object(item.arguments or "{}")
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


def answers_to(resume: Resume, items: Sequence[ToolApprovalItem], allow_always: Collection[str]) -> Answers:
    """Pair each call with its decision, after checking that the decision fits."""
    request = to_request(items, allow_always=allow_always)
    (given,) = share_out(resume, [request])
    answers = list(zip(items, check_answers(given, request), strict=True))
    for (item, decision), asked in zip(answers, request.action_requests, strict=True):
        if isinstance(decision, EditDecision) and (tool := _tool(item)):
            check_edit(tool, decision.edited_action.args, asked.args)
    return answers


def decide(state: RunState[Any], answers: Answers) -> None:
    """Apply checked decisions.

    In the SDK, a decision for later calls also overwrites decisions about other calls of the turn. So decisions for later
    calls are applied first, and the decision about each call last. If two of them contradict each other, the rejection wins.
    """
    lasting = [answer for answer in answers if getattr(answer[1], "always", False)]
    for item, decision in sorted(lasting, key=lambda answer: isinstance(answer[1], RejectDecision)):
        if isinstance(decision, ApproveDecision):
            state.approve(item, always_approve=True)
        else:
            state.reject(item, always_reject=True, rejection_message=_words(decision))
    for item, decision in answers:
        if isinstance(decision, ApproveDecision | EditDecision):
            state.approve(item)
        else:
            state.reject(item, rejection_message=_words(decision))


def _words(decision: Decision) -> str | None:
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
