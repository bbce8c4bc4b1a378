"""Checks of answers, before anything is resumed.

LangGraph saves a batched answer before it checks it, and a wrong answer can never be replaced: every later resume of that
thread fails with the first error.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from agent_adapter.contract.arguments import check_arguments, encode
from agent_adapter.contract.hitl import KNOWN_DECISIONS, Decision, EditDecision, HITLRequest, WireModel
from agent_adapter.contract.interrupt import Resume
from agent_adapter.contract.record import EXPIRED_MESSAGE, check_decision
from agent_adapter.contract.wire import load_decision
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.expected import expect


def check_answers(decisions: Sequence[Any], request: HITLRequest) -> list[Decision]:
    """Return the decisions, models or plain JSON values, after checking that each fits the action at its index."""
    actions = request.action_requests
    if len(decisions) != len(actions):
        raise DecisionNotAllowedError(
            f"{len(decisions)} decisions for {len(actions)} actions: each action needs one; nothing was resumed"
        )
    checked = []
    for index, (value, action, config) in enumerate(
        zip(decisions, actions, request.review_configs, strict=True)
    ):
        where = f"decision {index + 1} ({action.name})"
        try:
            decision = _load(value, where)
            check_decision(decision, config, where=where)
            if isinstance(decision, EditDecision):
                check_arguments(decision.edited_action.args, where=f"{where}: edited_action.args")
        except InvalidRequestError as error:
            raise DecisionNotAllowedError(str(error)) from error
        checked.append(decision)
    return checked


def share_out(resume: Resume, requests: Sequence[HITLRequest]) -> list[Sequence[Decision | None]]:
    """Return for each pause the decisions about its actions. They are in the order of the pauses' requests."""
    if resume.status not in {"decided", "expired"}:
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id} was {resume.status}: there is nothing to resume with"
        )
    sizes = [len(request.action_requests) for request in requests]
    if len(resume.decisions) != sum(sizes):
        raise DecisionNotAllowedError(
            f"{resume.interrupt_id}: {len(resume.decisions)} decisions for {sum(sizes)} actions; nothing was resumed"
        )
    ends = accumulate(sizes)
    return [resume.decisions[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def without_respond(allowed: Sequence[str], *, where: str) -> tuple[str, ...]:
    """Remove `respond`, for a framework that knows only approve, edit and reject."""
    kept = tuple(kind for kind in allowed if kind != "respond")
    if not kept:
        raise InvalidRequestError(f"{where}: none of {list(allowed)} is one of approve, edit, reject")
    return kept


def rejection(name: str, message: str | None) -> str:
    """Write a rejection as a sentence, for a framework that gives it to the model as the tool's answer."""
    if message and message.startswith(EXPIRED_MESSAGE):
        return f"This call of {name} was not executed. {message}"
    said = f"A person rejected this call of {name}, and it was not executed."
    return f"{said} Their reason: {message}" if message else f"{said} Do not repeat it unless asked to."


def edit_note(args: Mapping[str, Any]) -> str:
    """Tell the model about an edit, for a framework whose history keeps the model's own arguments."""
    return f"[A person changed the arguments of this call before it ran. It was called with: {encode(args)}]"


def _load(value: Any, where: str) -> Decision:
    if value is None:
        raise DecisionNotAllowedError(f"{where} was left open; nothing was resumed")
    cure = "pass a decision, as in ApproveDecision() or {'type': 'approve'}"
    expect(value, WireModel | Mapping, where=where, cure=cure)
    try:
        decision = load_decision(value)
    except InvalidRequestError as error:
        raise DecisionNotAllowedError(f"{where}: {error}") from error
    if decision.type not in KNOWN_DECISIONS:
        raise DecisionNotAllowedError(
            f"{where}: {decision.type!r} is not one of {', '.join(KNOWN_DECISIONS)}; nothing was resumed"
        )
    return decision
