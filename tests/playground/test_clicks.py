"""Buttons, menus and commands, pressed by people and heard by a real Bolt app."""

import asyncio

import pytest
from slack_sdk.errors import SlackApiError

from playground import Timing
from tests.playground.builders import actions, button, modal, section

CHANNEL = "C0APPROVALS"


async def post(slack, *blocks, **fields):
    posted = await slack.chat_postMessage(channel=CHANNEL, text="card", blocks=list(blocks), **fields)
    return posted["ts"]


async def test_payload_of_a_click_has_slacks_keys(slack, app, over_sockets, control):
    """Key for key what apps rely on; the person sees that it was acknowledged."""

    @app.action("approve")
    async def approve(ack):
        await ack()

    first = await post(slack, section("first"))
    ts = await post(slack, actions(button(style="primary"), block_id="buttons"), thread_ts=first)
    answer = await control.click("U0DANA", CHANNEL, ts, "approve")

    [delivery] = await control.deliveries("block_actions")
    assert answer["ack"]["ok"] is True
    assert (delivery["id"], delivery["outcome"]) == (answer["delivery"], "acked")
    payload = delivery["payload"]
    assert set(payload) == {
        *("type", "user", "api_app_id", "token", "team", "enterprise", "is_enterprise_install", "container"),
        *("trigger_id", "channel", "message", "state", "response_url", "actions"),
    }
    assert payload["user"] == {"id": "U0DANA", "username": "dana", "name": "dana", "team_id": "T0PLAY"}
    assert payload["team"] == {"id": "T0PLAY", "domain": "playground"}
    assert payload["channel"] == {"id": CHANNEL, "name": "approvals"}
    assert payload["container"] == {
        "type": "message",
        "message_ts": ts,
        "channel_id": CHANNEL,
        "is_ephemeral": False,
        "thread_ts": first,
    }
    assert payload["message"]["ts"] == ts
    assert payload["state"] == {"values": {}}
    [action] = payload["actions"]
    assert action.pop("action_ts")
    assert action == {
        "type": "button",
        "action_id": "approve",
        "block_id": "buttons",
        "text": {"type": "plain_text", "text": "Approve", "emoji": True},
        "value": "id-1",
        "style": "primary",
    }


@pytest.mark.parametrize("timing", [Timing(acknowledge=0.3)])
async def test_unacknowledged_click_fails_visibly_and_is_not_repeated(slack, app, over_sockets, control):
    """Slack never sends a click again."""
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
