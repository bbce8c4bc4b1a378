"""What Slack refuses in a message or a view, in its own words."""

import json
from typing import Any

import pytest

from playground import check_message, check_view
from playground.errors import SlackError
from playground.limits import check_metadata
from tests.playground.builders import (
    actions,
    button,
    input_block,
    modal,
    mrkdwn,
    option,
    plain,
    preformatted,
    section,
    text_input,
)


def select(**fields: Any) -> dict[str, Any]:
    return {"type": "static_select", "action_id": "menu", "options": [option("1")], **fields}


def number(**fields: Any) -> dict[str, Any]:
    return {"type": "number_input", "action_id": "number", "is_decimal_allowed": False, **fields}


def confirm(**fields: Any) -> dict[str, Any]:
    return {
        "title": plain("Sure?"),
        "text": plain("x"),
        "confirm": plain("Yes"),
        "deny": plain("No"),
        **fields,
    }


def said_of_blocks(*blocks: Any) -> str:
    with pytest.raises(SlackError) as refused:
        check_message("text", list(blocks))
    assert refused.value.code == "invalid_blocks"
    errors: list[str] = refused.value.details["errors"]
    assert refused.value.details["response_metadata"]["messages"] == [f"[ERROR] {error}" for error in errors]
    return "\n".join(errors)


def said_of_view(view: Any) -> str:
    with pytest.raises(SlackError) as refused:
        check_view(view)
    assert refused.value.code == "invalid_arguments"
    return "\n".join(refused.value.details["response_metadata"]["messages"])


REFUSED_IN_MESSAGES = {
    "section without text": ({"type": "section"}, "missing required field: text or fields [json-pointer:/blocks/0]"),
    "field text": ({"type": "section", "fields": [plain("x" * 2001)]}, "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]"),
    "eleven fields": ({"type": "section", "fields": [plain("x")] * 11}, "no more than 10 items allowed"),
    "header text": ({"type": "header", "text": plain("x" * 151)}, "must be less than 151 characters"),
    "mrkdwn in a header": ({"type": "header", "text": mrkdwn("x")}, "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]"),
    "header level": ({"type": "header", "text": plain("x"), "level": 5}, "must be less than or equal to 4"),
    "no elements": ({"type": "actions", "elements": []}, "no fewer than 1 items allowed"),
    "26 elements": (actions(*[button(f"a{n}") for n in range(26)]), "no more than 25 items allowed"),
    "11 context items": ({"type": "context", "elements": [plain("x")] * 11}, "no more than 10 items allowed"),
    "unknown block": ({"type": "data_table"}, "unsupported type: data_table [json-pointer:/blocks/0/type]"),
    "no type": ({"text": plain("x")}, "missing required field: type [json-pointer:/blocks/0]"),
    "unknown field": ({"type": "divider", "colour": "red"}, "invalid additional property: colour [json-pointer:/blocks/0]"),
    "unknown element": (actions({"type": "slider", "action_id": "a"}), "unsupported type: slider"),
    "input in a message": (input_block(), "unsupported type: input [json-pointer:/blocks/0/type]"),
    "text input in actions": (actions(text_input()), "unsupported type: plain_text_input"),
    "datetimepicker in a section": (section(accessory={"type": "datetimepicker", "action_id": "when"}), "unsupported type: datetimepicker"),
    "button text": (actions(button(text=plain("x" * 76))), "must be less than 76 characters"),
    "mrkdwn on a button": (actions(button(text=mrkdwn("x"))), "unsupported type: mrkdwn"),
    "button value": (actions(button(value="x" * 2001)), "must be less than 2001 characters"),
    "button url": (actions(button(url="x" * 3001)), "must be less than 3001 characters"),
    "button style": (actions(button(style="default")), "must be one of: primary, danger"),
    "accessibility label": (actions(button(accessibility_label="x" * 76)), "must be less than 76 characters"),
    "button without id": (actions({"type": "button", "text": plain("x")}), "missing required field: action_id"),
    "action_id length": (actions(button("x" * 256)), "must be less than 256 characters"),
    "block_id length": (section(block_id="x" * 256), "must be less than 256 characters"),
    "confirm title": (actions(button(confirm=confirm(title=plain("x" * 101)))), "must be less than 101 characters"),
    "confirm text": (actions(button(confirm=confirm(text=plain("x" * 301)))), "must be less than 301 characters"),
    "confirm label": (actions(button(confirm=confirm(deny=plain("x" * 31)))), "must be less than 31 characters"),
    "101 options": (actions(select(options=[option(str(n)) for n in range(101)])), "no more than 100 items allowed"),
    "options and groups": (actions(select(option_groups=[{"label": plain("x"), "options": [option("1")]}])), "must provide exactly one of: options, option_groups"),
    "option text": (actions(select(options=[option("1", "x" * 76)])), "must be less than 76 characters"),
    "option value": (actions(select(options=[option("x" * 151)])), "must be less than 151 characters"),
    "mrkdwn option in a menu": (actions(select(options=[{"text": mrkdwn("x"), "value": "1"}])), "unsupported type: mrkdwn"),
    "initial option": (actions(select(initial_option=option("2"))), "initial option must exactly match one of the options"),
    "placeholder": (actions(select(placeholder=plain("x" * 151))), "must be less than 151 characters"),
    "overflow": (actions({"type": "overflow", "action_id": "more", "options": [option(str(n)) for n in range(6)]}), "no more than 5 items allowed"),
    "checkboxes": (actions({"type": "checkboxes", "action_id": "c", "options": [option(str(n)) for n in range(11)]}), "no more than 10 items allowed"),
    "radio buttons": (actions({"type": "radio_buttons", "action_id": "r", "options": [option(str(n)) for n in range(11)]}), "no more than 10 items allowed"),
    "datepicker": (actions({"type": "datepicker", "action_id": "d", "initial_date": "1.2.2026"}), "must provide a date as YYYY-MM-DD"),
    "timepicker": (actions({"type": "timepicker", "action_id": "t", "initial_time": "25:00"}), "must provide a time as HH:mm"),
    "datetimepicker": (actions({"type": "datetimepicker", "action_id": "t", "initial_date_time": 17}), "must be greater than or equal to 1000000000"),
    "image without alt text": ({"type": "image", "image_url": "https://x"}, "missing required field: alt_text"),
    "image without source": ({"type": "image", "alt_text": "x"}, "must provide exactly one of: image_url, slack_file"),
    "empty rich text leaf": (preformatted(""), "must be more than 0 characters"),
    "user in preformatted": ({"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "user", "user_id": "U1"}]}]}, "unsupported type: user"),
    "markdown": ({"type": "markdown", "text": "x" * 12_001}, "must be less than 12001 characters"),
    "table rows": ({"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * 101}, "no more than 100 items allowed"),
    "table cells": ({"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 21]}, "no more than 20 items allowed"),
    "container": ({"type": "container", "title": plain("x"), "child_blocks": [{"type": "divider"}] * 11}, "no more than 10 items allowed"),
    "alert in a message": ({"type": "alert", "text": plain("x")}, "unsupported type: alert"),
    "half a surrogate pair": (section("\ud83d"), "must be valid UTF-8 [json-pointer:/blocks/0/text/text]"),
    "a number for text": (section(accessory=button(value=7)), "must provide a string"),
    "a word for an object": ({"type": "header", "text": "x"}, "must provide an object"),
}  # fmt: skip


def test_all_that_is_wrong_with_a_message_is_said():
    """As Slack lists it; two elements cannot share an id, nor two blocks, and there are fifty blocks at most."""
    check_message("x" * 40_000, [{"type": "divider"}] * 50)
    said = said_of_blocks(section("x" * 3001), section(""))

    assert "must be less than 3001 characters [json-pointer:/blocks/0/text/text]" in said
    assert "must be more than 0 characters [json-pointer:/blocks/1/text/text]" in said
    assert "no more than 50 items allowed [json-pointer:/blocks]" in said_of_blocks(
        *[{"type": "divider"}] * 51
    )
    assert "action_id" in said_of_blocks(actions(button("a"), button("a")))
    assert "block_id" in said_of_blocks(section(block_id="b"), section(block_id="b"))
    with pytest.raises(SlackError, match="msg_too_long"):
        check_message("x" * 40_001, None)


@pytest.mark.parametrize(("block", "sentence"), REFUSED_IN_MESSAGES.values(), ids=REFUSED_IN_MESSAGES)
def test_block_over_a_limit_is_refused_with_its_place(block, sentence):
    """Every limit of blocks and elements is Slack's `invalid_blocks`, with what and where."""
    assert sentence in said_of_blocks(block)


def test_text_of_all_blocks_together_is_limited():
    """Each block may be fine and the message too long: 12,000 characters in all."""
    check_message("text", [preformatted("x" * 2_000)] * 6)

    with pytest.raises(SlackError, match="msg_blocks_too_long"):
        check_message("text", [preformatted("x" * 2_000)] * 6 + [section("y")])


@pytest.mark.parametrize(("character", "most"), [("<", 3_000), (">", 3_000), ("&", 2_400)])
def test_escaped_characters_count_as_stored(character, most):
    """Slack stores `<` as four characters and `&` as five, and counts what it stores."""
    check_message("text", [preformatted(character * most)])

    with pytest.raises(SlackError, match="msg_blocks_too_long"):
        check_message("text", [preformatted(character * (most + 1))])


@pytest.mark.parametrize("text", ["", "  ", None])
def test_message_of_nothing_is_refused(text):
    """Without blocks there must be text."""
    with pytest.raises(SlackError, match="no_text"):
        check_message(text, [])


REFUSED_IN_VIEWS = {
    "title": (modal(title=plain("x" * 25)), "must be less than 25 characters [json-pointer:/view/title/text]"),
    "mrkdwn title": (modal(title=mrkdwn("x")), "unsupported type: mrkdwn [json-pointer:/view/title/type]"),
    "no title": ({"type": "modal", "blocks": [section()]}, "missing required field: title [json-pointer:/view]"),
    "submit": (modal(input_block(), submit=plain("x" * 25)), "must be less than 25 characters"),
    "close": (modal(close=plain("x" * 25)), "must be less than 25 characters"),
    "private_metadata": (modal(private_metadata="x" * 3001), "must be less than 3001 characters"),
    "callback_id": (modal(callback_id="x" * 256), "must be less than 256 characters"),
    "external_id": (modal(external_id="x" * 256), "must be less than 256 characters"),
    "101 blocks": (modal(*[{"type": "divider"}] * 101), "no more than 100 items allowed [json-pointer:/view/blocks]"),
    "no blocks": (modal() | {"blocks": []}, "no fewer than 1 items allowed"),
    "unknown field": (modal(color="red"), "invalid additional property: color"),
    "markdown in a modal": (modal({"type": "markdown", "text": "x"}), "unsupported type: markdown"),
    "label": (modal(input_block(label=plain("x" * 2001))), "must be less than 2001 characters"),
    "mrkdwn label": (modal(input_block(label=mrkdwn("x"))), "unsupported type: mrkdwn"),
    "hint": (modal(input_block(hint=plain("x" * 2001))), "must be less than 2001 characters"),
    "button in an input": (modal(input_block(element=button())), "unsupported type: button"),
    "max_length": (modal(input_block(element=text_input(max_length=3001))), "must be less than or equal to 3000"),
    "initial value over max_length": (
        modal(input_block(element=text_input(max_length=3, initial_value="four"))),
        "must be less than 4 characters [json-pointer:/view/blocks/0/element/initial_value]",
    ),
    "empty initial value": (modal(input_block(element=text_input(initial_value=""))), "must be more than 0 characters"),
    "number without is_decimal_allowed": (modal(input_block(element={"type": "number_input", "action_id": "n"})), "missing required field: is_decimal_allowed"),
    "a number as a number": (modal(input_block(element=number(initial_value=3))), "must provide a number as a string"),
    "a fraction where none is allowed": (modal(input_block(element=number(initial_value="1.5"))), "must be a whole number"),
    "number out of bounds": (modal(input_block(element=number(initial_value="5", max_value="3"))), "must be between min_value and max_value"),
    "files": (modal(input_block(element={"type": "file_input", "action_id": "f", "max_files": 11})), "must be less than or equal to 10"),
    "dispatched files": (modal(input_block(element={"type": "file_input", "action_id": "f"}, dispatch_action=True)), "must be false for file_input"),
    "shortest over longest": (modal(input_block(element=text_input(min_length=6, max_length=5))), "must be less than or equal to max_length"),
    "two focused": (
        modal(
            input_block("a", text_input("a", focus_on_load=True)),
            input_block("b", text_input("b", focus_on_load=True)),
        ),
        "only one element may have focus_on_load",
    ),
    "unknown kind": ({"type": "workflow_step", "blocks": [section()]}, "unsupported type: workflow_step"),
    "no object": (None, "must provide an object [json-pointer:/view]"),
    "file input in a Home tab": ({"type": "home", "blocks": [input_block(element={"type": "file_input", "action_id": "f"})]}, "unsupported type: file_input"),
    "home with submit": ({"type": "home", "blocks": [section()], "submit": plain("x")}, "invalid additional property: submit"),
}  # fmt: skip


@pytest.mark.parametrize(("view", "sentence"), REFUSED_IN_VIEWS.values(), ids=REFUSED_IN_VIEWS)
def test_view_over_a_limit_is_refused_with_its_place(view, sentence):
    """Every limit of views is Slack's `invalid_arguments`, with what and where."""
    assert sentence in said_of_view(view)


def test_inputs_need_a_submit_button():
    view = modal(input_block())
    del view["submit"]

    assert "missing required field: submit [json-pointer:/view]" in said_of_view(view)


@pytest.mark.parametrize(("size", "code"), [(250_000, "invalid_arguments"), (250_001, "view_too_large")])
def test_the_size_of_a_view_is_measured_in_bytes(size, code):
    """250,000 are looked at, one more is not."""
    view = modal(private_metadata="")
    view["private_metadata"] = "x" * (size - len(json.dumps(view)))

    with pytest.raises(SlackError, match=code):
        check_view(view)


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"event_type": "card"}, "invalid_metadata_format"),
        ({"event_type": "", "event_payload": {}}, "invalid_metadata_format"),
        ({"event_type": "card", "event_payload": {"deep": {"er": {}}}}, "invalid_metadata_schema"),
        ({"event_type": "card", "event_payload": {"list": ["text"]}}, "invalid_metadata_schema"),
        ({"event_type": "card", "event_payload": {"id": "x" * 1_100}}, "metadata_too_large"),
    ],
)
def test_metadata_is_flat_and_small(metadata, code):
    """Slack takes an event type and a flat payload; it names no size, so a small one is kept to."""
    with pytest.raises(SlackError, match=code):
        check_metadata(metadata)
