"""The list of calls that one message cannot show: what each is about, or which part shows it, and how it stands."""

from collections.abc import Mapping, Sequence

from bot.domain.action import Action
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.rendering.arguments import arguments_of
from bot.rendering.blocks import Block, context, json_size, literal
from bot.rendering.calls import ordered, safe_name
from bot.rendering.card.outcomes import status_of
from bot.rendering.card.table import columns_of
from bot.rendering.cautions import caution_blocks
from bot.sentences import on_action, on_button, on_card
from bot.text.literal import clip, runs_right_to_left

_ABOUT = 36
"""The most columns of a value. A phone shows a line of 40 without breaking it."""


def summary_blocks(state: Approval, place: Place, room: int) -> list[Block]:
    """Draw the list, and above it where the calls are. Without room for values in JSON characters, it names the parts."""
    calls = [state.actions[index] for index in place.actions]
    review = on_button.OPEN if sum(map(state.is_open_at, place.actions)) > 1 else ""
    where = context("summary:where", on_card.too_long(len(calls), len(place.parts), review))
    drawn = (_list(state, place, about) for about in (_abouts(calls), {}))
    whole, brief = ([where, found] for found in drawn)
    return whole if json_size(whole) <= room else brief


def _list(state: Approval, place: Place, about: Mapping[int, str]) -> Block:
    calls = [state.actions[index] for index in place.actions]
    part_of = {index: number for number, part in enumerate(place.parts, 1) for index in part}
    names = [clip(safe_name(call.request) or on_action.UNUSUAL_NAME, 40) for call in calls]
    # The title names the only tool.
    width = max(map(len, names)) if len({call.request.name for call in calls}) > 1 or not about else 0
    lines = []
    for call, name in zip(calls, names, strict=True):
        which = about.get(call.index) or on_card.in_part(part_of.get(call.index, "?"))
        tool = f"{name:<{width}}  " if width else ""
        unread = on_action.TO_BE_READ if call.must_read else ""
        stands = unread if state.is_open_at(call.index) else status_of(state, call)
        lines.append(f"{call.number:>2}  {tool}{', '.join(filter(None, [which, stands]))}")
    return literal("summary", "\n".join(lines))


def _abouts(calls: Sequence[Action]) -> dict[int, str]:
    """Write what calls are about, by their index: of each tool the first argument that is short in one of its calls."""
    found: dict[int, str] = {}
    for tool in dict.fromkeys(call.request.name for call in calls):
        own = [call for call in calls if call.request.name == tool]
        names = dict.fromkeys(name for call in own for name in ordered(call))
        by_name = ({call.index: text for call in own if (text := _about(call, name))} for name in names)
        found |= next(filter(None, by_name), {})
    return found


def _about(call: Action, name: str) -> str:
    """Write one value, a text in quotes; empty where it is long, not shown, or not what it looks like.

    Only the part, which shows the whole call, says what misleads.
    """
    args = ordered(call)
    if name not in args:
        return ""
    (argument,) = arguments_of({name: args[name]})
    text = argument.text if isinstance(args[name], str) else f"{argument.name}: {argument.text}"
    fits = argument.is_short and columns_of(text) <= _ABOUT and not runs_right_to_left(text)
    is_plain = f"{name}{args[name]}".isascii() or not caution_blocks("", {name: args[name]})
    return text if argument.is_shown and fits and is_plain else ""
