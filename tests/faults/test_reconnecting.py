"""Slack has the bot connect anew: each connection comes back once, and no click goes to one that nobody reads."""

from contextlib import AsyncExitStack

import pytest

from bot.app import running
from bot.slack.socket_mode import CONNECTIONS
from tests.conftest import settings_for, until
from tests.support.builders import an_action, asking
from tests.support.faults import CHANNEL

pytestmark = pytest.mark.nightly


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


async def test_a_bot_for_which_slack_has_no_connection_says_so_and_takes_over(
    start_bot, playground, redis_url, slack
):
    """Six start, and Slack gives an app ten connections. The sixth is ready once one of the others ends."""
    settings = settings_for(playground, redis_url)
    async with AsyncExitStack() as first:
        bots = [await first.enter_async_context(running(settings))]
        await until(lambda: bots[0].health.ready)
        bots += [await start_bot() for _ in range(4)]
        async with running(settings) as sixth:
            await until(lambda: "run at most five bots" in sixth.health.faults.get("slack", ""))
            await first.aclose()
            await until(lambda: sixth.health.ready, within=60)
            assert (await slack.state())["sockets"] == 5 * CONNECTIONS
