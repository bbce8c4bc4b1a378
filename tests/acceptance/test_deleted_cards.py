"""Somebody deletes the card of an open question: it is posted again within seconds, and there is never a second one."""

import asyncio

import pytest

from bot.jobs.slack_call import DELETED_AT_MOST
from tests.conftest import until
from tests.support.builders import an_action, asking
from tests.support.faults import CHANNEL, nothing_owed, settled_card, watching
from tests.support.people import words

LONG = {"to": "x" * 2_000}


@pytest.fixture
async def watcher(slack):
    async with watching(slack) as watcher:
        yield watcher


async def asked(client, watcher, *actions, count=1):
    """Ask, and give the id and the messages of the card once all are there, the card itself first."""
    interrupt = client.interrupt(asking(*actions))
    await client.publish(interrupt)
    await until(lambda: len(watcher.cards(interrupt.id)) == count)
    return interrupt.id, watcher.cards(interrupt.id)


async def replaced(watcher, interrupt_id, before):
    """Wait until as many messages are there as before and none of those; give the new ones."""
    gone = {message["ts"] for message in before}

    def now():
        return watcher.cards(interrupt_id)

    await until(lambda: len(now()) == len(before) and not gone & {card["ts"] for card in now()})
    return now()


async def test_a_deleted_card_is_posted_once_and_decided_there(
    start_bot, slack, client, watcher, playground, dana
):
    """However many bots hear of it. A click that was on its way to the first message records nothing, whoever remembers it."""
    await start_bot()
    bot = await start_bot()
    interrupt_id, [card] = await asked(client, watcher, an_action("pay"))
    before = await settled_card(bot.store, watcher, interrupt_id, stage="open")
    copy = playground._state.workspace.channels[CHANNEL].messages[card["ts"]]

    await slack.delete("U0DANA", CHANNEL, card["ts"], event=True)
    [again] = await replaced(watcher, interrupt_id, [card])
    await settled_card(bot.store, watcher, interrupt_id, stage="open")
    assert [each["ts"] for each in watcher.cards(interrupt_id)] == [again["ts"]]
    assert again["text"] == card["text"]
    bot.store._remembered.put(before)
    playground._state.workspace.channels[CHANNEL].messages[card["ts"]] = copy
    await dana.press(card, "approve:0")
    await dana.notice("no longer has the record of this card, so nothing was recorded")
    assert (await bot.store.load(interrupt_id)).recorded == (None,)

    await dana.press(again, "approve:0")
    assert (await client.wait(interrupt_id)).status == "decided"


async def test_a_card_that_is_deleted_above_its_parts_is_posted_again_with_them(
    start_bot, slack, client, watcher, dana
):
    """No part is left in the thread of a message that is gone, where nobody would look, and none is there twice."""
    bot = await start_bot()
    calls = (an_action(f"pay-{n}", LONG) for n in range(5))
    interrupt_id, cards = await asked(client, watcher, *calls, count=3)
    await dana.press_one(cards[1], "approve:0")
    await until(lambda: "Approved" in words(watcher.cards(interrupt_id)[1]["blocks"]))

    await slack.delete("U0DANA", CHANNEL, cards[0]["ts"], event=True)
    again = await replaced(watcher, interrupt_id, cards)

    assert {card.get("thread_ts", card["ts"]) for card in again} == {again[0]["ts"]}
    assert "Approved" in words(again[1]["blocks"])
    await dana.press_one(again[1], "approve:1")
    await settled_card(bot.store, watcher, interrupt_id, stage="open")
    assert not [m for m in await slack.messages(CHANNEL) if m.get("thread_ts") == cards[0]["ts"]]


async def test_a_card_that_is_deleted_again_and_again_is_refused(start_bot, slack, client, watcher):
    """Where a program cleans a channel, the agent hears it in place of people being called for days."""
    bot = await start_bot(sweep_seconds=0.1)
    interrupt_id, [card] = await asked(client, watcher, an_action("pay"))
    waiting = asyncio.create_task(client.wait(interrupt_id))

    async with asyncio.timeout(30):
        for _ in range(DELETED_AT_MOST + 1):
            await settled_card(bot.store, watcher, interrupt_id, stage="open")
            await slack.delete("U0DANA", CHANNEL, card["ts"], event=True)
            await until(lambda: watcher.cards(interrupt_id) or waiting.done())
            if not waiting.done():
                [card] = watcher.cards(interrupt_id)
        resume = await waiting

    assert (resume.status, resume.code) == ("refused", "card_deleted")
    assert "find out who deletes them, or ask elsewhere" in resume.reason
    await nothing_owed(bot.store)
