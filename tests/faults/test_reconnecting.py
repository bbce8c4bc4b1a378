"""Slack has the bot connect anew: each connection comes back once, and no click goes to one that nobody reads."""

import asyncio

import pytest

from bot.slack.socket_mode import CONNECTIONS
from tests.conftest import until
from tests.support.builders import an_action
from tests.support.faults import CHANNEL, asking

pytestmark = pytest.mark.nightly


async def test_a_connection_comes_back_once_however_often_it_is_told(start_bot, slack, client, watcher):
    """Slack takes long to give an address, and says again that it will close. No second connection is opened beside."""
    await start_bot(lease_seconds=12)
    before = len(await slack.calls("apps.connections.open"))
    await slack.fault("apps.connections.open", "delay", seconds=6, times=CONNECTIONS)

    for _ in range(2):
        await slack.delivery(disconnect="warning")
        await asyncio.sleep(0.2)
    await asyncio.sleep(7)

    assert len(await slack.calls("apps.connections.open")) - before == CONNECTIONS
    for n in range(2 * CONNECTIONS):
        interrupt = client.interrupt(asking(an_action(f"pay-{n}")))
        await client.publish(interrupt)
        card = await watcher.card(interrupt.id)
        assert (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]


async def test_a_connection_that_does_not_come_back_is_replaced(start_bot, slack, client, watcher):
    """Slack refuses the address that its own client asks for: the bot connects again, and says meanwhile why it is not ready."""
    bot = await start_bot()
    await slack.fault("apps.connections.open", "error", error="internal_error", times=2 * CONNECTIONS)

    await slack.delivery(disconnect="refresh_requested")

    await until(lambda: "Socket Mode" in bot.health.faults.get("slack", ""))
    await until(lambda: bot.health.ready, within=60)
    interrupt = client.interrupt(asking(an_action()))
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)
    assert (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
    assert (await slack.state())["sockets"] == CONNECTIONS
