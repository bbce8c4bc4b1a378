"""Inboxes: an agent notes that something happened to a record of its own. What follows from it, the bot reads from the record."""

import asyncio
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.identity import interrupt_id as interrupt_id_of
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import UnreadableRecordError
from bot.store.records import ApprovalStore
from bot.store.work import Taken
from tests.conftest import an_agent
from tests.support.builders import an_interrupt
from tests.support.deciding import admit
from tests.support.workers import decide

DONE = '1 {"status":"done"}'


async def note(
    redis: Redis, keys: Keys, event: str, about: str, *, agent: str = "billing", **said: str
) -> None:
    """Write into an inbox as whoever may write there."""
    await redis.xadd(keys.inbox(agent), {"event": event, "id": about, **said})


async def trail(redis: Redis, keys: Keys) -> list[dict[str, str]]:
    return [entry for _, entry in await redis.xrange(keys.audit)]


async def owed(store: ApprovalStore) -> set[str]:
    return {kind for kind, count in (await store.owed()).items() if count}


async def test_what_an_agent_asks_is_owed_once_a_bot_has_read_its_inbox(client, store, redis, keys):
    """The agent writes none of it: not what is owed, and not the audit trail. What was read is deleted."""
    interrupt_id = await client.publish(an_interrupt())
    assert await owed(store) == set()
    assert await trail(redis, keys) == []

    assert await store.take_inbox("billing") == Taken(notes=1, refused=0)

    assert await owed(store) == {"undrawn"}
    assert await trail(redis, keys) == [{"event": "published", "id": interrupt_id, "seq": "1"}]
    assert not await redis.exists(keys.inbox("billing"))
    assert await store.take_inbox("billing") == Taken(notes=0, refused=0)


@pytest.mark.parametrize("event", ["published", "withdraw_asked", "claimed", "resumed", "stalled", "let_go"])
async def test_a_note_about_the_record_of_another_agent_does_nothing(redis_url, store, redis, keys, event):
    """Nobody ends, hides or redraws what somebody else asks."""
    async with an_agent(redis_url, agent="payroll") as other:
        theirs = await other.publish(an_interrupt(id="payroll.1", agent="payroll"))
        await store.take_inbox("payroll")
    await redis.zrem(keys.undrawn, theirs)
    before = await trail(redis, keys)

    await note(redis, keys, event, theirs)

    assert await store.take_inbox("billing") == Taken(notes=1, refused=1)
    assert await owed(store) == set()
    assert await trail(redis, keys) == before
    assert await redis.pttl(keys.req(theirs)) == -1


@pytest.mark.parametrize(
    ("event", "about", "said"),
    [
        ("decided", "billing.1", {"index": "0", "by": "U0DANA"}),
        ("published", "billing.gone", {}),
        ("published", "billing", {}),
        ("published", "billing.1 payroll.1", {}),
        ("withdraw_asked", "billing.1", {}),
        ("resumed", "billing.1", {}),
        ("reported", "billing.1", {"index": "0", "outcome": "done"}),
        ("reported", "billing.1", {"index": "0", "outcome": "approved by U0DANA"}),
    ],
)
async def test_a_note_that_the_record_does_not_bear_out_is_refused(
    client, store, redis, keys, event, about, said
):
    """The trail has no event and no name of a person that an agent made up."""
    await client.publish(an_interrupt(id="billing.1"))
    await store.take_inbox("billing")
    before = await trail(redis, keys)

    await note(redis, keys, event, about, **said)

    assert await store.take_inbox("billing") == Taken(notes=1, refused=1)
    assert await trail(redis, keys) == before


async def test_what_an_agent_notes_again_and_again_is_in_the_trail_once(client, store, redis, keys):
    """The trail has an end: an agent that repeats itself would push out the entries of everybody else."""
    events = ("published", "withdraw_asked", "reported", "resumed", "let_go")
    interrupt_id = await client.publish(an_interrupt())
    await store.take_inbox("billing")
    await decide(store, interrupt_id, ApproveDecision())
    await redis.hset(keys.req(interrupt_id), mapping={"withdraw": "x", "outcome:0": DONE, "outcome:00": DONE})

    for event in events:
        for outcome in ("done", "failed"):
            if event == "let_go":
                await redis.hdel(keys.req(interrupt_id), "resumed")
            elif event == "resumed":
                await redis.hset(keys.req(interrupt_id), "resumed", "1")
            await redis.hset(keys.req(interrupt_id), "outcome:0", f'1 {{"status":"{outcome}"}}')
            await note(redis, keys, event, interrupt_id, index="0", outcome=outcome)
            assert await store.take_inbox("billing") == Taken(notes=1, refused=0)

    written = [entry["event"] for entry in await trail(redis, keys)]
    assert [event for event in written if event in events] == list(events)
    assert await redis.pttl(keys.card(interrupt_id)) > 0
    await note(redis, keys, "reported", interrupt_id, index="00", outcome="done")
    assert await store.take_inbox("billing") == Taken(notes=1, refused=1)


async def test_a_note_with_an_id_that_no_record_can_have_is_refused(client, store, redis, keys):
    """An id of a megabyte would push everything else out of the trail."""
    longest = interrupt_id_of("a" * 40, "r1", ["p1"])
    too_long = f"billing.{'a' * (len(longest) - len('billing.') + 1)}"
    await redis.hset(keys.req(too_long), mapping={"body": "{}"})

    await note(redis, keys, "published", too_long)

    assert await store.take_inbox("billing") == Taken(notes=1, refused=1)
    assert await trail(redis, keys) == []
    theirs = f"billing.{'a' * (len(longest) - len('billing.'))}"
    await redis.hset(keys.req(theirs), mapping={"body": "{}"})
    await note(redis, keys, "published", theirs)
    assert await store.take_inbox("billing") == Taken(notes=1, refused=0)


async def test_an_agent_cannot_hide_an_open_record_from_its_deadline(client, store, redis, keys):
    """Not even by saying, in its own half of the record, that the run went on."""
    interrupt_id = await client.publish(an_interrupt(expires_in=timedelta(hours=1)))
    await store.take_inbox("billing")
    await admit(store, interrupt_id)
    await redis.hset(keys.req(interrupt_id), mapping={"resumed": "1", "resumed_by": "me"})

    await note(redis, keys, "resumed", interrupt_id)
    await note(redis, keys, "let_go", interrupt_id)

    assert await store.take_inbox("billing") == Taken(notes=2, refused=2)
    assert await redis.zscore(keys.due, interrupt_id)
    assert await redis.pttl(keys.card(interrupt_id)) == -1


async def test_two_bots_take_each_note_once(client, store, redis, keys):
    """Both are woken, and the trail has one entry for each."""
    for number in range(20):
        await client.publish(an_interrupt(run=f"r{number}"))

    taken = await asyncio.gather(*(store.take_inbox("billing") for _ in range(4)))

    assert sum(each.notes for each in taken) == 20
    assert len(await trail(redis, keys)) == 20


async def test_an_answer_goes_to_no_process_of_another_agent(client, store, redis, keys):
    """Whoever writes another agent's process among the waiters of its own record reaches it with nothing."""
    await redis.xadd(keys.replies("payroll.p"), {"id": ""})
    await redis.xadd(keys.replies("billing.p"), {"id": ""})
    interrupt_id = await client.publish(an_interrupt())
    await redis.hset(keys.req(interrupt_id), mapping={"w:payroll.p": "1", "w:billing.p": "1"})

    await decide(store, interrupt_id, ApproveDecision())

    assert await redis.xlen(keys.replies("payroll.p")) == 1
    assert await redis.xlen(keys.replies("billing.p")) == 2


async def test_a_claim_is_noted_once_and_its_renewals_are_not(client, store, redis, keys):
    """A run of hours leaves one note; the bot looks at the record when the claim would lapse."""
    interrupt_id = await client.publish(an_interrupt())
    await store.take_inbox("billing")
    await decide(store, interrupt_id, ApproveDecision())
    for _ in range(3):
        await client.claim(interrupt_id, "me", lease=timedelta(seconds=30))

    assert await store.take_inbox("billing") == Taken(notes=1, refused=0)
    until = int(await redis.hget(keys.req(interrupt_id), "claim_until"))
    assert until - 30_000 <= await redis.zscore(keys.due, interrupt_id) <= until + 1


async def test_a_record_that_names_another_agent_inside_is_refused(client, store, redis, keys):
    """Redis lets an agent write what begins with its name; the rules judge by the name inside."""
    interrupt_id = await client.publish(an_interrupt())
    body = await redis.hget(keys.req(interrupt_id), "body")
    await redis.hset(keys.req(interrupt_id), "body", body.replace('"agent":"billing"', '"agent":"payroll"'))

    with pytest.raises(UnreadableRecordError, match="says that it is of the agent payroll"):
        await store.load(interrupt_id)


async def test_the_first_time_that_an_agent_takes_an_answer_is_measured(client, store, redis, keys):
    """From the decision, by Redis' clock. Another claim of the same run is not measured, and no number of an agent is believed."""
    interrupt_id = await client.publish(an_interrupt())
    await store.take_inbox("billing")
    await decide(store, interrupt_id, ApproveDecision())
    # As if it had been decided a minute ago.
    settled = int(await redis.hget(keys.card(interrupt_id), "settled"))
    await redis.hset(keys.card(interrupt_id), "settled", settled - 60_000)
    late = f"{settled + 10**12}-0"
    async with client.resuming(interrupt_id):
        pass
    taken = await store.take_inbox("billing")
    await redis.xadd(keys.inbox("billing"), {"event": "claimed", "id": interrupt_id}, id=late)

    ((wait, trace),) = taken.waits
    assert 60_000 <= wait < 80_000
    assert trace is None
    assert (await store.take_inbox("billing")).waits == ()
