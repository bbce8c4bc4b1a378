"""An older state of Redis is restored: what was decided is not decided again, and no card says what is not so."""

import asyncio
import shutil

import pytest

from agent_adapter import Context
from agent_adapter.contract.interrupt import Continuation
from agent_adapter.errors import InterruptRefusedError
from bot.app import running
from playground.redis_server import RedisServer
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_action, asking
from tests.support.failover import copy
from tests.support.faults import CHANNEL, eventually, nothing_owed, settled_card, shown_card, take
from tests.support.people import Someone, buttons, words
from tests.support.proxy import proxied

OFFICE = Continuation(framework="f", name="office", version="1", state="{}")
BACK = "A technical fault lost"


class Restorable:
    """A server whose data can be saved and brought back."""

    def __init__(self, folder):
        self.server = RedisServer(folder / "redis", ("--appendfsync", "always"))
        self._data, self._saved = folder / "redis" / "appendonlydir", folder / "saved"

    async def save(self) -> None:
        """Back up what there is, while all goes on."""
        await asyncio.to_thread(self._save)

    def _save(self) -> None:
        self.server.stop()
        shutil.copytree(self._data, self._saved)
        self.server.start()

    async def restore(self) -> None:
        """Bring the saved data back, with a server that is new."""
        await asyncio.to_thread(self._restore)

    def _restore(self) -> None:
        self.server.kill()
        shutil.rmtree(self._data)
        shutil.copytree(self._saved, self._data)
        self.server.start()


@pytest.fixture
def redis(tmp_path):
    found = Restorable(tmp_path)
    found.server.start()
    yield found
    found.server.stop()


@pytest.fixture
def redis_url(redis) -> str:
    """All parts of these tests use it."""
    return redis.server.url


@pytest.fixture(params=["while a bot runs", "before a bot starts"])
async def a_bot_lives(request, playground, redis, redis_url):
    """Start a bot; give what restores the saved state under it, or between it and its successor."""
    bots = []

    async def begin():
        context = running(settings_for(playground, redis_url))
        bots.append((context, await context.__aenter__()))
        await until(lambda: bots[-1][1].health.ready, within=60)

    async def end():
        context, _ = bots.pop()
        await context.__aexit__(None, None, None)

    async def restore():
        if request.param == "before a bot starts":
            await end()
            await redis.restore()
            await begin()
        else:
            await redis.restore()
            await until(lambda: bots[-1][1].health.ready, within=60)
        return bots[-1][1]

    await begin()
    yield restore
    await end()


def card_of(watcher, interrupt_id):
    [card] = [each for each in watcher.cards(interrupt_id) if each.get("thread_ts", each["ts"]) == each["ts"]]
    return card


async def warned(bot):
    await until(lambda: "went_back" in bot.health.warnings, within=60)


async def test_what_was_approved_is_neither_asked_again_nor_said_to_have_expired(
    a_bot_lives, redis, slack, client, watcher, store
):
    """It was approved and has run; the restored record is open. The card goes on saying so, and why no more happens."""
    interrupt = client.interrupt(asking(an_action("pay")))
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    await redis.save()
    await Someone(slack, "U0DANA").press(card, "approve:0")
    await agent
    await settled_card(store, watcher, interrupt.id, stage="resumed")

    bot = await a_bot_lives()

    await until(lambda: BACK in words(card_of(watcher, interrupt.id)["blocks"]), within=60)
    text = words(card_of(watcher, interrupt.id)["blocks"])
    assert "Approved" in text
    assert "the agent has resumed" in text
    assert "Expired" not in " ".join(watcher.shown[card["ts"]])
    assert buttons(card_of(watcher, interrupt.id)) == []
    record = await eventually(lambda: refused(store, interrupt.id))
    assert record.code == "went_back"
    with pytest.raises(
        InterruptRefusedError, match="as its card says, and the server does not know it any more"
    ):
        async with client.resuming(interrupt.id):
            pass
    await warned(bot)
    await nothing_owed(store)


async def refused(store, interrupt_id):
    state = await store.load(interrupt_id)
    return state if state and state.status == "refused" else None


@pytest.mark.parametrize("a_bot_lives", ["while a bot runs"], indirect=True)
async def test_one_of_two_decisions_is_not_taken_a_second_time(
    a_bot_lives, redis, slack, client, watcher, store
):
    """Its agent waits still: it is refused, since somebody saw the first decision as taken."""
    interrupt = client.interrupt(asking(an_action("a"), an_action("b")))
    agent = asyncio.create_task(client.wait(await client.publish(interrupt)))
    card = await watcher.card(interrupt.id)
    await redis.save()
    await Someone(slack, "U0DANA").press_one(card, "approve:0")
    await until(lambda: "Approved" in words(card_of(watcher, interrupt.id)["blocks"]))

    await a_bot_lives()

    async with asyncio.timeout(120):
        resume = await agent
    assert (resume.status, resume.code) == ("refused", "went_back")
    await until(lambda: not buttons(card_of(watcher, interrupt.id)), within=60)
    assert "Approved" in words(card_of(watcher, interrupt.id)["blocks"])


async def test_a_restart_that_loses_nothing_is_not_taken_for_a_step_back(
    start_bot, redis, slack, client, watcher
):
    """The same data comes back with another process of the server: no card changes, and nobody is warned."""
    bot = await start_bot()
    interrupt = client.interrupt(asking(an_action("pay")))
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)

    await asyncio.to_thread(redis.server.kill)
    await asyncio.to_thread(redis.server.start)
    await until(lambda: bot.guard.doubts > 0)
    await until(lambda: bot.health.ready, within=60)

    assert (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
    assert bot.health.warnings == {}


async def test_an_approval_for_later_calls_that_was_revoked_stays_revoked(
    playground, redis, redis_url, slack, watcher, store, tmp_path
):
    """The restored state holds it as live; its message says that it is over. The next call is asked."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], standing: {same: arguments, scope: agent, lasts: 1h, uses: 5}}\n"
    )
    settings = settings_for(playground, redis_url, policy=str(path))
    dana = Someone(slack, "U0DANA")
    async with an_agent(redis_url) as client:
        async with running(settings) as bot:
            await until(lambda: bot.health.ready)
            first = client.interrupt(asking(an_action("pay")), run="r", pauses=["1"], context=Context())
            agent = asyncio.create_task(take(client, first))
            card = await watcher.card(first.id)
            view = await dana.opened(card, "sticky:0")
            await slack.submit("U0DANA", view["id"])
            await agent
            standing_message = await dana.card("standing approval for later calls")
            await redis.save()
            await until(lambda: bot.health.ready, within=60)
            await dana.press(standing_message, "revoke:0.0")
            await dana.card("*Ended*")
        await redis.restore()
        async with running(settings) as bot:
            await until(lambda: bot.health.ready, within=60)
            again = client.interrupt(asking(an_action("pay")), run="r", pauses=["2"], context=Context())
            await client.publish(again)

            assert "approve:0" in buttons(await watcher.card(again.id))
            await dana.card("the server went back to an older state")


@pytest.mark.parametrize(
    ("a_bot_lives", "continuation"),
    [("while a bot runs", None), ("before a bot starts", OFFICE)],
    ids=["agent", "worker"],
    indirect=["a_bot_lives"],
)
async def test_what_was_taken_is_not_handed_out_again(
    a_bot_lives, redis, slack, client, watcher, store, continuation
):
    """The backup holds the answer as not taken. The card goes on saying that the agent has resumed, and nobody gets it twice."""
    interrupt = client.interrupt(asking(an_action("pay")), continuation=continuation)
    await client.publish(interrupt)
    await Someone(slack, "U0DANA").press(await watcher.card(interrupt.id), "approve:0")
    await settled_card(store, watcher, interrupt.id, stage="ended")
    await redis.save()
    await take(client, interrupt)
    await settled_card(store, watcher, interrupt.id, stage="resumed")

    bot = await a_bot_lives()

    # As the guide says: agents are started when the bot has compared what they may still take.
    state = await eventually(lambda: refused(store, interrupt.id))
    assert state.code == "went_back"
    await warned(bot)
    with pytest.raises(InterruptRefusedError, match="as its card says"):
        async with client.resuming(interrupt.id):
            pytest.fail("the tool would run a second time")
    text = words(card_of(watcher, interrupt.id)["blocks"])
    assert BACK in text
    assert "the agent has resumed" in text
    await nothing_owed(store)


@pytest.mark.parametrize("a_bot_lives", ["before a bot starts"], indirect=True)
async def test_an_answer_that_nobody_has_taken_is_handed_out_after_a_restore(
    a_bot_lives, redis, slack, client, watcher, store
):
    """Card and record agree that the agent did not resume, so it does now."""
    interrupt = client.interrupt(asking(an_action("pay")))
    await client.publish(interrupt)
    await Someone(slack, "U0DANA").press(await watcher.card(interrupt.id), "approve:0")
    await settled_card(store, watcher, interrupt.id, stage="ended")
    await redis.save()

    await a_bot_lives()

    async with client.resuming(interrupt.id) as resume:
        assert resume.status == "decided"
    await settled_card(store, watcher, interrupt.id, stage="resumed")
    assert BACK not in words(card_of(watcher, interrupt.id)["blocks"])


async def test_a_failover_after_which_old_connections_only_go_silent_is_noticed(
    playground, redis, slack, tmp_path
):
    """The other server lacks the last decision, and counts as many heartbeats. The card goes on showing the decision."""
    other, dana = RedisServer(tmp_path / "other"), Someone(slack, "U0DANA")
    other.start()
    async with proxied(redis.server.url) as proxy, running(settings_for(playground, proxy.url)) as bot:
        await until(lambda: bot.health.ready)
        async with an_agent(proxy.url) as client:
            interrupt = client.interrupt(asking(an_action("pay"), an_action("note")))
            await client.publish(interrupt)
            card = await dana.card("pay")
            await shown_card(bot.store, interrupt.id)
            copy(redis.server.url, other.url, "*")
            await dana.press_one(card, "approve:0")
            await dana.card("Approved")

            copy(redis.server.url, other.url, "*:epoch")
            proxy.lead_to(other.url)
            proxy.fall_silent()

            await warned(bot)
            (shown,) = [each for each in await slack.messages(CHANNEL) if each["ts"] == card["ts"]]
            assert "Approved" in words(shown["blocks"])
            assert "approve:0" not in buttons(shown)
    other.stop()
