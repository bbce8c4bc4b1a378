"""Slack's blocks and views with their limits, as one table."""

from collections.abc import Mapping

from playground import elements
from playground.elements import plain, text
from playground.rich_text import LONGEST, RICH_TEXT, RICH_TEXT_ELEMENTS
from playground.shapes import (
    Json,
    Rule,
    Walk,
    at_least_one_of,
    boolean,
    choice,
    exactly_one_of,
    integer,
    items,
    number,
    shape,
    string,
    type_field,
    typed,
)

BLOCKS_PER_MESSAGE = 50
BLOCKS_PER_VIEW = 100


def _block_id(walk: Walk, value: Json, pointer: str) -> None:
    string(255)(walk, value, pointer)
    if isinstance(value, str):
        if value in walk.block_ids:
            walk.refuse(pointer, f"`block_id` {value} already exists", "duplicate", value)
        walk.block_ids.add(value)


def _block(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None, *checks: Rule) -> Rule:
    return shape({"type": type_field, **required}, {"block_id": _block_id, **(optional or {})}, checks)


def _no_dispatch_of_files(walk: Walk, value: Json, pointer: str) -> None:
    if value["element"]["type"] == "file_input" and value.get("dispatch_action"):
        walk.refuse(f"{pointer}/dispatch_action", "must be false for file_input", "not_allowed")


def _one_of_its_kind(most: int) -> Rule:
    def rule(walk: Walk, value: Json, pointer: str) -> None:
        kind = value["type"]
        walk.kinds[kind] = walk.kinds.get(kind, 0) + 1
        if walk.kinds[kind] > most:
            walk.refuse(pointer, f"no more than {most} {kind} blocks allowed", "too_many", most)

    return rule


def _markdown_in_total(walk: Walk, value: Json, pointer: str) -> None:
    walk.markdown_length += len(value["text"])
    if walk.markdown_length > LONGEST:
        walk.refuse(f"{pointer}/text", f"must be less than {LONGEST + 1} characters", "too_long", LONGEST)


_CELL = typed(
    {
        "raw_text": shape({"type": type_field, "text": string(3000, counted=True)}),
        "raw_number": shape({"type": type_field, "value": number, "text": string(3000, counted=True)}),
        "rich_text": RICH_TEXT,
    }
)
_COLUMN = shape(optional={"align": choice("left", "center", "right"), "is_wrapped": boolean})

_EVERYWHERE: Mapping[str, Rule] = {
    "section": _block(
        {},
        {
            "text": text(3000),
            "fields": items(text(2000), 1, 10),
            "accessory": elements.IN_SECTION,
            "expand": boolean,
        },
        at_least_one_of("text", "fields"),
    ),
    "header": _block({"text": plain(150)}, {"level": integer(1, 4)}),
    "actions": _block({"elements": items(elements.IN_ACTIONS, 1, 25)}),
    "context": _block({"elements": items(elements.IN_CONTEXT, 1, 10)}),
    "divider": _block({}),
    "image": _block(
        {"alt_text": string(2000, counted=True)},
        {**elements.IMAGE_FIELDS, "title": plain(2000)},
        exactly_one_of("image_url", "slack_file"),
    ),
    "rich_text": _block({"elements": items(RICH_TEXT_ELEMENTS, 1, 100)}),
}


def _input(inputs: Mapping[str, Rule]) -> Rule:
    return _block(
        {"label": plain(2000), "element": typed(inputs)},
        {"hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
        _no_dispatch_of_files,
    )


_IN_MODALS: Mapping[str, Rule] = {
    "input": _input(elements.IN_INPUT_OF_MODALS),
    "alert": _block(
        {"text": text(3000)}, {"level": choice("default", "info", "warning", "error", "success")}
    ),
}
_CONTAINED = ("actions", "context", "divider", "header", "image", "rich_text", "section")
_CONTAINER = _block(
    {"child_blocks": items(typed({kind: _EVERYWHERE[kind] for kind in _CONTAINED}), 1, 10)},
    {
        "title": plain(150),
        "rich_text_title": typed({"rich_text": RICH_TEXT}),
        "subtitle": plain(150),
        "is_collapsible": boolean,
        "default_collapsed": boolean,
        "width": choice("narrow", "standard", "wide", "full"),
    },
    exactly_one_of("title", "rich_text_title"),
)
_IN_HOMES: Mapping[str, Rule] = {"input": _input(elements.IN_INPUT), "container": _CONTAINER}
_IN_MESSAGES: Mapping[str, Rule] = {
    "container": _CONTAINER,
    "markdown": _block({"text": string(LONGEST, counted=True)}, {}, _markdown_in_total),
    "table": _block(
        {"rows": items(items(_CELL, 1, 20), 1, 100)},
        {"column_settings": items(_COLUMN, 1, 20)},
        _one_of_its_kind(1),
    ),
}

MESSAGE_BLOCKS = items(typed({**_EVERYWHERE, **_IN_MESSAGES}), 0, BLOCKS_PER_MESSAGE)


def _submit_with_inputs(walk: Walk, value: Json, pointer: str) -> None:
    if "submit" not in value and any(block["type"] == "input" for block in value["blocks"]):
        walk.refuse(pointer, "missing required field: submit", "missing", "submit")


_VIEW_COMMON: Mapping[str, Rule] = {
    "private_metadata": string(3000, shortest=0),
    "callback_id": string(255, shortest=0),
    "external_id": string(255, shortest=0),
}
VIEW = typed(
    {
        "modal": shape(
            {
                "type": type_field,
                "title": plain(24),
                "blocks": items(typed({**_EVERYWHERE, **_IN_MODALS}), 1, BLOCKS_PER_VIEW),
            },
            {
                **_VIEW_COMMON,
                "submit": plain(24),
                "close": plain(24),
                "clear_on_close": boolean,
                "notify_on_close": boolean,
            },
            [_submit_with_inputs],
        ),
        "home": shape(
            {
                "type": type_field,
                "blocks": items(typed({**_EVERYWHERE, **_IN_HOMES}), 1, BLOCKS_PER_VIEW),
            },
            _VIEW_COMMON,
        ),
    }
)
