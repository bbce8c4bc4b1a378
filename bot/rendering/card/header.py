"""The top of a card: its state, who asks, until when, and who decides."""

from collections.abc import Iterable

from agent_adapter.contract.record import EXPIRED
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.mentions import approver_names, mention
from bot.domain.person import is_person
from bot.rendering.blocks import Block, context, header
from bot.rendering.calls import safe_name
from bot.rendering.card.deciders import home, is_mixed, named_only, proposal_deciders
from bot.rendering.card.votes import votes_text
from bot.sentences import on_card
from bot.sentences.words import UNUSUAL_TOOL, and_more, place_name

_SHOWN_APPROVERS = 8
_SHOWN_PLACES = 4
# The people who decide different actions of a card in parts.
_CALLED_ONCE = 20


def headline(state: Approval, place: Place) -> str:
    if state.is_open:
        total = len(place.actions)
        still = sum(state.is_open_at(index) for index in place.actions)
        if not still:
            return on_card.ALL_DECIDED_HERE
        return on_card.needs_approval(still, total, len(place.parts))
    ended = {
        "decided": on_card.ALL_DECIDED,
        "expired": _expired(state, place),
        "withdrawn": on_card.WITHDRAWN_BY_AGENT,
        "refused": on_card.WENT_BACK if state.code == "went_back" else on_card.NOT_ASKED,
    }.get(state.status, on_card.TIME_IS_UP)
    if state.resumed_at is not None:
        return on_card.ended(ended, on_card.RESUMED)
    if state.claim_has_lapsed:
        return on_card.ended(ended, on_card.LAPSED)
    if state.stalled:
        return on_card.ended(ended, on_card.STALLED)
    return on_card.ended(ended, on_card.WAITING) if state.status == "decided" else ended


def _expired(state: Approval, place: Place) -> str:
    """Say how much people had decided when the time was up, and whether silence approved the rest."""
    recorded = [found for index in place.actions if (found := state.recorded[index])]
    decided = sum(found.decided_by != EXPIRED for found in recorded)
    silent = any(found.decided_by == EXPIRED and found.decision.type == "approve" for found in recorded)
    total = len(place.actions)
    if decided == total:
        return on_card.DECIDED_HERE_ONLY
    if decided:
        return on_card.so_far(on_card.TIME_IS_UP if silent else on_card.EXPIRED, decided, total)
    if silent:
        return on_card.NOBODY_OBJECTED
    votes = [text for index in place.actions if (text := votes_text(state.actions[index]))]
    if not votes:
        return on_card.NOBODY_DECIDED
    return f"{on_card.EXPIRED}: {votes[0]}" if total == 1 else on_card.so_far(on_card.EXPIRED, 0, total)


def tool_names(state: Approval, place: Place) -> str:
    names = [safe_name(state.actions[index].request) or UNUSUAL_TOOL for index in place.actions]
    return and_more(names, 5)


def top_blocks(state: Approval, place: Place) -> list[Block]:
    return [header("top", headline(state, place)), context("who", " · ".join(_who_and_when(state, place)))]


def _who_and_when(state: Approval, place: Place) -> list[str]:
    requester = state.requested_by
    named = mention(requester) if requester and is_person(requester) else ""
    words = [on_card.asks(state.interrupt.agent, named)]
    if state.is_open and not requester:
        words.append(on_card.REQUESTER_UNKNOWN)
    if state.is_open:
        words += [
            _until(state, place.actions),
            *_deciders(state, place),
        ]
        words += _asked_also(state, place)
    elif state.settled_at is not None:
        words.append(on_card.closed(state.settled_at))
    return words


def who_and_when_above(state: Approval, shown: Iterable[int]) -> list[str]:
    """Say on a part who asks, and until when what it shows is open.

    The card above mentions the person for whom the agent asks. Another mention would notify them again.
    """
    words = [on_card.asks(state.interrupt.agent, on_card.FOR_PERSON_ABOVE if state.requested_by else "")]
    still = [index for index in shown if state.is_open_at(index)]
    if still and not state.requested_by:
        words.append(on_card.REQUESTER_UNKNOWN)
    return [*words, _until(state, still)] if still else words


def _until(state: Approval, indices: Iterable[int]) -> str:
    """Say until when these are open, and what the deadline does with what is open then."""
    return on_card.open_until(state.deadline, _then(state, indices))


def _then(state: Approval, indices: Iterable[int]) -> on_card.Deadline:
    approved = {state.is_approved_by_silence(index) for index in indices if state.is_open_at(index)}
    if approved == {True}:
        return "approves"
    if True in approved:
        return "as_said"
    return "rejects" if state.on_expiry == "reject" else "raises"


def _asked_also(state: Approval, place: Place) -> list[str]:
    """Say where else the same actions are asked."""
    others = [
        other for other in state.places.values() if other != place and {*other.actions} & {*place.actions}
    ]
    names = list(dict.fromkeys(place_name(other.channel) for other in others[:_SHOWN_PLACES]))
    return [on_card.also_asked_in(names, len(others) - _SHOWN_PLACES)] if others else []


def _deciders(state: Approval, place: Place) -> list[str]:
    """Say who decides the calls as they were asked, and who decides what somebody proposes instead."""
    stricter = [
        (index, proposal)
        for index in place.actions
        if state.is_open_at(index) and (proposal := state.proposals.get(index))
    ]
    asked = on_card.decided_by(_approvers(state, place))
    if not stricter:
        return [asked]
    if len(stricter) > 1:
        return [on_card.as_asked(asked), on_card.DECIDED_AS_PROPOSED]
    (index, proposal), *_ = stricter
    proposed = on_card.as_proposed(mention(proposal.by), index if len(place.actions) > 1 else None)
    names = proposal_deciders(state, proposal, at_most=_SHOWN_APPROVERS)
    if place.proposed:
        # The people who decide the call itself were mentioned where it was asked.
        there = home(state, index)
        return [f"{proposed}, {on_card.decided_by(names)}", on_card.as_asked_elsewhere(there)]
    return [on_card.as_asked(asked), on_card.proposal_by(proposed, names)]


def _approvers(state: Approval, place: Place) -> str:
    first, quiet = place.actions[0], named_only(state.admission, place.actions)
    if not is_mixed(state.admission, place):
        approvers = state.admission.terms[first].approvers
        return approver_names(
            approvers, at_most=_SHOWN_APPROVERS, channel=home(state, first), named_only=quiet
        )
    if not place.parts:
        return on_card.SEVERAL_DECIDERS
    decides: dict[str, list[int]] = {}
    for index in place.actions:
        for approver in dict.fromkeys(state.admission.terms[index].approvers):
            decides.setdefault(approver, []).append(index)
    names = [
        on_card.person_decides(
            approver_names([name], at_most=1, channel=home(state, first), named_only=quiet), indices
        )
        for name, indices in decides.items()
    ]
    return and_more(names, _CALLED_ONCE)
