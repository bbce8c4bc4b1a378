"""What a card says about one of its actions: the call, what became of it, votes and proposals, and what silence does."""

from datetime import datetime

from bot.sentences.words import when

# --- The call -----------------------------------------------------------------------------------------------------------

READ_FIRST = "To approve or edit, read all of it first."
TO_BE_READ = "to be read first"
HIGH_RISK = "⚠️ *High risk*"
masked = "Masked: {}. The call uses the real value.".format


def title(number: int | None, tool: str = "") -> str:
    """Title an action; without its number where it is the only one, without the name of its tool where that comes below."""
    named = f"`{tool}`" if tool else "A tool with an unusual name:"
    return named if number is None else f"*{number}.* {named}"


only_the_beginning = (f"*Only the beginning is shown*, of {{:,}} characters in all. {READ_FIRST}").format


def not_in_schema(names: str, count: int) -> str:
    what, them = ("argument", "it") if count == 1 else ("arguments", "them")
    return f"⚠️ *The tool's schema does not have the {what}* {names}. The call may run without {them}."


def in_reading_only(names: str, *, is_cut: bool) -> str:
    return f"Open to see: {names}." + ("" if is_cut else f" {READ_FIRST}")


def to_type(value: str, *, agree: bool = False) -> str:
    return f"{HIGH_RISK}. To {'agree' if agree else 'approve'}, type {value}."


def people_needed(approving: int, rejecting: int) -> str:
    reject = "One rejection stops it" if rejecting == 1 else f"{rejecting} rejections stop it"
    return f"Needs {approving} {'approval' if approving == 1 else 'approvals'}. {reject}."


# --- The buttons --------------------------------------------------------------------------------------------------------

APPROVE = "Approve"
MORE_ABOVE = "Not all values fit here. The rest is above."
one_of = "one of {} votes,".format
"""Say on a button that it casts one vote of several."""
one_vote_of = "This is one vote: {} people have to agree.".format


def run(tool: str) -> str:
    return f"Run {tool or 'this call'}?"


EFFECTS = {
    "reject_as_answer": "Reject: this agent's framework has no rejection. "
    "The call does not run, and the model gets a sentence that says so as the tool's answer.",
    "answer_as_rejection": "Answer: the call does not run, and the model gets your words as the reason of a rejection.",
    "words_only": "The program that asks gets your decision, and only it knows what it does then.",
    "reject_drops_batch": "Reject: this agent's framework then runs no other call of this batch either, "
    "not even an approved one.",
}
"""What a decision really does, where the framework of an agent does not know it."""


def named(number: int | None, tool: str) -> str:
    """Name an action in a sentence: by its number, where it has one, and by its tool, where that has a usual name."""
    if number is None:
        return tool or "this call"
    return f"call {number}" + (f": {tool}" if tool else "")


# --- What became of an action -------------------------------------------------------------------------------------------

NOT_SIGNED = "This decision is not signed, so it does not count"
OPEN, WITHDRAWN, REFUSED = "Open", "Withdrawn", "Refused"
_DONE = {
    "approve": "Approved",
    "edit": "Approved with changes",
    "reject": "Rejected",
    "respond": "Answered",
}
_GONE = ", but the agent had already gone"
_VOID = {
    "approve": "Approved, not run",
    "edit": "Approved with changes, not run",
    "reject": f"Rejected{_GONE}",
    "respond": f"Answered{_GONE}",
}
CHANGES_REQUESTED, CHANGES_NOT_PASSED_ON = "Changes requested", f"Changes requested{_GONE}"
outcome_by_silence = "*{}: nobody decided in time*".format


def decided(decision: str, *, is_void: bool, for_run: bool) -> str:
    """Say what was decided; void where nothing of it runs or is passed on."""
    later = " for this run" if for_run else ""
    return (_VOID if is_void else _DONE).get(decision, "Decided otherwise") + later


TOO_FEW_VOTES = "too few people voted"


def rejected_in_silence(*, has_votes: bool) -> str:
    return f"Expired, so rejected: {TOO_FEW_VOTES if has_votes else 'nobody decided'}"


def not_decided(*, has_votes: bool) -> str:
    return f"Not decided in time{f': {TOO_FEW_VOTES}' if has_votes else ''}"


def outcome(status: str, people: str, at: datetime) -> str:
    """Say who decided, and when; without what they decided where that is empty."""
    return f"{f'*{status}* by ' if status else ''}{people} {when(at)}"


def folded(number: int, tool: str, outcome: str, mark: str, ran: str) -> str:
    """Say on one line what became of one call of several; `ran` is what the agent reported of it."""
    named = f"*{number}.*{f' `{tool}`' if tool else ''}"
    return f"{f'{mark} ' if mark else ''}{named} · {f'*{ran}* · ' if ran else ''}{outcome}"


outcome_by_standing = "*{}* without asking, as {} said before, {}".format

# --- Votes and proposals ------------------------------------------------------------------------------------------------

_VOTED = {
    "approve": "approved",
    "edit": "agree",
    "reject": "rejected",
    "respond": "agree",
    "proposal": "agree",
}
_VOTED_OTHERWISE = {
    **_VOTED,
    "approve": "approved as asked",
    "edit": "want another change",
    "respond": "gave another answer",
}
voted = "*{}*: {}".format
other_proposals = "and {} other proposals".format
waiting_for = "{} · waiting for {}".format
and_agrees = "{} and agrees".format
agreed = "{} · *{}*: {}".format
decided_under = "{} (*{}*). The rule “{}” decides about the change, by {}.".format
"""Say that another rule decides about a change, and how far that is."""
to_be_decided_by = "To be decided by {}".format
resembles = "⚠️ This name looks like `{}`, but is not the same.".format
matched_by = "The tool is matched by `{}`, not by its name.".format
"""Say that a rule is about a tool because of a pattern."""


def tally(kind: str, count: int, needed: int, *, beside_change: bool) -> str:
    """Say how many people say the same, of how many it takes: 1 of 2 approved, as asked where the card shows a change."""
    voted = _VOTED_OTHERWISE if beside_change else _VOTED
    return f"{count} of {needed} {voted.get(kind, 'decided')}"


def did(person: str, decision: str) -> str:
    return f"{person} {'answered' if decision == 'respond' else 'changed'} this"


# --- Silence ------------------------------------------------------------------------------------------------------------

APPROVED_AT_DEADLINE = "*Approved at the deadline* unless somebody decides before."
