"""Slack's elements: buttons, menus and inputs, and the objects inside them, with their limits."""

from collections.abc import Mapping

from playground.shapes import (
    Json,
    Rule,
    Walk,
    boolean,
    choice,
    exactly_one_of,
    integer,
    items,
    matching,
    shape,
    string,
    type_field,
    typed,
)


def plain(longest: int) -> Rule:
    """A `plain_text` object."""
    return _text(longest, {"plain_text": {"emoji": boolean}})


def text(longest: int) -> Rule:
    """A text object of either kind."""
    return _text(longest, {"plain_text": {"emoji": boolean}, "mrkdwn": {"verbatim": boolean}})


def _text(longest: int, kinds: Mapping[str, Mapping[str, Rule]]) -> Rule:
    return typed(
        {
            kind: shape({"type": type_field, "text": string(longest, counted=True)}, optional)
            for kind, optional in kinds.items()
        }
    )


def _action_id(walk: Walk, value: Json, pointer: str) -> None:
    string(255)(walk, value, pointer)
    if isinstance(value, str):
        if value in walk.action_ids:
            walk.refuse(pointer, f"`action_id` {value} already exists", "duplicate", value)
        walk.action_ids.add(value)


def _focus(walk: Walk, value: Json, pointer: str) -> None:
    boolean(walk, value, pointer)
    walk.focused += value is True
    if walk.focused > 1:
        walk.refuse(pointer, "only one element may have focus_on_load", "too_many", 1)


def _options_differ(walk: Walk, value: Json, pointer: str) -> None:
    values = [option["value"] for option in all_options(value)]
    if len(set(values)) != len(values):
        walk.refuse(pointer, "options must have different values", "duplicate")


def _initial_is_an_option(walk: Walk, value: Json, pointer: str) -> None:
    options = all_options(value)
    initial = value.get("initial_options", [value["initial_option"]] if "initial_option" in value else [])
    if any(option not in options for option in initial):
        walk.refuse(pointer, "initial option must exactly match one of the options", "not_allowed")


def _initial_fits(walk: Walk, value: Json, pointer: str) -> None:
    initial, longest = value.get("initial_value", ""), value.get("max_length", 3000)
    if len(initial) > longest:
        walk.refuse(
            f"{pointer}/initial_value", f"must be less than {longest + 1} characters", "too_long", longest
        )
    if value.get("min_length", 0) > longest:
        walk.refuse(f"{pointer}/min_length", "must be less than or equal to max_length", "too_large", longest)


def _numbers_agree(walk: Walk, value: Json, pointer: str) -> None:
    if not value["is_decimal_allowed"]:
        for name in ("initial_value", "min_value", "max_value"):
            if "." in value.get(name, ""):
                walk.refuse(f"{pointer}/{name}", "must be a whole number", "wrong_format")
    low, high = value.get("min_value"), value.get("max_value")
    if low is not None and high is not None and float(low) > float(high):
        walk.refuse(pointer, "min_value must not exceed max_value", "too_large", high)
    initial = value.get("initial_value")
    if initial is not None and (
        (low is not None and float(initial) < float(low))
        or (high is not None and float(initial) > float(high))
    ):
        walk.refuse(f"{pointer}/initial_value", "must be between min_value and max_value", "not_allowed")


def _selected_within_bounds(walk: Walk, value: Json, pointer: str) -> None:
    if len(value.get("initial_options", ())) > value.get("max_selected_items", 100):
        walk.refuse(f"{pointer}/initial_options", "more than max_selected_items", "too_many")


def all_options(element: Json) -> list[Json]:
    """The options of a menu, whether grouped or not."""
    grouped = [option for group in element.get("option_groups", ()) for option in group["options"]]
    return list(element.get("options", ())) + grouped


def _option(text_rule: Rule) -> Rule:
    return shape({"text": text_rule, "value": string(150)}, {"description": text_rule})


CONFIRM = shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": choice("primary", "danger")},
)
_OPTION = _option(plain(75))
_MARKED_OPTION = _option(text(75))
_OVERFLOW_OPTION = shape(
    {"text": plain(75), "value": string(150)}, {"description": plain(75), "url": string(3000)}
)
_GROUP = shape({"label": plain(75), "options": items(_OPTION, 1, 100)})
_DISPATCH = shape(
    {"trigger_actions_on": items(choice("on_enter_pressed", "on_character_entered"), 1, 2)},
)
_NUMBER = matching(r"-?\d+(\.\d+)?", "must provide a number as a string")
_ID = string(255)


def _input(
    optional: Mapping[str, Rule] | None = None, *checks: Rule, required: Mapping[str, Rule] | None = None
) -> Rule:
    common = {"focus_on_load": _focus, "placeholder": plain(150)}
    return shape(
        {"type": type_field, "action_id": _action_id, **(required or {})},
        {**common, **(optional or {})},
        checks,
    )


def _menu(optional: Mapping[str, Rule], *checks: Rule, required: Mapping[str, Rule] | None = None) -> Rule:
    return _input({"confirm": CONFIRM, **optional}, *checks, required=required)


def _static(optional: Mapping[str, Rule], *checks: Rule) -> Rule:
    options = {"options": items(_OPTION, 1, 100), "option_groups": items(_GROUP, 1, 100)}
    return _menu(
        {**options, **optional},
        exactly_one_of("options", "option_groups"),
        _options_differ,
        _initial_is_an_option,
        *checks,
    )


def _typed_text(optional: Mapping[str, Rule] | None = None, *checks: Rule) -> Rule:
    initial = {"initial_value": string(3000, counted=True), "dispatch_action_config": _DISPATCH}
    return _input({**initial, **(optional or {})}, *checks)


def _picked(option: Rule, initial: Mapping[str, Rule]) -> Rule:
    checks = (_options_differ, _initial_is_an_option)
    required = {"type": type_field, "action_id": _action_id, "options": items(option, 1, 10)}
    return shape(required, {"confirm": CONFIRM, "focus_on_load": _focus, **initial}, checks)


IMAGE_FIELDS: Mapping[str, Rule] = {
    "image_url": string(3000),
    "slack_file": shape(optional={"id": _ID, "url": string(3000)}, checks=[exactly_one_of("id", "url")]),
}
IMAGE = shape(
    {"type": type_field, "alt_text": string(2000, counted=True)},
    IMAGE_FIELDS,
    [exactly_one_of("image_url", "slack_file")],
)
BUTTON = shape(
    {"type": type_field, "action_id": _action_id, "text": plain(75)},
    {
        "value": string(2000),
        "url": string(3000),
        "style": choice("primary", "danger"),
        "accessibility_label": string(75),
        "confirm": CONFIRM,
    },
)
OVERFLOW = shape(
    {"type": type_field, "action_id": _action_id, "options": items(_OVERFLOW_OPTION, 1, 5)},
    {"confirm": CONFIRM},
    [_options_differ],
)
_SEVERAL = {"max_selected_items": integer(1, 100)}
_DATE = matching(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", "must provide a date as YYYY-MM-DD")
_TIME = matching(r"([01]\d|2[0-3]):[0-5]\d", "must provide a time as HH:mm")

MENUS: Mapping[str, Rule] = {
    "static_select": _static({"initial_option": _OPTION}),
    "multi_static_select": _static(
        {"initial_options": items(_OPTION, 1, 100), **_SEVERAL}, _selected_within_bounds
    ),
    "users_select": _menu({"initial_user": _ID}),
    "multi_users_select": _menu({"initial_users": items(_ID, 1, 100), **_SEVERAL}),
    "channels_select": _menu({"initial_channel": _ID}),
    "conversations_select": _menu({"initial_conversation": _ID, "default_to_current_conversation": boolean}),
    "checkboxes": _picked(_MARKED_OPTION, {"initial_options": items(_MARKED_OPTION, 1, 10)}),
    "radio_buttons": _picked(_MARKED_OPTION, {"initial_option": _MARKED_OPTION}),
    "datepicker": _menu({"initial_date": _DATE}),
    "timepicker": _menu({"initial_time": _TIME, "timezone": string(100)}),
}
DATETIME: Mapping[str, Rule] = {
    "datetimepicker": shape(
        {"type": type_field, "action_id": _action_id},
        {
            "initial_date_time": integer(1_000_000_000, 9_999_999_999),
            "confirm": CONFIRM,
            "focus_on_load": _focus,
        },
    )
}
TYPED: Mapping[str, Rule] = {
    "plain_text_input": _typed_text(
        {"multiline": boolean, "min_length": integer(0, 3000), "max_length": integer(1, 3000)}, _initial_fits
    ),
    "number_input": _input(
        {
            "initial_value": _NUMBER,
            "min_value": _NUMBER,
            "max_value": _NUMBER,
            "dispatch_action_config": _DISPATCH,
        },
        _numbers_agree,
        required={"is_decimal_allowed": boolean},
    ),
    "email_text_input": _typed_text(),
    "url_text_input": _typed_text(),
}
FILE_INPUT: Mapping[str, Rule] = {
    "file_input": shape(
        {"type": type_field, "action_id": _action_id},
        {"filetypes": items(string(20), 1, 100), "max_files": integer(1, 10)},
    )
}

IN_SECTION = typed({"button": BUTTON, "overflow": OVERFLOW, "image": IMAGE, **MENUS})
IN_ACTIONS = typed({"button": BUTTON, "overflow": OVERFLOW, **MENUS, **DATETIME})
IN_CONTEXT = typed({"image": IMAGE, **dict.fromkeys(("mrkdwn", "plain_text"), text(3000))})
IN_INPUT: Mapping[str, Rule] = {**MENUS, **DATETIME, **TYPED}
IN_INPUT_OF_MODALS: Mapping[str, Rule] = {**IN_INPUT, **FILE_INPUT}
