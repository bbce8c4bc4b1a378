"""What a person may fill in: the initial state of an element, a new value for it, and Slack's own checks."""

import re
import secrets
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from playground.elements import all_options
from playground.errors import ControlError

Json = dict[str, Any]
StateKey = tuple[str, str]
"""(block_id, action_id)"""

# element type -> (key of its state, key of its initial value)
_SINGLE = {
    "plain_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
    "email_text_input": ("value", "initial_value"),
    "url_text_input": ("value", "initial_value"),
    "static_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
    "users_select": ("selected_user", "initial_user"),
    "channels_select": ("selected_channel", "initial_channel"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
}
_SEVERAL = {
    "multi_static_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "multi_users_select": ("selected_users", "initial_users"),
    "file_input": ("files", "initial_files"),
}
_KEYS = _SINGLE | _SEVERAL


def complete(blocks: list[Json]) -> list[Json]:
    """The blocks as Slack stores them: every block has an id, every text its defaults."""
    return [_complete({"block_id": secrets.token_urlsafe(4), **block}) for block in blocks]


def _complete(value: Any) -> Any:
    if isinstance(value, list):
        return [_complete(item) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {key: _complete(item) for key, item in value.items()}
    if filled.get("type") == "plain_text":
        filled.setdefault("emoji", True)
    elif filled.get("type") == "mrkdwn":
        filled.setdefault("verbatim", False)
    elif "child_blocks" in filled:
        filled["child_blocks"] = complete(filled["child_blocks"])
    return filled


def interactive_elements(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Every (block, element) that a person can touch."""
    for block in blocks:
        candidates = [*block.get("elements", ()), block.get("accessory"), block.get("element")]
        yield from ((block, element) for element in candidates if element and "action_id" in element)
        yield from interactive_elements(block.get("child_blocks", []))


def find_element(blocks: list[Json], action_id: str, block_id: str | None) -> tuple[Json, Json]:
    """The one element with this id.

    Raises:
        ControlError: There is none.
    """
    for block, element in interactive_elements(blocks):
        if element["action_id"] == action_id and block_id in (None, block["block_id"]):
            return block, element
    known = ", ".join(element["action_id"] for _, element in interactive_elements(blocks)) or "none at all"
    raise ControlError(f"There is no element {action_id!r} there; it has {known}.", 404)


def state_values(blocks: list[Json], changed: dict[StateKey, Json]) -> Json:
    """`state.values`: every element that holds a value, also the untouched ones."""
    values: Json = {}
    for block, element in interactive_elements(blocks):
        if element["type"] in _KEYS:
            key = (block["block_id"], element["action_id"])
            values.setdefault(key[0], {})[key[1]] = changed.get(key) or initial_state(element)
    return values


def trimmed(values: Json) -> Json:
    """The same state with texts trimmed and lines ended by a plain newline."""
    return {
        block_id: {action_id: _trimmed(entry) for action_id, entry in entries.items()}
        for block_id, entries in values.items()
    }


def _trimmed(entry: Json) -> Json:
    if entry["type"] != "plain_text_input" or entry["value"] is None:
        return entry
    text = entry["value"].replace("\r\n", "\n").replace("\r", "\n").strip()
    return {**entry, "value": text or None}


def initial_state(element: Json) -> Json:
    """What an untouched element holds."""
    key, initial = _KEYS[element["type"]]
    empty: Any = [] if element["type"] in _SEVERAL else None
    return {"type": element["type"], key: element.get(initial, empty)}


def state_of(element: Json, value: Any) -> Json:
    """What an element holds once a person has chosen `value`, given in plain form.

    Raises:
        ControlError: The element cannot hold such a value.
    """
    kind = element["type"]
    if kind not in _KEYS:
        raise ControlError(f"A {kind} holds no value.")
    key = _KEYS[kind][0]
    if kind in _SEVERAL:
        return {"type": kind, key: _chosen_several(element, value or [])}
    if value in (None, ""):
        return {"type": kind, key: None}
    if key == "selected_option":
        return {"type": kind, key: _option(element, value)}
    if kind == "datetimepicker":
        return {"type": kind, key: _unix_seconds(value)}
    return {"type": kind, key: _checked_form(kind, str(value))}


def _chosen_several(element: Json, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ControlError(f"{element['action_id']}: give a list of values.")
    return [_option(element, item) for item in value] if "options" in _KEYS[element["type"]][0] else value


def _option(element: Json, value: Any) -> Json:
    for option in all_options(element):
        if option["value"] == value:
            return dict(option)
    offered = ", ".join(option["value"] for option in all_options(element))
    raise ControlError(f"{element['action_id']}: {value!r} is not offered; choose one of {offered}.")


def _unix_seconds(value: Any) -> int:
    if not re.fullmatch(r"\d{10}", str(value)):
        raise ControlError(f"A datetimepicker gives 10 digits of seconds, not {value!r}.")
    return int(value)


def _checked_form(kind: str, value: str) -> str:
    forms = {"datepicker": r"\d{4}-\d\d-\d\d", "timepicker": r"\d\d:\d\d"}
    if kind in forms and not re.fullmatch(forms[kind], value):
        raise ControlError(f"A {kind} cannot give {value!r}.")
    return value


def mistakes(blocks: list[Json], values: Json) -> dict[str, str]:
    """What Slack's own window says under each input before it sends anything."""
    found = {}
    for block in blocks:
        if block["type"] == "input":
            element = block["element"]
            entry = values[block["block_id"]][element["action_id"]]
            if mistake := _mistake(block, element, entry[_KEYS[element["type"]][0]]):
                found[block["block_id"]] = mistake
    return found


def _mistake(block: Json, element: Json, value: Any) -> str | None:
    if value in (None, "", []):
        return None if block.get("optional") else "Please complete this required field."
    kind = element["type"]
    if kind == "number_input":
        return _number_mistake(element, value)
    if kind == "email_text_input" and not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", value):
        return "Please enter a valid email address."
    if kind == "url_text_input" and not re.fullmatch(r"[a-z][a-z0-9+.-]*://\S+", value, re.IGNORECASE):
        return "Please enter a valid URL."
    if kind in _SEVERAL and len(value) > element.get("max_selected_items", 100):
        return f"Please select at most {element['max_selected_items']} items."
    return _length_mistake(element, value) if isinstance(value, str) else None


def _length_mistake(element: Json, value: str) -> str | None:
    longest, shortest = element.get("max_length", 3000), element.get("min_length", 0)
    if len(value) > longest:
        return f"Please shorten this to {longest} characters or fewer."
    if len(value) < shortest:
        return f"Please lengthen this to {shortest} characters or more."
    return None


def _number_mistake(element: Json, value: str) -> str | None:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return "Please enter a number."
    if not number.is_finite():
        return "Please enter a number."
    if not element["is_decimal_allowed"] and "." in value:
        return "Please enter a whole number."
    if "min_value" in element and number < Decimal(element["min_value"]):
        return f"Please enter a number of {element['min_value']} or more."
    if "max_value" in element and number > Decimal(element["max_value"]):
        return f"Please enter a number of {element['max_value']} or less."
    return None
