"""The buttons that decide several actions at once."""

from collections.abc import Iterable, Sequence

from bot.domain.approval import Approval
from bot.domain.bulk import calls_on, decided_together, with_proposal
from bot.domain.ids import MessageId
from bot.rendering.blocks import Block, actions, confirm, context, divider
from bot.rendering.buttons import APPROVE_ALL, REJECT_ALL
from bot.rendering.calls import safe_name
from bot.sentences import on_card
from bot.sentences.words import UNUSUAL_TOOL, numbers
from bot.text.literal import clip, units

_CONFIRM = 300
"""What Slack takes as the text of a question."""


def bulk_blocks(state: Approval, part: MessageId) -> list[Block]:
    """Draw the buttons that decide several actions.

    The button that approves is only on the message that shows all the calls that it approves. The button that rejects
    is on the card itself, for all calls of its place.
    """
    asked = calls_on(state, part) or state.places[part.place].actions
    still = [index for index in asked if state.is_open_at(index)]
    buttons = [*_approve_all(state, part, still), *_reject_all(state, part, still)]
    said = _alone_words(state, still)
    blocks = [context("unread", " ".join(said))] if said else []
    if buttons:
        blocks += [divider("bulk:divider"), actions("bulk", buttons)]
    return blocks


def _approve_all(state: Approval, part: MessageId, still: Sequence[int]) -> list[Block]:
    ready = decided_together(state, calls_on(state, part), "approve")
    if len(ready) < 2:
        return []
    label = on_card.approve_all(len(ready), len(still))
    subject = f"{part.place}.{part.number}" if part.kind == "part" else part.place
    asks = _confirm(state, ready, still)
    return [APPROVE_ALL.drawn(subject, state.id, label, asks=asks, named=ready)]


def _reject_all(state: Approval, part: MessageId, still: Sequence[int]) -> list[Block]:
    rejectable = decided_together(state, still, "reject")
    if part.kind == "part" or len(rejectable) < 2:
        return []
    is_all = len(rejectable) == len(still)
    label = REJECT_ALL.label if is_all else on_card.reject_some(len(rejectable), len(still))
    return [REJECT_ALL.drawn(part.place, state.id, label)]


def _alone_words(state: Approval, still: Sequence[int]) -> list[str]:
    """Say which actions are not decided together with others, and why."""
    if len(still) < 2:
        return []
    unread, alone = _unread(state, still), [index for index in still if state.actions[index].has_code]
    said = [on_card.unread(unread)] if unread else []
    if proposed := with_proposal(state, still):
        said.append(on_card.with_proposal(proposed))
    return [*said, on_card.high_risk(alone)] if alone else said


def _unread(state: Approval, indices: Iterable[int]) -> list[int]:
    found = (state.actions[index] for index in indices)
    return [action.index for action in found if action.allows("approve") and action.must_read]


def _confirm(state: Approval, ready: Sequence[int], still: Sequence[int]) -> Block:
    unread, proposed = _unread(state, still), with_proposal(state, still)
    left_out = [on_card.left_out_unread(unread)] if unread else []
    left_out += [on_card.left_out_proposed(proposed)] if proposed else []
    # Where the names of the tools leave no room, the numbers alone still say which calls these are.
    full, short = (
        " ".join((*left_out, on_card.as_shown(which))) for which in (_by_tool(state, ready), numbers(ready))
    )
    text = full if units(full) <= _CONFIRM else clip(short, _CONFIRM)
    return confirm(on_card.approve_calls(len(ready)), text, on_card.approve(len(ready)))


def _by_tool(state: Approval, ready: Iterable[int]) -> str:
    found: dict[str, list[int]] = {}
    for index in ready:
        name = safe_name(state.actions[index].request) or UNUSUAL_TOOL
        found.setdefault(clip(name, 60), []).append(index)
    return ", ".join(on_card.calls_of(name, indices) for name, indices in found.items())
