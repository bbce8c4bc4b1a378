"""A call that is proposed again: which proposal it is, and what is different from the one before."""

from bot.domain.action import Action
from bot.domain.admission import Again
from bot.domain.masking import scrub
from bot.domain.mentions import approver_names
from bot.rendering.arguments import change_lines
from bot.rendering.blocks import Block, context, literal_within
from bot.sentences import on_action
from bot.text.literal import clip

_MOST = 1_000
# JSON characters.
_ROOM = 1_300
SIZE = 2_100
"""Bounds the JSON characters of its blocks."""


def proposed_again(before: Action, after: Action, *, link: str, was_elsewhere: bool = False) -> Again:
    """Compare a call with the one that people sent back. What one of the two may not show is not in it.

    Args:
        before: What people asked to change.
        after: The call that is proposed instead.
        link: Of the card of the one before.
        was_elsewhere: Whether people who did not read the one before read this one. They are not told its values.
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
    changed = clip(scrub("\n".join(lines), secrets), _MOST)
    return Again(number=number, by=recorded.decided_by, link=link, changed=changed)


def _difference(found: Again) -> str:
    if found.was_elsewhere:
        return on_action.OTHERS_READ_IT
    return on_action.WHAT_IS_DIFFERENT if found.changed else on_action.SAME_ARGUMENTS


def again_blocks(action: Action) -> list[Block]:
    """Say which proposal of a call this is, with a link to the one before, and what is different."""
    if (found := action.terms.again) is None:
        return []
    person = approver_names([found.by], at_most=1, named_only=action.terms.named_only)
    words = on_action.proposed_again(found.number, person, found.link, _difference(found))
    blocks = [context(f"a:{action.index}:again", words)]
    if found.changed:
        blocks.append(literal_within(f"a:{action.index}:changed", found.changed, _ROOM))
    return blocks
