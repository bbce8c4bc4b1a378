"""The loop behind drawing and deadlines: claim, do, give back, and let nothing stop the rest."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from agent_adapter.redis.pool import end_task
from bot.jobs.leased_loop import Handler, Worker
from bot.store.records import ApprovalStore
from tests.conftest import until


@pytest.fixture
def owe(store: ApprovalStore, redis: Redis) -> Callable[..., Awaitable[None]]:
    """Owe work about these ids, due at once."""

    async def owe(*ids: str) -> None:
        await redis.zadd(store.keys.undrawn, dict.fromkeys(ids, 1))

    return owe


@pytest.fixture
async def start(store: ApprovalStore) -> AsyncIterator[Callable[..., Worker]]:
    """Start a worker that sweeps by itself only rarely: `start(handle)`."""
    running: list[asyncio.Task[None]] = []

    def start(handle: Handler, **given: Any) -> Worker:
        worker = Worker(store, "undrawn", handle, **{"lease": 60, "sweep": 60, **given})
        running.append(asyncio.create_task(worker.run(Loop("drawing", within=60))))
        return worker

    yield start
    for task in running:
        await end_task(task)


async def nothing_owed(store: ApprovalStore) -> None:
    async with asyncio.timeout(30):
        while (await store.owed())["undrawn"]:
            await asyncio.sleep(0.01)


async def test_what_has_to_wait_is_put_back_unlooked_at(store, owe, start):
    """It comes again when its time is over, however many wait with it; the others are done meanwhile."""
    done, waits = [], {"a": 300, "b": 300}

    async def handle(id: str) -> None:
        done.append(id)

    await owe("a", "b", "c")
    start(handle, wait=lambda owed: waits.pop(owed, 0))
    await nothing_owed(store)

    assert done[0] == "c"
    assert sorted(done) == ["a", "b", "c"]


async def test_agents_take_turns_where_more_is_due_than_is_taken(store, owe):
    """One card of a quiet agent is not behind four hundred of another."""
    await owe(*(f"flood.{number:03}" for number in range(400)), "quiet.1", "still.1", "still.2")

    first = await store.lease_work("undrawn", limit=6, lease=60_000)
    then = await store.lease_work("undrawn", limit=6, lease=60_000)

    ids = [work.interrupt_id for work in first]
    assert ids == ["flood.000", "quiet.1", "still.1", "flood.001", "still.2", "flood.002"]
    assert [work.interrupt_id for work in then] == [f"flood.{number:03}" for number in range(3, 9)]


async def test_behind_thousands_the_others_are_seen_soon(store, owe, redis):
    """Only the first thousand are looked at; most of a flood then makes room, and comes again a second later."""
    await owe(*(f"flood.{number:04}" for number in range(2_500)))
    await redis.zadd(store.keys.undrawn, {"quiet.1": 2})

    claims = [await store.lease_work("undrawn", limit=4, lease=60_000) for _ in range(3)]

    assert any(work.interrupt_id == "quiet.1" for work in claims[-1])
    assert await redis.zcard(store.keys.undrawn) == 2_501


async def test_a_lost_wake_up_is_made_good_by_the_sweep(store, owe, start):
    """Without any word the work is found too."""
    done = []

    async def handle(id: str) -> None:
        done.append(id)

    start(handle, sweep=0.05)
    await asyncio.sleep(0.02)
    await owe("a")
    await nothing_owed(store)

    assert done == ["a"]


@pytest.mark.parametrize(
    "error", [ValueError("broken"), AgentAdapterError("Redis is away"), KeyError("field")], ids=repr
)
async def test_one_broken_id_does_not_stop_the_others(store, owe, start, error, caplog):
    """The others are done at once; the broken one stays owed, comes again, and says why."""
    done, tried = [], []

    async def handle(id: str) -> None:
        if id == "bad" and not tried:
            tried.append(id)
            raise error
        done.append(id)

    await owe("bad", "a", "b")
    worker = start(handle, lease=0.3, sweep=0.1)
    await until(lambda: len(done) == 2)
    assert sorted(done) == ["a", "b"]
    assert (await store.owed())["undrawn"] >= 1

    await nothing_owed(store)
    await worker.drain()

    assert sorted(done) == ["a", "b", "bad"]
    assert {record.levelno for record in caplog.records} <= {logging.WARNING, logging.ERROR}
    assert "bad" in [getattr(record, "interrupt_id", None) for record in caplog.records]


async def test_work_that_is_not_finished_comes_again_when_it_said(store, owe, start):
    """A handler that must wait says how long, and is called again by itself."""
    calls = []

    async def handle(id: str) -> int | None:
        calls.append(id)
        return 30 if len(calls) < 3 else None

    await owe("a")
    start(handle)
    await nothing_owed(store)

    assert calls == ["a", "a", "a"]


async def test_an_id_is_never_handled_twice_at_once(store, owe, start):
    """Though its lease lapses and it is owed anew meanwhile, one call about a record follows the other."""
    inside, most, calls = 0, 0, 0

    async def handle(_: str) -> None:
        nonlocal inside, most, calls
        inside, calls = inside + 1, calls + 1
        most = max(most, inside)
        await asyncio.sleep(0.15)
        inside -= 1

    await owe("a")
    # Ten leases are all the time that it has, also on a busy machine.
    worker = start(handle, lease=0.06, sweep=0.01)
    for _ in range(5):
        await asyncio.sleep(0.02)
        await owe("a")
        worker.wake()
    await until(lambda: calls >= 3)

    assert most == 1


async def test_what_changes_while_it_is_done_is_done_again_at_once(store, owe, start):
    """A click that falls while its card is drawn is drawn right after, not at the next sweep."""
    begun, go, calls = asyncio.Event(), asyncio.Event(), []

    async def handle(id: str) -> None:
        calls.append(id)
        begun.set()
        await go.wait()

    await owe("a")
    worker = start(handle)
    await begun.wait()
    await owe("a")
    worker.wake()
    # By then the worker has met it again, and could do nothing about it.
    await asyncio.sleep(0.3)
    go.set()
    await nothing_owed(store)

    assert calls == ["a", "a"]


async def test_only_so_many_at_once(store, owe, start):
    """More than fits is left to other replicas and done as places come free."""
    inside, most, full = 0, 0, asyncio.Event()

    async def handle(_: str) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0.01)
        inside -= 1

    await owe(*(f"id-{n}" for n in range(10)))
    start(handle, at_once=3)
    await nothing_owed(store)

    assert most == 3


async def test_draining_finishes_what_runs(store, owe):
    """A process that is asked to stop ends the work that it holds, and takes no more."""
    begun, go, done = asyncio.Event(), asyncio.Event(), []

    async def handle(id: str) -> None:
        begun.set()
        await go.wait()
        done.append(id)

    await owe("a")
    worker = Worker(store, "undrawn", handle, lease=60, sweep=60)
    running = asyncio.create_task(worker.run(Loop("drawing", within=60)))
    await begun.wait()
    await end_task(running)
    await owe("b")
    draining = asyncio.create_task(worker.drain())
    await asyncio.sleep(0.02)
    assert not draining.done()

    go.set()
    await draining

    assert done == ["a"]
    assert await store.owed() == {"undrawn": 1, "due": 0, "unresumed": 0}
