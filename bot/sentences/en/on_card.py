"""What a card says about the whole request: its state, who decides, who is looking, and how the run goes on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.sentences.en.words import actions, and_more, few_numbers, more, numbers, or_more, times, when
from bot.sentences.kinds import Deadline

# --- The title --------------------------------------------------------------------------------------------------------

WITHDRAWN, REFUSED, ENDED, EXPIRED, TIME_IS_UP = "Withdrawn", "Refused", "Ended", "Expired", "Time is up"
NOT_SIGNED = "Not signed"
WITHOUT_OBJECTION = "Approved without objection"
IN_ADVANCE = "Approved in advance"
_DONE = {
    "approve": "Approved",
    "edit": "Changed",
    "reject": "Rejected",
    "changes": "Changes requested",
    "respond": "Answered",
}
_OTHERWISE = "Decided"


def calls(tool: str, tools: int, total: int, still: int) -> str:
    """Name what is asked: a tool, how often, or how many tools; and how many of the calls are open where a part is decided."""
    several = f"{total} tools" if total == tools else f"{total} calls of {tools} tools"
    if 0 < still < total:
        return f"{tool if tools == 1 else several}, {still} of {total} open"
    if tools == 1:
        return tool if total == 1 else f"{tool}, {times(total)}"
    return several


def wants(agent: str, calls: str) -> str:
    """Title a card that is open."""
    return f"{agent} wants to run {calls}"


def ended(how: str, calls: str) -> str:
    """Title a card that asks nothing any more."""
    return f"{how}: {calls}"


def done(decision: str, by: Sequence[str], people: int) -> str:
    """Say in a title what was decided, and by whom where the names of all these people are known."""
    how = _DONE.get(decision, _OTHERWISE)
    if 0 < len(by) == people <= 2:
        return f"{how} by {' and '.join(by)}"
    return f"{how} by {people} people" if people > 1 else how


def ran(done: int, failed: int, runs: int) -> str:
    """End a title with how many of the calls that run are done, and how many failed."""
    if runs in {done, failed}:
        return ", done" if done else ", failed"
    counts = {"failed": failed, "done": done, "not reported": runs - done - failed}
    return ", " + ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def counted(outcomes: Mapping[str, int]) -> str:
    """Say in a title how many calls were decided in which way: 2 approved, 1 rejected."""
    words = {**_DONE, "expired": EXPIRED}
    known = {words.get(decision, _OTHERWISE): count for decision, count in outcomes.items()}
    order = [*words.values(), _OTHERWISE]
    return ", ".join(f"{known[word]} {word.lower()}" for word in sorted(known, key=order.index))


# --- The line below: how it ended, and how the run goes on ----------------------------------------------------------------

BY_THE_AGENT = "withdrawn by the agent"
WENT_BACK = "the server went back to an older state"
NOT_ASKED = "this could not be asked"
NOBODY_OBJECTED = "nobody objected"
NOBODY_DECIDED = "nobody decided in time"
DECIDED_HERE_ONLY = "decided here, but not everywhere"
RESUMED = "the agent has resumed"
LAPSED = "the agent took the answer and did not finish"
STALLED = "the agent could not go on"
UNTAKEN = "the agent has not said that it goes on"
GOING_ON = "the agent has gone on"
RUN_FAILED = "the agent has resumed, and its run ended with an error; no outcome was reported"
WAITING = "waiting for the agent"
WAITING_FOR_OTHERS = "waiting for what is asked elsewhere"


def resumed_without(count: int) -> str:
    """Say that the agent has resumed, and that these calls were rejected."""
    return f"{RESUMED} without {'it' if count == 1 else 'them'}"


def all_reported(at: datetime) -> str:
    """Say since when the outcome of every call is known."""
    return f"reported {when(at)}"


def so_far(decided: int, total: int) -> str:
    """Say how much was decided when the time was up."""
    return f"{decided} of {total} decided"


# --- The line below: who asks, who decides, and until when ----------------------------------------------------------------

UNSIGNED = "⚠️ *Decisions are not signed*, so they could be forged."
VERIFIED_AGENT = "verified agent"
REQUESTER_UNKNOWN = "*requester unknown*"
FOR_PERSON_ABOVE = "for the person named on the card above"
SEVERAL_DECIDERS = "different people decide, named at each call"
DECIDED_AS_PROPOSED = "as proposed, the people that each proposal names decide"


def on_behalf_of(requester: str) -> str:
    """Say for whom an agent asks."""
    return f"for {requester}"


def asked_by(agent: str, requester: str = "") -> str:
    """Say who asked, and for whom."""
    return f"asked by `{agent}`" + (f" for {requester}" if requester else "")


def closed(at: datetime) -> str:
    """Say when a request ended."""
    return f"closed {when(at)}"


_AT_DEADLINE: dict[Deadline, tuple[str, str]] = {
    "approves": ("*approved*", " if nobody does"),
    "as_said": ("what is open is approved or rejected as each call says", ""),
    "rejects": ("rejected", " if nobody does"),
    "raises": ("open until", ""),
}


def at_deadline(deadline: datetime, then: Deadline, needed: int | None = 1) -> str:
    """Say when the time is up, and what happens then.

    Args:
        deadline: When.
        then: What happens to what is open.
        needed: How many people have to agree; `None` where that differs between the calls.
    """
    if then == "rejects" and needed != 1:
        return f"rejected {when(deadline)} unless {needed or 'enough people'} agree"
    what, unless = _AT_DEADLINE[then]
    return f"{what} {when(deadline)}{unless}"


def decides(people: str, *, together: bool = False) -> str:
    """Say who decides: one of these people, or several of them together."""
    return f"{people} {'decide' if together else 'decides'}"


def as_asked(decides: str) -> str:
    """Say who decides a call as it was asked."""
    return f"as asked, {decides}"


def as_asked_elsewhere(channel: str) -> str:
    """Say that others decide a call as it was asked."""
    return f"as asked, the people named in {channel} decide"


def as_proposed(person: str, index: int | None, decides: str) -> str:
    """Say who decides what somebody proposes; with the index of its action where a card has several."""
    what = f"action {index + 1} as" if index is not None else "as"
    return f"{what} {person} proposes, {decides}"


def also_asked_in(places: Sequence[str], others: int) -> str:
    """Say where else the same actions are asked."""
    return f"also asked in {', '.join(places)}{more(others)}"


def person_decides(person: str, indices: Sequence[int]) -> str:
    """Say which actions somebody decides."""
    return f"{person} ({few_numbers(indices)})"


# --- Its messages -------------------------------------------------------------------------------------------------------


def asks(agent: str, calls: str, values: str, until: datetime) -> str:
    """Say in a notification what an open card asks. It is all that a phone shows, and a screen reader reads it first."""
    return f"{wants(agent, calls)}{values}. Until {when(until)}."


def ended_for(title: str, agent: str, then: Sequence[str]) -> str:
    """Say in a notification how a card ended, and how the run goes on."""
    return f"{title}. {'; '.join([f'Asked by {agent}', *then])}."


def with_values(values: Sequence[str], *, is_one: bool) -> str:
    """Say in a notification what one call, or several, are about."""
    return f"{' ' if is_one else ': '}{'; '.join(values)}" if values else ""


def part(number: int, count: int, indices: Sequence[int]) -> str:
    """Title a part of a card."""
    return f"Part {number} of {count}: {actions(indices)}"


def part_for(title: str, agent: str) -> str:
    """Say in a notification what a part of a card is."""
    return f"{title}. Asked by {agent}."


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
UNTAKEN_WHY = (
    "No process of the agent has said that it goes on with this decision. The agent may have stopped, or it may not be "
    "able to start again: look whether it runs. If a process goes on with it, this card says so."
)
GIVEN_BACK_WHY = (
    "A process of the agent took this decision, and gave it back. Nobody has gone on with it since then. Look into the "
    "log of the agent. If a process goes on with it, this card says so."
)
UNREADABLE = "This can no longer be decided"
UNREADABLE_WHY = (
    "The stored data of this request cannot be read, so it was refused. "
    "The operator of the bot finds the reason in its log."
)
CHANGED_WHY = (
    "The seal of this request is missing or wrong. Somebody may have changed what was asked, who may decide it or until "
    "when, so the bot refused it. The operator of the bot finds the reason in its log."
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


def agree_to_all(count: int, still: int) -> str:
    """Label the button that counts one vote for several actions, of those that are still open."""
    return f"Agree to all {count}" if count == still else f"Agree to {count} of {still}"


def review(count: int) -> str:
    """Label the button that leads through so many actions."""
    return f"Review {count}…"


def reject_some(count: int, still: int) -> str:
    """Label the button that rejects several of the actions that are still open."""
    return f"Reject {count} of {still}"


def approve_calls(count: int) -> str:
    """Title the question whether several calls are approved."""
    return f"Approve {count} calls?"


def agree_to_calls(count: int) -> str:
    """Title the question whether one agrees to several calls."""
    return f"Agree to {count} calls?"


def agree(count: int) -> str:
    """Answer that question with yes."""
    return f"Agree to {count}"


def at_once_and_voted(at_once: Sequence[int], voted: Sequence[int]) -> str:
    """Say in the question what becomes of several calls, where only some of them take several people."""
    return f"Run at once: {few_numbers(at_once)}. Run when enough people agree: {few_numbers(voted)}."


YOUR_VOTE = "This is your vote. A call that needs more people runs when they agree as well."


def approve(count: int) -> str:
    """Answer that question with yes."""
    return f"Approve {count}"


def calls_of(tool: str, indices: Sequence[int]) -> str:
    """Name some calls of a tool."""
    return f"{numbers(indices)} ({tool})"


def as_shown(which: str) -> str:
    """Ask whether several calls are approved as they are shown."""
    return f"As this message shows them: actions {which}."


def odd_ones(rows: Sequence[str]) -> str:
    """Say which calls differ from most of the others."""
    return f"Not like the others: {'; '.join(rows)}."


def in_all(totals: Sequence[str]) -> str:
    """Say what the numbers of several calls come to."""
    return f"In all: {', '.join(totals)}."


def left_out_proposed(indices: Sequence[int]) -> str:
    """Say which calls a button for several leaves out because of a proposal."""
    return f"Not approved with them, because somebody proposes something else: {few_numbers(indices)}."


# --- A batch of one tool, as rows -------------------------------------------------------------------------------------

USUAL = "In every row that does not say otherwise:"


def show_all(count: int) -> str:
    """Label the button that shows all of some decided calls."""
    return f"Show all {count}…"


def same_in_all(count: int) -> str:
    """Say above some values that all rows have them."""
    return f"The same in all {count}:"


def of_rows(indices: Sequence[int], words: str) -> str:
    """Say something of some rows."""
    return f"{numbers(indices)}: {words}"


def more_lines(count: int) -> str:
    """Say that some lines have no room."""
    return f"{count} more lines have no room here."


# --- Who decides, and who is looking --------------------------------------------------------------------------------------

THIS_CHANNEL = "this channel"


def on_call(schedule: str, people: Sequence[str]) -> str:
    """Name who is on call: with the people of the moment when it was asked, where they are known."""
    names = ", ".join(people)
    return f"{names} (on call for {schedule})" if names else f"whoever is on call for {schedule}"


def anyone_in(channel: str) -> str:
    """Name the members of a channel."""
    return f"anyone in {channel}"


def people(names: Sequence[str], at_most: int) -> str:
    """Name people, and count what is beyond the first of them."""
    return and_more(names, at_most)


def any_of(names: Sequence[str], at_most: int) -> str:
    """Name people of whom one is enough."""
    return or_more(names, at_most)


def extend_by(duration: str) -> str:
    """Label the button that moves the deadline."""
    return f"Extend by {duration}"


def looking(person: str, until: datetime) -> str:
    """Say who is looking at a card."""
    return f"{person} is looking at this, until {when(until)}. Everybody who may decide still can."
