"""Who may decide, as a card names them."""

from collections.abc import Iterable

from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval
from bot.domain.mentions import approver_names
from bot.domain.votes import Proposal
from bot.sentences import words


def proposal_deciders(state: Approval, proposal: Proposal, *, at_most: int) -> str:
    """Mention who decides about a proposal."""
    channel = words.place_name(proposal.channel) if len(state.places) > 1 else ""
    terms = proposal.terms
    return approver_names(
        may_approve(state, terms),
        at_most=at_most,
        channel=channel,
        named_only=terms.named_only,
        on_call=terms.on_call,
        together=terms.quorum > 1,
    )


def named_only(admission: Admission, indices: Iterable[int]) -> dict[str, str]:
    """Give the approvers that none of these actions mentions."""
    terms = [admission.terms[index] for index in indices]
    mentioned = {name for each in terms for name in each.mentioned}
    return {
        entry: name for each in terms for entry, name in each.named_only.items() if entry not in mentioned
    }


def on_call(admission: Admission, indices: Iterable[int]) -> dict[str, tuple[str, ...]]:
    """Give who was on call when these actions were asked."""
    return {entry: people for index in indices for entry, people in admission.terms[index].on_call.items()}


def may_approve(state: Approval, terms: Terms) -> tuple[str, ...]:
    """Name the approvers without the requester where that person may only reject, as long as others are named."""
    others = tuple(name for name in terms.approvers if name != state.requested_by)
    return terms.approvers if terms.requester_may_decide or not others else others


def is_mixed(admission: Admission, place: Place) -> bool:
    """Tell whether the actions of a place are decided by different people."""
    return len({admission.terms[index].approvers for index in place.actions}) > 1


def is_alone(place: Place) -> bool:
    """Tell whether a card has one action only. Its title and the line below then say what else its row would say."""
    return not place.parts and len(place.actions) == 1


def home(state: Approval, index: int) -> str:
    """Name the channel whose members may decide an action, where it is asked in others as well; else nothing."""
    return words.place_name(state.place_of(index).channel) if len(state.places) > 1 else ""
