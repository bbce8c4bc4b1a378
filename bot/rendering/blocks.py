"""The few Block Kit forms that we send: bot words in one kind, words of others in another."""

import re
from datetime import UTC, datetime
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.rendering.text import clip, mrkdwn, one_line, pieces, units

Block = dict[str, Any]

PIECE = 2_800
"""Units of text in one element: below Slack's 3,000."""

_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")
_GROUP = re.compile(r"S[A-Z0-9]{2,20}")


def header(block_id: str, text: str) -> Block:
    """Bot words as a title."""
    return {"type": "header", "block_id": block_id, "text": {"type": "plain_text", "text": text}}


def section(block_id: str, text: str) -> Block:
    """Bot words, as mrkdwn, never folded."""
    return {"type": "section", "block_id": block_id, "expand": True, "text": _mrkdwn(text)}


def context(block_id: str, text: str) -> Block:
    """Bot words in small, as mrkdwn."""
    return {"type": "context", "block_id": block_id, "elements": [_mrkdwn(text)]}


def literal(block_id: str, text: str) -> Block:
    """Words of others, letter by letter: nothing in them is read as a mention, a link or a format."""
    leaves = [{"type": "text", "text": piece} for piece in pieces(text, PIECE)]
    return {
        "type": "rich_text",
        "block_id": block_id,
        "elements": [{"type": "rich_text_preformatted", "elements": leaves}],
    }


def literal_within(block_id: str, text: str, room: int) -> Block:
    """Words of others in a block of at most so much JSON (300 or more), cut with a statement where they are longer."""
    # JSON takes no fewer characters than its text.
    block = literal(block_id, clip(text, room))
    size = room
    while json_size(block) > room:
        # Escapes (`\n`, `\"`) make JSON at most six times as long as its text.
        block = literal(block_id, clip(text, size))
        size = max(size - max((json_size(block) - room) // 2, 20), 40)
    return block


def actions(block_id: str, buttons: list[Block]) -> Block:
    return {"type": "actions", "block_id": block_id, "elements": buttons}


def divider(block_id: str) -> Block:
    return {"type": "divider", "block_id": block_id}


def button(
    action_id: str,
    label: str,
    value: str,
    *,
    style: str | None = None,
    says: str | None = None,
    asks: Block | None = None,
) -> Block:
    """A button; `says` is what a screen reader says, `asks` the question that comes before the click."""
    found: Block = {"type": "button", "action_id": action_id, "text": plain(label), "value": value}
    if style:
        found["style"] = style
    if says:
        found["accessibility_label"] = says
    if asks:
        found["confirm"] = asks
    return found


def confirm(title: str, text: str, yes: str) -> Block:
    """A question that Slack asks before it sends a click."""
    return {"title": plain(title), "text": plain(text), "confirm": plain(yes), "deny": plain("Not yet")}


def plain(text: str) -> Block:
    """Text that Slack shows as it is, without turning `:name:` into a picture."""
    return {"type": "plain_text", "text": text, "emoji": False}


def json_size(blocks: Block | list[Block]) -> int:
    """Count what blocks take of a message's budget."""
    return units(encode(blocks))


def when(moment: datetime) -> str:
    """A time, written by Slack in each reader's own zone (with the day: today, tomorrow, a date)."""
    fallback = moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(moment.timestamp())}^{{date_short_pretty}} at {{time}}|{fallback}>"


def who(person: str) -> str:
    """A person or group as a mention where it is a Slack id, otherwise as text."""
    if _PERSON.fullmatch(person):
        return f"<@{person}>"
    if _GROUP.fullmatch(person):
        return f"<!subteam^{person}>"
    return mrkdwn(clip(one_line(person), 60))


def is_person(text: str) -> bool:
    """Tell whether this is a person's Slack id."""
    return _PERSON.fullmatch(text) is not None


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}
