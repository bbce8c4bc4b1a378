"""More bots than Slack has connections for: those over the limit draw, wait, and take over."""

import asyncio

import aiohttp
import pytest

from bot.app import running
from bot.jobs import slack_link
from bot.slack.socket_mode import CONNECTIONS, MOST_BOTS
from tests.conftest import settings_for, until
from tests.support.builders import an_action
from tests.support.faults import CHANNEL, asking

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def probing_often(monkeypatch):
    """Seconds in place of half a minute, and of five seconds."""
    monkeypatch.setattr(slack_link, "PROBE_EVERY", 1.0)
    monkeypatch.setattr(slack_link, "ASK_AGAIN_AT_MOST", 1.0)


async def readiness(bot):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{bot.http.port}/readyz") as answer,
    ):
        return answer.status, await answer.json()


def standing_by(bots):
    return [bot for bot in bots if "standby: " in bot.health.faults.get("clicks", "")]


async def test_a_bot_over_the_connection_limit_waits_and_takes_over(
    playground, redis_url, slack, client, watcher
):
    """Six start at once. Four take clicks; two say why not, ask seldom, and go on when one of the four ends."""
    settings = settings_for(playground, redis_url)
    async with asyncio.TaskGroup() as group:
        ends = [asyncio.Event() for _ in range(MOST_BOTS + 2)]
        started: list = []

        async def live(end):
            async with running(settings) as bot:
                started.append((bot, end))
                await end.wait()

        for end in ends:
            group.create_task(live(end))
        try:
            await until(lambda: len(started) == len(ends))
            bots = [bot for bot, _ in started]
            await until(lambda: sum(bot.health.ready for bot in bots) == MOST_BOTS, within=60)
            await until(lambda: len(standing_by(bots)) == 2)
            status, said = await readiness(standing_by(bots)[0])
            assert (status, set(said["faults"])) == (503, {"clicks"})
            assert "takes clicks as soon as there is room" in said["faults"]["clicks"]

            asked = len(await slack.calls("apps.connections.open"))
            for n in range(10):
                interrupt = client.interrupt(asking(an_action(f"pay-{n}")))
                waiting = asyncio.create_task(client.wait(await client.publish(interrupt)))
                card = await watcher.card(interrupt.id)
                assert (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
                await waiting
            assert (await slack.state())["sockets"] <= CONNECTIONS * MOST_BOTS + 2
            assert len(await slack.calls("apps.connections.open")) - asked <= 20

            bot, end = next((bot, end) for bot, end in started if bot.health.ready)
            end.set()
            await until(lambda: len(standing_by(b for b in bots if b is not bot)) == 1, within=60)
        finally:
            for end in ends:
                end.set()
