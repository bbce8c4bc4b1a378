"""What Slack would refuse is refused before it is sent, with the place."""

import pytest

from bot.rendering.blocks import actions, button, context, header, literal, plain, section
from bot.rendering.limits import SlackLimitError, check_message, check_view

INPUT = {
    "type": "input",
    "block_id": "i",
    "label": plain("Name"),
    "element": {"type": "plain_text_input", "action_id": "value"},
}


def a_view(*blocks, **fields):
    return {"type": "modal", "title": plain("Title"), "submit": plain("Go"), "blocks": list(blocks), **fields}


def an_element(**fields):
    return {**INPUT, "element": {"action_id": "value", **fields}}


def choice(type_, count):
    return an_element(type=type_, options=[{"text": plain("x"), "value": str(n)} for n in range(count)])


def rich(leaf):
    return {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [leaf]}]}


@pytest.mark.parametrize(
    ("pointer", "text", "blocks"),
    [
        ("/text", "x" * 4_001, [section("a", "x")]),
        ("/text", "", [section("a", "x")]),
        ("/blocks", "x", []),
        ("/blocks", "x", [section(str(n), "x") for n in range(51)]),
        ("/blocks", "x", [section("same", "x"), section("same", "x")]),
        ("/blocks", "x", [section(str(n), "x" * 2_500) for n in range(5)]),
        ("/blocks/0/text/text", "x", [header("a", "x" * 151)]),
        ("/blocks/0/text/text", "x", [section("a", "x" * 3_001)]),
        ("/blocks/0/text/text", "x", [section("a", "")]),
        ("/blocks/0/text/text", "x", [section("a", "😀" * 1_501)]),
        ("/blocks/0/text/type", "x", [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}]),
        ("/blocks/0/elements", "x", [{"type": "context", "elements": []}]),
        ("/blocks/0/elements/0/text", "x", [context("a", "")]),
        ("/blocks/0/elements/0/elements", "x", [literal("a", "")]),
        ("/blocks/0/elements/0/elements/0/type", "x", [rich({"type": "user", "user_id": "U1"})]),
        ("/blocks/0/elements", "x", [actions("a", [])]),
        ("/blocks", "x", [actions("a", [button("same", "x", "v"), button("same", "y", "v")])]),
        ("/blocks/0/elements/0/text/text", "x", [actions("a", [button("b", "x" * 76, "v")])]),
        ("/blocks/0/elements/0/style", "x", [actions("a", [button("b", "x", "v", style="loud")])]),
        ("/blocks/0/elements/0/value", "x", [actions("a", [button("b", "x", "v" * 2_001)])]),
        ("/blocks/0/type", "x", [{"type": "markdown", "text": "x"}]),
        ("/blocks/0", "x", [INPUT]),
    ],
)
def test_a_message_that_slack_refuses_is_refused_with_the_place(pointer, text, blocks):
    """The pointer is the one that Slack's own answer would carry."""
    with pytest.raises(SlackLimitError) as refused:
        check_message(text, blocks)
    assert refused.value.pointer == pointer


@pytest.mark.parametrize(
    ("pointer", "view"),
    [
        ("/title/text", a_view(INPUT, title=plain("x" * 25))),
        ("/submit/text", a_view(INPUT, submit=plain("x" * 25))),
        ("/private_metadata", a_view(INPUT, private_metadata="x" * 3_001)),
        ("/blocks", a_view(*[section(str(n), "x") for n in range(101)])),
        ("/", a_view(*[section(str(n), "é" * 2_900) for n in range(20)])),
        ("/submit", {"type": "modal", "title": plain("x"), "blocks": [INPUT]}),
        ("/blocks/0/label/text", a_view({**INPUT, "label": plain("x" * 2_001)})),
        ("/blocks/0/element/initial_value", a_view(an_element(type="plain_text_input", initial_value="x" * 3_001))),
        ("/blocks/0/element/initial_value", a_view(an_element(type="plain_text_input", initial_value=""))),
        ("/blocks/0/element/max_length", a_view(an_element(type="plain_text_input", max_length=3_001))),
        ("/blocks/0/element/options", a_view(choice("radio_buttons", 11))),
        ("/blocks/0/element/options", a_view(choice("static_select", 101))),
        ("/blocks/0/element/type", a_view(an_element(type="file_input"))),
    ],
)  # fmt: skip
def test_a_view_that_slack_refuses_is_refused_with_the_place(pointer, view):
    """Views have limits of their own."""
    with pytest.raises(SlackLimitError) as refused:
        check_view(view)
    assert refused.value.pointer == pointer


def test_an_initial_choice_must_be_offered():
    """Slack refuses to preselect what is not among the options."""
    block = choice("static_select", 2)
    block["element"]["initial_option"] = {"text": plain("y"), "value": "9"}

    with pytest.raises(SlackLimitError, match="one of the options"):
        check_view(a_view(block))


def test_what_slack_takes_passes():
    """An ordinary message and an ordinary view."""
    check_message("Approval needed", [header("a", "x"), section("b", "y"), literal("c", "z")])
    check_view(a_view(INPUT))
