"""What a card says about the whole request: its state, who decides, who is looking, and how the run goes on."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.sentences.words import Deadline, few_numbers, numbers, on_button, times, when
from bot.sentences.words import calls as calls_numbered

# --- The title --------------------------------------------------------------------------------------------------------

WITHDRAWN, REFUSED, EXPIRED, TIME_IS_UP = "Withdrawn", "Refused", "Expired", "Time is up"
OVER = "Ended, see the note above"
MAY_HAVE_RUN = "Ended, may have run"
NOT_SIGNED = "Not signed"
WITHOUT_OBJECTION = "Approved without objection"
IN_ADVANCE = "Approved in advance"
CHANGED = "Changed"
_DONE = {
    "approve": "Approved",
    "edit": CHANGED,
    "reject": "Rejected",
    "changes": "Changes requested",
    "respond": "Answered",
}
_OTHERWISE = "Decided"
from_to = "{} to {}".format
together = "{} together".format
ended = "{}: {}".format
"""Title a card that asks nothing any more."""


def times_of(tool: str, count: int) -> str:
    return tool if count == 1 else f"{tool}, {times(count)}"


def odd_of(count: int, name: str, value: str | None) -> str:
    """Say what a few of several calls have: one with admin true. Without a value they have different ones, or none."""
    what = f"{name} {value}" if value else f"another {name}"
    return f"{'one' if count == 1 else count} with {what}"


def other_odd(count: int) -> str:
    return f"{count} more odd {'argument' if count == 1 else 'arguments'}"


def still_open(what: str, still: int, total: int) -> str:
    return f"{what}, {still} of {total} open" if 0 < still < total else what


def wants(agent: str, what: str, *, again: bool = False, asks: bool = False) -> str:
    return f"{agent}{' asks' if asks else ''}{' again' if again else ''}: {what}"


def done(decision: str, by: Sequence[str], people: int) -> str:
    """Say in a title what was decided, and by whom where the names of all these people are known."""
    how = _DONE.get(decision, _OTHERWISE)
    if 0 < len(by) == people <= 2:
        return f"{how} by {' and '.join(by)}"
    return f"{how} by {people} people" if people > 1 else how


def ran(done: int, failed: int, runs: int, of: int) -> str:
    """End a title with how many of the calls that run are done, and how many failed. `of` counts those that do not run, too."""
    if of in {done, failed}:
        return ", done" if done else ", failed"
    # Beside those that failed, the title names no others.
    first, missing = f"{failed} of {runs} failed" if failed else f"{done} done", runs - done - failed
    return f", {first}{f', {missing} not reported' if missing else ''}"


def news_first(news: str, calls: str, how: str) -> str:
    """Title a card with calls that failed, or of which nobody knows what became of them: this comes first."""
    what = news.removeprefix(", ")
    return f"{what[:1].upper()}{what[1:]}: {calls} ({how[:1].lower()}{how[1:]})"


MARKS = {"done": "✅ ", "failed": "❌ ", "rejected": "🚫 ", "over": "⌛ ", "unsure": "⚠️ "}
"""Before the title of a card, whose words say the same."""
NEWS = {"stopped": "outcome unknown", "not_started": "not started", "unused": "did not run"}
"""What begins the title of a card, by what is wrong with its approved calls."""


def counted(outcomes: Mapping[str, int]) -> str:
    """Say in a title how many calls were decided in which way: 2 approved, 1 rejected."""
    words = {**_DONE, "expired": EXPIRED}
    known = {words.get(decision, _OTHERWISE): count for decision, count in outcomes.items()}
    order = [*words.values(), _OTHERWISE]
    return ", ".join(f"{known[word]} {word.lower()}" for word in sorted(known, key=order.index))


# --- The line below: how it ended, and how the run goes on ----------------------------------------------------------------

WENT_BACK = "a technical fault lost what was decided"
NOT_ASKED = "this could not be asked"
NOBODY_OBJECTED = "nobody objected"
DECIDED_HERE_ONLY = "decided here, but not in another channel"
RESUMED = "the agent has resumed"
LAPSED = "the agent did not finish"
STALLED = "the agent could not go on"
UNUSED = "nothing ran"
UNTAKEN = "the agent has not gone on"
GOING_ON = "the agent has gone on"
RUN_ENDED = "its run ended with an error"
RUN_FAILED = "the agent has resumed, and its run ended with an error; no outcome was reported"
WAITING = "waiting for the agent"
WAITING_FOR_OTHERS = "waiting for a decision in another channel"

so_far = "{} of {} decided".format
nobody_decided, all_reported, closed = "nobody decided by {}".format, "reported {}".format, "ended {}".format
"""Each with a time."""


def not_run(count: int) -> str:
    return "it did not run" if count == 1 else f"the {count} calls did not run"


# --- The line below: who asks, who decides, and until when ----------------------------------------------------------------

UNSIGNED = "⚠️ *Decisions are not signed*, so they could be forged."
VERIFIED_AGENT = "verified agent"
REQUESTER_UNKNOWN = "*requester unknown*"
FOR_PERSON_ABOVE = "for the person named on the card above"
SEVERAL_DECIDE = "the people named at each call decide"
on_behalf_of = "for {}".format


def asked_by(agent: str, requester: str = "", *, verified: bool = False) -> str:
    """Say who asked, and for whom; and that the agent was verified."""
    return f"{VERIFIED_AGENT if verified else 'agent'} `{agent}`" + (f" for {requester}" if requester else "")


def withdrawn(agent: str, at: datetime | None, requester: str = "", *, verified: bool = False) -> str:
    who = f"{VERIFIED_AGENT} `{agent}`" if verified else f"`{agent}`"
    said = f"withdrawn by {who}" + (f" {when(at)}" if at else "")
    return f"{said} · asked for {requester}" if requester else said


UNLESS_THEY_DO, UNLESS_DECIDED = "if nobody does", "if nobody decides"
"""When the deadline counts: after the words about who decides, and alone."""
_AT_DEADLINE: dict[Deadline, str] = {
    "approves": "*approved* at {at} {unless}",
    "as_said": "at {at}, what is open is approved or not, as each call says",
    "rejects": "rejected at {at} {unless}",
    "tells": "ends at {at} {unless}, and the agent is told",
    "raises": "expires at {at} {unless}",
}


def at_deadline(at: str, then: Deadline, unless: str) -> str:
    """Say what the deadline does, and when, as it goes on behind who decides."""
    return _AT_DEADLINE[then].format(at=at, unless=unless)


def decides(people: str, needed: int, rejecting: int) -> str:
    who = f"needs {needed} of {people}" if needed > 1 else f"{people} decides"
    return f"{who}, {rejecting} to reject" if rejecting > 1 else who


also_asked_in = "also asked in {}".format

# --- Its messages -------------------------------------------------------------------------------------------------------

part_for = "{}. Asked by {}.".format


def asks(title: str, *more: str) -> str:
    return " ".join([f"{title}.", *(f"{said[:1].upper()}{said[1:]}." for said in more)])


def ended_for(title: str, alarm: str, agent: str, then: Sequence[str]) -> str:
    """Say in a notification how a card ended, what to check, and how the run goes on."""
    return f"{title}.{alarm and f' {alarm}'} {'; '.join([f'Asked by {agent}', *then])}."


def part(number: int, count: int, indices: Sequence[int]) -> str:
    return f"Part {number} of {count}: {calls_numbered(indices)}"


def too_long(calls: int, parts: int, review: str) -> str:
    """Say where the calls are that one message cannot show. `review` is the button that leads through the open ones."""
    which = "It is" if calls == 1 else f"All {calls} are"
    where = f"in the thread, in {parts} parts" if parts > 1 else "in the thread"
    here = f"; *{review}* goes through them here" if review else ""
    return f"Too long for one message. {which} {where}{here}."


# --- Why a run does not go on, and records that are outdated ------------------------------------------------------------

AGENT_SAYS_OF_RUN = "The agent says about this run:"


def stopped(calls: int) -> str:
    which = "The call" if calls == 1 else "Some or all of the calls"
    return f"The agent stopped after the approval. {which} may have run. Check before you ask again."


NOT_USED_WHY = "The agent could not use this decision. If it asks again, that is on a new card."


def not_started(calls: int, agent: str) -> str:
    which = "this call" if calls == 1 else "these calls"
    return f"The agent has not started {which} for 10 minutes, and still may. Check that {agent} is running."


UNREADABLE = "This can no longer be decided"
BEHIND = (
    "*A technical fault lost what this card shows.* So the request has ended, and nobody can decide it again. If an agent "
    "still waited, it was told to run nothing. What was approved may have run: look, then let the agent ask again if it is "
    "still needed."
)

# --- Several actions together -------------------------------------------------------------------------------------------

HIGH_RISK = "High risk"
NOT_YET = "Cancel"
"""Answers the question that comes before a click, so that nothing is recorded."""


def questions(indices: Sequence[int], review: str) -> str:
    listed = calls_numbered(indices)
    is_what, them = ("is a question", "it") if len(indices) == 1 else ("are questions", "them")
    return f"{listed[:1].upper()}{listed[1:]} {is_what}: answer {them} in *{review}*."


def of_call(label: str, number: int) -> str:
    """Label a button with the number of its call: 2: Approve 1250."""
    return f"{number}: {label}"


def several(verb: str, indices: Sequence[int], still: int) -> str:
    """Label the button that approves, agrees to or rejects several actions, of those that are still open."""
    count = len(indices)
    if count == still:
        return f"{verb} all {count}…"
    return on_button(f"{verb} {numbers(indices)}…", f"{verb} {count} of {still}…")


def at_once_and_voted(at_once: Sequence[int], voted: Sequence[int]) -> str:
    return f"Run at once: {few_numbers(at_once)}. Run when enough people agree: {few_numbers(voted)}."


YOUR_VOTE = "This is your vote. A call that needs more people runs when they agree as well."


def which(indices: Sequence[int], what: str) -> str:
    listed = calls_numbered(indices)
    return f"{listed[:1].upper()}{listed[1:]}: {what}."


ODD = "*Not like the others:*"
"""Above what a few rows have and the others do not."""


def left_out_proposed(indices: Sequence[int]) -> str:
    """Say which calls a button for several leaves out because of a proposal."""
    return f"Not approved with them, because somebody proposes something else: {few_numbers(indices)}."


# --- A batch of one tool, as rows -------------------------------------------------------------------------------------

USUAL, OTHER_ROWS = "All other rows:", "in all other rows"
same_in_all = "The same in all {}:".format
more_lines = "{} more lines have no room here.".format


def in_all(count: int) -> str:
    return "in both" if count == 2 else f"in all {count}"


def of_rows(indices: Sequence[int], mark: str, words: str) -> str:
    return f"{mark} {numbers(indices)}{words and f': {words}'}".strip()


# --- Who decides, and who is looking --------------------------------------------------------------------------------------

THIS_CHANNEL = "this channel"
anyone_in = "anyone in {}".format
extend_by = "Extend by {}".format
not_to_be_approved = "Cannot be approved: {}.".format


def on_call(schedule: str, people: Sequence[str]) -> str:
    names = ", ".join(people)
    return f"{names} (on call for {schedule})" if names else f"the people on call for {schedule}"


looking = "{} is looking at this, until {}. Everybody who may decide still can.".format
