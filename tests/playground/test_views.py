"""Modals and Home tabs, filled in by people and answered by a real Bolt app."""

import asyncio

import pytest
from slack_sdk.errors import SlackApiError

from playground import Timing
from playground.errors import ControlError
from tests.playground.builders import actions, button, input_block, modal, option, plain, section, text_input

CHANNEL = "C0APPROVALS"


@pytest.fixture
async def opened(slack, app, over_sockets, control):
    """Opens any view for Dana."""
    wanted = []

    @app.action("open")
    async def open_view(ack, body, client):
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=wanted.pop())

    posted = await slack.chat_postMessage(channel=CHANNEL, text="card", blocks=[actions(button("open"))])

    async def open_for_dana(view):
        wanted.append(view)
        return (await control.click("U0DANA", CHANNEL, posted["ts"], "open"))["views"][-1]

    return open_for_dana


@pytest.fixture
def submitted(app):
    """What the app's listener got, and what it answers."""
    seen = {"views": [], "answer": {}}

    @app.view("form")
    async def submit(ack, view):
        seen["views"].append(view)
        if seen["answer"] is None:
            await asyncio.sleep(0.5)
        await ack(**seen["answer"] or {})

    return seen


async def test_untouched_inputs_are_submitted_with_their_initial_value(opened, submitted, control):
    """Every input is there, also those that nobody touched; an empty one is `null`."""
    menu = {
        "type": "static_select",
        "action_id": "menu",
        "options": [option("1")],
        "initial_option": option("1"),
    }
    boxes = {"type": "checkboxes", "action_id": "boxes", "options": [option("1"), option("2")]}
    number = {
        "type": "number_input",
        "action_id": "number",
        "is_decimal_allowed": True,
        "initial_value": "1.50",
    }
    view = await opened(
        modal(
            input_block("kept", text_input("typed", initial_value="  as it was\r\n")),
            input_block("empty", text_input("nothing"), optional=True),
            input_block("menu", menu),
            input_block("boxes", boxes, optional=True),
            input_block("number", number),
            input_block("cleared", text_input("other", initial_value="x"), optional=True),
        )
    )

    answer = await control.submit("U0DANA", view["id"], {"boxes": ["2"], "cleared": None})

    values = submitted["views"][0]["state"]["values"]
    assert answer["result"] == "closed"
    assert values["cleared"]["other"]["value"] is None
    assert values["kept"]["typed"] == {"type": "plain_text_input", "value": "  as it was\r\n"}
    assert values["empty"]["nothing"] == {"type": "plain_text_input", "value": None}
    assert values["menu"]["menu"]["selected_option"]["value"] == "1"
    assert [box["value"] for box in values["boxes"]["boxes"]["selected_options"]] == ["2"]
    assert values["number"]["number"] == {"type": "number_input", "value": "1.50"}


async def test_text_can_come_back_trimmed(opened, submitted, control):
    """Some windows change the ends of texts and lines, also where nobody typed."""
    await control.delivery(trim=True)
    view = await opened(modal(input_block("words", text_input("typed", initial_value="  a\r\nb \n"))))

    await control.submit("U0DANA", view["id"])

    assert submitted["views"][0]["state"]["values"]["words"]["typed"]["value"] == "a\nb"


@pytest.mark.parametrize(
    ("element", "value", "mistake"),
    [
        (text_input(), None, "Please complete this required field."),
        (text_input(max_length=3), "four", "Please shorten this to 3 characters or fewer."),
        (text_input(min_length=3), "ab", "Please lengthen this to 3 characters or more."),
        ({"type": "number_input", "action_id": "n", "is_decimal_allowed": False}, "1.5", "Please enter a whole number."),
        ({"type": "number_input", "action_id": "n", "is_decimal_allowed": True}, "ten", "Please enter a number."),
        ({"type": "number_input", "action_id": "n", "is_decimal_allowed": False, "min_value": "2"}, "1", "Please enter a number of 2 or more."),
        ({"type": "number_input", "action_id": "n", "is_decimal_allowed": False, "max_value": "2"}, "3", "Please enter a number of 2 or less."),
        ({"type": "email_text_input", "action_id": "e"}, "dana", "Please enter a valid email address."),
        ({"type": "url_text_input", "action_id": "u"}, "example", "Please enter a valid URL."),
    ],
)  # fmt: skip
async def test_slacks_own_checks_come_before_the_app(opened, submitted, control, element, value, mistake):
    view = await opened(modal(input_block("field", element)))

    answer = await control.submit("U0DANA", view["id"], {"field": value})

    assert (answer["result"], answer["errors"]) == ("invalid", {"field": mistake})
    assert submitted["views"] == []
    assert answer["views"][-1]["id"] == view["id"]


@pytest.mark.parametrize(
    "acknowledgement",
    [
        None,
        {"response_action": "errors", "errors": {"about": "not an input"}},
        {"response_action": "update", "view": modal(title=plain("x" * 25))},
        {"response_action": "vanish"},
    ],
)
@pytest.mark.parametrize("timing", [Timing(acknowledge=0.3)])
async def test_answer_that_slack_would_not_take_fails_visibly(opened, submitted, control, acknowledgement):
    """Errors belong to `input` blocks, views must be valid, actions known; and there has to be one in time.

    The form stays, and nothing is sent again.
    """
    submitted["answer"] = acknowledgement
    view = await opened(modal(section(block_id="about"), input_block()))

    answer = await control.submit("U0DANA", view["id"], {"words": "x"})

    assert answer["result"] == "failed"
    assert answer["ack"]["ok"] is False
    assert [each["id"] for each in answer["views"]] == [view["id"]]
    assert len(await control.deliveries("view_submission")) == 1


async def test_stack_holds_three_views(opened, app, control):
    """One opened and two pushed; a fourth is refused."""
    errors = []

    @app.action("more")
    async def more(ack, body, client):
        await ack()
        try:
            await client.views_push(trigger_id=body["trigger_id"], view=modal(actions(button("more"))))
        except SlackApiError as error:
            errors.append(error.response["error"])

    view = await opened(modal(actions(button("more"))))
    for _ in range(3):
        view = (await control.click_view("U0DANA", view["id"], "more"))["views"][-1]

    assert len(await control.views("U0DANA")) == 3
    assert errors == ["push_limit_reached"]


async def test_what_slack_refuses_about_a_view_is_refused(opened, app, slack, control):
    """A lost update, a closed view, a push from a message, another person's form, an input that is not there."""
    errors = []

    @app.action("push")
    async def push(ack, body, client):
        await ack()
        try:
            await client.views_push(trigger_id=body["trigger_id"], view=modal())
        except SlackApiError as error:
            errors.append(error.response["error"])

    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions(button("push"))])
    await control.click("U0DANA", CHANNEL, posted["ts"], "push")
    assert errors == ["invalid_trigger_id"]

    view = await opened(modal(input_block()))
    with pytest.raises(ControlError, match="U0ERIK has no open view"):
        await control.submit("U0ERIK", view["id"], {"words": "x"})
    with pytest.raises(ControlError, match="There is no input 'word' in the view; it has words"):
        await control.submit("U0DANA", view["id"], {"word": "x"})
    await slack.views_update(view_id=view["id"], hash=view["hash"], view=modal(title=plain("Second")))
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await slack.views_update(view_id=view["id"], hash=view["hash"], view=modal(title=plain("Third")))
    await control.close_view("U0DANA", view["id"])
    with pytest.raises(SlackApiError, match="not_found"):
        await slack.views_update(view_id=view["id"], view=modal())


async def test_update_keeps_what_was_typed_where_the_input_stays(opened, app, slack, control):
    """Same block and element: the text stays. Another id: it starts anew. A click in it carries what was typed so far."""

    @app.action("press")
    async def press(ack):
        await ack()

    form = modal(input_block("kept"), input_block("gone"), actions(button("press")))
    view = await opened(form)
    await control.click_view("U0DANA", view["id"], "press", values={"kept": "typed", "gone": "typed"})

    payload = (await control.deliveries("block_actions"))[-1]["payload"]
    assert payload["container"] == {"type": "view", "view_id": view["id"]}
    assert payload["view"]["state"]["values"]["kept"]["kept:typed"]["value"] == "typed"
    assert not {"channel", "response_url"} & {*payload}

    await slack.views_update(view_id=view["id"], view=modal(input_block("kept"), input_block("new")))

    [shown] = await control.views("U0DANA")
    assert shown["state"]["values"]["kept"]["kept:typed"]["value"] == "typed"
    assert shown["state"]["values"]["new"]["new:typed"]["value"] is None
