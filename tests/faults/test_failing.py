"""A record that cannot be handled is tried again ever later, and said so."""

import asyncio

import pytest

from bot.cli.doctor import examine
from bot.store.work import OFTEN
from tests.conftest import settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, eventually, settled_card, take
from tests.support.http_api import speaking


@pytest.fixture
def settings(playground, redis_url):
    """Settings with sweeps so short that a record is given up within two seconds."""
    return settings_for(playground, redis_url, sweep_seconds=0.1)


@pytest.fixture
async def bot(start_bot):
    return await start_bot(sweep_seconds=0.1)


async def test_a_record_that_cannot_be_drawn_is_reported_and_drawn_once_it_is_corrected(
    bot, settings, client, redis, slack, store, watcher, caplog
):
    """Its agent has a notice, doctor and a metric name it, the log has the traceback; the others go on. Then nobody has to say so."""
    broken = an_interrupt(run="broken")
    agent = asyncio.create_task(take(client, broken))
    card = await watcher.card(broken.id)
    # Somebody changes the record by hand, which nobody should, and its card is drawn.
    await redis.hset(f"{{assent}}:card:{broken.id}", "mark:claimed:0", "nonsense")
    await redis.zadd("{assent}:undrawn", {broken.id: 1})

    [failing] = await eventually(store.failing)
    assert (failing.interrupt_id, failing.kind, failing.failures) == (broken.id, "undrawn", OFTEN)
    assert failing.reason.startswith(f"DamagedRecordError: {broken.id} cannot be read, because its fields")
    place = "(ValueError): look for what else writes to this Redis at agent_adapter/contract/"
    assert place in failing.reason
    assert "nonsense" not in failing.reason
    assert caplog.text.count("work.broken") == 3, "at the 1st, 2nd and 4th time"

    fine = an_interrupt(run="fine")
    await client.publish(fine)
    await watcher.card(fine.id)

    await until(lambda: f"{broken.id} waits: its card could not be drawn (DamagedRecordError:" in caplog.text)
    [finding] = [found async for found in examine(settings) if found.subject == "failing"]
    assert finding.verdict == "warn"
    assert "the bot tries again within a minute" in finding.sentence
    await until(lambda: bot.heartbeat.failing == {"undrawn": 1, "due": 0})
    async with speaking(bot.http.port) as anybody, anybody.session.get("/metrics") as answer:
        assert 'assent_failing{kind="undrawn"} 1.0' in await answer.text()
    assert bot.health.ready

    await redis.hdel(f"{{assent}}:card:{broken.id}", "mark:claimed:0")
    await eventually(lambda: nothing_is_said(store, broken.id))
    assert await store.failing() == []
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")
    resume = await asyncio.wait_for(agent, 60)
    assert [decision.type for decision in resume.decisions] == ["approve"]
    await settled_card(store, watcher, broken.id, stage="resumed")


async def nothing_is_said(store, interrupt_id: str) -> bool:
    state = await store.load(interrupt_id)
    return state is not None and state.notice is None
