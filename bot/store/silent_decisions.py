"""What a deadline decides when nobody has decided."""

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.record import EXPIRED, EXPIRED_MESSAGE, by_silence, dump_recorded
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.audit import facts_of_silence
from bot.domain.transitions import Silent
from bot.sentences import to_agent


def open_to_silence(state: Approval) -> list[Action]:
    """Give the actions that nobody has decided and that silence may approve."""
    return [
        action
        for action in state.actions
        if action.index not in state.tokens and state.is_approved_by_silence(action.index)
    ]


def decided_by_silence(state: Approval, why_not: str) -> dict[int, Silent]:
    """Give the decisions for the actions that silence may approve, if people saw them for as long as the rule says.

    Args:
        state: The record, whose deadline has passed.
        why_not: Why silence approves nothing. Empty when it was checked that silence may approve.
    """
    if state.missed:
        why_not = to_agent.MISSED
    elif not state.is_shown_since(state.silent_from):
        why_not = to_agent.SHOWN_TOO_SHORT
    found = {}
    for action in open_to_silence(state):
        config = state.interrupt.request.review_configs[action.index]
        decision = by_silence(config, f"{EXPIRED_MESSAGE} {why_not}") if why_not else ApproveDecision()
        if decision:
            text = dump_recorded(
                decision,
                fingerprint=action.fingerprint,
                decided_by=EXPIRED,
                policy=state.admission.policy_version,
            )
            found[action.index] = Silent(decision, text, facts_of_silence(action, decision))
    return found
