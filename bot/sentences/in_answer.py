"""What only the person who clicked reads: why nothing was recorded, or what is still missing."""

from collections.abc import Sequence
from datetime import datetime

from bot.sentences.on_button import OPEN
from bot.sentences.words import Outsider, calls, or_more, people_have, when

NOT_DONE = "Not done"
RECORDED = "Recorded"
READ_AND_APPROVED = "You have approved what you read. The card shows what becomes of it."

NOT_SUBMITTED = (
    "This may *not* be recorded, because the bot or its store was too slow. Please submit it again: "
    "it counts only once."
)
NOT_CONFIRMED = (
    "This has arrived, but the bot could not make sure in time that a second copy of it exists. "
    "Please submit it again in a few seconds: it counts only once."
)
MAY_NOT_SIGN = (
    "The signing key of the bot may not sign now, so nothing was recorded. "
    "The operator of the bot has to set another key; pressing again does not help before."
)
NOT_SAVED = "Not saved: the bot or its store was too slow. Your text is still here, please try again."
REFUSAL_LOST = (
    "Nothing was recorded: this call was refused before, and the bot was too slow to store that, or a technical fault has "
    "lost it. Refuse it again, or have the agent ask again."
)
OUTDATED = "The bot no longer has the record of this card, so nothing was recorded. Look for a newer card."
UNREADABLE = (
    "The stored data of this request cannot be read, so nobody can decide it. "
    "The operator of the bot finds the reason in its log."
)
CHANGED = (
    "The seal of this request is missing or wrong: somebody may have changed what was asked, who may decide it or until "
    "when. So nobody can decide it. The operator of the bot finds the reason in its log."
)
"""Cards of such a request say the same."""
NOT_SHOWN_HERE = "Nothing was approved, because this message does not show the calls. They are in its thread: decide there."
ASKS_OTHERWISE = (
    "Nothing was recorded, because the request is not the one that you saw when you pressed. "
    "The card is drawn again now: look at it before you decide."
)
WHO_ARE_YOU = "Slack did not say in time who you are, so nothing was recorded. Please press again."
WHO_AGREED = "Slack did not say in time whether everybody who agreed may still decide this, so nothing is final. Please press again."
CHANNEL_UNKNOWN = (
    "Slack did not say whether the bot can ask in the channel where these values belong. "
    "Nothing was recorded: please submit it again."
)
NOT_OPENED = "This could not be opened, and nothing was decided. Please press again."
NOTHING_CHANGED = "Nothing was changed, so nothing was recorded. Change something, or close this form."
CHOOSE_FEWER = "So many do not fit into one form. Choose fewer of them; you can come back for the others."
TOO_MUCH_TO_SHOW = "So many changes do not fit into the last step, which shows all of them. Change less, or reject the call and say what to change."
ONLY_SPACES = "There are only spaces here. Write an answer, or close this form."
ONE_ANSWER = "Give one answer, or close this form. Nothing was recorded."
OVER = "This is already decided, or it has ended."
RUN_IT_FIRST = "Tick this to approve. Nothing was recorded."
WRONG_VALUE = "Type it exactly. Nothing was recorded."
GONE = "This proposal was withdrawn or decided, so nothing was recorded. Look at the card."
STANDING_ENDED = "This standing approval has ended."
USAGE = (
    "`/approvals` lists what waits for you.\n"
    "`/approvals mine` lists what was asked for you.\n"
    "`/approvals rules` lists the standing approvals that you can revoke: their calls run without asking."
)
LIST_NOT_OPENED = "Slack did not open the list. Please write this again."

_DO = {"approve": "approve", "edit": "edit", "reject": "reject", "respond": "answer"}
_VOTES = {"approve": "approval", "edit": "change", "reject": "rejection", "respond": "answer"}
_DID = {"approve": "approved", "edit": "approved with changes", "reject": "rejected", "respond": "answered"}
_ENDED = {
    "expired": "expired before your decision",
    "withdrawn": "was withdrawn by the agent",
    "refused": "was refused by the bot",
    "decided": "is already decided",
}
nothing_left = "There is nothing left here that you can {}.".format
not_counted_yet = "You are not counted yet: {}".format
"""Say why the author of a proposal does not count among those who agree with it."""
edit_refused = "The rule “{}” decides about these values, and {}. Nothing was recorded.".format
"""Say that an edit cannot be taken by the rule that is about its values."""
unreachable = "the bot cannot post where that rule asks ({})".format
"""Say that the bot cannot post where a rule asks."""
masked_values = (
    "The policy masks “{}”, and what is masked is never edited: nobody could see what they agree with. "
    "Remove it from what you typed. Nothing was recorded."
).format
standing_only_by = "Only {} may give a standing approval here.".format
"""Say who may approve later calls."""
revoked_only_by = "Only {} and people who may approve this can revoke it.".format
already_looking = "{} is already looking at this.".format
hand_over_only_by = "Only {}, who is looking at this, can hand it over.".format
only_this_call = "The agent asks only about call {}, not about later calls.".format
proposed_otherwise = (
    "Somebody proposes something else for call {}, so later calls cannot be approved with it now. "
    "Nothing was recorded: look at the card."
).format
read_first = f"The card does not show all of call {{}}: press *{OPEN}*, and decide on its last page.".format
value_needed = (
    "The risk of call {} is high: to approve it, open its form, and type what the form asks for.".format
)
read_proposal_first = "Press *Agree to …*, and read the change of call {} to its end before you agree.".format
no_standing_approval = "The policy does not offer a standing approval for call {}.".format
standing_too_wide = "The policy does not allow so wide a standing approval for call {}.".format
hand_over_refused = "{} may not decide this, so it stays with you.".format


def not_recorded(card: str) -> str:
    """Say that it took too long to store a decision; `card` is the address of the message that was pressed, or empty."""
    return (
        "Your decision may *not* be recorded, because the bot or its store was too slow. "
        f"Please press the same button again on {_card(card)}: it counts only once."
    )


def not_confirmed(card: str) -> str:
    """Say that a decision counts, and may still be lost. `card` as in `not_recorded`."""
    return (
        "Your decision has arrived, but the bot could not make sure in time that a second copy of it exists. "
        f"If {_card(card)} shows it, there is nothing to do. If not, press the same button again: it counts only once."
    )


def _card(address: str) -> str:
    return f"<{address}|the card>" if address else "the card"


def already_decided(index: int, decision: str, people: Sequence[str], at: datetime) -> str:
    return f"Call {index + 1} was already {_DID.get(decision, 'decided')} by {', '.join(people)} {when(at)}."


def already_ended(index: int, status: str) -> str:
    return f"Call {index + 1} {_ENDED.get(status, 'is not open')}; nothing was recorded."


def counted(indices: Sequence[int], kind: str, count: int, needed: int, *, again: bool) -> str:
    """Tell a voter how far these calls are: all of the card where none is named."""
    of, left = f" of {calls(indices)}" if indices else "", needed - count
    more = "One more is needed." if left == 1 else f"{left} more are needed."
    return f"Your {_VOTES.get(kind, 'vote')}{of} counts{' already' if again else ''}: {count} of {needed}. {more}"


def uncounted(people: Sequence[str]) -> str:
    return f"No longer counted, because they may not decide this now: {', '.join(people)}."


def not_approved(indices: Sequence[int]) -> str:
    """Say which actions a button for several left out, because somebody proposes something else."""
    decide = "decide it separately" if len(indices) == 1 else "decide each of them separately"
    return f"Not approved: {calls(indices)}. Somebody proposes something else there: {decide}."


def not_reviewed(indices: Sequence[int]) -> str:
    """Say which actions the end of a review left out: something about them has changed, or it is not stored what was read."""
    return (
        f"Not approved: {calls(indices)}. Something has changed there, or it was not stored that you have read it: please "
        "review again."
    )


def not_decided(indices: Sequence[int], reason: str) -> str:
    """Say which of several actions this person may not decide."""
    return f"You may not decide {calls(indices)}. {reason}"


def proposed(rule: str, needed: int, channel: str = "") -> str:
    where = f" in {channel}" if channel else ""
    return f"The rule “{rule}” decides about these values, so your change is a proposal: {people_have(needed)} to agree{where}."


AGREE_YOURSELF = "press *Agree to …* on the card, and read all of the change there first."
"""How the author of a proposal agrees with it."""

AGENT_UNVERIFIED = "it takes calls of verified agents only"
REQUESTER_UNVERIFIED = "only the agent says for whom it acts, which this rule does not accept"
NO_EDITS = "it does not offer edits"
NO_ROOM = "the card has no room for the proposal"
MASKS_THE_CHANGE = "it masks what you changed, so nobody could see what they agree with"


def too_few_approvers(needed: int) -> str:
    return f"{people_have(needed)} to agree, but fewer people may"


NOBODY_LOOKING = "Nobody is looking at this any more. Press “I am looking at this” first."
NO_MORE_TIME = "The deadline cannot be moved now."
SOMEBODY_WAS_FASTER = "Somebody else was faster: look at the card again."


def extended_before(until: datetime) -> str:
    return f"It is already open until {when(until)}."


DEACTIVATED = "This account is deactivated, or not of this workspace."
FOR_YOU = "The agent acts for you here, so somebody else has to approve it."
YOUR_THREAD = "This comes from a thread that you started, so somebody else has to approve it."
FIRST_CHANNEL = "the members of the channel where it was asked first"

_OUTSIDERS: dict[Outsider, str] = {
    "bot": "Bots",
    "stranger": "People of other workspaces",
    "guest": "Guests",
}


def outsider(kind: Outsider) -> str:
    return f"{_OUTSIDERS[kind]} may not decide here, unless the policy names them by their id."


def not_an_approver(approvers: Sequence[str], *, by_schedule: bool) -> str:
    schedule = " The schedule does not name you now, or it does not answer." if by_schedule else ""
    return f"Only {or_more(approvers, len(approvers))} can decide this.{schedule}"


def decision_not_offered(decision: str, offered: Sequence[str]) -> str:
    names = [_DO[name] for name in offered if name in _DO]
    return f"You cannot {_DO.get(decision, 'do this')} here, only {or_more(names, len(names))}."
