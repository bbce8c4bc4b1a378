"""The clock of the Redis host is set, forward or back by an hour: leased work comes free in time, and nothing runs twice."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.errors import ClaimedError
from tests.conftest import an_agent
from tests.support.builders import an_action, an_interrupt
from tests.support.clock import Clock, settable_clock
from tests.support.faults import CHANNEL, eventually, take

pytestmark = pytest.mark.nightly

HOUR = 3600
SOON = 60.0
"""Seconds: some leases and sweeps of these tests, and nothing like an hour."""


@pytest.fixture
def clock(tmp_path) -> Iterator[Clock]:
    """The clock of the Redis of this test."""
    with settable_clock(tmp_path / "clock") as clock:
        yield clock


@pytest.fixture
def redis_url(clock: Clock) -> str:
    """All parts of these tests use it."""
    return clock.url


# --- Set back -----------------------------------------------------------------------------------------------------


async def test_work_that_a_dead_bot_held_comes_free_though_the_clock_was_set_back(
    clock, start_bot, client, redis, store, watcher
):
    """Its lease lies an hour ahead all at once; another bot draws the card in seconds."""
    await start_bot()
    await seen(redis)
    interrupt = an_interrupt()
    claimed = await now(redis) + 30_000
    clock.step(-HOUR)
    await client.publish(interrupt)
    # As by a bot that claimed it right before, and died.
    await redis.zadd("{assent}:undrawn", {interrupt.id: claimed})

    await watcher.card(interrupt.id, within=SOON)


async def test_a_run_that_a_dead_agent_was_resuming_is_resumed_by_another_when_the_clock_is_set_back(
    clock, start_bot, client, redis_url, slack, watcher
):
    """Its claim lapses after a lease, as if nothing had happened to the clock."""
    await start_bot()
    interrupt = await decided(client, slack, watcher)
    await client._claims._records.take(interrupt, "dead", 1_000)
    clock.step(-HOUR)

    async with an_agent(redis_url) as other, asyncio.timeout(SOON), other.resuming(interrupt) as resume:
        assert [decision.type for decision in resume.decisions] == ["approve"]


# --- Set forward --------------------------------------------------------------------------------------------------


async def test_nobody_resumes_a_run_that_is_being_resumed_when_the_clock_is_set_forward(
    clock, start_bot, client, redis, redis_url, slack, watcher
):
    """The claim of whoever lives is not over because a clock says so: what was approved runs once."""
    await start_bot()
    interrupt = await decided(client, slack, watcher)
    await seen(redis)
    resumed = 0
    async with an_agent(redis_url) as other, client.resuming(interrupt):
        resumed += 1
        clock.step(HOUR)
        with pytest.raises(ClaimedError):
            async with other.resuming(interrupt):
                resumed += 1
        # Until long after a bot has noticed, and the claim has been renewed.
        await asyncio.sleep(2)
        with pytest.raises(ClaimedError):
            async with other.resuming(interrupt):
                resumed += 1

    assert resumed == 1


async def test_silence_does_not_approve_an_hour_early_when_the_clock_is_set_forward(
    clock, start_bot, client, redis, playground, tmp_path, watcher
):
    """People had not had their time: what was open is rejected, and the agent is told."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(SILENCE)
    await start_bot(policy=str(policy))
    interrupt = an_interrupt(an_action("restart_job", {}), expires_in=timedelta(hours=2))
    agent = asyncio.create_task(take(client, interrupt))
    await watcher.card(interrupt.id)
    await seen(redis)

    # Right behind the deadline, where silence is believed.
    clock.step(HOUR + 1)

    resume = await asyncio.wait_for(agent, SOON)
    assert [decision.type for decision in resume.decisions] == ["reject"]


SILENCE = """
default: {channel: C0APPROVALS, approvers: [U0DANA], time_limit: 1h}
rules:
  - {match: {tool: restart_job}, risk: low, on_timeout: approve}
"""


async def decided(client: ApprovalClient, slack, watcher) -> str:
    """Have an interrupt decided that nobody has resumed."""
    interrupt = an_interrupt()
    waiting = asyncio.create_task(client.wait(await client.publish(interrupt)))
    card = await watcher.card(interrupt.id)
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")
    await waiting
    return interrupt.id


async def now(redis: Redis) -> int:
    seconds, microseconds = await redis.time()
    return seconds * 1000 + microseconds // 1000


async def seen(redis: Redis) -> None:
    """Wait for the next sign of life of a bot."""

    async def look() -> list[str]:
        return await redis.zrange("{assent}:bots", since, "+inf", byscore=True)

    since = await now(redis)
    await eventually(look)
