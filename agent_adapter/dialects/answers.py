"""What may be handed back to a framework: checked before anything is resumed.

LangGraph saves a batched answer before it looks at it, and a wrong one can never be replaced: every later resume of that
thread fails with the first error.
"""

from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.arguments import check_arguments
from agent_adapter.contract.hitl import KNOWN_DECISIONS, Decision, EditDecision, HITLRequest
from agent_adapter.contract.record import check_decision
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
