"""Slack's limits, kept by all replicas in one Redis."""

import asyncio
import time

import pytest
from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import open_redis
from bot.slack import pacing
from bot.slack.pacing import LONGEST_WAIT, Limit, Pacing, Queue, spread
from bot.store.records import ApprovalStore


@pytest.fixture
def replicas(redis: Redis, keys: Keys) -> list[Pacing]:
    """Two bots beside one Redis."""
    return [Pacing(ApprovalStore(redis, keys).scripts, keys) for _ in range(2)]


async def test_a_burst_keeps_to_the_limit(replicas, monkeypatch):
    """However often two replicas ask, each window of 400 milliseconds has at most twenty edits."""
    limit = spread(20, window := 400)
    monkeypatch.setattr(pacing, "EDITS", limit)
    began, given = time.monotonic(), 0
    while time.monotonic() - began < 1:
        waits = await asyncio.gather(*(replica.turn_to_edit("billing", urgent=False) for replica in replicas))
        given += waits.count(0)

    passed = 1000 * (time.monotonic() - began)
    assert limit.at_once - 1 < given <= limit.at_once + passed / limit.every
    assert limit.at_once - 1 + window / limit.every <= 20


@pytest.mark.parametrize("urgent", [False, True])
async def test_a_turn_that_was_refused_does_not_count(replicas, monkeypatch, *, urgent):
    """Asking again and again does not push the turn away."""
    monkeypatch.setattr(pacing, "EDITS", spread(1, 60_000))
    assert await replicas[0].turn_to_edit("billing", urgent=urgent) == 0

    waits = [await replicas[1].turn_to_edit("billing", urgent=urgent) for _ in range(5)]

    assert waits == sorted(waits, reverse=True)
    assert 0 < waits[-1] <= waits[0] <= 60_000


async def test_urgent_edits_go_before_the_others(replicas, monkeypatch):
    """While somebody waits to show a decision, cosmetic edits wait longer, in every replica."""
    monkeypatch.setattr(pacing, "EDITS", spread(1, 100))
    order = []

    async def edit(name: str, replica: Pacing, *, urgent: bool) -> None:
        while wait := await replica.turn_to_edit("billing", urgent=urgent):
            await asyncio.sleep(wait / 1000)
        order.append(name)

    await edit("first", replicas[0], urgent=False)
    assert await replicas[0].turn_to_edit("billing", urgent=True) > 0
    await asyncio.gather(
        edit("cosmetic", replicas[0], urgent=False), edit("decided", replicas[1], urgent=True)
    )

    assert order == ["first", "decided", "cosmetic"]


async def test_a_channel_takes_one_post_a_second(replicas):
    """One slow channel never holds up another, and edits have turns of their own."""
    assert await replicas[0].turn_to_post("C1", "billing") == 0
    assert 0 < await replicas[1].turn_to_post("C1", "billing") <= 1_050
    assert await replicas[1].turn_to_post("C2", "billing") == 0
    assert await replicas[1].turn_to_edit("billing", urgent=False) == 0


async def test_an_agent_goes_before_the_one_that_had_the_last_turn(replicas):
    """A card of another agent does not wait behind a flood, and the flood waits longer for it: a channel takes one post a second."""
    flood, other = replicas
    assert await flood.turn_to_post("C1", "flood") == 0
    assert await flood.turn_to_post("C1", "flood") > 0

    assert await other.turn_to_post("C1", "billing") == 0
    assert 1_050 < await other.turn_to_post("C1", "billing") <= 2_100
    assert 0 < await flood.turn_to_post("C1", "flood") <= 1_050


async def test_fifty_edits_a_minute_start_with_a_burst_and_go_on_evenly(replicas):
    """A tenth of the limit passes at once, the last of them for another agent; the rest is spread, so that nobody starves."""
    agents = ["billing"] * 4 + ["other", "billing"]
    waits = [await replicas[n % 2].turn_to_edit(agent, urgent=False) for n, agent in enumerate(agents)]

    assert waits[:5] == [0] * 5
    assert 0 < waits[5] < 1_600


async def test_slacks_own_word_holds_everybody(replicas):
    """After a `Retry-After` nobody calls, urgent or not; a shorter word does not cut a longer one."""
    await replicas[0].hold(20, "edit")
    await replicas[0].hold(0.1, "edit")
    await replicas[0].hold(20, "post", "C1")

    assert await replicas[1].turn_to_edit("billing", urgent=True) > 10_000
    assert await replicas[1].turn_to_post("C1", "billing") > 10_000
    assert await replicas[1].turn_to_post("C2", "billing") == 0


async def test_a_hold_ends(replicas):
    """The wait that is told is long enough."""
    await replicas[0].hold(0.1, "edit")
    wait = await replicas[1].turn_to_edit("billing", urgent=False)
    assert wait > 0

    await asyncio.sleep(wait / 1000 + 0.005)

    assert await replicas[1].turn_to_edit("billing", urgent=False) == 0


async def test_without_pacing_every_turn_is_free(redis, keys):
    """Where Slack's limits do not hold, nothing is counted."""
    free = Pacing(ApprovalStore(redis, keys).scripts, keys, enabled=False)

    assert [await free.turn_to_post("C1", "billing") for _ in range(3)] == [0, 0, 0]
    assert await redis.keys("*pace*") == []


async def test_while_no_server_answers_each_bot_keeps_its_own_pace(keys, tmp_path, monkeypatch):
    """In a cluster, the one server that keeps the turns can be away alone."""
    monkeypatch.setattr(pacing, "POSTS", Limit(every=30_000, at_once=2))
    async with open_redis(f"unix://{tmp_path / 'nobody.sock'}") as away:
        alone = Pacing(ApprovalStore(away, keys).scripts, keys)
        await alone.hold(20, "edit")

        assert await alone.turn_to_post("C1", "billing") == 0
        assert 10_000 < await alone.turn_to_post("C1", "billing") <= 30_000
        assert await alone.turn_to_post("C2", "billing") == 0
        assert await alone.turn_to_edit("billing", urgent=True) > 10_000


def test_of_a_long_queue_a_few_ask_for_each_turn():
    """Up to thirty who wait all come back for the next turn; of many, each passes some over, and none waits over a minute."""
    queue = Queue()
    waits = [queue.join(f"billing.{number}", 1_000) for number in range(100)]

    assert waits[:32] == [1_000] * 32
    assert (waits[32], waits[-1]) == (2_000, 6_000)
    assert 5_000 < queue.remaining("billing.99") <= 6_000
    assert queue.join("billing.next", 50_000) == LONGEST_WAIT
    assert queue.remaining("nobody") == 0


def test_how_many_of_one_agent_wait_makes_no_other_one_wait_longer():
    """A long queue is that of its agent."""
    queue = Queue()
    for number in range(100):
        queue.join(f"flood.{number}", 1_000)

    assert queue.join("billing.1", 1_000) == 1_000


def test_who_has_waited_makes_nobody_wait_longer(monkeypatch):
    """Another bot may have drawn them meanwhile."""
    queue = Queue()
    for number in range(700):
        queue.join(f"billing.{number}", 1_000)

    over = time.monotonic() + LONGEST_WAIT / 1000
    monkeypatch.setattr(pacing.time, "monotonic", lambda: over)

    assert queue.join("billing.next", 1_000) == 1_000


async def test_a_clock_that_was_set_back_makes_nobody_wait_longer(replicas, redis, keys):
    """What is kept then seems to live for an hour."""
    assert await replicas[0].turn_to_post("C1", "billing") == 0
    await redis.pexpire(keys.pace("post", "C1"), 3_600_000)

    assert 0 < await replicas[0].turn_to_post("C1", "billing") <= 1_050
