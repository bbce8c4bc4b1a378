"""What may be handed back to a framework: checked before anything is resumed.

LangGraph saves a batched answer before it looks at it, and a wrong one can never be replaced: every later resume of that
thread fails with the first error.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from agent_adapter.contract.arguments import check_arguments
from agent_adapter.contract.hitl import KNOWN_DECISIONS, Decision, EditDecision, HITLRequest
from agent_adapter.contract.interrupt import Resume
from agent_adapter.contract.record import EXPIRED_MESSAGE, check_decision
from agent_adapter.contract.wire import load_decision
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError


def check_answers(decisions: Sequence[Any], request: HITLRequest) -> list[Decision]:
    """Give the decisions, each of which fits the action at its index.

    Args:
        decisions: As models or as plain JSON values.
        request: What was asked.

    Raises:
        DecisionNotAllowedError: with the first one that does not fit.
    """
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
    """Give each pause the decisions about its own actions.

    Args:
        resume: Its decisions are in the order of these requests.
        requests: What each pause asked.

    Raises:
        DecisionNotAllowedError: when there is nothing to resume with, or another number of decisions.
    """
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
    """Leave out what a framework does not take that knows approve, edit and reject only.

    Raises:
        InvalidRequestError: when nothing else is allowed.
    """
    kept = tuple(kind for kind in allowed if kind != "respond")
    if not kept:
        raise InvalidRequestError(f"{where}: none of {list(allowed)} is one of approve, edit, reject")
    return kept


def rejection(name: str, message: str | None) -> str:
    """Say a rejection in words, for a framework that hands them to the model as the tool's answer."""
    if message and message.startswith(EXPIRED_MESSAGE):
        return f"This call of {name} was not executed. {message}"
    said = f"A person rejected this call of {name}, and it was not executed."
    return f"{said} Their reason: {message}" if message else f"{said} Do not repeat it unless asked to."


def _load(value: Any, where: str) -> Decision:
    if value is None:
        raise DecisionNotAllowedError(f"{where} was left open; nothing was resumed")
    try:
        decision = load_decision(value)
    except InvalidRequestError as error:
        raise DecisionNotAllowedError(f"{where}: {error}") from error
    if decision.type not in KNOWN_DECISIONS:
        raise DecisionNotAllowedError(
            f"{where}: {decision.type!r} is not one of {', '.join(KNOWN_DECISIONS)}; nothing was resumed"
        )
    return decision
