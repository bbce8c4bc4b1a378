"""Buttons in the menu of an action: each does what its words say, and no more."""

import asyncio

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.support.builders import an_action, review
from tests.support.people import words


@pytest.fixture(autouse=True)
async def _bot(start_bot):
    await start_bot()


@pytest.fixture
def app(playground):
    """Slack's own client with the bot's token: it puts buttons on a card that this version would not put there."""
    return AsyncWebClient(playground.bot_token, base_url=playground.api_url)


async def with_element(app, card, element):
    """Edit a card so that it has this element in place of its buttons."""
    frame = [block for block in card["blocks"] if block["type"] != "actions"]
    blocks = [*frame, {"type": "actions", "block_id": "a:0:buttons", "elements": [element]}]
    await app.chat_update(channel=card["channel"], ts=card["ts"], text="edited", blocks=blocks)


def text(words):
    return {"type": "plain_text", "text": words}


async def test_a_choice_of_the_menu_opens_its_form_and_decides_nothing_by_itself(client, dana):
    """The menu asks no question, so every choice leads to a form first."""
    reviewing = review(client, an_action(allow_always=True))
    card = await dana.card()

    form = await dana.opened(card, "for_run:0")
    await dana.close()
    assert "without asking" in words(form["blocks"])
    await dana.fill(await dana.opened(card, "respond:0"), Your_answer="I did it by hand.")

    assert (await reviewing).decisions[0].message == "I did it by hand."


@pytest.mark.parametrize(
    ("verb", "calls"), [("approve:0", 1), ("approve_all:0", 2), ("unknown:0", 1), ("", 1)]
)
async def test_a_choice_that_would_decide_at_once_decides_nothing(client, dana, app, verb, calls):
    """No version of the bot draws it, so somebody else did, without the question that belongs to it."""
    reviewing = review(client, *(an_action(f"tool_{number}") for number in range(calls)))
    card = await dana.card()
    value = next(block for block in card["blocks"] if block["type"] == "actions")["elements"][0]["value"]
    forged = {"text": text("Show more"), "value": f"{verb} {value}"}
    await with_element(app, card, {"type": "overflow", "action_id": "menu:0", "options": [forged]})

    await dana.slack.click("U0DANA", card["channel"], card["ts"], "menu:0", selected=forged["value"])

    await dana.notice("nothing was recorded")
    assert not reviewing.done()
    reviewing.cancel()
    await asyncio.gather(reviewing, return_exceptions=True)
