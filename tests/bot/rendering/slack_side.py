"""What stands on Slack's side of the rendering: its SDK as a judge, a reader's eyes, a person who fills in a form."""

import json
import re
from collections.abc import Iterator
from typing import Any

from agent_adapter.contract.arguments import encode
from bot.domain.drafts import Draft
from bot.domain.ids import parse_choice_value
from bot.rendering.arguments import WRAP, same_word
from bot.rendering.card.card import Part
from bot.rendering.card.layout import BUDGET, MAX_BLOCKS
from bot.rendering.modal.argument_form import Edited, Errors, Unchanged, form_of, merged
from bot.rendering.modal.field_types import BOXES, OTHERS
from bot.text.literal import one_line, visible
from playground import check_message, check_view

_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def assert_slack_takes_card(parts: tuple[Part, ...]) -> None:
    for part in parts:
        assert_slack_takes_message(part.text, part.blocks)
        assert len(encode(part.blocks)) <= BUDGET
        assert len(part.blocks) <= MAX_BLOCKS
        assert all(len(leaf) <= 2_800 for leaf in leaves(part.blocks))
        assert len(primary(part.blocks)) <= 1


def assert_slack_takes_message(text: str, blocks: list[dict[str, Any]]) -> None:
    """As Slack judges it, and nothing in it that acts is outside of mrkdwn. `chat.update` takes a shorter text than a post."""
    check_message(_as_counted(text), _as_counted(blocks), longest_text=4_000)
    rich = [block for block in blocks if block["type"] == "rich_text"]
    assert all(
        leaf["type"] == "text" for block in rich for part in block["elements"] for leaf in part["elements"]
    )


def _as_counted(payload: Any) -> Any:
    """Slack does not say what it counts. UTF-16 code units are the larger number."""
    return json.loads(_TWO_UNITS.sub("xx", json.dumps(payload, ensure_ascii=False)))


def assert_slack_takes_view(view: dict[str, Any]) -> None:
    check_view(_as_counted(view))


def leaves(node: Any) -> Iterator[str]:
    """Every text of a payload."""
    for _, text in typed_texts(node):
        yield text


def typed_texts(node: Any, within: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a payload, with where it stands: literal, mrkdwn, header, button, question, or plain."""
    if isinstance(node, list):
        for child in node:
            yield from typed_texts(child, within)
    elif isinstance(node, dict):
        kind = node.get("type", "")
        place = "question" if "deny" in node else kind if kind in {"header", "button", "input"} else within
        if isinstance(node.get("text"), str):
            yield {"text": "literal", "mrkdwn": "mrkdwn"}.get(kind, place or "plain"), node["text"]
        if "accessibility_label" in node:
            yield "button", node["accessibility_label"]
        for child in node.values():
            yield from typed_texts(child, place)


def literal_text(blocks: list[dict[str, Any]], block_id: str) -> str:
    """What a person reads in one literal block, each of its parts on a line of its own."""
    parts = [part for block in blocks if block["block_id"] == block_id for part in block["elements"]]
    return "\n".join("".join(leaves(part)) for part in parts)


def unwrapped(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        mark = next((mark for mark in (WRAP, same_word()) if stripped.startswith(mark)), None)
        if mark:
            lines[-1] += stripped.removeprefix(mark)
        else:
            lines.append(line)
    return "\n".join(lines)


def shown(payload: Any) -> str:
    """All texts of a message or a view, one under the other. What stands side by side is on one line."""
    return "\n".join(_lines(payload))


def _lines(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for child in node:
            yield from _lines(child)
    elif isinstance(node, dict) and str(node.get("type")).startswith("rich_text_"):
        yield "".join(leaves(node))
    elif isinstance(node, dict):
        yield from leaves({key: value for key, value in node.items() if not isinstance(value, dict | list)})
        for child in node.values():
            yield from _lines(child)


def block_of(blocks: list[dict[str, Any]], block_id: str) -> dict[str, Any]:
    return next(block for block in blocks if block["block_id"] == block_id)


def block_ids(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["block_id"] for block in blocks]


def button_labels(payload: Any) -> list[str]:
    return [button["text"]["text"] for button in buttons(payload)]


def buttons(payload: Any) -> list[dict[str, Any]]:
    """Every button of a payload; a choice in a menu as the button that it stands for."""
    return [button for element in in_sight(payload) for button in _as_buttons(element)]


def primary(payload: Any) -> list[dict[str, Any]]:
    """The green buttons of a payload."""
    return [button for button in buttons(payload) if button.get("style") == "primary"]


def in_sight(payload: Any) -> list[dict[str, Any]]:
    """What stands side by side in the payload: buttons and menus."""
    blocks = payload["blocks"] if isinstance(payload, dict) else payload
    return [element for block in blocks if block["type"] == "actions" for element in block["elements"]]


def _as_buttons(element: dict[str, Any]) -> list[dict[str, Any]]:
    if element["type"] != "overflow":
        return [element]
    return [
        {
            "action_id": parse_choice_value(option["value"])[0],
            "text": option["text"],
            "value": parse_choice_value(option["value"])[1],
            "accessibility_label": f"{option['text']['text']} {option['description']['text']}",
        }
        for option in element["options"]
    ]


def labels(view: dict[str, Any]) -> list[str]:
    """What stands over the inputs of a view, as Slack shows it: without spaces around, rows of spaces as one."""
    return [" ".join(b["label"]["text"].split()) for b in view["blocks"] if b["type"] == "input"]


def all_inputs(view: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The input blocks of a view, by their label."""
    return {block["label"]["text"]: block for block in view["blocks"] if block["type"] == "input"}


def inputs(view: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The input blocks of a view that are about one argument, by their label."""
    boxes = {box.label for box in (*BOXES, OTHERS)}
    return {label: block for label, block in all_inputs(view).items() if label not in boxes}


def everything(args: dict[str, Any], schema: dict[str, Any] | None = None, mask: Any = ()) -> Draft:
    """What a person has chosen who wants to see every input."""
    return Draft(typed={OTHERS.block_id: [unit.block_id for unit in form_of(args, schema, mask).units]})


def parse_form(
    view: dict[str, Any], args: dict[str, Any], schema: dict[str, Any] | None, mask: Any = ()
) -> Edited | Unchanged | Errors:
    """What one submitted form means."""
    return form_of(args, schema, mask, merged(Draft(), view)).read(args, schema)


def submitted(view: dict[str, Any], *, trims: bool = True, **typed: Any) -> dict[str, Any]:
    """The view as Slack hands it back: inputs nobody touched with their initial value.

    Typed values go by label: text, an option's label or a list of them, `None` to clear. A client that trims does so
    with all texts.
    """
    states = {}
    for label, block in all_inputs(view).items():
        element = block["element"]
        state = _untouched(element) if label not in typed else _touched(element, typed[label])
        if "value" in state:
            state = {"value": _as_slack_keeps(state["value"], trims=trims)}
        states[block["block_id"]] = {element["action_id"]: {"type": element["type"], **state}}
    return {**view, "state": {"values": states}}


def _untouched(element: dict[str, Any]) -> dict[str, Any]:
    match element["type"]:
        case "radio_buttons" | "static_select":
            return {"selected_option": element.get("initial_option")}
        case "checkboxes" | "multi_static_select":
            return {"selected_options": element.get("initial_options", [])}
        case "datepicker":
            return {"selected_date": element.get("initial_date")}
        case "timepicker":
            return {"selected_time": element.get("initial_time")}
        case "datetimepicker":
            return {"selected_date_time": element.get("initial_date_time")}
        case _:
            return {"value": element.get("initial_value")}


def _as_slack_keeps(text: str | None, *, trims: bool) -> str | None:
    text = (text or "").replace("\r\n", "\n").replace("\r", "\n")
    return (text.strip() if trims else text) or None


def _touched(element: dict[str, Any], typed: Any) -> dict[str, Any]:
    groups = element.get("option_groups", [{"options": element.get("options", ())}])
    options = {option["text"]["text"]: option for group in groups for option in group["options"]}
    match element["type"]:
        case "radio_buttons" | "static_select":
            return {"selected_option": options[typed] if typed is not None else None}
        case "checkboxes" | "multi_static_select":
            return {"selected_options": [options[label] for label in typed or ()]}
        case "datepicker":
            return {"selected_date": typed}
        case "timepicker":
            return {"selected_time": typed}
        case "datetimepicker":
            return {"selected_date_time": typed}
        case _:
            return {"value": typed}


def assert_written(args: Any, text: str) -> None:
    """Every name and every value of these arguments is readable in a text, whole."""
    found = unwrapped(text)
    for key, value in _values(args) if args else ():
        assert one_line(key).replace('"', "\\u{22}") in found
        if isinstance(value, str):
            assert all(line.rstrip(" ") in found for line in visible(value).split("\n"))
        else:
            assert encode(value) in found


def _values(node: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict) and node:
        for name, child in node.items():
            yield from _values(child, name)
    elif isinstance(node, list) and node:
        for child in node:
            yield from _values(child, key)
    else:
        yield key, node
