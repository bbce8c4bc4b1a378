"""Who reads the inboxes of agents: soon after a message, at every sweep without one, and fairly."""

import asyncio

import pytest

from agent_adapter.background import in_background
from agent_adapter.loops import Loop
from agent_adapter.redis.pool import end_task
from bot.jobs.inboxes import InboxReader
from bot.store.work import TAKE_AT_ONCE
from tests.conftest import until
from tests.support.builders import an_interrupt


@pytest.fixture
def woken() -> list[int]:
    return []


@pytest.fixture
def reader(store, woken) -> InboxReader:
    """A reader that sweeps by itself only rarely."""
    return InboxReader(store, lambda: woken.append(1), sweep=60)


async def read(reader: InboxReader) -> asyncio.Task[None]:
    return in_background(reader.run(Loop("inboxes", within=60)))


async def test_a_message_is_enough(client, store, reader, woken):
    """The inbox is read long before the sweep, and who draws is woken."""
    running = await read(reader)
    await asyncio.sleep(0.1)
    await client.publish(an_interrupt())

    reader.look_at("billing")
    await until(lambda: woken)
    await end_task(running)

    assert (await store.owed())["undrawn"] == 1


async def test_without_any_message_the_sweep_finds_the_inbox(client, store, woken):
    """A message may be lost. The first look is at all keys, the next ones are at known inboxes."""
    await client.publish(an_interrupt())
    running = await read(InboxReader(store, lambda: woken.append(1), sweep=0.05))
    await until(lambda: len(woken) == 1)
    await client.publish(an_interrupt(run="another"))
    await until(lambda: len(woken) == 2)
    await end_task(running)

    assert (await store.owed())["undrawn"] == 2


async def test_a_flood_of_one_agent_does_not_delay_another(redis_url, client, store, redis, reader):
    """In one round each agent has as much taken as one script takes."""
    for number in range(2 * TAKE_AT_ONCE):
        await redis.xadd(store.keys.inbox("a-flood"), {"event": "published", "id": f"a-flood.{number}"})
    interrupt_id = await client.publish(an_interrupt())
    for agent in ("a-flood", "billing"):
        reader.look_at(agent)

    await reader._take_round()

    assert await redis.zscore(store.keys.undrawn, interrupt_id)
    assert await redis.xlen(store.keys.inbox("a-flood")) == TAKE_AT_ONCE


async def test_invented_names_without_end_do_not_delay_an_agent(client, store, redis, reader):
    """Few of them are kept, one script looks at these, and known agents are looked at in any case."""
    await client.publish(an_interrupt())
    await store.take_inbox("billing")
    interrupt_id = await client.publish(an_interrupt(run="another"))
    for number in range(100_000):
        reader.look_at(f"a-{number}")
    reader.look_at("billing")
    ran = (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"]

    await reader._take_round()

    assert await redis.zscore(store.keys.undrawn, interrupt_id)
    assert (await redis.info("commandstats"))["cmdstat_evalsha"]["calls"] - ran <= 3


async def test_an_inbox_that_cannot_be_read_holds_up_no_other(client, store, redis, reader, caplog):
    """An agent may write its own key, and so break it. The log names the agent."""
    await redis.set(store.keys.inbox("another"), "no stream")
    await client.publish(an_interrupt())
    for agent in ("another", "billing"):
        reader.look_at(agent)

    await reader._take_round()

    assert (await store.owed())["undrawn"] == 1
    (line,) = [line for line in caplog.records if line.message == "inbox.broken"]
    assert line.agent == "another"
