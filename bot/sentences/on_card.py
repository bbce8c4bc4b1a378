"""What a card says about the whole request: its state, who decides, who is looking, and how the run goes on."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from bot.sentences.words import actions, and_more, few_numbers, more, numbers, when

# --- The headline -----------------------------------------------------------------------------------------------------

ALL_DECIDED_HERE = "All decided here — waiting for the others"
ALL_DECIDED = "All decided"
WITHDRAWN_BY_AGENT = "Withdrawn by the agent"
WENT_BACK = "Ended: the server went back to an older state"
NOT_ASKED = "Refused: this could not be asked"
TIME_IS_UP = "Time is up"
EXPIRED = "Expired"
NOBODY_OBJECTED = "Time is up: nobody objected"
NOBODY_DECIDED = "Expired: nobody decided in time"
DECIDED_HERE_ONLY = "Expired: decided here, but not everywhere"
RESUMED = "the agent has resumed"
LAPSED = "the agent took the answer and did not finish"
STALLED = "the agent could not go on"
WAITING = "waiting for the agent"


def needs_approval(still: int, total: int, parts: int) -> str:
    """Say how many actions are open; of how many where some are decided, and in how many parts where there are any."""
    which = (
        f"{still} of {total} actions" if still < total else f"{still} {'action' if still == 1 else 'actions'}"
    )
    where = f", in {'1 part' if parts == 1 else f'{parts} parts'}" if parts else ""
    return f"{which} {'needs' if still == 1 else 'need'} approval{where}"


def ended(how: str, then: str) -> str:
    """Say how a request ended, and what the agent did then."""
    return f"{how} — {then}"


def so_far(how: str, decided: int, total: int) -> str:
    """Say how much was decided when the time was up."""
    return f"{how}: {decided} of {total} decided"


# --- Who asks, and until when -------------------------------------------------------------------------------------------

REQUESTER_UNKNOWN = "*requester unknown*"
FOR_PERSON_ABOVE = "the person named on the card above"
SEVERAL_DECIDERS = "different people, named at each action"
DECIDED_AS_PROPOSED = "as proposed, by the people that each proposal names"


def asks(agent: str, requester: str = "") -> str:
    """Say who asks, and for whom."""
    return f"Agent `{agent}` asks" + (f" for {requester}" if requester else "")


def closed(at: datetime) -> str:
    """Say when a request ended."""
    return f"closed {when(at)}"


Deadline = Literal["approves", "as_said", "rejects", "raises"]
_AT_DEADLINE: dict[Deadline, str] = {
    "approves": ", then *approved*",
    "as_said": ", then approved or rejected as each action says",
    "rejects": ", then rejected",
    "raises": "",
}


def open_until(deadline: datetime, then: Deadline) -> str:
    """Say until when a request is open, and what the deadline does with it."""
    return f"open until {when(deadline)}{_AT_DEADLINE[then]}"


def decided_by(people: str) -> str:
    """Say who decides."""
    return f"to be decided by {people}"


def as_asked(decided_by: str) -> str:
    """Say who decides a call as it was asked."""
    return f"as asked, {decided_by}"


def as_asked_elsewhere(channel: str) -> str:
    """Say that others decide a call as it was asked."""
    return f"as asked, by the people named in {channel}"


def as_proposed(person: str, index: int | None) -> str:
    """Begin to say who decides a proposal; with the index of its action where a card has several."""
    return f"action {index + 1} as {person} proposes" if index is not None else f"as {person} proposes"


def also_asked_in(places: Sequence[str], others: int) -> str:
    """Say where else the same actions are asked."""
    return f"also asked in {', '.join(places)}{more(others)}"


def proposal_by(as_proposed: str, people: str) -> str:
    """Say who decides a proposal."""
    return f"{as_proposed}, by {people}"


def person_decides(person: str, indices: Sequence[int]) -> str:
    """Say which actions somebody decides."""
    return f"{person} ({few_numbers(indices)})"


# --- Its messages -------------------------------------------------------------------------------------------------------


def notification(headline: str, tools: str, agent: str) -> str:
    """Say in a notification what a card is about."""
    return f"{headline}: {tools} (agent {agent})"


def part(number: int, count: int, indices: Sequence[int]) -> str:
    """Title a part of a card."""
    return f"Part {number} of {count}: {actions(indices)}"


def in_part(number: int | str) -> str:
    """Say in which part an action is."""
    return f"part {number}"


# --- Why a run does not go on, and records that are lost ----------------------------------------------------------------

AGENT_SAYS_OF_RUN = "The agent says about this run:"
REASON = "Reason:"
LAPSED_WHY = (
    "A process of the agent took the answer to continue its run, and has not said since then that it did. It may have "
    "died in the middle: *what was approved may have run, or a part of it.* Check that before you ask again. "
    "If a process continues the run, this card says so."
)
UNREADABLE = "This can no longer be decided"
UNREADABLE_WHY = (
    "The stored data of this request cannot be read, so it was refused. "
    "The operator of the bot finds the reason in its log."
)
BEHIND = (
    "*The server went back to an older state.* What this card shows happened before that, and the server no longer "
    "knows it. It is not decided a second time: an agent that still waits for it was refused."
)
LOST = (
    "*The server went back to an older state, and the record of this request is gone.* Nothing can be decided here. An "
    "agent that still needs it asks again."
)

# --- Several actions together -------------------------------------------------------------------------------------------

NOT_YET = "Not yet"
"""Answers the question that comes before a click, so that nothing is recorded."""


def unread(indices: Sequence[int]) -> str:
    """Say which actions are approved at the end of a reading only."""
    return f"To be read before approving: {numbers(indices)}."


def with_proposal(indices: Sequence[int]) -> str:
    """Say which actions are approved alone because of a proposal."""
    return f"With a proposal, approved one by one: {numbers(indices)}."


def high_risk(indices: Sequence[int]) -> str:
    """Say which actions are decided alone because of their risk."""
    return f"High risk, decided one by one: {numbers(indices)}."


def approve_all(count: int, still: int) -> str:
    """Label the button that approves several actions, of those that are still open."""
    return f"Approve all {count}" if count == still else f"Approve {count} of {still}"


def reject_some(count: int, still: int) -> str:
    """Label the button that rejects several of the actions that are still open."""
    return f"Reject {count} of {still}"


def approve_calls(count: int) -> str:
    """Title the question whether several calls are approved."""
    return f"Approve {count} calls?"


def approve(count: int) -> str:
    """Answer that question with yes."""
    return f"Approve {count}"


def calls_of(tool: str, indices: Sequence[int]) -> str:
    """Name some calls of a tool."""
    return f"{numbers(indices)} ({tool})"


def as_shown(which: str) -> str:
    """Ask whether several calls are approved as they are shown."""
    return f"As this message shows them: actions {which}."


def left_out_proposed(indices: Sequence[int]) -> str:
    """Say which calls a button for several leaves out because of a proposal."""
    return f"Not approved with them, because somebody proposes something else: {few_numbers(indices)}."


def left_out_unread(indices: Sequence[int]) -> str:
    """Say which calls a button for several leaves out because they have to be read."""
    return f"Not approved with them, because they have to be read first: {few_numbers(indices)}."


# --- Who decides, and who is looking --------------------------------------------------------------------------------------

THIS_CHANNEL = "this channel"


def anyone_in(channel: str) -> str:
    """Name the members of a channel."""
    return f"anyone in {channel}"


def people(names: Sequence[str], at_most: int) -> str:
    """Name people, and count what is beyond the first of them."""
    return and_more(names, at_most)


def extend_by(duration: str) -> str:
    """Label the button that moves the deadline."""
    return f"Extend by {duration}"


def looking(person: str, until: datetime) -> str:
    """Say who is looking at a card."""
    return f"{person} is looking at this, until {when(until)}. Everybody who may decide still can."
