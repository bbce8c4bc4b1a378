"""What forms and readings say: titles, labels, hints and buttons. Slack takes 24 characters for a title or a button."""

from collections.abc import Sequence

from bot.sentences.on_card import YOUR_VOTE, at_once_and_voted
from bot.sentences.words import calls

# --- Titles and buttons -------------------------------------------------------------------------------------------------

CLOSE, CANCEL = "Close", "Cancel"
APPROVE, APPROVE_AS_ASKED, APPROVE_WITH_CHANGES = "Approve", "Approve as asked", "Approve with changes"
PROPOSE_CHANGE = "Propose this change"
AGREE, AGREE_TO, REJECT, ANSWER = "Agree", "Agree to", "Reject", "Answer"
CHANGES_TO, EDIT, READ, REVIEW, RUN = "Changes to", "Edit", "Read", "Review", "Run"
DETAILS_OF = "Details of"
APPROVE_FROM_NOW_ON, HAND_OVER = "Approve from now on", "Hand over"


def title(verb: str, index: int | None) -> str:
    """Title a form about a call: Approve this call, Reject call 2. Without a verb, it cannot be submitted."""
    which = "this call" if index is None else f"call {index + 1}"
    return f"{verb} {which}" if verb else which.capitalize()


def several(verb: str, count: int) -> str:
    return f"{verb} {count} {'call' if count == 1 else 'calls'}"


# --- The call that a form is about --------------------------------------------------------------------------------------

SECTIONS = {"arguments": "Arguments:", "description": "The agent says:"}
HIGH_RISK = "The risk of this call is high. It runs exactly as shown here:"


# --- Editing ------------------------------------------------------------------------------------------------------------

_ABOUT_EDIT = (
    "The tool stays the same, and the call runs with your changes. "
    "Fields that you do not touch keep exactly what the agent wrote."
)
remove_row = "Remove row {}".format
rows_in_sight = "Rows {} to {} of {}".format


def about_edit(problem: str | None) -> str:
    if not problem:
        return _ABOUT_EDIT
    return (
        f"{_ABOUT_EDIT} The tool's schema is not used ({problem}), so only the type of each value is checked."
    )


ABOUT_EDIT_WITHOUT_SCHEMA = (
    f"{_ABOUT_EDIT} What the tool takes was too large to be sent, so this form checks only the type of each value. "
    "If the tool does not take your changes, they do not run, and the agent may ask again."
)

SEE_CHANGES, START_OVER, CHANGE_MORE = "See changes", "Start over", "Change more"
BEFORE_AND_AFTER = "Your changes:"
CHANGED_SINCE = "This form was changed in another window. Nothing was recorded: look at it again."
KEPT = "This is what you typed before."
ALSO_WRONG = (
    "The tool does not accept some values that were not in sight. They are in the form now: change them, too."
)


ADD_ROW, MOVE_UP, MOVE_DOWN = "Add a row", "Move up", "Move down"
PREVIOUS_ROWS, NEXT_ROWS = "Previous rows", "Next rows"


def not_accepted(sentences: Sequence[str]) -> str:
    """Say what the tool does not accept about values without an input in sight. The sentences are mrkdwn."""
    return "\n".join((ALSO_WRONG, *sentences))


# --- Reading page by page -----------------------------------------------------------------------------------------------

PREVIOUS = "Previous"
TOO_LONG_TO_EDIT = "These arguments are too long for a form, so they cannot be edited here."
page = "Page {} of {}".format
as_proposed = "This is the call as {} proposes to run it.".format


# --- The review of several calls ----------------------------------------------------------------------------------------

ALL_DECIDED = "All of these are decided by now."
NOTHING_TO_APPROVE = "Nothing can be approved here."
DECIDED_ALREADY = "decided already"
NOT_TO_BE_APPROVED = "has no Approve button"
OF_HIGH_RISK = "high risk"
WITH_PROPOSAL = "somebody proposes a change"
NOT_SHOWN_TO_THE_END = "you were not shown all of it"
page_of_action = "Page {1} of {2} of call {0}".format
"""Say which page of a long call this is."""


def first_page(last: int, turn: str, approve: str) -> str:
    return f"{page(1, last)}. The buttons below a call decide only that call. *{turn}* leads to *{approve}*."


def to_be_approved(what: str, at_once: Sequence[int], voted: Sequence[int]) -> str:
    shown = [*at_once, *voted]
    which = f"{what} ({calls(shown)})"
    if not voted:
        return f"You approve {which}."
    if not at_once:
        return f"You agree to {which}. {YOUR_VOTE}"
    return f"You approve {which}. {at_once_and_voted(at_once, voted)}"


def left_out(indices: Sequence[int], why: str) -> str:
    return f"Not included: {calls(indices)} ({why})."


# --- Agreeing with a proposal -------------------------------------------------------------------------------------------

NOTHING_TO_AGREE, PROPOSAL_GONE = "Nothing to agree with", "This proposal was withdrawn or decided."
TOO_LONG_TO_AGREE = "This is too long to approve here."
WHOLE_CALL = "The whole call, as it would run:"
OTHER_ARGUMENTS = "All other arguments stay as the agent wrote them."
_WANT = {"edit": "changed this:", "respond": "answered this. The call does not run:"}


def proposal(people: str, decision: str) -> str:
    return f"{people} {_WANT.get(decision, 'decided otherwise.')}"


def votes_missing(count: int) -> str:
    return "*The next vote is the last:* it decides." if count <= 1 else f"{count} more votes decide."


# --- Rejecting, answering and handing over ------------------------------------------------------------------------------

REASON = "Reason (the agent reads it)"
OWN_REASON = "More, in your own words"
CHOOSE_REASON = "Choose a reason"
NOTE = "Note"
WHAT_TO_CHANGE = "What has to change"
ASK_FOR_CHANGES = "Ask for changes"
ABOUT_CHANGES = "It does not run. The agent tries again with your words."
WHAT_THEN = "What the agent does then"
PROPOSE_AGAIN = "Change the call as written above, and propose it again"
LATER_CALLS = "Later calls"
REJECT_LATER_CALLS = "Reject every later call of this tool in this run too"
NOTHING_TO_REJECT = "Nothing is left to reject."
YOUR_ANSWER, OTHER_ANSWER = "Your answer", "Other answer"
ABOUT_HANDING_OVER = "The thread of the card mentions this person. Everybody who may decide still can."
WHO_LOOKS = "Who looks at this now"
CHOOSE_PERSON = "Choose a person"


def to_be_rejected(indices: Sequence[int], what: str) -> str:
    return f"This rejects {calls(indices)}: {what}."


# --- What is typed at a high risk --------------------------------------------------------------------------------------------

RUN_IT = "Yes, run it with the values above"
type_value = "To approve, type {}".format


def value_of(name: str) -> str:
    return f"The {f'value of {name}' if name else 'name of the tool'}. Type it exactly."


# --- Approving later calls ----------------------------------------------------------------------------------------------

ABOUT_FOR_RUN = (
    "This call runs as shown here. Every later call of the same tool in this run then goes ahead without asking, "
    "*whatever its arguments are*."
)
ABOUT_STANDING = (
    "This call runs now. Later calls of this tool then run without asking, within the limits that you choose here. "
    "The thread of the card shows each of them. You can revoke this there, or with `/approvals rules`."
)
WHICH_CALLS, WHICH_RUNS, HOW_LONG, HOW_MANY = "Which calls", "Where", "For how long", "How many calls at most"
SAME_ARGUMENTS = "The same call, with exactly these arguments"
ANY_ARGUMENTS = "Every call of this tool, with any arguments"
THIS_RUN = "In this run"
every_run = "In every run of the agent {}".format
