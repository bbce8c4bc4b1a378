"""Cards whose records are outdated, changed or unreadable: what they say in place of their buttons. Pure."""

from collections.abc import Mapping
from typing import Any

from bot.domain.ids import parse_action_id
from bot.rendering.blocks import Block, header, section
from bot.rendering.buttons import READ, REVOKE
from bot.rendering.card.title import TITLE_ROOM
from bot.sentences import in_answer, on_card
from bot.text.set_apart import cut, mrkdwn_line

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
