"""How often a bot asks Redis between a request and its card."""

import asyncio

from agent_adapter.redis.scripts import Scripts
from tests.conftest import until
from tests.support.builders import an_interrupt

MOST = 8
FIRST, LAST = "take_inbox", "save_part"


async def test_a_card_is_posted_with_few_round_trips(start_bot, client, redis, monkeypatch):
    """Counted is what the bot sends from the wake-up until it has noted what Slack shows. Looks for what is due are not for it."""
    bot = await start_bot(sweep_seconds=60, pace=True)
    pool, trips, named = bot.store.scripts._redis.connection_pool, [], {}
    run, connect = Scripts._run, pool.get_connection
    for script in bot.store.scripts._scripts.values():
        # Otherwise the first call of each takes two.
        await redis.script_load(script.text)

    async def noted(scripts, script, keys, *given):
        named[asyncio.current_task()] = "" if keys[0] == bot.store.keys.due else script.verb
        return await run(scripts, script, keys, *given)

    async def counted(*given, **more):
        trips.append(named.pop(asyncio.current_task(), "a command"))
        return await connect(*given, **more)

    monkeypatch.setattr(Scripts, "_run", noted)
    monkeypatch.setattr(pool, "get_connection", counted)
    await client.publish(an_interrupt())
    await until(lambda: LAST in trips)

    of_card = [trip for trip in trips[trips.index(FIRST) : trips.index(LAST) + 1] if trip]
    assert len(of_card) <= MOST, of_card
