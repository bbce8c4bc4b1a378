"""Bots say for how long writes are kept, so that agents need no setting of their own, and start without a wait."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from redis import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision
from tests.conftest import an_agent, until
from tests.support.builders import an_action
from tests.support.faults import asking, eventually, take
from tests.support.people import Someone


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes wait for three seconds until all others have written again."""
    monkeypatch.setattr("agent_adapter.redis.journal.SETTLES", 3.0)


@pytest.fixture
def meta(redis_url: str) -> Iterator[Callable[[], dict[str, str]]]:
    """Read what the namespace says of itself."""
    with Redis.from_url(redis_url, decode_responses=True) as redis:
        yield lambda: redis.hgetall("assent:meta")


async def test_an_agent_keeps_what_it_writes_for_as_long_as_the_bots(start_bot, redis_url):
    """Nothing is set where it runs."""
    await start_bot(reassert_seconds=90)

    async with an_agent(redis_url) as agent:
        assert agent._journal.kept == 90


async def test_an_agent_keeps_nothing_where_the_bots_keep_nothing(start_bot, redis_url):
    """Also when a bot did before."""
    with Redis.from_url(redis_url) as redis:
        redis.hset("assent:meta", "reassert", "90")
    await start_bot()

    async with an_agent(redis_url) as agent:
        assert agent._journal.kept == 0


async def test_an_agent_that_was_there_before_the_bots_keeps_what_it_writes_too(
    start_bot, redis_url, monkeypatch
):
    """It asks again from time to time."""
    monkeypatch.setattr("agent_adapter.redis.replies.FIRST_LOOK", 0.2)
    async with ApprovalClient.from_url(
        redis_url, agent="billing", reconcile_every=timedelta(seconds=0.5)
    ) as agent:
        assert agent._journal.kept == 0
        await start_bot(reassert_seconds=90)
        await agent.publish(agent.interrupt(asking(an_action("pay"))))
        waiting = asyncio.create_task(agent.wait("billing.0123456789abcdef0123456789abcdef"))

        await until(lambda: agent._journal.kept == 90)
        waiting.cancel()


async def test_an_agent_can_be_told_otherwise(start_bot, redis_url, monkeypatch):
    """By its own setting."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", "0")
    await start_bot(reassert_seconds=90)

    async with an_agent(redis_url) as agent:
        assert agent._journal.kept == 0


async def test_a_process_that_starts_goes_on_at_once_where_no_failover_was(
    start_bot, redis_url, meta, slack, watcher
):
    """A bot has been connected to this server for long enough, and says so."""
    await start_bot(reassert_seconds=120)

    async def is_settled() -> bool:
        return any(name.startswith("settled:") for name in meta())

    await eventually(is_settled)
    async with an_agent(redis_url) as agent:
        assert agent._journal.settles_in == 0
        interrupt = agent.interrupt(asking(an_action("pay")))
        waiting = asyncio.create_task(take(agent, interrupt))
        await Someone(slack, "U0DANA").press(await watcher.card(interrupt.id), "approve:0")
        assert (await waiting).decisions == (ApproveDecision(),)


async def test_a_process_that_starts_waits_while_others_may_write_again(start_bot, redis_url, meta):
    """No bot has been connected to this server for long enough."""
    await start_bot(reassert_seconds=120)
    assert not any(name.startswith("settled:") for name in meta())

    async with an_agent(redis_url) as agent:
        assert agent._journal.settles_in > 0
