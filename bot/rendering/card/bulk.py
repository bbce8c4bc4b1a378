"""The buttons that decide several actions at once."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.action import Action
from bot.domain.approval import Approval, decided_together, put_to_vote, question, with_proposal
from bot.domain.ids import MessageId, button_value
from bot.rendering.blocks import Block, actions, confirm, context, divider
from bot.rendering.buttons import APPROVE_ALL, READ, REJECT_ALL, REVIEW, button_blocks, offered, value_of
from bot.rendering.calls import misleads
from bot.rendering.card.batch import are_long
from bot.rendering.card.folded import NOTHING, has_details
from bot.rendering.card.rows import held_in_title
from bot.rendering.card.votes import is_alone
from bot.rendering.subject import subject_of
from bot.sentences import in_form, in_text, on_action, on_button, on_card, words
from bot.text.literal import clip, units

_IN_SIGHT = 5
"""The most buttons of a message about several calls."""
_REVIEW_BESIDE = replace(REVIEW, style=None)
_CONFIRM, _WHICH = 300, 60
"""What Slack takes as the text of a question, and what the numbers of its calls may take of that."""


def bulk_blocks(state: Approval, part: MessageId) -> list[Block]:
    """Draw the buttons below the calls of a message."""
    shown = state.calls_on(part)
    asked = shown or state.places[part.place].actions
    still = [index for index in asked if state.is_open_at(index)]
    if not still:
        return _details(state, part, shown)
    if len(still) == 1 < len(shown):
        (last,), value = still, value_of(state, still)
        return [divider("bulk:divider"), *button_blocks(state.actions[last], value, is_numbered=True)]
    own = _own_buttons(state, still) if shown else []
    everything = question(state, asked)
    buttons = [
        *_approve_or_review(state, part, still, everything),
        *_reject_all(state, part, still, everything),
        *own,
    ]
    is_full = len(buttons) > _IN_SIGHT
    buttons = buttons[: -len(own)] if is_full else buttons
    said: list[str] = []
    if len(still) > 1:
        # What no call and no button says: which cannot be approved, and what a decision really does.
        effects = dict.fromkeys(effect for index in still for effect in state.actions[index].config.effects)
        known = [on_action.EFFECTS[effect] for effect in effects if effect in on_action.EFFECTS]
        said = [*_not_approved_words(state, still, has_buttons=not is_full), *known]
    blocks = [context("unread", "\n".join(said))] if said else []
    if buttons:
        line = [] if state.places[part.place].rows else [divider("bulk:divider")]
        blocks += [*line, actions("bulk", buttons)]
    return blocks


def _details(state: Approval, part: MessageId, shown: Sequence[int]) -> list[Block]:
    calls = [state.actions[index] for index in shown]
    if is_alone(state.places[part.place]):
        held = held_in_title(state, calls[0])
        own = READ.drawn(calls[0].index, value_of(state, shown))
        return [actions(f"a:{calls[0].index}:buttons", [own])] if has_details(calls[0], held) else []
    is_cut = any(has_details(call, NOTHING) for call in calls)
    if state.places[part.place].rows:
        is_cut = are_long(calls) or any(call.description for call in calls)
    if not is_cut:
        return []
    return [actions("rows:all", [_REVIEW_BESIDE.drawn(_subject(part), value_of(state, shown), READ.label)])]


def _subject(part: MessageId) -> int | str:
    return f"{part.place}.{part.number}" if part.kind == "part" else part.place


def _own_buttons(state: Approval, still: Sequence[int]) -> list[Block]:
    """Draw the button of each call that is not approved together with others and needs no reading, with its number."""
    drawn = []
    for call in (state.actions[index] for index in still if len(still) > 1):
        if _has_own(call):
            (leading, *_) = offered(call)
            label = on_card.of_call(leading.label, call.number)
            drawn.append(replace(leading, style=None).drawn(call.index, value_of(state, [call.index]), label))
    return drawn


def _has_own(call: Action) -> bool:
    is_apart = call.is_high_risk if call.allows("approve") else call.allows("respond")
    return is_apart and not (call.must_read or call.proposal)


def _approve_or_review(
    state: Approval, part: MessageId, still: Sequence[int], everything: str
) -> list[Block]:
    """Draw the buttons that approve and open; `everything` names what all calls of the message or the place ask."""
    if len(still) < 2:
        return []
    value, subject = button_value(state.id, question=everything), _subject(part)
    ready = decided_together(state, still, "approve")
    is_unread = any(state.actions[each].allows("approve") and state.actions[each].must_read for each in still)
    if not state.calls_on(part) or is_unread or len(ready) < 2:
        return [REVIEW.drawn(subject, value)]
    label = on_card.several(verb_for(state, ready), ready, len(still))
    asks = _confirm(state, ready, still)
    named = everything if ready == state.calls_on(part) else question(state, ready)
    approve = APPROVE_ALL.drawn(subject, button_value(state.id, ready, named), label, asks=asks)
    return [approve, _REVIEW_BESIDE.drawn(subject, value)]


def verb_for(state: Approval, indices: Sequence[int]) -> str:
    """Say what the button for several calls does: it agrees where no call runs yet."""
    return in_form.AGREE_TO if len(put_to_vote(state, indices)) == len(indices) else in_form.APPROVE


def _reject_all(state: Approval, part: MessageId, still: Sequence[int], everything: str) -> list[Block]:
    rejectable = decided_together(state, still, "reject")
    if part.kind == "part" or len(rejectable) < 2:
        return []
    is_all = len(rejectable) == len(still)
    label = REJECT_ALL.label if is_all else on_card.several(in_form.REJECT, rejectable, len(still))
    return [REJECT_ALL.drawn(part.place, button_value(state.id, question=everything), label)]


def _not_approved_words(state: Approval, still: Sequence[int], *, has_buttons: bool) -> list[str]:
    """Say which actions cannot be approved, where others can and no button of their own says it."""
    left = [state.actions[index] for index in still if not state.actions[index].allows("approve")]
    if len(left) == len(still):
        return []
    asking = [each.index for each in left if each.allows("respond") and not (has_buttons and _has_own(each))]
    others = [each.index for each in left if not each.allows("respond")]
    said = [on_card.questions(asking, on_button.OPEN)] if asking else []
    return [*said, on_card.not_to_be_approved(words.numbers(others))] if others else said


def _confirm(state: Approval, ready: Sequence[int], still: Sequence[int]) -> Block:
    voted = put_to_vote(state, ready)
    at_once = [index for index in ready if index not in voted]
    said = [on_card.at_once_and_voted(at_once, voted) if at_once else on_card.YOUR_VOTE] if voted else []
    said += [on_card.left_out_proposed(proposed)] if (proposed := with_proposal(state, still)) else []
    said += [in_text.MISLEADS] if any(misleads(state.actions[index]) for index in ready) else []
    room = _CONFIRM - units("\n".join(said)) - _WHICH
    what = on_card.which(ready, subject_of([state.actions[index] for index in ready], room))
    yes = in_form.several(verb_for(state, ready), len(ready))
    return confirm(f"{yes}?", clip("\n".join([what, *said]), _CONFIRM), yes)
