"""A click counts as stored once the replicas have it: they are frozen and killed, and the person hears of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.errors import ServerUnsuitableError
from bot.app import running
from bot.rendering.home import permalink
from bot.sentences import in_answer
from bot.wiring import Bot
from playground.redis_server import RedisServer
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_action, asking
from tests.support.faults import (
    CHANNEL,
    eventually,
    is_accepted,
    pressed_until_accepted,
    settled_card,
    take,
    watching,
)
from tests.support.people import Someone
from tests.support.replicas import Group, has_waitaof, replicated


@pytest.fixture
def group() -> Iterator[Group]:
    """A primary with its replicas, of this test's own."""
    with replicated() as group:
        yield group


@pytest.fixture
def redis_url(group: Group) -> str:
    """All parts of these tests use the primary."""
    return group.primary.url


@pytest.fixture
def start_durable(start_bot) -> Callable[..., Awaitable[Bot]]:
    """Start a bot whose clicks wait for replicas."""

    async def start(**changed: object) -> Bot:
        bot: Bot = await start_bot(durability="replica", **changed)
        return bot

    return start


async def test_a_click_that_a_frozen_replica_does_not_confirm_is_not_accepted_and_counts_once_when_pressed_again(
    group, start_durable, client, slack, store, watcher
):
    """One replica of two holds it up. The person reads so, presses again once it is back, and decided once."""
    bot = await start_durable()
    interrupt = client.interrupt(asking(an_action()))
    waiting = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    # The card stays as it was, so that its button can be pressed again.
    await slack.fault("chat.update", "error", error="internal_error", times=None)

    group.replicas[0].freeze()
    for _ in range(2):
        assert not await is_accepted(slack, card)
    address = permalink(bot.slack.me.url, CHANNEL, card["ts"])
    await until(lambda: in_answer.not_confirmed(address) in watcher.notices("U0DANA"))
    group.replicas[0].thaw()
    await pressed_until_accepted(slack, card)

    await slack.clear_faults()
    async with asyncio.timeout(60):
        assert (await waiting).decisions == (ApproveDecision(),)
    await settled_card(store, watcher, interrupt.id)
    trail = [(each["id"], each["event"]) for _, each in await store._redis.xrange(store.keys.audit)]
    assert trail.count((interrupt.id, "decided")) == 1


async def test_a_form_that_is_not_confirmed_stays_open_with_its_text_and_counts_when_it_is_sent_again(
    group, start_durable, client, slack, watcher
):
    """The reason stands beside the input."""
    await start_durable()
    interrupt = client.interrupt(asking(an_action()))
    waiting = asyncio.create_task(take(client, interrupt))
    dana = Someone(slack, "U0DANA")
    form = await dana.opened(await watcher.card(interrupt.id), "reject:0")

    group.replicas[0].freeze()
    answer = await dana.submit(form, reason="not today")
    assert [*answer["errors"].values()] == [in_answer.NOT_CONFIRMED]
    group.replicas[0].thaw()

    async def is_accepted() -> bool:
        return (await dana.submit(form, reason="not today"))["result"] == "clear"

    await eventually(is_accepted)
    async with asyncio.timeout(60):
        assert (await waiting).decisions == (RejectDecision(message="not today"),)


async def test_a_click_is_accepted_once_it_is_on_disk(playground, tmp_path, slack):
    """Where the server can say so. An older one is refused."""
    server = RedisServer(tmp_path, ("--appendfsync", "everysec"))
    server.start()
    settings = settings_for(playground, server.url, durability="fsync")
    try:
        if not has_waitaof():
            with pytest.raises(ServerUnsuitableError, match="has no WAITAOF"):
                async with running(settings):
                    pass
            return
        async with running(settings) as bot, an_agent(server.url) as client, watching(slack) as watcher:
            await until(lambda: bot.health.ready)
            for number in range(3):
                interrupt = client.interrupt(asking(an_action(f"tool_{number}")))
                await client.publish(interrupt)
                await pressed_until_accepted(slack, await watcher.card(interrupt.id))
    finally:
        server.kill()
