"""The buttons that decide several actions at once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.domain.approval import Approval
from bot.domain.bulk import calls_on, decided_together, put_to_vote, with_proposal
from bot.domain.ids import MessageId
from bot.rendering.blocks import Block, actions, confirm, context, divider
from bot.rendering.buttons import APPROVE_ALL, REJECT_ALL, REVIEW, button_blocks, value_of
from bot.rendering.subject import subject_of
from bot.sentences import on_card
from bot.text.literal import clip, units

_CONFIRM, _WHICH = 300, 60
"""What Slack takes as the text of a question, and what the numbers of its calls may take of that."""


def bulk_blocks(state: Approval, part: MessageId) -> list[Block]:
    """Draw the buttons that decide several actions.

    The button that approves them is only on a message that shows every value of them. Other messages have the button
    that leads through the calls. The button that rejects is on the card itself, for all calls of its place.
    """
    asked = calls_on(state, part) or state.places[part.place].actions
    still = [index for index in asked if state.is_open_at(index)]
    if state.places[part.place].rows and len(still) == 1:
        return [divider("bulk:divider"), *button_blocks(state.actions[still[0]], value_of(state, still))]
    buttons = [*_approve_or_review(state, part, still), *_reject_all(state, part, still)]
    said = _alone_words(state, still)
    blocks = [context("unread", " ".join(said))] if said else []
    if buttons:
        blocks += [divider("bulk:divider"), actions("bulk", buttons)]
    return blocks


def _approve_or_review(state: Approval, part: MessageId, still: Sequence[int]) -> list[Block]:
    if len(still) < 2:
        return []
    subject = f"{part.place}.{part.number}" if part.kind == "part" else part.place
    value = value_of(state, calls_on(state, part) or state.places[part.place].actions)
    if not calls_on(state, part) or _unread(state, still):
        return [REVIEW.drawn(subject, value)]
    one_by_one = replace(REVIEW, style=None).drawn(subject, value)
    ready = decided_together(state, still, "approve")
    if len(ready) < 2:
        # Rows have no buttons of their own.
        return [one_by_one] if state.places[part.place].rows else []
    only_votes = len(put_to_vote(state, ready)) == len(ready)
    label = (on_card.agree_to_all if only_votes else on_card.approve_all)(ready, len(still))
    asks = _confirm(state, ready, still)
    return [APPROVE_ALL.drawn(subject, value_of(state, ready, named=ready), label, asks=asks), one_by_one]


def _reject_all(state: Approval, part: MessageId, still: Sequence[int]) -> list[Block]:
    rejectable = decided_together(state, still, "reject")
    if part.kind == "part" or len(rejectable) < 2:
        return []
    is_all = len(rejectable) == len(still)
    label = REJECT_ALL.label if is_all else on_card.reject_some(rejectable, len(still))
    return [REJECT_ALL.drawn(part.place, value_of(state, state.places[part.place].actions), label)]


def _alone_words(state: Approval, still: Sequence[int]) -> list[str]:
    """Say which actions are not decided together with others, and why."""
    if len(still) < 2:
        return []
    unread, alone = _unread(state, still), [index for index in still if state.actions[index].has_code]
    said = [on_card.unread(unread)] if unread else []
    if proposed := with_proposal(state, still):
        said.append(on_card.with_proposal(proposed))
    if alone:
        said.append(on_card.high_risk(alone))
    return [*said, *_not_approved_words(state, still)]


def _not_approved_words(state: Approval, still: Sequence[int]) -> list[str]:
    """Say which actions cannot be approved, where others can."""
    left = [state.actions[index] for index in still if not state.actions[index].allows("approve")]
    if len(left) == len(still):
        return []
    asking = [action.index for action in left if action.allows("respond")]
    others = [action.index for action in left if action.index not in asking]
    said = [on_card.questions(asking)] if asking else []
    return [*said, on_card.not_to_be_approved(others)] if others else said


def _unread(state: Approval, indices: Iterable[int]) -> list[int]:
    found = (state.actions[index] for index in indices)
    return [action.index for action in found if action.allows("approve") and action.must_read]


def _confirm(state: Approval, ready: Sequence[int], still: Sequence[int]) -> Block:
    voted = put_to_vote(state, ready)
    at_once = [index for index in ready if index not in voted]
    said = [on_card.at_once_and_voted(at_once, voted) if at_once else on_card.YOUR_VOTE] if voted else []
    said += _left_out(state, still)
    room = _CONFIRM - units("\n".join(said)) - _WHICH
    what = on_card.which(ready, subject_of([state.actions[index] for index in ready], room))
    title, yes = (
        (on_card.approve_calls, on_card.approve) if at_once else (on_card.agree_to_calls, on_card.agree)
    )
    return confirm(title(len(ready)), clip("\n".join([what, *said]), _CONFIRM), yes(len(ready)))


def _left_out(state: Approval, still: Sequence[int]) -> list[str]:
    proposed = with_proposal(state, still)
    return [on_card.left_out_proposed(proposed)] if proposed else []
