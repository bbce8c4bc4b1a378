"""One action of a card: what is asked, who has to decide it, and its buttons or what was decided."""

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.mentions import approver_names
from bot.rendering.blocks import Block, context, json_size
from bot.rendering.buttons import button_blocks, value_of
from bot.rendering.calls import call_blocks, call_size, safe_name
from bot.rendering.card.again import again_blocks
from bot.rendering.card.deciders import home, is_mixed
from bot.rendering.card.folded import ONE_LINE, TWO_LINES, folded_blocks
from bot.rendering.card.outcomes import folded_text, is_edited, outcome_line
from bot.rendering.card.title import TITLE_LINE, title
from bot.rendering.card.votes import vote_words
from bot.sentences import on_action
from bot.text.literal import clip, mrkdwn, one_line

# Room that every action has beside its call once it is decided, and that a folded one may take.
_SPARE = 400


def action_blocks(state: Approval, action: Action, *, as_text: bool, alone: bool) -> list[Block]:
    """Draw one action, without the text of a decision. What is decided is folded where that takes no more room."""
    call = call_blocks(action, as_text=as_text, alone=alone)
    if state.is_open_at(action.index):
        return [
            *call,
            *again_blocks(action),
            *_standing_blocks(state, action),
            *button_blocks(action, value_of(state, [action.index])),
        ]
    if is_folded(state, action, as_text=as_text):
        room = TWO_LINES if alone and not _takes_two_lines(state, action) else ONE_LINE
        return [
            *_outcome(state, action, alone=alone),
            *folded_blocks(action, value_of(state, [action.index]), room),
        ]
    return [*call, *_outcome(state, action, alone=alone)]


def _takes_two_lines(state: Approval, action: Action) -> bool:
    """Whether something else takes the second line of a phone.

    That is a long title, the words of a person, or the agent's words below an edit, which takes more itself.
    """
    return (
        len(title(state, state.place_of(action.index))) > TITLE_LINE
        or bool(folded_text(action))
        or (is_edited(action) and action.index in state.outcomes)
    )


def is_folded(state: Approval, action: Action, *, as_text: bool) -> bool:
    """Say whether an action is drawn folded. The place for it was measured when it was open."""
    if state.is_open_at(action.index):
        return False
    room = call_size(action, as_text=as_text)[0] + _SPARE
    return json_size(folded_blocks(action, value_of(state, [action.index]))) <= room


def _outcome(state: Approval, action: Action, *, alone: bool) -> list[Block]:
    """Say what became of one of several actions. Of a single one, the top of the card says that."""
    if alone:
        return []
    line = outcome_line(state, action)
    name = safe_name(action.request) or ""
    return [context(f"a:{action.index}:outcome", on_action.folded(action.number, name, line))]


def _standing_blocks(state: Approval, action: Action) -> list[Block]:
    said = words_while_open(state, action)
    return [context(f"a:{action.index}:approvers", "\n".join(said))] if said else []


def words_while_open(state: Approval, action: Action) -> list[str]:
    """Say who decides this action, where others decide the rest, who has voted, and what silence does."""
    said = [*_approver_words(state, action), *vote_words(state, action), *resembles_words(action)]
    if state.is_approved_by_silence(action.index):
        said.append(on_action.APPROVED_AT_DEADLINE)
    return said


def resembles_words(action: Action) -> list[str]:
    """Say which known tool the name of this one looks like, and by which pattern its rule matches it."""
    known = action.terms.resembles
    said = [on_action.resembles(mrkdwn(one_line(clip(known, 200))))] if known else []
    if glob := action.terms.matched:
        said.append(on_action.matched_by(mrkdwn(clip(one_line(glob), 60)).replace("`", "'")))
    return said


def _approver_words(state: Approval, action: Action) -> list[str]:
    place = state.place_of(action.index)
    # In a card of several parts, the card itself has mentioned everybody.
    if place.parts or not is_mixed(state.admission, place):
        return []
    terms, channel = state.admission.terms[action.index], home(state, action.index)
    names = approver_names(
        terms.approvers, at_most=3, channel=channel, named_only=terms.named_only, on_call=terms.on_call
    )
    return [on_action.to_be_decided_by(names)]
