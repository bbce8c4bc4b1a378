"""What people, agents and operators see when something around the bot does not work."""

import asyncio

import pytest

from bot.app import running
from playground.redis_server import RedisServer, keeping_users
from tests.conftest import an_agent, serving, settings_for, until
from tests.support.builders import review
from tests.support.http_api import speaking


@pytest.fixture
def mortal(tmp_path):
    """A Redis of this test's own, which it may kill."""
    yield from serving(RedisServer(tmp_path / "redis", keeping_users(tmp_path)))


async def test_a_click_without_redis_fails_visibly_and_can_be_repeated(mortal, playground, slack, dana):
    """Nothing is shown as accepted that is not stored; forms keep what was typed; `/readyz` is red; afterwards all goes on."""
    settings = settings_for(playground, mortal.url, SLACK_APP_TOKEN=None)
    async with running(settings) as bot, an_agent(mortal.url) as client:
        playground.deliver_to(f"http://127.0.0.1:{bot.http.port}/slack/events")
        await until(lambda: bot.health.ready)
        reviewing = review(client)
        card = await dana.card()
        form = await dana.opened(card, "reject:0")
        mortal.kill()

        assert not (await dana.press(card, "approve:0"))["ack"]["ok"]
        await dana.notice("may *not* be recorded")
        answer = await dana.fill(form, reason="no")
        assert answer["result"] == "errors"
        assert "Not saved" in next(iter(answer["errors"].values()))
        await dana.close()
        await dana.press(card, "edit:0")
        await dana.notice("could not be opened")
        async with asyncio.timeout(30):
            # A bot that is busy may first see that an answer takes too long.
            while "is it running, and is this the right address?" not in (await fault_of_redis(bot)):
                await asyncio.sleep(0.2)

        mortal.start()
        await until(lambda: bot.health.ready, within=60)
        while not (await dana.press(card, "approve:0"))["ack"]["ok"]:
            await asyncio.sleep(0.2)
        assert (await reviewing).decisions[0].type == "approve"


async def fault_of_redis(bot):
    async with speaking(bot.http.port) as anybody, anybody.session.get("/readyz") as answer:
        return (await answer.json())["faults"]["redis"] if answer.status == 503 else ""


async def test_a_click_that_is_not_stored_fails_visibly_where_the_reason_cannot_be_said(
    start_bot, slack, client, dana, noor, caplog
):
    """Neither whom Slack does not know now, nor who may not decide, sees a click accepted that was not; the next one counts."""
    await start_bot()
    reviewing = review(client)
    card = await dana.card()
    await slack.fault("chat.postEphemeral", "error", error="internal_error", times=None)

    for person in (noor, dana):
        pressed = (await person.press(card, "approve:0"))["ack"]
        assert not pressed["ok"]
        assert pressed["error"] != "timeout"
        await slack.fault("users.info", "error", error="internal_error", times=None)
    assert caplog.text.count("click.not_told") == 2
    assert not reviewing.done()
    await slack.clear_faults()
    assert (await dana.press(card, "approve:0"))["ack"]["ok"]
    assert (await reviewing).decisions[0].type == "approve"


async def test_a_bot_that_was_stopped_is_missed(playground, redis_url, client, caplog):
    """A clean stop takes its heartbeat along, so that an agent hears soon that no bot runs."""
    async with running(settings_for(playground, redis_url)) as bot:
        await until(lambda: bot.health.ready)
    waiting = review(client)

    await until(lambda: "no bot runs in namespace 'assent'" in caplog.text)
    waiting.cancel()
