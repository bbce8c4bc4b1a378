"""The title of a card: what it is about, what became of it, and what is wrong. Ten cards in a channel differ by their titles."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from agent_adapter.contract.record import EXPIRED, Recorded
from bot.domain.action import question_of
from bot.domain.admission import Place
from bot.domain.approval import Approval, once_read
from bot.rendering.card.votes import is_void
from bot.rendering.subject import LONG, ROOM, subject_of, tools_of
from bot.sentences import on_card
from bot.text.literal import cut, plain_name, units

Alarm = Literal["stopped", "not_started", "unused"]
TITLE_ROOM = 150
"""What Slack takes as a title."""


def alarm(state: Approval, place: Place) -> Alarm | None:
    """Say what is wrong with the approved calls of a place; `None` while the agent goes on, and where all are reported."""
    runs = state.running(place.actions)
    if state.unused:
        return "unused"
    if all(index in state.outcomes for index in runs):
        return None
    if state.claim_has_lapsed or state.stalled:
        return "stopped"
    if state.is_untaken and not state.outcomes:
        # A process that gave the answer back may have run a part of it.
        return "stopped" if state.was_given_back else "not_started"
    return None


def alarm_text(state: Approval, place: Place) -> str:
    unknown = sum(index not in state.outcomes for index in state.running(place.actions))
    match alarm(state, place):
        case "stopped":
            return on_card.stopped(unknown)
        case "not_started":
            return on_card.not_started(unknown, state.interrupt.agent)
        case "unused":
            return on_card.NOT_USED_WHY
        case None:
            return ""


def title(state: Approval, place: Place, *, has_values: bool = True) -> str:
    """Say what a card is about, and what became of it where all of it is decided or over.

    It begins with what is wrong: calls that failed, or approved calls of which nobody knows what became of them. Without
    `has_values` it only names tools, for places that do not show the calls.
    """
    room = TITLE_ROOM - units(_framed(state, place, ""))
    what = about(state, place, min(ROOM, room), has_values=has_values)
    if has_values and units(what) > room:
        what = about(state, place, max(ROOM - units(what) + room, 0), has_values=True)
    return _framed(state, place, cut(what, room))


def long_title(state: Approval, place: Place) -> str:
    return _framed(state, place, about(state, place, LONG, has_values=True))


@once_read
def about(state: Approval, place: Place, room: int, *, has_values: bool) -> str:
    """Say what is asked, and how much of it is open where a part of it is decided; or what failed, where calls did."""
    indices = failed_in(state, place) or place.actions
    calls = [state.actions[index] for index in indices]
    # Amounts of calls of one tool are added, and no sum may hold what was rejected, or what is decided beside what is open.
    is_added = len({call.request.name for call in calls}) < len(calls)
    is_mixed = len({(state.is_open_at(index), _is_over(state, index)) for index in indices}) > 1
    has_values = has_values and not (is_added and is_mixed)
    what = subject_of(calls, room) if has_values else tools_of(calls)
    return on_card.still_open(what, sum(map(state.is_open_at, place.actions)), len(place.actions))


def _is_over(state: Approval, index: int) -> bool:
    recorded = state.recorded[index]
    return recorded.decision.type == "reject" if recorded else not state.is_open_at(index)


def _framed(state: Approval, place: Place, what: str) -> str:
    if any(state.is_open_at(index) for index in place.actions):
        (first, *others), again = place.actions, bool(state.interrupt.context.again)
        asks = not others and question_of(state.actions[first]) is not None
        return on_card.wants(state.interrupt.agent, what, again=again, asks=asks)
    news, found = run_suffix(state, place), alarm(state, place)
    if found or failed_in(state, place):
        said = on_card.news_first(news or on_card.NEWS[found or "stopped"], what, how(state, place))
    else:
        said = on_card.ended(how(state, place), what) + news
    return _mark(state, place) + said


def _mark(state: Approval, place: Place) -> str:
    """Give the mark of a card that asks nothing any more, as people scan a channel by it. The words beside it say the same."""
    if alarm(state, place) or state.code == "went_back" or not state.unsigned.isdisjoint(place.actions):
        return on_card.MARKS["unsure"]
    if failed_in(state, place):
        return on_card.MARKS["failed"]
    if is_void(state):
        return on_card.MARKS["rejected" if state.status == "refused" else "over"]
    runs = state.running(place.actions)
    if runs:
        return on_card.MARKS["done"] if all(index in state.outcomes for index in runs) else ""
    kinds = {_outcome(state.recorded[index]) for index in place.actions}
    ended = {"reject": "rejected", "changes": "rejected", "expired": "over"}
    found = {ended.get(kind, "") for kind in kinds}
    return on_card.MARKS[min(found - {""})] if found - {""} == found else ""


def failed_in(state: Approval, place: Place) -> list[int]:
    runs = [index for index in state.running(place.actions) if index in state.outcomes]
    return [index for index in runs if state.outcomes[index].outcome.status == "failed"]


def run_suffix(state: Approval, place: Place) -> str:
    """End a title with what became of the calls, as far as the agent has reported it."""
    runs = state.running(place.actions)
    reported = Counter(state.outcomes[index].outcome.status for index in runs if index in state.outcomes)
    return (
        on_card.ran(reported["done"], reported["failed"], len(runs), len(place.actions)) if reported else ""
    )


def how(state: Approval, place: Place) -> str:
    """Say in the words of a title how a card was decided, or how it ended."""
    if state.status == "refused":
        return on_card.MAY_HAVE_RUN if state.code == "went_back" else on_card.REFUSED
    if is_void(state):
        return on_card.WITHDRAWN if state.status == "withdrawn" else on_card.EXPIRED
    if not state.unsigned.isdisjoint(place.actions):
        return on_card.NOT_SIGNED
    if not state.is_open and state.status == "pending":
        return on_card.TIME_IS_UP
    recorded = [state.recorded[index] for index in place.actions]
    outcomes = Counter(map(_outcome, recorded))
    if len(outcomes) > 1:
        return on_card.counted(Counter(outcome.partition(":")[0] for outcome in map(_outcome, recorded)))
    (outcome,) = outcomes
    match outcome:
        case "expired":
            return on_card.EXPIRED
        case "approve:silence":
            return on_card.WITHOUT_OBJECTION
        case "approve:standing":
            return on_card.IN_ADVANCE
        case _:
            return _by_people(outcome, [found for found in recorded if found])


def _outcome(recorded: Recorded | None) -> str:
    """Name how one call was decided. Silence and an earlier approval are ways of their own."""
    if recorded is None:
        return "expired"
    kind = "changes" if recorded.changes else recorded.decision.type
    if recorded.decided_by == EXPIRED:
        return "approve:silence" if kind == "approve" else "expired"
    if recorded.changes:
        return "changes"
    return f"{kind}:standing" if recorded.sticky else kind


def _by_people(decision: str, recorded: Sequence[Recorded]) -> str:
    people = {person for found in recorded for person in (found.agreed_by or (found.decided_by,))}
    names = {found.decided_by: name for found in recorded if (name := plain_name(found.name))}
    deciders = dict.fromkeys(found.decided_by for found in recorded)
    known = [names[person] for person in deciders if person in names]
    return on_card.done(decision, known, len(people))
