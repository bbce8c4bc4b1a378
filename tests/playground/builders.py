"""Blocks and views in their smallest valid form."""

from typing import Any

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def section(text: str = "hello", **fields: Any) -> Json:
    return {"type": "section", "text": mrkdwn(text), **fields}


def preformatted(text: str) -> Json:
    leaf = {"type": "text", "text": text}
    return {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [leaf]}]}


def button(action_id: str = "approve", **fields: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain("Approve"), "value": "id-1", **fields}


def actions(*elements: Json, **fields: Any) -> Json:
    return {"type": "actions", "elements": list(elements) or [button()], **fields}


def option(value: str, text: str = "One") -> Json:
    return {"text": plain(text), "value": value}


def text_input(action_id: str = "typed", **fields: Any) -> Json:
    return {"type": "plain_text_input", "action_id": action_id, **fields}


def input_block(block_id: str = "words", element: Json | None = None, **fields: Any) -> Json:
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain("Label"),
        "element": element or text_input(action_id=f"{block_id}:typed"),
        **fields,
    }


def modal(*blocks: Json, **fields: Any) -> Json:
    view = {
        "type": "modal",
        "callback_id": "form",
        "title": plain("Form"),
        "blocks": list(blocks) or [section()],
    }
    if any(block.get("type") == "input" for block in blocks):
        view["submit"] = plain("Save")
    return view | fields
