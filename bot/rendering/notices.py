"""Sentences that only the person who clicked sees."""

from collections.abc import Iterable, Sequence

from bot.errors import PersonUnknownError, VotersUnknownError
from bot.rendering.blocks import when, who
from bot.rendering.clock import place_name
from bot.rendering.message import numbers
from bot.rendering.rows import tally
from bot.rendering.text import mrkdwn, one_line
from bot.state import Action, ApprovalState, Proposal

NOT_RECORDED = "The store did not answer in time, so your decision may *not* be recorded. Please press the same button again."
OUTDATED = "This card is no longer kept, so nothing was recorded. Look for a newer one."
UNREADABLE = "What is stored of this request cannot be read, so nothing was recorded. Whoever operates the bot finds the reason in its log."
NOT_SHOWN_HERE = "Nothing was approved, because this message does not show the calls. They are in its thread: decide there."
WHO_ARE_YOU = "Slack did not say who you are, so nothing was recorded. Please press again."
WHO_AGREED = "Slack did not say whether everybody who agreed still may decide this, so nothing is final. Please press again."
CHANNEL_UNKNOWN = "Slack did not say whether it can be asked where these values belong. Nothing was recorded: please submit it again."
AGREE_YOURSELF = "press “Look and agree…” on the card, and look at all of it there first."
NOT_OPENED = "This could not be opened, and nothing was decided. Please press again."
NOT_LISTED = "The sticky approvals could not be listed now. Please try again."
NOTHING_CHANGED = "Nothing was changed, so nothing was recorded. Change something, or close this form."
ONLY_SPACES = "There are only spaces here. Write an answer, or close this form."
OVER = "This is decided or over already."
NOT_SAVED = "Not saved: the store did not answer in time. Your text is still here, please try again."

WRONG_CODE = "These are not the characters on the card of this action. Nothing was recorded."
GONE = "This proposal was withdrawn or decided, so nothing was recorded. Look at the card."

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


def counted(state: ApprovalState, indices: Sequence[int], user: str, *, again: bool = False) -> str:
    """Tell a voter how their votes stand and what is missing; actions that stand alike in one sentence."""
    alike: dict[str, list[int]] = {}
    for index in indices:
        alike.setdefault(_standing(state.actions[index], user), []).append(index)
    before = "Counted once, as before" if again else "Counted"
    return " ".join(
        f"{before}: {'action' if len(found) == 1 else 'actions'} {numbers(found)}, {standing}"
        for standing, found in alike.items()
    )


def uncounted(people: Iterable[str]) -> str:
    """Say whose votes were taken out; nothing when there are none."""
    names = ", ".join(who(person) for person in sorted(people))
    return f"Not counted any more, because they may not decide this now: {names}." if names else ""


def not_approved(indices: Sequence[int]) -> str:
    """Say which actions were not approved together with others, because somebody proposes something else for them."""
    if not indices:
        return ""
    which = f"action {numbers(indices)}" if len(indices) == 1 else f"actions {numbers(indices)}"
    return f"Not approved: {which}. Somebody proposes something else there, so look at it and decide it by itself."


def unknown(error: PersonUnknownError) -> str:
    """Say about whom Slack did not answer."""
    return WHO_AGREED if isinstance(error, VotersUnknownError) else WHO_ARE_YOU


def proposed(state: ApprovalState, proposal: Proposal, why_not_counted: str = "") -> str:
    """Tell an author that their edit is asked on the terms of another rule, and why they do not count themselves."""
    takes = proposal.terms.quorum
    people = "1 person has" if takes == 1 else f"{takes} people have"
    where = f" in {place_name(proposal.channel)}" if len(state.places) > 1 else ""
    told = (
        f"With these values the rule “{mrkdwn(one_line(proposal.rule))}” decides, so your change is a proposal: "
        f"{people} to agree{where}."
    )
    if not why_not_counted:
        return told
    return f"{told} You do not count among them yet: {why_not_counted}"


def _standing(action: Action, user: str) -> str:
    position = next((vote.position for vote in action.votes if vote.user == user), "")
    missing = action.needed(position) - len(action.voters(position))
    people = "1 more person has" if missing == 1 else f"{missing} more people have"
    return f"{tally(action, position)}. {people} to say the same before it is decided."


def _told(state: ApprovalState, action: Action) -> str:
    recorded = action.recorded
    if recorded is None:
        ended = "expired before your decision" if state.is_past else _ENDED.get(state.status, "is not open")
        return f"Action {action.number} {ended}; nothing was recorded."
    did = _DID.get(recorded.decision.type, "decided")
    people = ", ".join(who(person) for person in recorded.agreed_by or (recorded.decided_by,))
    return f"Action {action.number} was already {did} by {people} {when(recorded.decided_at)}."
