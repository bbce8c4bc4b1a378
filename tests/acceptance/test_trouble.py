"""What people, agents and operators see when something around the bot does not work."""

import asyncio

import aiohttp
import pytest

from agent_adapter import HITLRequest
from agent_adapter.errors import DecisionNotAllowedError
from bot.app import running
from playground.redis_server import RedisServer
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_action
from tests.support.people import Someone, words


def review(client, **asked):
    request, config = an_action()
    batch = HITLRequest(action_requests=(request,), review_configs=(config,))
    return asyncio.create_task(client.review(batch, **asked))


@pytest.fixture(params=["socket", "http"])
def transport(request):
    return request.param


@pytest.fixture
async def mortal(tmp_path):
    """A Redis of this test's own, which it may kill."""
    # Where it keeps the users of bot and agent.
    (tmp_path / "users.acl").touch()
    server = RedisServer(tmp_path / "redis", ("--aclfile", str(tmp_path / "users.acl")))
    server.start()
    yield server
    server.stop()


async def test_a_click_without_redis_fails_visibly_and_can_be_repeated(transport, mortal, playground, slack):
    """Nothing is shown as accepted that is not stored; forms keep what was typed; `/readyz` is red; afterwards all goes on."""
    changed = {"SLACK_APP_TOKEN": None} if transport == "http" else {}
    async with (
        running(settings_for(playground, mortal.url, **changed)) as bot,
        an_agent(mortal.url) as client,
    ):
        if transport == "http":
            playground.deliver_to(f"http://127.0.0.1:{bot.http.port}/slack/events")
        await until(lambda: bot.health.ready)
        dana = Someone(slack, "U0DANA")
        reviewing = review(client)
        card = await dana.card()
        form = await dana.opened(card, "reject:0")
        mortal.kill()

        assert not (await dana.press(card, "approve:0"))["ack"]["ok"]
        await dana.notice("may *not* be recorded")
        answer = await dana.fill(form, reason="no")
        assert answer["result"] == "errors"
        assert "Not saved" in next(iter(answer["errors"].values()))
        await slack.close_view("U0DANA", form["id"])
        await dana.press(card, "edit:0")
        await dana.notice("could not be opened")
        await until(lambda: not bot.health.ready)
        status, reason = await faults_of(bot, "redis")
        assert status == 503
        async with asyncio.timeout(30):
            # A bot that is busy may first see that an answer takes too long.
            while "is it running, and is this the right address?" not in reason:
                await asyncio.sleep(0.2)
                _, reason = await faults_of(bot, "redis")

        mortal.start()
        await until(lambda: bot.health.ready, within=60)
        while not (await dana.press(card, "approve:0"))["ack"]["ok"]:
            await asyncio.sleep(0.2)
        assert (await reviewing).decisions[0].type == "approve"


@pytest.mark.parametrize("fault", [("error", {"error": "internal_error"}), ("delay", {"seconds": 4})])
@pytest.mark.parametrize("who", ["U0DANA", "U0NOOR"])
async def test_a_click_that_is_not_stored_fails_visibly_where_the_reason_cannot_be_said(
    start_bot, slack, client, caplog, who, fault
):
    """Neither whom Slack does not know now, nor who may not decide, sees a click accepted that was not; the next one counts."""
    await start_bot()
    person, dana = Someone(slack, who), Someone(slack, "U0DANA")
    reviewing = review(client)
    card = await dana.card()
    kind, how = fault
    await slack.fault("chat.postEphemeral", kind, **how, times=None)
    if who == "U0DANA":
        await slack.fault("users.info", "error", error="internal_error", times=None)

    pressed = (await person.press(card, "approve:0"))["ack"]

    assert not pressed["ok"]
    assert pressed["error"] != "timeout"
    assert "click.not_told" in caplog.text
    assert not reviewing.done()
    await slack.clear_faults()
    assert (await dana.press(card, "approve:0"))["ack"]["ok"]
    assert (await reviewing).decisions[0].type == "approve"


async def faults_of(bot, part="slack"):
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{bot.http.port}/readyz") as answer,
    ):
        return answer.status, (await answer.json()).get("faults", {}).get(part, "")


async def test_a_missing_scope_is_named_and_heals_when_it_is_there(playground, redis_url, slack, client):
    """The bot says which scope to add, draws nothing meanwhile, and goes on by itself."""
    granted = ["chat:write", "channels:read", "groups:read", "channels:history", "groups:history"]
    await slack.set_scopes(*granted)
    async with running(settings_for(playground, redis_url)) as bot:
        reviewing = review(client)
        await until(lambda: "users:read" in (bot.health.slack_fault or ""))
        await slack.set_scopes(*granted, "users:read")
        dana = Someone(slack, "U0DANA")
        card = await dana.card(within=60)
        await dana.press(card, "approve:0")

        assert (await reviewing).decisions[0].type == "approve"
        assert bot.health.ready


async def test_a_bot_that_was_stopped_is_missed(playground, redis_url, client, caplog):
    """A clean stop takes its heartbeat along, so that an agent hears soon that no bot runs."""
    async with running(settings_for(playground, redis_url)) as bot:
        await until(lambda: bot.health.ready)
    waiting = review(client)

    await until(lambda: "no bot runs in namespace 'assent'" in caplog.text)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_card_says_why_the_agent_could_not_go_on(start_bot, slack, client):
    """An answer that the agent cannot use stays decided; the card tells it until the run goes on after all."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    first, config = an_action("a")
    interrupt = client.interrupt(HITLRequest(action_requests=(first,), review_configs=(config,)), run="run-1")

    async def go_on(error: Exception | None) -> None:
        async with client.reviewing(interrupt):
            if error:
                raise error

    going = asyncio.create_task(go_on(DecisionNotAllowedError("args.to: *no* <!channel> address")))
    await dana.press(await dana.card(), "approve:0")
    with pytest.raises(DecisionNotAllowedError):
        await going
    card = await dana.card("the agent could not go on")
    assert "args.to: *no* <!channel> address" in words(card["blocks"])

    await go_on(None)
    assert "could not go on" not in words((await dana.card("the agent has resumed"))["blocks"])
