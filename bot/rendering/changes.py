"""What an edit changes, in its one notation: the old value struck out, an arrow, the new value in bold. Long texts stay a diff."""

from collections.abc import Sequence
from itertools import groupby

from agent_adapter.contract.hitl import EditDecision
from bot.domain.action import Action
from bot.domain.votes import Written
from bot.rendering.arguments import ARROW, Change, changes_of
from bot.rendering.blocks import Block, boxed, leaves, literal, rich_text, section_of
from bot.rendering.pages import PAGE_SIZE
from bot.sentences import in_text
from bot.text.literal import pieces, units

_MOST = 100
"""Changes in their notation: Slack takes as many elements. More are one text."""


def becomes(old: Sequence[Block], new: Sequence[Block]) -> list[Block]:
    struck, bold = (
        [{**leaf, "style": {**leaf.get("style", {}), style: True}} for leaf in value]
        for value, style in ((old, "strike"), (new, "bold"))
    )
    return [*struck, *leaves(f" {ARROW} "), *bold]


def change_of(change: Change) -> list[Block]:
    """Draw a change that has room on one line, without its path."""
    return becomes(leaves(change.old[0], "code"), leaves(change.new[0], "code"))


def changes_blocks(block_id: str, changes: Sequence[Change]) -> list[Block]:
    """Draw changes below each other. Very many of them, or very long ones, are plain text."""
    text = "\n".join(line for change in changes for line in change.lines) or in_text.ONLY_ORDER
    if not 0 < len(changes) <= _MOST or units(text) > PAGE_SIZE:
        return [literal(f"{block_id}:{at}", piece) for at, piece in enumerate(pieces(text, PAGE_SIZE))]
    elements: list[Block] = []
    for is_short, group in groupby(changes, lambda change: bool(change.line)):
        found = list(group)
        if not is_short:
            elements.append(boxed("\n".join(line for change in found for line in change.lines)))
            continue
        rows = [[*leaves(f"{change.path}: ", "bold"), *change_of(change)] for change in found]
        joined = [leaf for at, row in enumerate(rows) for leaf in ([*leaves("\n"), *row] if at else row)]
        elements.append(section_of(joined))
    return [rich_text(block_id, elements)]


def changes_written(action: Action, found: Written, *, on_card: bool = False) -> list[Change]:
    """Give what an edit that somebody wrote changes, as far as people may see it; nothing for another decision."""
    if not isinstance(found.decision, EditDecision):
        return []
    hidden = found.terms.modal_only if on_card else ()
    return changes_of(action.request.args, found.decision.edited_action.args, found.terms.masked, hidden)
