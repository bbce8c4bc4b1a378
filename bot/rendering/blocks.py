"""The few Block Kit blocks that we send. Words of the bot and words of others are in different kinds of them."""

from collections.abc import Callable, Iterator
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.ids import choice_value
from bot.sentences import on_card
from bot.text.literal import clip, head, pieces, units

Block = dict[str, Any]

PIECE = 2_800
"""Units of text in one element: below Slack's 3,000."""
_SPOKEN = 75
"""Units that Slack takes of what a screen reader says, and of what stands below a choice."""


def header(block_id: str, text: str) -> Block:
    return {"type": "header", "block_id": block_id, "text": plain(text)}


def section(block_id: str, text: str, beside: Block | None = None) -> Block:
    """Bot words, as mrkdwn, never folded, with a button beside them."""
    found = {"type": "section", "block_id": block_id, "expand": True, "text": _mrkdwn(text)}
    return {**found, "accessory": beside} if beside else found


def words_apart(block_id: str, text: str) -> Block:
    """A line of an agent's words and ours, as plain text: nothing in it acts."""
    return {"type": "section", "block_id": block_id, "expand": True, "text": plain(text)}


def context(block_id: str, text: str) -> Block:
    """Bot words in small letters, as mrkdwn."""
    return {"type": "context", "block_id": block_id, "elements": [_mrkdwn(text)]}


def literal(block_id: str, text: str) -> Block:
    """Words of others, letter by letter: nothing in them is read as a mention, a link or a format."""
    return rich_text(block_id, [boxed(text)])


def boxed(text: str) -> Block:
    return {"type": "rich_text_preformatted", "elements": leaves(text)}


def quote(block_id: str, text: str) -> Block:
    """Words of others as a quote, letter by letter like `literal`."""
    return rich_text(block_id, [quoted(text)])


def quoted(text: str) -> Block:
    return {"type": "rich_text_quote", "elements": leaves(text)}


def rich_text(block_id: str, elements: list[Block]) -> Block:
    return {"type": "rich_text", "block_id": block_id, "elements": elements}


def section_of(elements: list[Block]) -> Block:
    """A part of `rich_text`: text without a box around it."""
    return {"type": "rich_text_section", "elements": elements}


def leaves(text: str, *styles: str) -> list[Block]:
    """Literal text in a style: bold, code, strike."""
    style = {"style": dict.fromkeys(styles, True)} if styles else {}
    return [{"type": "text", "text": piece, **style} for piece in pieces(text, PIECE)]


def literal_within(
    block_id: str,
    text: str,
    room: int,
    draw: Callable[[str, str], Block] = literal,
    end: str = "",
) -> Block:
    """Words of others in a block of at most so much JSON (300 or more). A longer text is cut, and says so at its end."""
    # JSON takes no fewer characters than its text.
    block = draw(block_id, clip(text, room, end))
    size = room
    while json_size(block) > room:
        # Escapes (`\n`, `\"`) make JSON at most six times as long as its text.
        block = draw(block_id, clip(text, size, end))
        size = max(size - max((json_size(block) - room) // 2, 20), 40)
    return block


def actions(block_id: str, buttons: list[Block]) -> Block:
    return {"type": "actions", "block_id": block_id, "elements": buttons}


def input_block(
    block_id: str, label: str, element: Block, *, optional: bool = False, hint: str | None = None
) -> Block:
    """An input. Its element has the name of the block, unless it says another."""
    found = {"type": "input", "block_id": block_id, "label": plain(label), "optional": optional}
    found["element"] = {"action_id": block_id, **element}
    return {**found, "hint": plain(hint)} if hint else found


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
    """A button. `says` is what a screen reader says, `asks` is the question before the click."""
    found: Block = {"type": "button", "action_id": action_id, "text": plain(label), "value": value}
    if style:
        found["style"] = style
    if says:
        found["accessibility_label"] = head(says, _SPOKEN)
    if asks:
        found["confirm"] = asks
    return found


def menu(action_id: str, about: str, buttons: list[Block]) -> Block:
    """A menu of buttons. It asks no question, so a button that asks one cannot be in it.

    Slack has no words for screen readers here: everybody reads what its buttons are about.
    """
    assert not any("confirm" in found for found in buttons)
    options = [
        {
            "text": found["text"],
            "description": plain(head(about, _SPOKEN)),
            "value": choice_value(found["action_id"], found["value"]),
        }
        for found in buttons
    ]
    return {"type": "overflow", "action_id": action_id, "options": options}


def without_primary(blocks: list[Block]) -> list[Block]:
    """Give blocks whose buttons have no green one among them, because another button of the message is."""
    return _each_button(
        blocks,
        lambda found: {name: each for name, each in found.items() if (name, each) != ("style", "primary")},
    )


def told_apart(blocks: list[Block], about: str) -> list[Block]:
    """Give blocks whose buttons all have words for screen readers: behind the label, what they are about."""
    return _each_button(blocks, lambda found: spoken(found, about))


def _each_button(blocks: list[Block], drawn: Callable[[Block], Block]) -> list[Block]:
    return [
        {**block, "elements": [*map(drawn, block["elements"])]} if block["type"] == "actions" else block
        for block in blocks
    ]


def spoken(element: Block, about: str) -> Block:
    """Give a button with words for screen readers: behind the label, what it is about."""
    if element["type"] != "button":
        return element
    return {"accessibility_label": head(f"{element['text']['text']}: {about}", _SPOKEN), **element}


def confirm(title: str, text: str, yes: str) -> Block:
    return {
        "title": plain(title),
        "text": plain(text),
        "confirm": plain(yes),
        "deny": plain(on_card.NOT_YET),
    }


def plain(text: str) -> Block:
    """Text that Slack shows as it is, without turning `:name:` into a picture."""
    return {"type": "plain_text", "text": text, "emoji": False}


def texts(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and isinstance(node.get("text"), str):
        yield node["text"]
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from texts(child)


def json_size(blocks: Block | list[Block]) -> int:
    return units(encode(blocks))


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}
