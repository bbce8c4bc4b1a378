"""How much one agent may have asked: counted once, over all replicas, and forgotten when it has ended."""

import asyncio
from datetime import timedelta

from agent_adapter import ApprovalClient
from bot.domain.policy import Limits
from bot.store.records import ApprovalStore
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import admit


async def publish(client: ApprovalClient, run: str, text: str = "") -> str:
    return await client.publish(
        an_interrupt(an_action("pay", {"text": text}), run=run, expires_in=timedelta(hours=1))
    )


async def reserve(store: ApprovalStore, limits: Limits, interrupt_id: str) -> tuple[str, int] | None:
    """Count a record, and give the limit that it would break."""
    state = await store.load(interrupt_id)
    found = await store.reserve("billing", limits, interrupt=state.interrupt)
    return None if isinstance(found, frozenset) else found


async def test_no_more_interrupts_are_open_than_the_limit_across_replicas(client, store, redis):
    """Of ten that two bots look at together, three are taken; each counts once."""
    limits, ids = Limits(pending=3), [await publish(client, f"run-{n}") for n in range(10)]
    stores = store, ApprovalStore(redis, store.keys)

    broken = await asyncio.gather(*(reserve(store, limits, each) for each in ids for store in stores))

    taken = {each for number, each in enumerate(ids) if broken[2 * number] is None}
    assert len(taken) == 3
    assert {each for number, each in enumerate(ids) if broken[2 * number + 1] is None} == taken
    assert {found for found in broken if found} == {("pending", 3)}


async def test_the_first_interrupt_of_an_agent_is_weighed_before_it_is_stored(store):
    """As the HTTP API asks, which has nothing of this agent to compare it with."""
    assert await store.reserve("billing", Limits(bytes=10_000), size=9_000) == frozenset()
    assert await store.reserve("billing", Limits(bytes=10_000), size=11_000) == ("bytes", 11_000)


async def test_what_has_ended_makes_room(client, store):
    """An interrupt that was settled, and one whose record is gone, count no more; one that is open does."""
    limits, ids = Limits(pending=3), [await publish(client, f"run-{n}") for n in range(5)]
    for each in ids[:3]:
        assert await reserve(store, limits, each) is None
        await admit(store, each)
    assert await reserve(store, limits, ids[3]) == ("pending", 3)

    await store.settle(ids[0], "withdrawn")
    await store._redis.delete(store.keys.req(ids[1]), store.keys.card(ids[1]))

    assert [await reserve(store, limits, each) for each in ids[3:]] == [None, None]
    assert await store.reserve("billing", limits) == ("pending", 3)


async def test_so_many_a_minute_then_evenly(client, store):
    """After a quiet minute as many as it allows come at once; the next one is told when."""
    limits = Limits(per_minute=3)
    for number in range(3):
        assert await reserve(store, limits, await publish(client, f"{number}")) is None

    what, wait = await reserve(store, limits, await publish(client, "next"))
    assert (what, 19_000 < wait <= 20_000) == ("per_minute", True)
