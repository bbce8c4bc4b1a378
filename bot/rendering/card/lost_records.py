"""Cards whose records are lost, outdated or unreadable: what they say in place of their buttons. Pure."""

from collections.abc import Mapping
from typing import Any

from bot.rendering.blocks import Block, header, section
from bot.sentences import on_card

_NOTE = "went_back"
_LONGEST_TEXT = 3_900


def render_unreadable() -> tuple[str, list[Block]]:
    """Draw a card whose record cannot be read: nothing of it can be shown."""
    title, reason = on_card.UNREADABLE, on_card.UNREADABLE_WHY
    return f"{title}: {reason}", [header("top", title), section("reason", reason)]


def render_noted(message: Mapping[str, Any], note: str) -> tuple[str, list[Block]]:
    """Draw one of our messages as Slack has it, without its buttons and with a note above."""
    before: list[Block] = list(message.get("blocks", ()))
    kept = [block for block in before if block.get("block_id") != _NOTE and block.get("type") != "actions"]
    text = f"{note.replace('*', '')} {message.get('text', '')}"[:_LONGEST_TEXT]
    return text, [section(_NOTE, note), *kept]
