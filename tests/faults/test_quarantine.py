"""A record that cannot be handled is tried again ever later, then set aside, said so, and tried again when asked."""

import asyncio

import aiohttp
import pytest
from redis.asyncio import Redis

from agent_adapter.redis.pool import open_redis
from bot.cli.doctor import examine
from bot.jobs.quarantine import ATTEMPTS, opened, release_one
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


async def damaged(redis: Redis, interrupt_id: str, field: str = "mark:claimed:0") -> None:
    """Change a record by hand, which nobody should, and have its card drawn."""
    await redis.hset(f"{{assent}}:card:{interrupt_id}", field, "nonsense")
    await redis.zadd("{assent}:undrawn", {interrupt_id: 1})


async def repaired(redis: Redis, interrupt_id: str, field: str = "mark:claimed:0") -> None:
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
    await until(lambda: bot.heartbeat.aside == {"undrawn": 1, "due": 0})
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{bot.http.port}/metrics") as answer,
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
