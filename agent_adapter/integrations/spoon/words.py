"""Pauses and decisions in SpoonAI's form, and the check that a decision fits its action."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from spoon_ai.tools import hitl

from agent_adapter.contract.hitl import (
    ActionRequest,
    ApproveDecision,
    Decision,
    EditDecision,
    EditedAction,
    HITLRequest,
    RejectDecision,
)
from agent_adapter.dialects.answers import check_answers
from agent_adapter.edit_check import schema_problem
from agent_adapter.errors import DecisionNotAllowedError

logger = logging.getLogger(__name__)

Pause: TypeAlias = hitl.InterruptInfo | Mapping[str, Any]
"""A pause of SpoonAI: `HITLInterrupt.interrupt_info`, also as a dict."""

DECISIONS = ("approve", "edit", "reject")
"""The decisions that SpoonAI knows."""


def in_our_words(interrupt_on: Any, possible: Sequence[str], *, strict: bool) -> Any:
    """Read decisions as SpoonAI does: upper or lower case, or `ApprovalDecision`. Ignore unknown ones unless strict."""
    if not isinstance(interrupt_on, Mapping):
        return interrupt_on
    own = dict(interrupt_on)
    for tool, given in own.items():
        allowed = given.get("allowed_decisions") if isinstance(given, Mapping) else None
        if not isinstance(allowed, list | tuple):
            continue
        written = [
            str(getattr(each, "value", each)).lower() if isinstance(each, str) else each for each in allowed
        ]
        kept = [each for each in dict.fromkeys(map(str, written)) if each in possible]
        if not strict and (len(kept) < len(written) or not kept):
            logger.warning(
                "interrupt_on[%r].allowed_decisions: %s; what stands there is %s",
                tool,
                allowed,
                kept or possible,
            )
        own[tool] = {**given, "allowed_decisions": written if strict else kept or list(possible)}
    return own


def in_spoons_words(interrupt_on: Mapping[str, Any], possible: Sequence[str]) -> dict[str, Any]:
    """Write a policy as SpoonAI's own middleware reads it; it does not know `respond`."""
    written: dict[str, Any] = dict(interrupt_on)
    for tool, given in interrupt_on.items():
        if not isinstance(given, bool):
            allowed = [kind for kind in given.get("allowed_decisions", possible) if kind in DECISIONS]
            described = {"description": given["description"]} if given.get("description") else {}
            written[tool] = {"allowed_decisions": allowed or ["reject"], **described}
    return written


def value_of(pause: Pause) -> Any:
    """Return the value that SpoonAI's dialect reads, from any form of a pause."""
    given = pause.to_dict() if isinstance(pause, hitl.InterruptInfo) else pause
    return given.get("value", given) if isinstance(given, Mapping) else given


def write_pause(asked: HITLRequest) -> hitl.InterruptInfo:
    """Write a request as a pause of SpoonAI."""
    actions, configs = asked.action_requests, asked.review_configs
    value = hitl.InterruptValue(
        [hitl.ActionRequest(action.name, action.args, action.id) for action in actions],
        [
            hitl.ReviewConfig(action.name, action.id, list(config.allowed_decisions), action.description)
            for action, config in zip(actions, configs, strict=True)
        ],
    )
    return hitl.InterruptInfo(value)


def read_decisions(given: Sequence[Any], asked: HITLRequest) -> list[Decision]:
    """Read one decision for each action, as `{"type", "args", "reason"}` or `DecisionInput`.

    SpoonAI counts a missing or unreadable decision as an approval. This function refuses both.
    """
    actions = asked.action_requests
    if len(given) != len(actions):
        raise DecisionNotAllowedError(
            f"{len(given)} decisions for {len(actions)} actions: each action needs one; nothing was run"
        )
    return fitting([_read(value, action) for value, action in zip(given, actions, strict=True)], asked)


def _read(given: Any, action: ActionRequest) -> Decision:
    match asdict(given) if isinstance(given, hitl.DecisionInput) else given:
        case {"type": "approve"}:
            return ApproveDecision()
        case {"type": "edit", "args": dict(args)}:
            return EditDecision(edited_action=EditedAction(name=action.name, args=args))
        case {"type": "reject", "reason": str(reason)}:
            return RejectDecision(message=reason)
        case {"type": "reject"}:
            return RejectDecision()
    raise DecisionNotAllowedError(
        f'{action.name}: {given!r} is not a decision; pass {{"type": "approve"}}, {{"type": "edit", "args": {{…}}}} or '
        '{"type": "reject", "reason": "…"}'
    )


def fitting(decisions: Sequence[Decision | None], asked: HITLRequest) -> list[Decision]:
    """Return the decisions, after checking that each fits the action at its index."""
    checked = check_answers(decisions, asked)
    for decision, config in zip(checked, asked.review_configs, strict=True):
        if isinstance(decision, EditDecision) and config.args_schema is not None:
            edited = decision.edited_action
            if problem := schema_problem(edited.args, config.args_schema):
                raise DecisionNotAllowedError(f"the edited {edited.name} {problem}; nothing was run")
    return checked
