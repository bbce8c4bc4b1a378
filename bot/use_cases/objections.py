"""Why a decision by anybody cannot be recorded: the action is decided, was not read, or its value was not typed."""

from collections.abc import Mapping

from agent_adapter.contract.hitl import Decision, EditDecision
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.masking import masked_change
from bot.sentences import in_answer
from bot.text.literal import clip, one_line
from bot.use_cases.answers import closed


def first_objection(state: Approval, user: str, decisions: Mapping[int, Decision], *, typed: str = "") -> str:
    """Say why one of these decisions cannot be recorded now; empty when all can be."""
    for index, decision in decisions.items():
        action = state.actions[index]
        if action.recorded or not state.is_open:
            return closed(state, [index]) if not is_repeat(action, user, decision) else ""
        if not action.allows(decision.type):
            return in_answer.decision_not_offered(decision.type, action.config.allowed_decisions)
        if getattr(decision, "always", False):
            if not action.config.allow_always:
                return in_answer.only_this_call(index + 1)
            if decision.type == "approve" and not action.allows_for_run:
                return in_answer.proposed_otherwise(index + 1)
        if decision.type not in {"approve", "edit"}:
            continue
        if action.pages and not _has_read(state, action, user, decision):
            return in_answer.read_first(index + 1)
        if action.is_high_risk and not action.as_decided(decision).to_type.is_typed(typed):
            return in_answer.value_needed(index + 1)
    return ""


def _has_read(state: Approval, action: Action, user: str, decision: Decision) -> bool:
    """Whether a person was shown all of a call: as it was asked, or as an edit that they agree with would run it."""
    if state.has_read(action, user):
        return True
    found = action.voted(decision) if isinstance(decision, EditDecision) else None
    return found is not None and state.has_read_written(action.index, found, user)


def masked_objection(state: Approval, index: int, decision: EditDecision) -> str:
    """Say that an edit changes a masked value; empty when it does not."""
    action = state.actions[index]
    name = masked_change(action.request.args, decision.edited_action.args, action.terms.masked)
    return "" if name is None else in_answer.masked_values(clip(one_line(name), 80))


def is_repeat(action: Action, user: str, decision: Decision) -> bool:
    recorded = action.recorded
    if recorded is None or recorded.decision != decision:
        return False
    return user in (recorded.agreed_by or (recorded.decided_by,))
