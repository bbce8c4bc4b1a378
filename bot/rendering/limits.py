"""Slack's limits, checked before anything is sent.

Lengths count UTF-16 code units: Slack does not say what it counts, and this is the larger number.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from bot.domain.errors import BotError
from bot.text.literal import units

MESSAGE_BLOCKS, VIEW_BLOCKS = 50, 100
MESSAGE_TEXT = 4_000
"""Of `chat.update`; a post may have more."""
MESSAGE_TOTAL = 12_000
"""Text of all blocks of a message, added up: over it Slack answers `msg_blocks_too_long`."""
VIEW_BYTES = 250_000

CHOICE_VALUE = 150
"""What a choice of a menu carries."""

_TEXT = {"header": 150, "section": 3_000, "context": 3_000}
_INITIAL = {
    "plain_text_input": 3_000,
    "email_text_input": 3_000,
    "url_text_input": 3_000,
    "number_input": 3_000,
}
_CHOICES = {
    "static_select": 100,
    "multi_static_select": 100,
    "checkboxes": 10,
    "radio_buttons": 10,
    "overflow": 5,
}
_PICKERS = ("datepicker", "timepicker", "datetimepicker", "users_select")
_CONFIRM = {"title": 100, "text": 300, "confirm": 30, "deny": 30}


class SlackLimitError(BotError):
    """What was built is larger than Slack takes, or not of a form that it takes."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(f"{problem} [json-pointer:{pointer}]")
        self.pointer = pointer
        """Where, as Slack's own `invalid_blocks` names it."""


def check_message(text: str, blocks: list[dict[str, Any]]) -> None:
    """Refuse a message that Slack would refuse.

    Raises:
        SlackLimitError: naming the place.
    """
    _length(text, "/text", most=MESSAGE_TEXT)
    _check_blocks(blocks, most=MESSAGE_BLOCKS)
    total = sum(units(found) for found in _texts(blocks))
    if total >= MESSAGE_TOTAL:
        raise SlackLimitError("/blocks", f"{total:,} characters of text, must be less than {MESSAGE_TOTAL:,}")
    for index, block in enumerate(blocks):
        if block["type"] == "input":
            raise SlackLimitError(f"/blocks/{index}", "inputs belong in views")


def check_view(view: dict[str, Any]) -> None:
    """Refuse a modal that Slack would refuse.

    Raises:
        SlackLimitError: naming the place.
    """
    # The SDK writes JSON in ASCII, so this is what travels.
    size = len(json.dumps(view))
    if size > VIEW_BYTES:
        raise SlackLimitError("/", f"{size:,} bytes of view, at most {VIEW_BYTES:,}")
    for part in ("title", "submit", "close"):
        if part in view:
            _plain(view[part], f"/{part}", most=24)
    _length(view.get("private_metadata", ""), "/private_metadata", least=0, most=3_000)
    _length(view.get("callback_id", "-"), "/callback_id", most=255)
    _check_blocks(view["blocks"], most=VIEW_BLOCKS)
    if "submit" not in view and any(block["type"] == "input" for block in view["blocks"]):
        raise SlackLimitError("/submit", "a view with inputs needs a submit")


def _check_blocks(blocks: list[dict[str, Any]], *, most: int) -> None:
    _count(blocks, "/blocks", most=most)
    for index, block in enumerate(blocks):
        check = _BLOCKS.get(block["type"])
        if check is None:
            raise SlackLimitError(f"/blocks/{index}/type", f"{block['type']} is not a block that we send")
        check(block, f"/blocks/{index}")
        _length(block.get("block_id", "-"), f"/blocks/{index}/block_id", most=255)
    _distinct((block.get("block_id") for block in blocks), "/blocks", "block_id")
    _distinct((element.get("action_id") for element in _elements(blocks)), "/blocks", "action_id")


def _check_text_block(block: dict[str, Any], at: str) -> None:
    allowed = ("plain_text",) if block["type"] == "header" else ("plain_text", "mrkdwn")
    _text(block["text"], f"{at}/text", most=_TEXT[block["type"]], allowed=allowed)


def _check_context(block: dict[str, Any], at: str) -> None:
    _count(block["elements"], f"{at}/elements", most=10)
    for index, element in enumerate(block["elements"]):
        _text(element, f"{at}/elements/{index}", most=_TEXT["context"])


def _check_rich_text(block: dict[str, Any], at: str) -> None:
    _count(block["elements"], f"{at}/elements", most=100)
    for index, element in enumerate(block["elements"]):
        if element["type"] not in {"rich_text_preformatted", "rich_text_section", "rich_text_quote"}:
            raise SlackLimitError(
                f"{at}/elements/{index}/type", f"{element['type']} is not an element that we send"
            )
        _count(element["elements"], f"{at}/elements/{index}/elements", most=1_000)
        for number, leaf in enumerate(element["elements"]):
            # Nothing active is ever put into rich text: no link, mention, emoji or date.
            if leaf["type"] != "text":
                raise SlackLimitError(f"{at}/elements/{index}/elements/{number}/type", "must be text")
            _length(leaf["text"], f"{at}/elements/{index}/elements/{number}/text", most=3_000)


def _check_actions(block: dict[str, Any], at: str) -> None:
    _count(block["elements"], f"{at}/elements", most=25)
    for index, element in enumerate(block["elements"]):
        if (check := _ACTIONS.get(element["type"])) is None:
            raise SlackLimitError(
                f"{at}/elements/{index}/type", f"{element['type']} is not an action that we send"
            )
        check(element, f"{at}/elements/{index}")


def _check_button(button: dict[str, Any], at: str) -> None:
    _plain(button["text"], f"{at}/text", most=75)
    _length(button["action_id"], f"{at}/action_id", most=255)
    _length(button.get("value", "-"), f"{at}/value", most=2_000)
    _length(button.get("accessibility_label", "-"), f"{at}/accessibility_label", most=75)
    if button.get("style", "primary") not in {"primary", "danger"}:
        raise SlackLimitError(f"{at}/style", "must be primary or danger")
    for part, most in _CONFIRM.items():
        if "confirm" in button:
            _text(button["confirm"][part], f"{at}/confirm/{part}", most=most)


def _check_menu(menu: dict[str, Any], at: str) -> None:
    _length(menu["action_id"], f"{at}/action_id", most=255)
    _check_choices(menu, at)


_ACTIONS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "button": _check_button,
    "overflow": _check_menu,
    "static_select": _check_menu,
}


def _check_input(block: dict[str, Any], at: str) -> None:
    _plain(block["label"], f"{at}/label", most=2_000)
    if "hint" in block:
        _plain(block["hint"], f"{at}/hint", most=2_000)
    element, at = block["element"], f"{at}/element"
    _length(element["action_id"], f"{at}/action_id", most=255)
    kind = element["type"]
    if kind in _CHOICES:
        _check_choices(element, at)
    elif kind in _INITIAL:
        _length(element.get("initial_value", "-"), f"{at}/initial_value", most=_INITIAL[kind])
        if not 1 <= element.get("max_length", 1) <= 3_000:
            raise SlackLimitError(f"{at}/max_length", "must be from 1 to 3000")
    elif kind not in _PICKERS:
        raise SlackLimitError(f"{at}/type", f"{kind} is not an input that we send")


def _check_choices(element: dict[str, Any], at: str) -> None:
    options = element["options"] if "options" in element else _grouped(element, at)
    if "options" in element:
        _count(options, f"{at}/options", most=_CHOICES[element["type"]])
    for index, option in enumerate(options):
        _plain(option["text"], f"{at}/options/{index}/text", most=75)
        _length(option["value"], f"{at}/options/{index}/value", most=CHOICE_VALUE)
        if "description" in option:
            _plain(option["description"], f"{at}/options/{index}/description", most=75)
    _distinct((option["value"] for option in options), f"{at}/options", "value")
    initial = element.get(
        "initial_options", [element["initial_option"]] if "initial_option" in element else None
    )
    if initial is not None and (not initial or any(option not in options for option in initial)):
        raise SlackLimitError(at, "what is chosen at first must be one of the options")


def _grouped(element: dict[str, Any], at: str) -> list[Any]:
    """Give the options of all groups, which only selects have."""
    groups = element["option_groups"]
    if not element["type"].endswith("static_select"):
        raise SlackLimitError(at, "only a select takes groups of options")
    _count(groups, f"{at}/option_groups", most=100)
    for index, group in enumerate(groups):
        _plain(group["label"], f"{at}/option_groups/{index}/label", most=75)
        _count(group["options"], f"{at}/option_groups/{index}/options", most=100)
    return [option for group in groups for option in group["options"]]


def _check_divider(_block: dict[str, Any], _at: str) -> None:
    """A divider has nothing to check."""


_BLOCKS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "header": _check_text_block,
    "section": _check_text_block,
    "context": _check_context,
    "rich_text": _check_rich_text,
    "actions": _check_actions,
    "input": _check_input,
    "divider": _check_divider,
}


def _plain(text: dict[str, Any], at: str, *, most: int) -> None:
    _text(text, at, most=most, allowed=("plain_text",))


def _text(
    text: dict[str, Any], at: str, *, most: int, allowed: tuple[str, ...] = ("plain_text", "mrkdwn")
) -> None:
    if text["type"] not in allowed:
        raise SlackLimitError(f"{at}/type", f"must be {' or '.join(allowed)}")
    _length(text["text"], f"{at}/text", most=most)


def _length(text: str, at: str, *, most: int, least: int = 1) -> None:
    if not least <= units(text) <= most:
        raise SlackLimitError(at, f"{units(text):,} characters, must be from {least} to {most:,}")


def _count(items: list[Any], at: str, *, most: int) -> None:
    if not 1 <= len(items) <= most:
        raise SlackLimitError(at, f"{len(items)} items, must be from 1 to {most}")


def _distinct(names: Iterator[str | None], at: str, what: str) -> None:
    given = [name for name in names if name is not None]
    if len(set(given)) != len(given):
        raise SlackLimitError(at, f"a {what} stands twice")


def _elements(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] == "actions":
            yield from block["elements"]


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("text"), str):
            yield node["text"]
        for child in node.values():
            yield from _texts(child)
    elif isinstance(node, list):
        for child in node:
            yield from _texts(child)
