"""Deciding and expiring at the same moment, and a bot that was away when the time was up."""

import asyncio
import random
from datetime import timedelta

import pytest

from bot.app import running
from playground.errors import ControlError
from tests.conftest import settings_for, until
from tests.support.builders import an_action, asking
from tests.support.faults import CHANNEL, nothing_owed, rounds, settled_card, take

SECOND = timedelta(seconds=1)


@pytest.mark.timeout(900)
async def test_click_at_the_deadline_decides_or_expires(start_bot, client, slack, store, watcher):
    """Decided or expired, never both; record, card and agent say the same, and so does what the person hears."""
    for _ in range(2):
        await start_bot(sweep_seconds=0.1)
    outcomes = []
    for _ in range(rounds(1, 34)):
        async with asyncio.timeout(120):
            # Some well before, some after, and many that nobody could tell.
            moments = [-4.0, -0.5, 0.02, 0.05, *(random.uniform(-0.1, 0.01) for _ in range(26))]
            outcomes += await asyncio.gather(*(press_at(m, client, slack, store, watcher) for m in moments))
    assert {"decided", "expired"} == set(outcomes)
    await nothing_owed(store)


async def press_at(moment, client, slack, store, watcher):
    """Press so many seconds after the deadline; give how it ended."""
    interrupt = client.interrupt(asking(an_action()), expires_in=6 * SECOND)
    agent = asyncio.create_task(take(client, interrupt))
    await until(lambda: watcher.cards(interrupt.id) or agent.done(), within=60)
    if not (cards := watcher.cards(interrupt.id)):
        # On a busy machine no bot could post it in time, and a card that nobody needs is not posted.
        assert (await agent).status == "expired"
        return "expired"
    [card] = cards
    state = await store.load(interrupt.id)
    left = (state.deadline - state.now).total_seconds()
    await asyncio.sleep(left + moment)
    try:
        pressed = (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
    except ControlError:
        # The card said that it is over before the person could press.
        pressed = False

    resume = await agent
    # On a busy machine the agent may see the deadline and its grace pass before a bot has settled the record.
    state = await settled_card(store, watcher, interrupt.id, stage="resumed")

    assert resume.status == state.status
    if resume.status == "decided":
        assert pressed
        assert (resume.decisions[0].type, state.recorded[0].decided_by) == ("approve", "U0DANA")
        assert resume.records[0].decided_at < state.deadline
    else:
        assert (resume.status, resume.decisions[0].type, state.recorded[0]) == ("expired", "reject", None)
        assert "Expired" in watcher.cards(interrupt.id)[0]["text"]
    return resume.status


async def test_deadline_that_passed_while_no_bot_ran_ends_a_card_that_was_shown(
    start_bot, client, store, watcher, playground, redis_url
):
    """The next bot redraws it: the buttons are gone."""
    interrupt = client.interrupt(asking(an_action()), expires_in=2 * SECOND)
    async with asyncio.timeout(120):
        async with running(settings_for(playground, redis_url)):
            agent = asyncio.create_task(take(client, interrupt))
            await watcher.card(interrupt.id)
        assert (await agent).decisions[0].type == "reject"

        await start_bot()

        assert (await settled_card(store, watcher, interrupt.id)).status == "expired"
        await nothing_owed(store)
