"""Something else writes to Redis: a record that cannot be read ends once, with our own words on both sides."""

import asyncio
import logging
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from agent_adapter.errors import AgentAdapterError, UnreadableRecordError
from tests.conftest import until
from tests.support.builders import an_action, asking
from tests.support.faults import eventually, nothing_owed
from tests.support.people import Someone, buttons, words

BYTES = b"\xff\xfe"
DAMAGE = {
    "bytes in the body": ("req", "body", BYTES),
    "bytes in a new field": ("req", BYTES, "1"),
    "bytes on the card": ("card", "seen:0:U0DANA", BYTES),
    "a body of text": ("req", "body", "send money"),
    "a body of another interrupt": ("req", "body", '{"schema_version": 1, "id": "billing.other"}'),
}


async def damage(redis: Redis, interrupt_id: str, what: str) -> None:
    side, field, value = DAMAGE[what]
    await redis.hset(f"{{assent}}:{side}:{interrupt_id}", field, value)


async def outcome(agent: asyncio.Task) -> str:
    """Give the words of our error that an agent gets."""
    with pytest.raises(AgentAdapterError) as caught:
        async with asyncio.timeout(120):
            await agent
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("what", DAMAGE)
async def test_a_record_that_is_damaged_before_it_is_drawn_is_refused_once(
    what, start_bot, client, redis, store, watcher, caplog
):
    """No card is posted, the agent hears it at once, and nobody tries it again; others go on."""
    interrupt = client.interrupt(asking(an_action()))
    await client.publish(interrupt)
    await damage(redis, interrupt.id, what)
    agent = asyncio.create_task(client.wait(interrupt.id))
    caplog.set_level(logging.WARNING)
    await start_bot()

    assert (await outcome(agent)).startswith("UnreadableRecordError")

    async def refused() -> bool:
        ended = await redis.hmget(f"{{assent}}:card:{interrupt.id}", "status", "code")
        return ended == ["refused", "unreadable"]

    await eventually(refused)
    await nothing_owed(store)
    assert caplog.text.count("record.unreadable") <= 2
    assert watcher.cards(interrupt.id) == []
    other = await client.publish(client.interrupt(asking(an_action())))
    await watcher.card(other)


@pytest.mark.parametrize("what", ["bytes in the body", "bytes on the card", "a body of text"])
async def test_a_record_that_is_damaged_while_people_decide_closes_its_card(
    what, start_bot, slack, client, redis, store, watcher
):
    """A click is answered in words and decides nothing; the buttons go; the agent hears it."""
    bot = await start_bot()
    interrupt = client.interrupt(asking(an_action()))
    agent = asyncio.create_task(client.wait(await client.publish(interrupt)))
    card = await watcher.card(interrupt.id)
    await damage(redis, interrupt.id, what)
    bot.store._remembered.clear()
    dana = Someone(slack, "U0DANA")

    assert (await dana.press(card, "reject:0"))["ack"]["ok"]
    await dana.notice("The stored data of this request cannot be read")
    await store.queue_drawing(interrupt.id)

    await until(lambda: not buttons(watcher.cards(interrupt.id)[0]))
    assert "This can no longer be decided" in words(watcher.cards(interrupt.id)[0]["blocks"])
    assert (await outcome(agent)).startswith("UnreadableRecordError")
    await nothing_owed(store)


WELL_FORMED = {
    "a vote on no action": ("vote:7:U0DANA", '1 approve click {"decision": {"type": "approve"}}'),
    "a message in no place": ("part:7:0", "C0APPROVALS 1.1 open digest"),
    "somebody who looks at no place": ("mark:claimed:7", "1 99999999999999 U0DANA"),
    "a place of no action": ("place:0", '["C0APPROVALS", null, [7], []]'),
    "a remark on no action": ("remark:1", '{"kind": "remind", "places": [0], "actions": [7]}'),
    "a standing approval that nobody gave": ("sticky_grant:0", '{"scope": "agent", "lasts": "PT1H"}'),
    "a status of no script": ("status", "approved"),
    "a reader of no pages": ("pages", "0:x"),
    "a time": ("deadline", "soon"),
}


async def test_a_click_on_a_record_with_a_damaged_card_is_answered_and_all_others_go_on(
    start_bot, slack, client, redis, watcher, caplog
):
    """The person reads that it cannot be read, nothing is decided, and no listener and no loop has failed."""
    bot = await start_bot()
    dana = Someone(slack, "U0DANA")
    damaged = [client.interrupt(asking(an_action())) for _ in WELL_FORMED]
    fine = client.interrupt(asking(an_action("fine")))
    for each in (*damaged, fine):
        await client.publish(each)
        await watcher.card(each.id)
    for each, (field, value) in zip(damaged, WELL_FORMED.values(), strict=True):
        await redis.hset(f"{{assent}}:card:{each.id}", field, value)
        await redis.hset(f"{{assent}}:card:{each.id}", "sticky_until:0", "99999999999999")
    bot.store.forget_remembered()

    for each in damaged:
        before = len(watcher.notices("U0DANA"))
        await dana.press(watcher.cards(each.id)[0], "approve:0")
        await until(lambda before=before: len(watcher.notices("U0DANA")) > before)
        assert "cannot be read" in watcher.notices("U0DANA")[-1]
        assert await redis.hget(f"{{assent}}:card:{each.id}", "d:0") is None

    await dana.press(watcher.cards(fine.id)[0], "approve:0")
    assert (await client.wait(fine.id)).decisions[0].type == "approve"
    assert "listener.failed" not in caplog.text
    assert "loop.failed" not in caplog.text


async def overwrite(redis: Redis, side: str, interrupt_id: str) -> None:
    """Put a key of another type in the place of one half of a record."""
    await redis.set(f"{{assent}}:{side}:{interrupt_id}", "foreign")


@pytest.mark.parametrize("side", ["card", "req"])
async def test_a_key_of_another_type_ends_its_own_wait_only(side, start_bot, slack, client, redis, watcher):
    """Its own agent hears it; another wait of the same process is answered."""
    await start_bot()
    damaged, fine = (client.interrupt(asking(an_action())) for _ in range(2))
    waits = [asyncio.create_task(client.wait(await client.publish(each))) for each in (damaged, fine)]
    await watcher.card(damaged.id)
    card = await watcher.card(fine.id)
    await overwrite(redis, side, damaged.id)

    assert (await outcome(waits[0])).startswith(f"UnreadableRecordError: {damaged.id} cannot be read")
    assert not waits[1].done()
    await Someone(slack, "U0DANA").press(card, "approve:0")
    async with asyncio.timeout(120):
        assert (await waits[1]).status == "decided"


async def test_a_claim_of_a_record_with_a_key_of_another_type_names_the_record(client, redis):
    id = await client.publish(client.interrupt(asking(an_action())))
    await overwrite(redis, "card", id)

    with pytest.raises(UnreadableRecordError, match=f"{id} cannot be read"):
        await client.claim(id, "worker", timedelta(minutes=1))


async def test_a_foreign_id_among_the_owed_work_holds_nothing_up(start_bot, client, redis, watcher):
    """It is taken out: it cannot even be named."""
    await redis.zadd("{assent}:undrawn", {BYTES: 1})
    await redis.zadd("{assent}:due", {BYTES: 1})
    await start_bot()

    await watcher.card(await client.publish(client.interrupt(asking(an_action()))))

    assert await redis.zscore("{assent}:undrawn", BYTES) is None
    assert await redis.zscore("{assent}:due", BYTES) is None
