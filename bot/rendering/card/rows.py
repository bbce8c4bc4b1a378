"""One action of a card: what is asked, who has to decide it, and its buttons or what was decided."""

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.mentions import approver_names
from bot.rendering.blocks import Block, context
from bot.rendering.buttons import button_blocks
from bot.rendering.calls import call_blocks
from bot.rendering.card.deciders import home, is_mixed
from bot.rendering.card.outcomes import outcome_line
from bot.rendering.card.votes import proposal_words, vote_words
from bot.sentences import on_action
from bot.text.literal import clip, mrkdwn, one_line


def action_blocks(
    state: Approval, action: Action, *, as_text: bool = True, alone: bool = False
) -> list[Block]:
    """Draw one action, without the text of a decision."""
    return [*call_blocks(action, as_text=as_text, alone=alone), *_foot(state, action)]


def _foot(state: Approval, action: Action) -> list[Block]:
    if state.is_open_at(action.index):
        return [*_standing_blocks(state, action), *button_blocks(action, state.id)]
    return [context(f"a:{action.index}:outcome", outcome_line(state, action))]


def _standing_blocks(state: Approval, action: Action) -> list[Block]:
    """Say who decides this action, where others decide the rest, who has voted, and what silence does."""
    said = [*_approver_words(state, action), *vote_words(state, action), *proposal_words(state, action)]
    if action.terms.resembles:
        said.append(on_action.resembles(mrkdwn(one_line(clip(action.terms.resembles, 200)))))
    if state.is_approved_by_silence(action.index):
        said.append(on_action.APPROVED_AT_DEADLINE)
    return [context(f"a:{action.index}:approvers", "\n".join(said))] if said else []


def _approver_words(state: Approval, action: Action) -> list[str]:
    place = state.place_of(action.index)
    # In a card of several parts, the card itself has mentioned everybody.
    if place.parts or not is_mixed(state.admission, place):
        return []
    terms, channel = state.admission.terms[action.index], home(state, action.index)
    names = approver_names(terms.approvers, at_most=3, channel=channel, named_only=terms.named_only)
    return [on_action.to_be_decided_by(names)]
