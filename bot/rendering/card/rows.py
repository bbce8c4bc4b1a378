"""One action of a card: what is asked, who decides it, its buttons or what was decided."""

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.rendering.blocks import Block, context
from bot.rendering.buttons import button_blocks, value_of
from bot.rendering.calls import call_blocks, safe_name
from bot.rendering.card.folded import NOTHING, folded_blocks
from bot.rendering.card.title import title
from bot.rendering.card.votes import deciders, home, is_mixed, mark_of, may_approve, outcome_line, vote_words
from bot.rendering.subject import held_by_title, named_by, subject
from bot.sentences import on_action
from bot.text.literal import clip, mrkdwn, one_line


def action_blocks(state: Approval, action: Action, *, alone: bool, has_buttons: bool) -> list[Block]:
    """Draw one action, alone on its card or not, without the text of a decision. What is decided is folded."""
    held = held_in_title(state, action) if alone else NOTHING
    if state.is_open_at(action.index):
        blocks = [*call_blocks(action, alone=alone, held=held)]
        if said := words_while_open(state, action):
            blocks.append(context(f"a:{action.index}:approvers", "\n".join(said)))
        return blocks + (button_blocks(action, value_of(state, [action.index])) if has_buttons else [])
    if alone:
        # The top of the card says what became of it.
        return folded_blocks(action, held)
    line, name = outcome_line(state, action), safe_name(action.request) or ""
    mark, reported = mark_of(state, action), state.outcomes.get(action.index)
    ran = reported.outcome.status if reported and mark else ""
    outcome = on_action.folded(action.number, name, line, mark, ran)
    return [context(f"a:{action.index}:outcome", outcome), *folded_blocks(action, held)]


def held_in_title(state: Approval, action: Action) -> frozenset[str]:
    """Name the arguments of the only call that the title of its card holds whole. An open card counts only the policy's."""
    if subject(action) not in title(state, state.place_of(action.index)):
        return NOTHING
    return held_by_title(action) if state.is_open_at(action.index) else named_by(action)


def words_while_open(state: Approval, action: Action) -> list[str]:
    """Say who decides this action, where others decide the rest, who has voted, and what silence does."""
    place, said = state.place_of(action.index), []
    if is_mixed(state.admission, place):
        terms, channel = state.admission.terms[action.index], home(state, action.index)
        names = deciders(may_approve(state, terms), [terms], at_most=3, channel=channel)
        said.append(on_action.to_be_decided_by(names))
    said += [*vote_words(state, action), *resembles_words(action)]
    if state.is_approved_by_silence(action.index) and state.at_deadline(place.actions) == "as_said":
        said.append(on_action.APPROVED_AT_DEADLINE)
    return said


def resembles_words(action: Action) -> list[str]:
    """Say which known tool the name of this one looks like, and by which pattern its rule matches it."""
    # What is known of the other name ends with its rule.
    known, _, _ = action.terms.resembles.partition(" in ")
    said = [on_action.resembles(_as_code(known, 200))] if known else []
    # A rule for every tool is meant so.
    if (glob := action.terms.matched) and glob != "*":
        said.append(on_action.matched_by(_as_code(glob, 60)))
    return said


def _as_code(name: str, room: int) -> str:
    return mrkdwn(clip(one_line(name), room)).replace("`", "'")
