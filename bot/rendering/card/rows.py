"""One action of a card: what is asked, who decides it, its buttons or what was decided, and which proposal of a call it is."""

from bot.domain.action import Action
from bot.domain.admission import Again
from bot.domain.approval import Approval
from bot.domain.masking import scrub
from bot.domain.mentions import approver_names
from bot.rendering.arguments import change_lines
from bot.rendering.blocks import Block, context, literal_within
from bot.rendering.buttons import button_blocks, value_of
from bot.rendering.calls import call_blocks, safe_name
from bot.rendering.card.folded import NOTHING, folded_blocks
from bot.rendering.card.title import title
from bot.rendering.card.votes import deciders, home, is_mixed, mark_of, may_approve, outcome_line, vote_words
from bot.rendering.subject import held_by_title, named_by, subject
from bot.sentences import on_action
from bot.text.literal import clip, mrkdwn, one_line

_CHANGED, _CHANGED_ROOM = 1_000, 1_300
"""The most characters of what is different in a call that is proposed again, and their JSON characters."""
AGAIN_SIZE = 2_100
"""Bounds the JSON characters of `again_blocks`."""


def action_blocks(state: Approval, action: Action, *, alone: bool, has_buttons: bool) -> list[Block]:
    """Draw one action, alone on its card or not, without the text of a decision. What is decided is folded."""
    held = held_in_title(state, action) if alone else NOTHING
    if state.is_open_at(action.index):
        blocks = [*call_blocks(action, alone=alone, held=held), *again_blocks(action)]
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


def proposed_again(before: Action, after: Action, *, link: str, was_elsewhere: bool = False) -> Again:
    """Compare a call with the one that people sent back. What one of the two may not show is not in it.

    Who did not read the one before (`was_elsewhere`) is not told its values.
    """
    recorded = before.recorded
    assert recorded
    number = before.terms.again.number + 1 if before.terms.again else 2
    if was_elsewhere:
        return Again(number=number, by=recorded.decided_by, link=link, was_elsewhere=True)
    unshown = [name for each in (before.terms, after.terms) for name in (*each.masked, *each.modal_only)]
    lines = []
    if before.request.args != after.request.args:
        lines = change_lines(before.request.args, after.request.args, unshown)
    secrets = (*before.secrets, *after.secrets)
    changed = clip(scrub("\n".join(lines), secrets), _CHANGED)
    return Again(number=number, by=recorded.decided_by, link=link, changed=changed)


def again_blocks(action: Action) -> list[Block]:
    """Say which proposal of a call this is, with a link to the one before, and what is different."""
    if (found := action.terms.again) is None:
        return []
    person = approver_names([found.by], at_most=1, named_only=action.terms.named_only)
    difference = on_action.WHAT_IS_DIFFERENT if found.changed else on_action.SAME_ARGUMENTS
    difference = on_action.OTHERS_READ_IT if found.was_elsewhere else difference
    words = on_action.proposed_again(found.number, person, found.link, difference)
    blocks = [context(f"a:{action.index}:again", words)]
    if found.changed:
        blocks.append(literal_within(f"a:{action.index}:changed", found.changed, _CHANGED_ROOM))
    return blocks
