"""Which requests join the queue of a channel, and who may draw its card, in a real Redis."""

import asyncio
import random
from datetime import timedelta

import pytest

from bot.domain.rules import Burst
from bot.domain.waiting import queue_entry

TWO = Burst(2, timedelta(hours=1))


async def joins(store, interrupt_id, channel, burst):
    return await store.joins_queue(interrupt_id, channel, burst)


async def test_further_requests_join_the_queue_and_each_answer_stays_the_same(store):
    """A bot that asks again, after a lost answer or a crash, hears what it heard before. Other channels have their own."""
    asked = [await joins(store, f"billing.{n}", "C1", TWO) for n in range(4)]
    again = [await joins(store, f"billing.{n}", "C1", TWO) for n in reversed(range(4))]

    assert asked == [False, False, True, True]
    assert again == asked[::-1]
    assert not await joins(store, "billing.9", "C2", TWO)
    assert await store.queues() == ["C1"]
    assert (await store.queue_card("C1")).joined == ("billing.2", "billing.3")


async def test_of_many_requests_at_once_no_more_than_the_limit_have_a_card(store):
    """Some come in the same millisecond. Each hears the same when it asks again."""
    half = Burst(100, timedelta(hours=1))
    ids = [f"billing.{n}" for n in range(200)]
    random.shuffle(ids)
    asked = await asyncio.gather(*(joins(store, each, "C1", half) for each in ids))
    again = await asyncio.gather(*(joins(store, each, "C1", half) for each in ids))

    assert asked.count(False) == 100
    assert again == asked


async def test_requests_of_all_agents_count_together(store):
    """The channel is full of cards, whoever asks."""
    asked = [await joins(store, f"agent-{n}.1", "C1", TWO) for n in range(3)]

    assert asked == [False, False, True]


async def test_when_the_channel_was_quiet_for_a_while_a_request_has_a_card_again(store):
    """Only what was asked within that time counts."""
    short = Burst(1, timedelta(milliseconds=200))
    assert not await joins(store, "billing.1", "C1", short)
    await asyncio.sleep(0.3)

    assert not await joins(store, "billing.2", "C1", short)


async def test_one_bot_at_a_time_draws_the_card_of_a_queue(store):
    """The other waits for its turn, and what it would note is not kept."""
    for n in range(3):
        await joins(store, f"billing.{n}", "C1", TWO)

    first, _ = await store.lease_queue("C1", owner="one", lease=60_000)
    second, _ = await store.lease_queue("C1", owner="two", lease=60_000)

    assert (first, second) == ("mine", "busy")
    assert not await store.save_queue("C1", owner="two", ts="2.0", shown="d")
    assert await store.save_queue("C1", owner="one", ts="1.0", shown="d")
    assert (await store.queue_card("C1")).ts == "1.0"


async def test_whom_a_card_called_is_known_until_it_is_gone(store):
    """An edit calls nobody. A card that is posted anew is not counted among those that people deleted."""
    for n in range(3):
        await joins(store, f"billing.{n}", "C1", TWO)
    found = []
    for ts, called in (("1.0", ["U1", "U2"]), ("1.0", None), ("+", None), ("2.0", []), ("-", None)):
        await store.lease_queue("C1", owner="one", lease=60_000)
        await store.save_queue("C1", owner="one", ts=ts, shown="d", called=called)
        card = await store.queue_card("C1")
        found.append((card.ts, card.called, bool(card.posted), card.gone))

    called = frozenset({"U1", "U2"})
    nobody = frozenset()
    assert found == [
        ("1.0", called, True, 0),
        ("1.0", called, True, 0),
        ("", nobody, False, 0),
        ("2.0", nobody, True, 0),
        ("", nobody, False, 1),
    ]


async def test_a_lease_that_ran_out_says_since_when_a_card_may_be_there(store):
    """The next bot looks for it in Slack before it posts."""
    for n in range(3):
        await joins(store, f"billing.{n}", "C1", TWO)
    _, began = await store.lease_queue("C1", owner="dead", lease=1)
    await asyncio.sleep(0.01)

    assert await store.lease_queue("C1", owner="next", lease=60_000) == ("takeover", began)


async def test_a_queue_that_somebody_joined_meanwhile_is_not_forgotten(store):
    """It looked empty, and a request came before that was noted."""
    for n in range(3):
        await joins(store, f"billing.{n}", "C1", TWO)
    card = await store.queue_card("C1")
    await asyncio.sleep(0.01)
    await joins(store, "billing.4", "C1", TWO)

    await store.lease_queue("C1", owner="one", lease=60_000)
    await store.save_queue("C1", owner="one", over=card.asked)
    assert await store.queues() == ["C1"]

    await store.lease_queue("C1", owner="two", lease=60_000)
    await store.save_queue("C1", owner="two", over=(await store.queue_card("C1")).asked)
    assert await store.queues() == []


def test_a_queue_is_no_person_group_or_channel():
    """Nobody has its name among the entries of their lists."""
    assert queue_entry("C1")[0] not in "UWSCDG"


@pytest.mark.parametrize("value", ["x", "", "9" * 5000, "-1", "nan", "[" * 10_000])
async def test_whatever_stands_in_a_field_of_a_queue_its_card_is_drawn_again(store, redis, value):
    """Of one queue. What cannot be read as a number counts as 0, and a lease that no script wrote holds nothing."""
    for n in range(3):
        await joins(store, f"billing.{n}", "C1", TWO)
    fields = ("asked", "drawn", "gone", "posted", "lease", "called", "shown")
    await redis.hset(store.keys.queue_of("C1")["queue"], mapping=dict.fromkeys(fields, value))

    card = await store.queue_card("C1")
    outcome, _ = await store.lease_queue("C1", owner="one", lease=60_000)

    assert (card.joined, card.drawn) == (("billing.2",), 0)
    assert outcome == "takeover"
    assert await store.save_queue("C1", owner="one", ts="1.0", shown="d")
    assert (await store.queue_card("C1")).drawn > 0
