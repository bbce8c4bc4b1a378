"""Who may decide, as a card names them; how far their votes are, and what somebody wrote for others to agree with."""

from collections.abc import Sequence

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.domain.action import Action
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval
from bot.domain.mentions import approver_names, mention
from bot.domain.votes import PROPOSAL, Proposal, Written, kind_of
from bot.rendering.arguments import change_lines
from bot.rendering.blocks import Block, json_size, literal_within
from bot.rendering.calls import typing_words
from bot.rendering.changes import changes_blocks, changes_written
from bot.sentences import on_action, words
from bot.text.literal import clip, mrkdwn, one_line, visible

_SHOWN_POSITIONS = 3
_MOST = 1_500
"""The JSON characters that a proposal may take."""


def deciders(
    people: Sequence[str], terms: Sequence[Terms], *, at_most: int, channel: str = "", needed: int = 1
) -> str:
    """Mention these approvers in the way of their terms, as many of them as are needed or one of them."""
    mentioned = {name for each in terms for name in each.mentioned}
    named = {entry: name for each in terms for entry, name in each.named_only.items()}
    return approver_names(
        people,
        at_most=at_most,
        channel=channel,
        named_only={entry: name for entry, name in named.items() if entry not in mentioned},
        on_call={entry: people for each in terms for entry, people in each.on_call.items()},
        together=needed > 1,
    )


def proposal_deciders(state: Approval, proposal: Proposal, *, at_most: int) -> str:
    terms, channel = proposal.terms, words.place_name(proposal.channel) if len(state.places) > 1 else ""
    people = may_approve(state, terms)
    return deciders(people, [terms], at_most=at_most, channel=channel, needed=terms.quorum)


def may_approve(state: Approval, terms: Terms) -> tuple[str, ...]:
    """Name the approvers without the requester where that person may only reject, as long as others are named."""
    others = tuple(name for name in terms.approvers if name != state.requested_by)
    return terms.approvers if terms.requester_may_decide or not others else others


def is_mixed(admission: Admission, place: Place) -> bool:
    """Tell whether different people decide the actions of a place, now or after a step."""
    deciders = {
        (admission.terms[index].approvers, added_by_steps(admission, index)) for index in place.actions
    }
    return len(deciders) > 1


def added_by_steps(admission: Admission, index: int) -> tuple[str, ...] | None:
    """Name who decides an action after a step as well; `None` without one."""
    steps = (step for step in admission.steps if step.kind == "escalate" and index in step.actions)
    return next((step.approvers for step in steps), None)


def is_alone(place: Place) -> bool:
    """Tell whether a card has one action only. Its title and the line below then say what else its row would say."""
    return not place.parts and len(place.actions) == 1


def home(state: Approval, index: int) -> str:
    """Name the channel whose members may decide an action, where it is asked in others as well; else nothing."""
    return words.place_name(state.place_of(index).channel) if len(state.places) > 1 else ""


def vote_words(state: Approval, action: Action) -> list[str]:
    """Say who changed the call or wrote an answer, who says something else, and whom it waits for."""
    found = action.proposal
    lines = [_proposal_line(state, action, found)] if found else []
    others = [
        position
        for position in dict.fromkeys(vote.position for vote in action.votes)
        if not position.startswith(PROPOSAL) and not (found and position == found.position)
    ]
    for position in others[:_SHOWN_POSITIONS]:
        names = approver_names(action.voters(position), at_most=3)
        lines.append(on_action.voted(tally(action, position), names))
    if len(others) > _SHOWN_POSITIONS:
        lines.append(on_action.other_proposals(len(others) - _SHOWN_POSITIONS))
    voters = {vote.user for vote in action.votes}
    terms = state.admission.terms[action.index]
    left = [name for name in may_approve(state, terms) if name not in voters]
    if left and (others or (found and found.is_vote)):
        positions = {vote.position for vote in action.votes}
        missing = min(action.needed(position) - len(action.voters(position)) for position in positions)
        channel = home(state, action.index)
        names = deciders(left, [terms], at_most=3, channel=channel, needed=missing)
        lines[-1] = on_action.waiting_for(lines[-1], names)
    if action.stricter and action.proposed.is_high_risk:
        lines.append(typing_words(action.proposed, agree=True))
    return lines


def _proposal_line(state: Approval, action: Action, found: Written) -> str:
    """Say who wrote what the card shows, and who agrees; of a change that another rule decides about, by whom."""
    did = on_action.did(mention(found.by), found.decision.type)
    count = tally(action, found.position)
    if stricter := action.stricter:
        rule = mrkdwn(clip(one_line(stricter.rule), 80))
        return on_action.decided_under(did, count, rule, proposal_deciders(state, stricter, at_most=3))
    people = action.voters(found.position)
    if len(people) == 1:
        return on_action.and_agrees(did)
    return on_action.agreed(did, count, approver_names(people, at_most=3))


def tally(action: Action, position: str) -> str:
    kind, found = kind_of(position), action.proposal
    count, needed = len(action.voters(position)), action.needed(position)
    is_beside = found is not None and found.position != position
    return on_action.tally(kind, count, needed, beside_change=is_beside)


def proposal_text(action: Action) -> str:
    """Write what somebody proposes, as far as a card shows it."""
    match action.proposal:
        case Written(decision=EditDecision(edited_action=edited), terms=terms):
            lines = change_lines(action.request.args, edited.args, terms.masked, terms.modal_only)
            return "\n".join(lines)
        case Written(decision=RespondDecision(message=message)):
            return visible(message)
        case _:
            return ""


def with_proposal(action: Action, found: Written, blocks: list[Block], room: int) -> list[Block]:
    """Give the blocks of a call with what somebody proposes above the buttons, in so many JSON characters (300 or more)."""
    at, room = f"a:{action.index}:proposal", min(room, _MOST)
    changes = changes_written(action, found, on_card=True)
    said = changes_blocks(at, changes) if changes else []
    if not said or json_size(said) > room:
        said = [literal_within(at, proposal_text(action), room)]
    foot = next((n for n, block in enumerate(blocks) if block["type"] == "actions"), len(blocks))
    return [*blocks[:foot], *said, *blocks[foot:]]
