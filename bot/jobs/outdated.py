"""Finds messages in Slack that do not show what the record says, and messages that are not needed. Pure."""

from collections.abc import Container

from bot.domain.action import Action
from bot.domain.approval import Approval
from bot.domain.ids import KEPT, MessageId
from bot.rendering.card.card import Part, messages_of, render_message
from bot.rendering.card.thread import wrong_in

Pictures = dict[MessageId, tuple[tuple[Action, ...], Part]]
"""What was drawn, each with the actions of its record."""


def first_outdated(
    state: Approval, pictures: Pictures, only: MessageId | None = None, besides: Container[MessageId] = ()
) -> Part | None:
    """Give the first message, or only this one, that does not show what the record says; none of those `besides`.

    The message above numbered parts is edited after them: what somebody pressed is drawn first, and several presses
    are counted by one edit. What is missing in its thread comes after it: it may be gone.
    """
    above = None
    for id in messages_of(state):
        shown = state.shown.get(id)
        if only not in {None, id} or id in besides or (shown and shown.digest == KEPT):
            continue
        if not is_wanted(state, id) and id not in state.begun:
            continue
        drawn_of, part = pictures.get(id, ((), None))
        # It is the same while the record was not read again: `Approval.showing` keeps the actions.
        if part is None or drawn_of is not state.actions:
            part = render_message(state, id)
            pictures[id] = state.actions, part
        if shown and shown.digest == part.digest:
            continue
        if shown and part.id.kind == "card" and state.places[part.id.place].parts:
            above = above or part
        else:
            return part if shown else above or part
    return above


def is_wanted(state: Approval, part: MessageId) -> bool:
    """Whether Slack should show this message. Nobody needs a card that ended before it was shown, or a late reminder.

    Nobody needs a card that asks nothing either, unless something is wrong with its calls.
    """
    if part in state.shown or part.kind in {"standing", "told"}:
        return True
    if part.kind == "outcomes":
        card = state.shown.get(part.card)
        return card is not None and card.ts[0].isdigit()
    if is_extra(state, part):
        return state.is_open
    place = state.places[part.place]
    is_wrong = state.stalled is not None or state.claim_has_lapsed or wrong_in(state, place)
    is_asked = not state.is_preapproved(place) or is_wrong
    return state.status in {"pending", "decided"} and bool(is_asked)


def is_extra(state: Approval, part: MessageId) -> bool:
    """Whether people can decide without this message: a remark, or a card in an additional place."""
    return part.is_beside or state.places[part.place].is_extra


def used_in(state: Approval, part: MessageId) -> set[str]:
    """Name the standing approvals whose givers a new message would mention because something is wrong."""
    place = state.places[part.place]
    is_about_them = part.kind == "outcomes" and wrong_in(state, place)
    if not (is_about_them or (part.kind == "card" and state.is_preapproved(place))):
        return set()
    recorded = [state.recorded[index] for index in place.actions]
    return {found.sticky for found in recorded if found and found.sticky}
