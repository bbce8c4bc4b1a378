"""Cards whose records are lost, outdated, changed or unreadable: what they say in place of their buttons. Pure."""

from collections.abc import Mapping
from typing import Any

from bot.rendering.blocks import Block, header, section
from bot.sentences import on_card

_NOTE = "went_back"
_LONGEST_TEXT = 3_900


def render_unreadable() -> tuple[str, list[Block]]:
    """Draw a card whose record cannot be read: nothing of it can be shown."""
    return _ended(on_card.UNREADABLE_WHY)


def render_changed() -> tuple[str, list[Block]]:
    """Draw a card whose record somebody has changed: nothing that it says can be believed."""
    return _ended(on_card.CHANGED_WHY)


def _ended(reason: str) -> tuple[str, list[Block]]:
    title = on_card.UNREADABLE
    return f"{title}: {reason}", [header("top", title), section("reason", reason)]


def render_noted(message: Mapping[str, Any], note: str) -> tuple[str, list[Block]]:
    """Draw one of our messages as Slack has it, without its buttons and with a note above."""
    before: list[Block] = list(message.get("blocks", ()))
    kept = [block for block in before if block.get("block_id") != _NOTE and block.get("type") != "actions"]
    text = f"{note.replace('*', '')} {message.get('text', '')}"[:_LONGEST_TEXT]
    return text, [section(_NOTE, note), *kept]
