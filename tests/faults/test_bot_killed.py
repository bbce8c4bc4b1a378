"""A bot that dies between any two of its steps: no interrupt without a card, none with two."""

import asyncio
import contextlib
import random

import pytest

from agent_adapter.redis.pool import end_task
from bot.app import running
from tests.conftest import settings_for, until
from tests.faults.flow import Flow
from tests.support.builders import an_action, asking
from tests.support.faults import eventually, nothing_owed, rounds, settled_card
from tests.support.people import buttons

QUICK = {"lease_seconds": 0.9, "sweep_seconds": 0.2}


class MortalBot:
    """A replica that dies once Slack has taken a card and before the record has it."""

    def __init__(self, settings):
        self._context = running(settings)
        self.died = asyncio.Event()

    async def start(self):
        self.bot = await self._context.__aenter__()
        self._save_part = self.bot.store.save_part
        self.bot.store.save_part = self._die_once_posted
        await until(lambda: self.bot.health.ready)

    async def _die_once_posted(self, *args, shown, **kwargs):
        if shown is None:
            # Nothing was posted: a machine that stalls made it too late for this lease, and it comes again.
            return await self._save_part(*args, shown=shown, **kwargs)
        self.died.set()
        # The dead do not return, and do not clean up either.
        return await asyncio.Event().wait()

    async def bury(self):
        """Take it away as the system does: nothing that it was about to do is done."""
        await asyncio.gather(*map(end_task, self.bot.drawing._running.values()), return_exceptions=True)
        with contextlib.suppress(asyncio.CancelledError):
            await self._context.__aexit__(None, None, None)


@pytest.mark.timeout(900)
async def test_death_between_post_and_save_leaves_one_card(client, store, watcher, playground, redis_url):
    """Whoever takes over finds the message in Slack and goes on with it."""
    settings = settings_for(playground, redis_url, **QUICK)
    for _ in range(rounds(5, 100) // 5):
        async with asyncio.timeout(300):
            unsaved = [await die_over_a_new_interrupt(client, settings) for _ in range(5)]
            # A bot may have died over the card of an earlier one, before it asked about its own.
            found = [await store.admitted(interrupt_id) for interrupt_id in unsaved]
            assert not any(state.shown for state in found if state)

            async with running(settings):
                await nothing_undrawn(store)

            for interrupt_id in unsaved:
                [card] = watcher.cards(interrupt_id)
                state = await settled_card(store, watcher, interrupt_id)
                assert [shown.ts for shown in state.shown.values()] == [card["ts"]]


async def die_over_a_new_interrupt(client, settings):
    mortal = MortalBot(settings)
    await mortal.start()
    interrupt_id = await client.publish(client.interrupt(asking(an_action())))
    await mortal.died.wait()
    await mortal.bury()
    return interrupt_id


async def test_card_of_a_dead_bot_is_ended_with_its_interrupt(client, store, watcher, playground, redis_url):
    """It was posted and not saved, and nobody needs it any more: it is found all the same, and loses its buttons."""
    settings = settings_for(playground, redis_url, **QUICK)
    async with asyncio.timeout(120):
        interrupt_id = await die_over_a_new_interrupt(client, settings)
        await client.withdraw(interrupt_id, "plans changed")
        async with running(settings):
            await nothing_owed(store)

        state = await settled_card(store, watcher, interrupt_id)
        assert state.status == "withdrawn"
        assert len(state.shown) == 1
        assert buttons(watcher.cards(interrupt_id)[0]) == []


@pytest.mark.timeout(300)
async def test_bot_frozen_beyond_its_lease_leaves_one_card(bot_process, client, slack, store, watcher):
    """A process that sleeps while it posts and wakes up after another took over takes its own message away."""
    sleeper, other = bot_process(**QUICK), None
    await connected(slack, sockets=2)
    for _ in range(rounds(1, 20)):
        async with asyncio.timeout(120):
            await slack.fault("chat.postMessage", "delay", seconds=random.uniform(0.0, 0.3))
            interrupt_id = await client.publish(client.interrupt(asking(an_action())))
            await asyncio.sleep(random.uniform(0.0, 0.2))
            sleeper.freeze()
            other = bot_process(**QUICK)
            await watcher.card(interrupt_id)
            await asyncio.sleep(random.uniform(0.0, 1.5))
            sleeper.thaw()
            await nothing_undrawn(store)
            state = await settled_card(store, watcher, interrupt_id)
            [card] = watcher.cards(interrupt_id)
            assert [shown.ts for shown in state.shown.values()] == [card["ts"]]
            other.kill()


async def nothing_undrawn(store):
    async def all_drawn():
        return not (await store.owed())["undrawn"]

    await eventually(all_drawn)


@pytest.mark.timeout(900)
async def test_bots_killed_at_random_lose_nothing(bot_process, client, slack, store, watcher):
    """Two replicas, one of them always dying: every agent gets what was clicked, on one card, and nothing stays owed."""
    patient = {"lease_seconds": 2.0}
    replicas = [bot_process(**patient) for _ in range(2)]

    async def kill_some():
        await connected(slack, sockets=4)
        for which in random.choice([(0,), (1,), (0, 1)]):
            replicas[which].kill()
            replicas[which] = bot_process(**patient)

    flow = Flow(client, slack, store, watcher)
    async with flow.breaking(kill_some, pauses=(0.2, 1.0)) as killed:
        await flow.run(rounds(15, 300))

    await nothing_owed(store)
    assert len(killed) > 1


async def connected(slack, *, sockets):
    async def so_many():
        return (await slack.state())["sockets"] == sockets

    await eventually(so_many, within=60)
