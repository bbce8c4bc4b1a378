"""Votes and proposals: how far people have come, and what somebody wrote for others to agree with."""

from collections.abc import Sequence

from agent_adapter.contract.hitl import EditDecision, RespondDecision
from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.mentions import approver_names, mention
from bot.domain.votes import PROPOSAL, Written, kind_of, position_of
from bot.rendering.arguments import change_lines, is_read_one_way
from bot.rendering.buttons import AGREE, as_asked_label
from bot.rendering.calls import code_span
from bot.rendering.card.deciders import home, proposal_deciders
from bot.sentences import on_action, on_button
from bot.text.literal import clip, mrkdwn, one_line, visible

_SHOWN_POSITIONS = 3
_FOLDED = 100


def vote_words(state: Approval, action: Action) -> list[str]:
    """Count the votes for each decision, and say who may still join."""
    if not action.votes:
        return []
    positions = list(dict.fromkeys(v.position for v in action.votes if not v.position.startswith(PROPOSAL)))
    lines = [
        on_action.voted(_agreed(action, position), approver_names(action.voters(position), at_most=3))
        for position in positions[:_SHOWN_POSITIONS]
    ]
    if len(positions) > _SHOWN_POSITIONS:
        lines.append(on_action.other_proposals(len(positions) - _SHOWN_POSITIONS))
    voters = {vote.user for vote in action.votes}
    terms = state.admission.terms[action.index]
    left = [name for name in terms.approvers if name not in voters]
    names = approver_names(left, at_most=3, channel=home(state, action.index), named_only=terms.named_only)
    return [*lines, on_action.not_heard(names)] if left and positions else lines


def _agreed(action: Action, position: str) -> str:
    """Say how many people say the same, and of changes whether they are those that the card shows below."""
    if kind_of(position) != "edit":
        return tally(action, position)
    is_below = action.proposal is not None and position_of(action.proposal.decision) == position
    say = on_action.agreed if is_below else on_action.agreed_otherwise
    return say(len(action.voters(position)), action.needed(position))


def tally(action: Action, position: str) -> str:
    """Say how many people say the same, of how many it takes: 1 of 2 approved."""
    kind, has_changes = kind_of(position), any(kind_of(vote.position) == "edit" for vote in action.votes)
    count, needed = len(action.voters(position)), action.needed(position)
    return on_action.tally(kind, count, needed, beside_changes=has_changes)


def votes_text(action: Action) -> str:
    """Say how many of the people who were needed have voted: 1 of 2 approvals. Empty where nobody voted."""
    positions = list(dict.fromkeys(vote.position for vote in action.votes))
    said = [
        on_action.votes(kind_of(position), len(action.voters(position)), action.needed(position))
        for position in positions[:_SHOWN_POSITIONS]
    ]
    more = len(positions) - _SHOWN_POSITIONS
    return ", ".join([*said, *([on_action.other_votes(more)] if more > 0 else [])])


def proposal_words(state: Approval, action: Action) -> list[str]:
    """Say who proposes something, and who decides about it where others do than about the call itself."""
    if (found := action.proposal) is None:
        return []
    what = on_action.AN_ANSWER if found.decision.type == "respond" else on_action.CHANGES
    shows = _how_to_agree(state, action)
    says = on_action.proposes(mention(found.by), what)
    if (stricter := action.stricter) is None:
        return [f"{says}. {shows}"]
    rule = mrkdwn(clip(one_line(stricter.rule), 80))
    names = proposal_deciders(state, stricter, at_most=3)
    decides = on_action.proposal_under(says, tally(action, stricter.position), rule, names)
    lines = [f"{decides} {shows}"]
    if action.proposed.has_code:
        lines.append(_typing_words(action.proposed))
    return lines


def _how_to_agree(state: Approval, action: Action) -> str:
    """Name the buttons that mean the proposal and the call as it was asked."""
    place = state.place_of(action.index)
    if place.rows and sum(map(state.is_open_at, place.actions)) > 1:
        # Rows have no buttons of their own.
        return on_action.how_to_agree(on_button.OPEN, "", counts_apart=False)
    counts_apart = action.terms.needed("approve") > 1
    return on_action.how_to_agree(AGREE.label, as_asked_label(action), counts_apart=counts_apart)


def _typing_words(call: Action) -> str:
    if call.typed:
        return on_action.agree_with_value(AGREE.label, code_span(call.typed_name))
    return on_action.agree_with_code(AGREE.label, call.code)


def proposal_text(action: Action) -> str:
    """Write what somebody proposes, as far as a card shows it."""
    match action.proposal:
        case Written(decision=EditDecision(edited_action=edited), terms=terms):
            lines = change_lines(action.request.args, edited.args, terms.masked, terms.modal_only)
            return "\n".join(_folded(lines))
        case Written(decision=RespondDecision(message=message)):
            return visible(message)
        case _:
            return ""


def _folded(lines: Sequence[str]) -> list[str]:
    """Put a short change on one line: amount: 5 -> 7."""
    folded, left = [], list(lines)
    while left:
        path, was, becomes, after = [*left[:4], "", "", ""][:4]
        alone = was.startswith("- ") and becomes.startswith("+ ") and not after.startswith(("- ", "+ "))
        line = f"{path} {was[2:]} -> {becomes[2:]}"
        if alone and path.endswith(":") and len(line) <= _FOLDED and is_read_one_way(line):
            folded.append(line)
            left = left[3:]
        else:
            folded.append(left.pop(0))
    return folded
