"""An anchor of the audit log as a message. Pure."""

from bot.rendering.blocks import Block, context, header, literal
from bot.sentences import in_anchor


def anchor_text(logs: int, entries: int) -> str:
    """Say in a notification what is anchored."""
    return f"{in_anchor.title(logs, entries)}."


def anchor_blocks(logs: int, entries: int, lines: str) -> list[Block]:
    """Draw the lines to keep, letter by letter."""
    return [
        header("anchor", in_anchor.title(logs, entries)),
        literal("anchor:lines", lines),
        context("anchor:keep", in_anchor.KEEP),
    ]
