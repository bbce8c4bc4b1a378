"""Sentences that only the person who clicked sees."""

from collections.abc import Sequence

from bot.rendering.blocks import when, who
from bot.state import Action, ApprovalState

NOT_RECORDED = "The store did not answer in time, so your decision may *not* be recorded. Please press the same button again."
OUTDATED = "This card is no longer kept, so nothing was recorded. Look for a newer one."
WHO_ARE_YOU = "Slack did not say who you are, so nothing was recorded. Please press again."
NOT_OPENED = "This could not be opened, and nothing was decided. Please press again."
NOTHING_CHANGED = "Nothing was changed, so nothing was recorded. Change something, or close this form."
OVER = "This is decided or over already."
NOT_SAVED = "Not saved: the store did not answer in time. Your text is still here, please try again."

_DID = {"approve": "approved", "edit": "approved with changes", "reject": "rejected", "respond": "answered"}
_ENDED = {
    "expired": "expired before your decision",
    "withdrawn": "was withdrawn by the agent",
    "refused": "could not be asked any further",
    "decided": "is already decided",
}


def told(state: ApprovalState, indices: Sequence[int]) -> str:
    """Say who decided these actions and when, or how their interrupt ended."""
    return " ".join(_told(state, state.actions[index]) for index in indices)


def _told(state: ApprovalState, action: Action) -> str:
    recorded = action.recorded
    if recorded is None:
        ended = "expired before your decision" if state.is_past else _ENDED.get(state.status, "is not open")
        return f"Action {action.number} {ended}; nothing was recorded."
    did = _DID.get(recorded.decision.type, "decided")
    return (
        f"Action {action.number} was already {did} by {who(recorded.decided_by)} {when(recorded.decided_at)}."
    )
