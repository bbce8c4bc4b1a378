"""Buttons, menus and commands, pressed by people and heard by a real Bolt app."""

import asyncio

import pytest
from slack_sdk.errors import SlackApiError

from playground import Timing
from tests.playground.builders import actions, modal

CHANNEL = "C0APPROVALS"


async def post(slack, *blocks, **fields):
    posted = await slack.chat_postMessage(channel=CHANNEL, text="card", blocks=list(blocks), **fields)
    return posted["ts"]


@pytest.mark.parametrize("timing", [Timing(acknowledge=0.3)])
async def test_unacknowledged_click_fails_visibly_and_is_not_repeated(slack, app, over_sockets, control):
    heard = []

    @app.action("approve")
    async def approve(body):
        heard.append(body["user"]["id"])
        await asyncio.sleep(0.5)

    ts = await post(slack, actions())
    answer = await control.click("U0DANA", CHANNEL, ts, "approve")
    await asyncio.sleep(0.3)

    assert answer["ack"] == {"ok": False, "ms": None, "error": "no acknowledgement within 0.3 seconds"}
    assert heard == ["U0DANA"]
    assert len(await control.deliveries()) == 1


async def test_trigger_opens_one_view(slack, app, over_sockets, control):
    """A `trigger_id` is used up by its first exchange."""
    errors = []

    @app.action("approve")
    async def approve(ack, body, client):
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=modal())
        try:
            await client.views_open(trigger_id=body["trigger_id"], view=modal())
        except SlackApiError as error:
            errors.append(error.response["error"])

    answer = await control.click("U0DANA", CHANNEL, await post(slack, actions()), "approve")

    assert [view["callback_id"] for view in answer["views"]] == ["form"]
    assert errors == ["exchanged_trigger_id"]


@pytest.mark.parametrize("timing", [Timing(trigger=0.05)])
async def test_trigger_expires(slack, app, over_sockets, control):
    """After three seconds, here far fewer, it opens nothing."""
    triggers = []

    @app.action("approve")
    async def approve(ack, body):
        triggers.append(body["trigger_id"])
        await ack()

    await control.click("U0DANA", CHANNEL, await post(slack, actions()), "approve")
    await asyncio.sleep(0.1)

    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await slack.views_open(trigger_id=triggers[0], view=modal())
