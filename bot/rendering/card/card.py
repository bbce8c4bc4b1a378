"""The card of an interrupt: which messages it takes, what each of them shows, and what is left where its record is lost."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.ids import MessageId, parse_action_id
from bot.rendering.blocks import (
    Block,
    context,
    divider,
    header,
    json_size,
    literal,
    literal_within,
    quote,
    section,
    told_apart,
)
from bot.rendering.buttons import READ, REVOKE, clock_blocks
from bot.rendering.card.batch import decided_rows_blocks, rows_blocks, what_became_blocks
from bot.rendering.card.bulk import bulk_blocks
from bot.rendering.card.folded import has_line
from bot.rendering.card.header import blocks_above, blocks_below, line_of_part, push_text
from bot.rendering.card.layout import BUDGET, OUTCOME_TEXT
from bot.rendering.card.rows import action_blocks
from bot.rendering.card.thread import (
    is_told_in_thread,
    remark_text,
    standing_blocks,
    standing_text,
    thread_blocks,
    thread_text,
    told_blocks,
    told_text,
)
from bot.rendering.card.title import TITLE_ROOM, about
from bot.rendering.card.votes import folded_text, is_alone, is_edited, outcome_text, status_of, with_proposal
from bot.rendering.subject import ROOM, subject, tool_of
from bot.sentences import in_answer, on_action, on_button, on_card
from bot.text.literal import cut, mrkdwn_line

_ABOUT, _LINE = 34, 80
"""Units of the values of a call in the list of many, and of its whole line."""


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a card, as it should be."""

    id: MessageId
    channel: str
    thread_ts: str | None
    parent: MessageId | None
    """For the numbered parts, the message in whose thread they are."""
    text: str
    """What notifications and screen readers say."""
    blocks: list[dict[str, Any]]
    actions: tuple[int, ...]
    digest: str = field(init=False)
    """Names what is shown: messages with equal digests look equal."""

    def __post_init__(self) -> None:
        name = hashlib.sha256(encode([self.text, self.blocks]).encode()).hexdigest()[:24]
        object.__setattr__(self, "digest", name)


def render_card(state: Approval) -> tuple[Part, ...]:
    """Draw every message of an interrupt's card, in each place where it is asked."""
    return tuple(render_message(state, id) for id in messages_of(state))


def messages_of(state: Approval) -> Iterator[MessageId]:
    for number, place in state.places.items():
        card = MessageId(number)
        yield card
        yield from card.parts(len(place.parts))
    for number, remark in state.remarks.items():
        yield from (MessageId(at, "remark", number) for at in remark.places if at in state.places)
    for index in state.standing:
        at = next(number for number, place in state.places.items() if index in place.actions)
        yield MessageId(at, "standing", index)
    if state.told:
        yield MessageId(0, "told")
    for number, place in state.places.items():
        id = MessageId(number, "outcomes")
        if id in state.shown or is_told_in_thread(state, place):
            yield id


def render_message(state: Approval, id: MessageId) -> Part:
    if id.kind == "told" and (told := state.told):
        text, blocks = told_text(state, told), told_blocks(state, told)
        return Part(id, told.channel, told.thread_ts, None, text, blocks, ())
    place = state.places[id.place]
    match id.kind:
        case "part":
            return _render_part(state, id, place)
        case "remark":
            text = remark_text(state, place, state.remarks[id.number])
            blocks = [section("remark", text)]
        case "standing":
            text, blocks = standing_text(state, id.number), standing_blocks(state, id.number)
        case "outcomes":
            text, blocks = thread_text(state, place), thread_blocks(state, place)
        case _:
            return _render_place(state, id, place)
    # A reply in a thread has no thread of its own.
    parent = None if place.thread_ts else id.card
    return Part(id, place.channel, place.thread_ts, parent, text, blocks, ())


def _render_place(state: Approval, id: MessageId, place: Place) -> Part:
    text = push_text(state, place)
    frame, foot = blocks_above(state, id.place), blocks_below(state, place)
    buttons = [*bulk_blocks(state, id), *clock_blocks(state, id.place)]
    bulk = [*foot, *told_apart(buttons, about(state, place, ROOM, has_values=True))]
    room = [*frame, *bulk]
    calls = [state.actions[index] for index in place.actions]
    if place.parts:
        drawn = _summary(state, place, BUDGET - json_size(room))
    elif place.rows:
        is_untouched = all(state.is_open_at(index) for index in place.actions)
        drawn = rows_blocks(calls) if is_untouched else decided_rows_blocks(state, calls)
        drawn = [*drawn, *what_became_blocks(state, place, BUDGET - json_size([*room, *drawn]))]
    else:
        drawn = _filled(state, place, place.actions, room)
    blocks = [*frame, *drawn, *bulk]
    return Part(id, place.channel, place.thread_ts, None, text, blocks, () if place.parts else place.actions)


def _summary(state: Approval, place: Place, room: int) -> list[Block]:
    """Say where the calls are that one message cannot show, and list what each is about and how it stands."""
    calls = [state.actions[index] for index in place.actions]
    review = on_button.OPEN if sum(map(state.is_open_at, place.actions)) > 1 else ""
    where = context("summary:where", on_card.too_long(len(calls), len(place.parts), review))
    # The title names the only tool.
    tool = tool_of(calls[0]) if len({call.request.name for call in calls}) == 1 else ""
    lines = []
    for call in calls:
        unread = on_action.TO_BE_READ if call.must_read else ""
        stands = unread if state.is_open_at(call.index) else status_of(state, call)
        about = cut(subject(call, _ABOUT).removeprefix(f"{tool} "), _LINE)
        lines.append(f"{call.number:>2}  {', '.join(filter(None, [about, stands]))}")
    return [where, literal_within("summary", "\n".join(lines), room - json_size(where))]


def _render_part(state: Approval, id: MessageId, place: Place) -> Part:
    shown = place.parts[id.number - 1]
    title = on_card.part(id.number, len(place.parts), shown)
    top = [header("part", title), context("who", " · ".join(line_of_part(state, shown)))]
    bulk = told_apart(bulk_blocks(state, id), title)
    blocks = [*top, *_filled(state, place, shown, [*top, *bulk]), *bulk]
    text = on_card.part_for(title, state.interrupt.agent)
    return Part(id, place.channel, place.thread_ts, id.card, text, blocks, shown)


def _filled(state: Approval, place: Place, indices: Sequence[int], frame: list[Block]) -> list[Block]:
    """Draw actions. The texts of their decisions share the room that is left."""
    shown = [state.actions[index] for index in indices]
    alone = is_alone(place)
    drawn = {
        action.index: [
            *([] if alone else [divider(f"a:{action.index}:divider")]),
            *action_blocks(state, action, alone=alone, has_buttons=len(shown) == 1),
        ]
        for action in shown
    }
    # What the line of an edited call says is not said again.
    texts = {
        action.index: folded_text(action) if is_edited(action) and has_line(action) else outcome_text(action)
        for action in shown
    }
    decided = {index: text for index, text in texts.items() if text}
    proposed = [
        (action, found) for action in shown if state.is_open_at(action.index) and (found := action.proposal)
    ]
    if not (decided or proposed):
        return [block for blocks in drawn.values() for block in blocks]
    used = json_size(frame) + sum(json_size(blocks) for blocks in drawn.values())
    room = (BUDGET - used) // (len(decided) + len(proposed))
    for index, text in decided.items():
        draw = literal if is_edited(state.actions[index]) else quote
        drawn[index].append(literal_within(f"a:{index}:told", text, max(room, OUTCOME_TEXT), draw))
    for action, found in proposed:
        # Where there is no room for it, the button that agrees shows all of it.
        if room >= OUTCOME_TEXT:
            drawn[action.index] = with_proposal(action, found, drawn[action.index], room)
    return [block for blocks in drawn.values() for block in blocks]


_NOTE = "went_back"
_LONGEST_TEXT = 3_900
_ONLY_SHOW = {"", READ.verb, REVOKE.verb}
"""What a card that is decided has, too: its texts, and buttons that show more or end a standing approval."""
_ASKING = {"who", "unread", "looking"}
"""The lines of an open card that are about what is still to be decided."""


def render_unreadable(*, is_changed: bool = False) -> tuple[str, list[Block]]:
    """Draw a card whose record cannot be read, or which somebody has changed: nothing that it says can be believed."""
    title, reason = on_card.UNREADABLE, in_answer.CHANGED if is_changed else in_answer.UNREADABLE
    return f"{title}: {reason}", [header("top", title), section("reason", reason)]


def render_noted(message: Mapping[str, Any], note: str) -> tuple[str, list[Block]]:
    """Draw one of our messages as Slack has it, without its buttons and with a note above.

    Where something was still to be decided, neither the card nor its notification says who can do that until when.
    """
    before: list[Block] = list(message.get("blocks", ()))
    kept = [block for block in before if block.get("block_id") != _NOTE and block.get("type") != "actions"]
    text = message.get("text", "")
    if any(map(_decides, before)):
        kept = [block for block in kept if block.get("block_id") not in _ASKING]
        title = on_card.OVER
        for at, block in enumerate(kept):
            if block.get("block_id") == "top":
                ended = on_card.ended(on_card.OVER, block["text"]["text"])
                title = cut(on_card.MARKS["unsure"] + ended, TITLE_ROOM)
                kept[at] = header("top", title)
        text = mrkdwn_line(title)
    text = f"{note.replace('*', '')} {text}"[:_LONGEST_TEXT]
    return text, [section(_NOTE, note), *kept]


def _decides(block: Block) -> bool:
    """Whether a block has a button of a card that is open. That one which shows all calls is on each card of several."""
    names = [str(element.get("action_id", "")) for element in block.get("elements", ())]
    verbs = {parse_action_id(name)[0] for name in names}
    return block.get("block_id") != "rows:all" and not verbs <= _ONLY_SHOW
