"""How often a bot asks Redis between a request and its card, and how often it draws the card."""

import asyncio

from agent_adapter.redis.scripts import Scripts
from bot.domain.ids import MessageId
from bot.jobs import outdated
from tests.conftest import until
from tests.support.builders import an_interrupt
from tests.support.people import Someone

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


async def test_a_card_is_drawn_once_for_each_change(start_bot, client, slack, monkeypatch):
    """Before its turn, under its lease and after the call it is the same picture."""
    drawn, render = [], outdated.render_message

    def counted(state, id):
        drawn.append(state.stage)
        return render(state, id)

    monkeypatch.setattr(outdated, "render_message", counted)
    bot, asked, erik = await start_bot(), an_interrupt(), Someone(slack, "U0ERIK")
    await client.publish(asked)
    await erik.press(await erik.showing("approve:0"), "approve:0")
    await until(lambda: (shown := bot.store.recall(asked.id).shown) and shown[MessageId(0)].stage == "ended")
    async with asyncio.timeout(10):
        while (await bot.store.owed())["undrawn"]:
            await asyncio.sleep(0.02)

    assert drawn == ["open", "ended"]
