"""The page draws all that the stand-in takes: every block, element and piece of text."""

import itertools

import pytest
from playwright.async_api import expect

from playground.limits import message_problems, view_problems
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
)  # fmt: skip
from tests.support.browser import CHROMIUM, browsing
from tests.support.lanes import require

CHANNEL = "C0APPROVALS"
_TEXT = {"type": "text", "text": "words"}
_SECTION = {"type": "rich_text_section", "elements": [_TEXT]}
_CHOICES = {"options": [option("1"), option("2", "Two")]}
_ROWS = [[{"type": "raw_text", "text": "amount"}], [{"type": "raw_number", "value": 64.95, "text": "64.95"}]]


def element(type, **fields):
    return {"type": type, "action_id": type, **fields}


EXAMPLES = {
    found["type"]: found
    for found in (
        section(), actions(), button(), plain("plain"), mrkdwn("*mrkdwn*"), preformatted("rich"), input_block(),
        {"type": "header", "text": plain("Title")},
        {"type": "divider"},
        {"type": "context", "elements": [plain("small")]},
        {"type": "image", "image_url": "https://example.com/i.png", "alt_text": "A receipt"},
        {"type": "markdown", "text": "# Title"},
        {"type": "table", "rows": _ROWS},
        {"type": "alert", "text": plain("Look twice"), "level": "warning"},
        {"type": "container", "title": plain("Group"), "child_blocks": [section()], "is_collapsible": True},
        *_ROWS[0], *_ROWS[1],
        _TEXT, _SECTION,
        {"type": "rich_text_quote", "elements": [_TEXT]},
        {"type": "rich_text_preformatted", "elements": [_TEXT]},
        {"type": "rich_text_list", "style": "bullet", "elements": [_SECTION]},
        {"type": "link", "url": "https://example.com", "text": "a link"},
        {"type": "emoji", "name": "warning"},
        {"type": "user", "user_id": "U0DANA"},
        {"type": "usergroup", "usergroup_id": "S0OPS"},
        {"type": "channel", "channel_id": CHANNEL},
        {"type": "broadcast", "range": "here"},
        {"type": "date", "timestamp": 1_700_000_000, "format": "{date}", "url": "https://example.com"},
        {"type": "color", "value": "#17624F"},
        element("overflow", **_CHOICES),
        element("static_select", **_CHOICES),
        element("multi_static_select", **_CHOICES),
        element("checkboxes", options=[option(str(number)) for number in range(10)]),
        element("radio_buttons", **_CHOICES),
        *(
            element(type)
            for type in (
                "users_select", "multi_users_select", "channels_select", "conversations_select", "datepicker",
                "timepicker", "datetimepicker", "plain_text_input", "email_text_input", "url_text_input", "file_input",
            )
        ),
        element("number_input", is_decimal_allowed=True),
    )
}  # fmt: skip
"""One of each type."""


def rich(*elements):
    return {"type": "rich_text", "elements": list(elements)}


IN_MESSAGES = {
    "block": lambda part: part,
    "accessory": lambda part: section(accessory=part),
    "action": actions,
    "context": lambda part: {"type": "context", "elements": [part]},
    "child": lambda part: {"type": "container", "title": plain("Group"), "child_blocks": [part]},
    "cell": lambda part: {"type": "table", "rows": [[part]]},
    "rich text": rich,
    "leaf": lambda part: rich({"type": "rich_text_section", "elements": [part]}),
    "quoted": lambda part: rich({"type": "rich_text_quote", "elements": [part]}),
    "preformatted": lambda part: rich({"type": "rich_text_preformatted", "elements": [part]}),
    "listed": lambda part: rich({"type": "rich_text_list", "style": "ordered", "elements": [part]}),
}
IN_VIEWS = {"block": lambda part: part, "input": lambda part: input_block(element=part)}


def types(problems):
    """What may stand in a place where something was that nobody knows."""
    [found] = [problem for problem in problems if problem.code == "unsupported_type"]
    return found.constraint


def filled(places, types_in):
    """Fill each place with one of each type that may stand there. No two have the same ids."""
    numbers = itertools.count()

    def example(type):
        found = EXAMPLES[type]
        ids = {name: f"{name}-{next(numbers)}" for name in ("action_id", "block_id") if name in found}
        return {**found, **ids}

    for name, place in places.items():
        for type in types_in(place):
            block = place(example(type))
            yield name, type, {**block, "block_id": f"block-{next(numbers)}"}


@pytest.fixture(autouse=True)
def _browser():
    require("Chromium", CHROMIUM, "there is no chromium on the PATH")


async def test_the_page_draws_all_that_a_message_can_have(playground, slack):
    """Nothing is said to be missing on the page, and nothing of it is left out."""
    found = [*filled(IN_MESSAGES, lambda place: types(message_problems([place({"type": "?"})])[0]))]
    for name, type, block in found:
        await slack.chat_postMessage(channel=CHANNEL, text=f"{type} as {name}", blocks=[block])

    async with browsing(playground.url) as screen:
        blocks = screen.page.locator("[data-testid=timeline] [data-ts] .content > .block")
        await expect(blocks).to_have_count(len(found))
        empty = await blocks.evaluate_all(
            "blocks => blocks.flatMap((block, place) => block.querySelector('hr, .menu, input, select')"
            " || block.innerText.trim() ? [] : [place])"
        )

        assert [found[place][:2] for place in empty] == []
        await expect(screen.page.locator("#complaint")).to_be_empty()
        await expect(screen.page.locator(".unsupported")).to_have_count(0)
        assert screen.complaints == []


async def test_the_page_draws_all_that_a_form_or_a_home_tab_can_have(playground, slack, app, over_sockets):
    """Each input has its label, and can be reached."""

    @app.action("open")
    async def open_view(ack, body, client):
        await ack()
        blocks = filled(IN_VIEWS, lambda place: types(view_problems(modal(place({"type": "?"})))))
        form = modal(*(block for *_, block in blocks), submit=plain("Save"))
        await client.views_open(trigger_id=body["trigger_id"], view=form)

    def home(*blocks):
        return {"type": "home", "blocks": [*blocks, actions(button("open"))]}

    blocks = filled(
        {"block": IN_VIEWS["block"]}, lambda place: types(view_problems(home(place({"type": "?"}))))
    )
    await slack.views_publish(user_id="U0DANA", view=home(*(block for *_, block in blocks)))

    async with browsing(f"{playground.url}/?channel=home") as screen:
        await screen.page.locator('[data-action-id="open"]').click()
        await expect(screen.modal).to_be_visible()

        await expect(screen.page.locator(".unsupported")).to_have_count(0)
        for field in await screen.modal.locator(".control:visible, .choices:visible").all():
            await expect(field).to_have_accessible_name("Label")
            assert await field.evaluate("field => field.scrollHeight - field.clientHeight") <= 0
        assert screen.complaints == []


async def test_a_reply_above_does_not_move_what_somebody_reads_at_the_end(playground, slack):
    """The card below stays where it is: nobody presses something else than they meant to."""
    first, *_ = [
        await slack.chat_postMessage(channel=CHANNEL, text=f"message {number}") for number in range(20)
    ]
    async with browsing(playground.url, width=400, height=500) as screen:
        read, reply = (screen.page.get_by_text(text, exact=True) for text in ("message 19", "a reply"))
        await expect(read).to_be_in_viewport()
        await slack.chat_postMessage(channel=CHANNEL, text="a reply", thread_ts=first["ts"])

        await expect(reply).to_be_attached()
        await expect(read).to_be_in_viewport()
