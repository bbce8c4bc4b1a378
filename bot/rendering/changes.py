"""What an edit changes, in its one notation: the old value struck out, an arrow, the new value in bold. Long texts stay a diff."""

import re
from collections.abc import Sequence
from itertools import groupby

from agent_adapter.contract.arguments import encode
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
# A number, or in quotes a date, of at most 20 characters. What stands in place of a hidden value is neither.
_PLAIN = re.compile(r'-?[0-9][0-9.eE+-]{0,18}|"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:]{4,8}Z?)?"')


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


def one_value(action: Action) -> tuple[str, str] | None:
    """Give the number or the date, before and after, that is all that somebody proposes to change; else `None`."""
    match changes_written(action, action.proposal, on_card=True) if action.proposal else []:
        case [Change(old=[old], new=[new])] if _leads(action, old) and _leads(action.after, new):
            return old.strip('"'), new.strip('"')
    return None


def _leads(action: Action, value: str) -> bool:
    """Whether this is a date or the amount of the call. A button of a call that pays 900 never reads *Approve 5*."""
    amount = action.facts.amount
    is_it = value.startswith('"') or (amount is not None and encode(amount.value) == value)
    return is_it and _PLAIN.fullmatch(value) is not None
