"""What a deadline decides when nobody has decided."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_adapter.contract.hitl import ApproveDecision, Decision
from agent_adapter.contract.record import EXPIRED, EXPIRED_MESSAGE, by_silence, dump_recorded
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.audit import facts_of_silence
from bot.sentences import to_agent
from bot.store.codec import unix_milliseconds


@dataclass(frozen=True, slots=True)
class SilentDecisions:
    """The decisions of a deadline for actions that silence may approve."""

    since: int
    """Since when a bot must have been running, in the server's milliseconds."""
    decided: Mapping[int, tuple[str, ...]]
    """By index: the message that asks, the decision and what the audit says about it, and the same two for the decision to
    take if no bot was running all the time."""


NO_DECISIONS = SilentDecisions(0, {})


def decided_by_silence(state: Approval, why_not: str) -> SilentDecisions:
    """Give the decisions for the actions that silence may approve, if people saw them for as long as the rule says.

    Args:
        state: The record, whose deadline has passed.
        why_not: Why silence approves nothing. Empty when it was checked that silence may approve.
    """
    noted = to_agent.MISSED if state.missed else ""
    if not state.is_shown_since(state.silent_from):
        noted = to_agent.SHOWN_TOO_SHORT
    decided = {}
    for action in state.actions:
        if state.is_approved_by_silence(action.index) and not action.recorded:
            watched = (
                _rejected(state, action, noted or why_not)
                if noted or why_not
                else _ended(state, action, ApproveDecision())
            )
            unwatched = _rejected(state, action, noted or to_agent.UNWATCHED)
            decided[action.index] = (str(state.message_of(action.index)), *watched, *unwatched)
    return SilentDecisions(unix_milliseconds(state.silent_from), decided)


def _rejected(state: Approval, action: Action, why: str) -> tuple[str, str]:
    """Write the rejection of an action that silence does not approve. Empty when the agent accepts no rejection."""
    config = state.interrupt.request.review_configs[action.index]
    decision = by_silence(config, f"{EXPIRED_MESSAGE} {why}")
    return _ended(state, action, decision) if decision else ("", "")


def _ended(state: Approval, action: Action, decision: Decision) -> tuple[str, str]:
    recorded = dump_recorded(
        decision,
        fingerprint=action.fingerprint,
        decided_by=EXPIRED,
        policy=state.admission.policy_version,
    )
    return recorded, facts_of_silence(action, decision)
