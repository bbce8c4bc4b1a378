"""A record that cannot be handled is tried again ever later, then set aside, said so, and tried again when asked."""

import asyncio

import aiohttp
import pytest
from redis.asyncio import Redis

from agent_adapter.redis.pool import open_redis
from bot.cli.doctor import examine
from bot.jobs.quarantine import ATTEMPTS, Quarantine, opened, release_all, release_one
from tests.conftest import settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, eventually, settled_card, take


@pytest.fixture
async def redis(redis_url: str):
    async with open_redis(redis_url) as redis:
        yield redis


@pytest.fixture
def settings(playground, redis_url):
    """Settings with sweeps so short that a record is given up within two seconds."""
    return settings_for(playground, redis_url, sweep_seconds=0.1)


@pytest.fixture
async def bot(start_bot):
    return await start_bot(sweep_seconds=0.1)


async def damaged(redis: Redis, interrupt_id: str, field: str = "claim:0") -> None:
    """Change a record by hand, which nobody should, and have its card drawn."""
    await redis.hset(f"{{assent}}:card:{interrupt_id}", field, "nonsense")
    await redis.zadd("{assent}:undrawn", {interrupt_id: 1})


async def repaired(redis: Redis, interrupt_id: str, field: str = "claim:0") -> None:
    await redis.hdel(f"{{assent}}:card:{interrupt_id}", field)


async def set_aside(settings, count: int = 1):
    """Wait until so many were set aside."""

    async def look():
        async with opened(settings) as quarantine:
            found = await quarantine.set_aside()
            return (found,) if len(found) == count else None

    [found] = await eventually(look)
    return found


async def test_a_record_that_cannot_be_drawn_is_set_aside_and_reported(
    bot, settings, client, redis, watcher, caplog
):
    """Its agent has a notice, doctor and a metric name it, the log has the traceback; the others go on."""
    broken = an_interrupt(run="broken")
    agent = asyncio.create_task(take(client, broken))
    await watcher.card(broken.id)
    await damaged(redis, broken.id)

    [failing] = await set_aside(settings)
    tried = caplog.text.count("work.broken")
    assert (failing.interrupt_id, failing.kind, failing.failures, tried) == (
        broken.id,
        "undrawn",
        ATTEMPTS,
        ATTEMPTS,
    )
    assert failing.reason.startswith(f"DamagedRecordError: {broken.id} cannot be read, because its fields")
    assert (
        "(ValueError): look for what else writes to this Redis at agent_adapter/contract/" in failing.reason
    )
    assert "nonsense" not in failing.reason

    fine = an_interrupt(run="fine")
    await client.publish(fine)
    await watcher.card(fine.id)

    await until(lambda: f"{broken.id} waits: its card could not be drawn (DamagedRecordError:" in caplog.text)
    [finding] = [found async for found in examine(settings) if found.subject == "set aside"]
    assert finding.verdict == "warn"
    assert f"python -m bot release {broken.id}" in finding.sentence
    await until(lambda: bot._aside == {"undrawn": 1, "due": 0})
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{bot.port}/metrics") as answer,
    ):
        assert 'assent_set_aside{kind="undrawn"} 1.0' in await answer.text()
    assert caplog.text.count("work.broken") == tried
    assert bot.health.ready
    agent.cancel()


async def test_a_record_that_was_set_aside_is_drawn_again_when_an_operator_says_so(
    bot, settings, client, redis, slack, store, watcher
):
    """What was wrong is corrected, the record released: the card is drawn, the notice is taken back, the agent goes on."""
    interrupt = an_interrupt()
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    await damaged(redis, interrupt.id)
    await set_aside(settings)
    assert not await release_one(settings, "billing.unknown")

    await repaired(redis, interrupt.id)
    assert await release_one(settings, interrupt.id)
    await set_aside(settings, 0)
    await eventually(lambda: nothing_is_said(store, interrupt.id))
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")

    resume = await asyncio.wait_for(agent, 60)
    assert [decision.type for decision in resume.decisions] == ["approve"]
    await settled_card(store, watcher, interrupt.id, stage="resumed")


async def nothing_is_said(store, interrupt_id: str) -> bool:
    state = await store.load(interrupt_id)
    return state is not None and state.notice is None


async def test_something_new_gives_a_record_another_attempt(
    bot, settings, client, redis, slack, store, watcher
):
    """A click is shown once the record can be read, without an operator; one that still fails is set aside at once."""
    interrupt = an_interrupt()
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    await damaged(redis, interrupt.id)
    [first] = await set_aside(settings)

    await redis.zadd("{assent}:undrawn", {interrupt.id: 1})

    async def tried_once_more():
        async with opened(settings) as quarantine:
            [found] = await quarantine.set_aside()
            return found.failures == first.failures + 1

    await eventually(tried_once_more)
    assert await redis.zscore("{assent}:undrawn", interrupt.id) is None

    await repaired(redis, interrupt.id)
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")
    await settled_card(store, watcher, interrupt.id, stage="resumed")
    await asyncio.wait_for(agent, 60)
    await set_aside(settings, 0)


async def test_what_was_set_aside_is_released_together(bot, settings, client, redis, watcher):
    """After a mistake that hit many records, one command is enough; deadlines that could not pass come, too."""
    for number in range(3):
        interrupt = an_interrupt(run=f"run-{number}")
        await client.publish(interrupt)
        await watcher.card(interrupt.id)
        await damaged(redis, interrupt.id)
        await redis.zadd("{assent}:due", {interrupt.id: 1})
    await set_aside(settings, 6)

    for key in await redis.keys("{assent}:card:*"):
        await redis.hdel(key, "claim:0")
    assert await release_all(settings) == 3

    await set_aside(settings, 0)
    assert await redis.zcard("{assent}:due") == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("undrawn:billing.x", "garbage"),
        (b"\xff", b"\xff"),
        ("due:billing.x", f"5 {10**30} x"),
        ("other", "5 1 x"),
    ],
)
async def test_an_entry_of_somebody_else_is_passed_over(field, value, settings, redis, store, caplog):
    """What was set aside is still listed; the log names the entry once, and doctor names it."""
    await redis.hset("{assent}:failing", mapping={field: value, "due:billing.ours": "5 1000 ours"})
    quarantine = Quarantine(store)

    for _ in range(3):
        [ours] = await quarantine.set_aside()
        assert ours.interrupt_id == "billing.ours"

    assert caplog.text.count("failing.foreign") == 1
    found = [each.sentence async for each in examine(settings) if each.subject == "failing"]
    assert len(found) == 1
    assert "the bot did not write this entry" in found[0]
