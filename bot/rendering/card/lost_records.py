"""Cards whose records are lost, went back or cannot be read: what they say in place of their buttons. Pure."""

from collections.abc import Mapping
from typing import Any

from bot.rendering.blocks import Block, header, section

UNREADABLE = "This can no longer be decided"
BEHIND = (
    "*The server went back to an older state.* What this card shows happened before that, and the server does not know "
    "it any more. It is not decided a second time: an agent that still waits for it was refused."
)
LOST = (
    "*The server went back to an older state, and the record of this request is gone.* Nothing can be decided here. An "
    "agent that still needs it asks again."
)
_NOTE = "went_back"
_LONGEST_TEXT = 3_900


def render_unreadable() -> tuple[str, list[Block]]:
    """Draw a card whose record cannot be read: nothing of it can be shown."""
    reason = "What is stored of this request cannot be read, so it was refused. Whoever operates the bot finds the reason in its log."
    return f"{UNREADABLE}: {reason}", [header("top", UNREADABLE), section("reason", reason)]


def render_noted(message: Mapping[str, Any], note: str) -> tuple[str, list[Block]]:
    """Draw one of our messages as Slack has it, without its buttons and with a note above."""
    before: list[Block] = list(message.get("blocks", ()))
    kept = [block for block in before if block.get("block_id") != _NOTE and block.get("type") != "actions"]
    text = f"{note.replace('*', '')} {message.get('text', '')}"[:_LONGEST_TEXT]
    return text, [section(_NOTE, note), *kept]
