"""The line below a title: for whom, who decides, until when; later, below all else, how it ended and how the run goes on."""

from collections.abc import Iterable, Sequence
from typing import Any

from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.names import is_person
from agent_adapter.contract.record import EXPIRED
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.masking import scrub, scrub_all
from bot.domain.person import mention
from bot.rendering.arguments import argument_lines
from bot.rendering.blocks import Block, context, header, literal_within, quote, section
from bot.rendering.calls import caution_blocks
from bot.rendering.card.thread import all_reported_at, ran_blocks
from bot.rendering.card.title import alarm_text, how, long_title, title
from bot.rendering.card.votes import (
    common_outcome,
    deciders,
    home,
    is_alone,
    is_mixed,
    may_approve,
    not_run_words,
    outcome_line,
    proposal_deciders,
)
from bot.sentences import on_action, on_card, words
from bot.text.literal import mrkdwn_line, visible, without_marks

_CONTEXT = 1_000
_REASON = 700
_SHOWN_APPROVERS = 8
_SHOWN_PLACES = 4


def agent_blocks(interrupt: Interrupt, secrets: Sequence[str]) -> list[Block]:
    """Draw what the agent says about the run: all of it untrusted."""
    untrusted = interrupt.context
    requester = untrusted.requested_by
    facts: dict[str, Any] = {
        "asked_again": untrusted.again,
        "title": untrusted.title,
        "requested_by": None if requester and is_person(requester) else requester,
        "subagent": untrusted.subagent,
        "links": [{link.label: link.url} for link in untrusted.links],
    }
    facts = {name: fact for name, fact in facts.items() if fact}
    if not facts:
        return []
    said = scrub_all(facts, secrets)
    text = "\n".join(argument_lines(said)) if isinstance(said, dict) else said
    blocks = [context("says", on_card.AGENT_SAYS_OF_RUN), literal_within("run", text, _CONTEXT)]
    return [*blocks, *caution_blocks("run:", said)]


def all_reported(state: Approval) -> bool:
    runs = state.running(range(len(state.recorded)))
    return bool(runs) and all(index in state.outcomes for index in runs)


def reason_blocks(state: Approval) -> list[Block]:
    """Draw why a run cannot go on, or why nothing is asked any more, in the agent's words."""
    # Who took the answer after an error and died gave no reason.
    if all_reported(state) or state.claim_has_lapsed:
        return []
    reason = state.reason if state.status in {"withdrawn", "refused"} else state.stalled
    if not reason:
        return []
    untrusted = visible(scrub(reason, state.actions[0].secrets))
    return [literal_within("reason", untrusted, _REASON, quote)]


def blocks_above(state: Approval, number: int) -> list[Block]:
    """Draw what stands above the calls of a place, on its card and in a review: the request, and the agent's words about it."""
    place = state.places[number]
    blocks = [header("top", title(state, place))]
    if text := alarm_text(state, place):
        blocks.append(section("alarm", text))
    if any(state.is_open_at(index) for index in place.actions):
        blocks.append(context("who", _open_line(state, place)))
    if found := state.assignment_at(number):
        # Nobody looks longer than anybody can decide.
        until = min(found.until, state.deadline)
        blocks.append(context("looking", on_card.looking(mention(found.user), words.when(until))))
    return [*blocks, *agent_blocks(state.interrupt, state.actions[0].secrets)]


def blocks_below(state: Approval, place: Place) -> list[Block]:
    """Draw what stands below the calls once all are decided: what became of them, who decided, and how the run goes on."""
    if any(state.is_open_at(index) for index in place.actions):
        return []
    return [*ran_blocks(state, place), *reason_blocks(state), context("who", _line(state, place))]


def push_text(state: Approval, place: Place) -> str:
    """Say in one line what a phone shows of a card. Nothing in it is active, and masks hold."""
    title = mrkdwn_line(long_title(state, place))
    still = [index for index in place.actions if state.is_open_at(index)]
    if still:
        is_high = any(state.actions[index].is_high_risk for index in still)
        return on_card.asks(
            title, *([on_card.HIGH_RISK] if is_high else []), without_marks(_until(state, still))
        )
    alarm = alarm_text(state, place)
    return on_card.ended_for(title, alarm, state.interrupt.agent, run_words(state, place))


def run_words(state: Approval, place: Place) -> list[str]:
    if state.is_open:
        return [on_card.WAITING_FOR_OTHERS]
    if state.unused:
        return [on_card.UNUSED]
    reported_at = all_reported_at(state, place)
    if state.resumed_at is not None:
        if state.stalled and not reported_at:
            return [on_card.RUN_FAILED]
        return not_run_words(state, place) or [on_card.RESUMED]
    if reported_at:
        return [on_card.all_reported(words.when(reported_at))]
    if state.claim_has_lapsed:
        return [on_card.LAPSED]
    if state.stalled:
        return [on_card.RUN_ENDED if state.outcomes else on_card.STALLED]
    if state.outcomes:
        return [on_card.GOING_ON]
    if state.is_untaken:
        # Where a call was approved, the text below the title says more.
        return [] if state.running(place.actions) else [on_card.UNTAKEN]
    return [on_card.WAITING] if state.status == "decided" else not_run_words(state, place)


def _line(state: Approval, place: Place) -> str:
    verified = state.admission.agent_verified
    decided = common_outcome(state, place, how(state, place))
    who = (state.interrupt.agent, _requester(state))
    asked = (
        on_card.withdrawn(who[0], state.settled_at, who[1], verified=verified)
        if state.status == "withdrawn"
        else on_card.asked_by(*who, verified=verified)
    )
    # Where every outcome is known, the title says more than that it went on.
    is_known = state.resumed_at is not None and all_reported_at(state, place) is not None
    went_on = [] if is_known else run_words(state, place)
    is_not_run = went_on == not_run_words(state, place)
    said = [
        # What matters most comes first, where it is known.
        *(went_on if is_not_run else []),
        # The title says how.
        decided,
        *(_how_ended(state, place) if decided else _ended_line(state, place)),
        asked,
        *([] if is_not_run else went_on),
    ]
    return " · ".join(filter(None, said))


def _ended_line(state: Approval, place: Place) -> list[str]:
    said = _how_ended(state, place)
    if state.status == "withdrawn" or said == [on_card.nobody_decided(words.by(state.deadline))]:
        # It is said already when that was.
        return said
    if state.status == "expired" and is_alone(place):
        said = [outcome_line(state, state.actions[place.actions[0]])]
    return [*said, *([on_card.closed(words.when(state.settled_at))] if state.settled_at else [])]


def _open_line(state: Approval, place: Place) -> str:
    """Say for whom, who decides, and what happens if nobody does."""
    named = _requester(state)
    for_whom = [on_card.on_behalf_of(named)] if named else []
    if not state.requested_by:
        for_whom = [on_card.REQUESTER_UNKNOWN]
    unless = on_card.UNLESS_THEY_DO if _needed(state, place) == 1 else ""
    said = [*for_whom, _deciders(state, place), _until(state, place.actions, unless)]
    others = [each for each in state.places.values() if each != place and {*each.actions} & {*place.actions}]
    if others:
        names = list(dict.fromkeys(words.place_name(other.channel) for other in others))
        said.append(on_card.also_asked_in(words.and_more(names, _SHOWN_PLACES)))
    said += [on_card.VERIFIED_AGENT] if state.admission.agent_verified else []
    is_high = any(state.actions[index].is_high_risk for index in place.actions if state.is_open_at(index))
    unsigned = [on_card.UNSIGNED] if state.admission.unsigned and is_high else []
    return "\n".join([" · ".join(said), *unsigned])


def _requester(state: Approval) -> str:
    requester = state.requested_by
    return mention(requester) if requester and is_person(requester) else ""


def _how_ended(state: Approval, place: Place) -> list[str]:
    if state.status == "expired":
        return [_expired(state, place)]
    refused = on_card.WENT_BACK if state.code == "went_back" else on_card.NOT_ASKED
    return [refused] if state.status == "refused" else []


def _expired(state: Approval, place: Place) -> str:
    recorded = [found for index in place.actions if (found := state.recorded[index])]
    decided = sum(found.decided_by != EXPIRED for found in recorded)
    silent = any(found.decided_by == EXPIRED and found.decision.type == "approve" for found in recorded)
    total = len(place.actions)
    if decided:
        return on_card.so_far(decided, total) if decided < total else on_card.DECIDED_HERE_ONLY
    if silent:
        return on_card.NOBODY_OBJECTED
    if any(state.actions[index].votes for index in place.actions):
        return on_action.TOO_FEW_VOTES
    return on_card.nobody_decided(words.by(state.deadline))


def line_of_part(state: Approval, shown: Iterable[int]) -> list[str]:
    """Say on a part for whom it is asked, and until when what it shows is open."""
    still = [index for index in shown if state.is_open_at(index)]
    if not still:
        return [on_card.asked_by(state.interrupt.agent)]
    for_whom = on_card.FOR_PERSON_ABOVE if state.requested_by else on_card.REQUESTER_UNKNOWN
    return [on_card.asked_by(state.interrupt.agent), for_whom, _until(state, still)]


def _until(state: Approval, indices: Sequence[int], unless: str = "") -> str:
    at = words.clock(state.deadline, state.created_at)
    return on_card.at_deadline(at, state.at_deadline(indices), unless or on_card.UNLESS_DECIDED)


def _deciders(state: Approval, place: Place) -> str:
    """Say who decides the calls as they were asked; where changes were asked, who decides these."""
    open_calls = [index for index in place.actions if state.is_open_at(index)]
    proposals = [state.proposals[index] for index in open_calls if index in state.proposals]
    if not (place.proposed and proposals):
        return _who_decides(state, place)
    if len(proposals) > 1:
        return on_card.SEVERAL_DECIDE
    (proposal,) = proposals
    names = proposal_deciders(state, proposal, at_most=_SHOWN_APPROVERS)
    return on_card.decides(names, proposal.terms.quorum, proposal.terms.reject_quorum)


def _needed(state: Approval, place: Place) -> int:
    """Give how many people have to agree, where that is the same of all calls."""
    quorums = {state.admission.terms[index].quorum for index in place.actions}
    return quorums.pop() if len(quorums) == 1 else 1


def _who_decides(state: Approval, place: Place) -> str:
    if is_mixed(state.admission, place):
        return on_card.SEVERAL_DECIDE
    terms = [state.admission.terms[index] for index in place.actions]
    needed, channel = _needed(state, place), home(state, place.actions[0])
    people = may_approve(state, terms[0])
    names = deciders(people, terms, at_most=_SHOWN_APPROVERS, channel=channel, needed=needed)
    return on_card.decides(names, needed, max(own.reject_quorum for own in terms))
