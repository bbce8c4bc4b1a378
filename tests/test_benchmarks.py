"""What the benchmarks write by themselves, many records at once, is what the bot writes."""

from redis import Redis

from agent_adapter.redis.pool import open_redis
from benchmarks.cards import KEYS, ask_in_bulk, show_in_bulk
from bot.store.records import ApprovalStore


async def test_records_that_are_written_in_bulk_are_shown_and_wait_for_their_people(redis_url):
    """The scripts of the bot take them, so a benchmark measures what the bot would meet."""
    with Redis.from_url(redis_url) as redis:
        ids = ask_in_bulk(redis, 3)
    await show_in_bulk(redis_url, ids)

    async with open_redis(redis_url) as redis:
        store = ApprovalStore(redis, KEYS)
        found = [await store.admitted(interrupt_id) for interrupt_id in ids]
        waiting = await store.waiting(["U0DANA"], after=None, limit=10)

    assert [state.is_shown for state in found] == [True] * 3
    assert {spot.interrupt_id for spot in waiting} == set(ids)
