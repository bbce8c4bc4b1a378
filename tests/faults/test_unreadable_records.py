"""Something else writes to Redis: a record that cannot be read ends once, with our own words on both sides."""

import asyncio
import contextlib
import logging

import pytest
from redis.asyncio import Redis

from agent_adapter.errors import AgentAdapterError, InterruptRefusedError, UnreadableRecordError
from agent_adapter.redis.pool import open_redis
from agent_adapter.worker.listing import lines
from tests.conftest import until
from tests.support.builders import an_action
from tests.support.faults import asking, eventually, nothing_owed
from tests.support.people import Someone, buttons, words

BYTES = b"\xff\xfe"
DAMAGE = {
    "bytes in the body": ("req", "body", BYTES),
    "bytes in a new field": ("req", BYTES, "1"),
    "bytes on the card": ("card", "seen:0:U0DANA", BYTES),
    "a body of text": ("req", "body", "send money"),
    "a body of somebody else's JSON": ("req", "body", '{"hello": "world"}'),
    "a body of another interrupt": ("req", "body", '{"schema_version": 1, "id": "billing.other"}'),
}


@pytest.fixture
async def redis(redis_url: str):
    async with open_redis(redis_url) as redis:
        yield redis


async def damage(redis: Redis, interrupt_id: str, what: str) -> None:
    side, field, value = DAMAGE[what]
    await redis.hset(f"assent:{{00}}:{side}:{interrupt_id}", field, value)


async def outcome(agent: asyncio.Task) -> str:
    """Give the words of our error that an agent gets."""
    with pytest.raises(AgentAdapterError) as caught:
        async with asyncio.timeout(30):
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
    await nothing_owed(store)
    assert await redis.hmget(f"assent:{{00}}:card:{interrupt.id}", "status", "code") == [
        "refused",
        "unreadable",
    ]
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


@pytest.mark.parametrize("field", ["body", "deadline"])
async def test_a_record_that_lost_a_field_takes_no_decision(
    field, start_bot, slack, client, redis, store, watcher
):
    """Who clicks is told in words, also while the bot remembers the record; its agent hears it, and its card closes."""
    await start_bot()
    interrupt = client.interrupt(asking(an_action()))
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)
    await redis.hdel(f"assent:{{00}}:req:{interrupt.id}", field)
    dana = Someone(slack, "U0DANA")

    await dana.press(card, "approve:0")
    await dana.notice("The stored data of this request cannot be read")

    for verb in (client.resuming(interrupt.id).__aenter__, lambda: client.wait(interrupt.id)):
        said = await outcome(asyncio.create_task(verb()))
        assert said.startswith(f"UnreadableRecordError: {interrupt.id} cannot be read")
    await store.queue_drawing(interrupt.id)
    await until(lambda: not buttons(watcher.cards(interrupt.id)[0]))
    assert await redis.hget(f"assent:{{00}}:card:{interrupt.id}", "d:0") is None


@pytest.mark.parametrize("side", ["card", "req"])
async def test_a_click_on_a_record_whose_key_has_another_type_is_answered_so(
    side, start_bot, slack, client, redis, watcher
):
    """Nobody is told to press again, in a form neither; taking the answer is the same error as waiting for it."""
    await start_bot()
    interrupt = client.interrupt(asking(an_action()))
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)
    dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
    form = await dana.opened(card, "reject:0")
    await overwrite(redis, side, interrupt.id)

    await erik.press(card, "approve:0")
    await erik.notice("The stored data of this request cannot be read")
    await dana.fill(form)
    assert "The stored data of this request cannot be read" in words(
        (await slack.views("U0DANA"))[-1]["blocks"]
    )

    for verb in (client.resuming(interrupt.id).__aenter__, lambda: client.withdraw(interrupt.id)):
        said = await outcome(asyncio.create_task(verb()))
        assert said.startswith(f"UnreadableRecordError: {interrupt.id} cannot be read")


async def test_what_falls_due_for_a_damaged_record_refuses_it(start_bot, client, redis, store, watcher):
    """Its time is over, and nobody says that nobody decided."""
    await start_bot()
    interrupt = client.interrupt(asking(an_action()))
    await client.publish(interrupt)
    await watcher.card(interrupt.id)
    await damage(redis, interrupt.id, "bytes in the body")

    await redis.zadd("assent:{00}:due", {interrupt.id: 1})

    await until(lambda: not buttons(watcher.cards(interrupt.id)[0]))
    await nothing_owed(store)


async def test_a_stored_decision_that_is_not_text_is_not_handed_on(start_bot, slack, client, redis, watcher):
    """Two actions: what is stored of the first is damaged before the second is decided. Other waits of the process go on."""
    await start_bot()
    interrupt, other = (client.interrupt(asking(an_action("a"), an_action("b"))) for _ in range(2))
    agents = [asyncio.create_task(client.wait(await client.publish(each))) for each in (interrupt, other)]
    dana = Someone(slack, "U0DANA")
    card, second = await watcher.card(interrupt.id), await watcher.card(other.id)
    await dana.press(card, "approve:0")
    await redis.hset(f"assent:{{00}}:card:{interrupt.id}", "d:0", BYTES)
    await dana.press(card, "approve:1")

    assert (await outcome(agents[0])).startswith("UnreadableRecordError")
    for button in ("approve:0", "approve:1"):
        await dana.press(second, button)
    assert (await agents[1]).status == "decided"


@pytest.mark.parametrize(
    ("side", "field", "value"),
    [("card", "deadline", "soon"), ("req", "deadline", "soon"), ("req", "created", "yesterday")],
)
async def test_times_that_are_no_times_are_our_own_error(side, field, value, client, redis):
    """Whoever waits hears it, and the others of the process are looked after all the same."""
    damaged, fine = (client.interrupt(asking(an_action())) for _ in range(2))
    waits = [asyncio.create_task(client.wait(await client.publish(each))) for each in (damaged, fine)]
    await asyncio.sleep(0.1)
    await redis.hset(f"assent:{{00}}:{side}:{damaged.id}", mapping={field: value, "status": "expired"})
    await redis.hset(
        f"assent:{{00}}:card:{fine.id}", mapping={"status": "refused", "code": "x", "reason": "y"}
    )

    async with asyncio.timeout(30):
        assert (await waits[1]).status == "refused"
    waits[0].cancel()
    await asyncio.gather(*waits, return_exceptions=True)


@pytest.mark.parametrize(
    "field", ["created", "deadline", "fence", "claim_until", "resumed", "withdraw", "outcome:x", "outcome:0"]
)
@pytest.mark.parametrize("value", ["{", "", "nan", "inf", "9" * 30, "9" * 5000, "[" * 100_000])
async def test_whatever_an_agent_writes_into_its_record_the_bot_reads_it_or_says_that_it_cannot(
    field, value, client, redis, store
):
    """No other error comes out of the reader, so none ends a loop of the bot."""
    interrupt_id = await client.publish(client.interrupt(asking(an_action())))
    await redis.hset(f"assent:{{00}}:req:{interrupt_id}", field, value)

    with contextlib.suppress(UnreadableRecordError):
        assert await store.load(interrupt_id)


@pytest.mark.parametrize("field", ["created", "fence", "outcome:x"])
async def test_a_record_that_its_agent_damaged_is_missing_from_a_list_that_has_the_others(
    field, start_bot, slack, client, redis, watcher
):
    """A person opens `/approvals`: what can be read is there, also what another agent asks."""
    bot = await start_bot()
    damaged, fine = (client.interrupt(asking(an_action(tool))) for tool in ("damaged", "fine"))
    for each in (damaged, fine):
        await client.publish(each)
        await watcher.card(each.id)
    await redis.hset(f"assent:{{00}}:req:{damaged.id}", field, "{")
    bot.store.forget_remembered()

    await slack.command("U0DANA", "C0APPROVALS", "/approvals", "")

    async def listed() -> bool:
        views = await slack.views("U0DANA")
        return bool(views) and "fine" in words(views[-1]["blocks"])

    await eventually(listed)


async def test_a_bot_that_starts_compares_the_other_answers_beside_a_damaged_one(
    start_bot, slack, client, redis, watcher, caplog
):
    """Its lookout reads all answers that nobody took, and goes on after the one that cannot be read."""
    first = await start_bot()
    dana = Someone(slack, "U0DANA")
    asked = [client.interrupt(asking(an_action())) for _ in range(2)]
    for each in asked:
        await client.publish(each)
        await dana.press(await watcher.card(each.id), "approve:0")
    await until(lambda: not any(buttons(watcher.cards(each.id)[0]) for each in asked))
    await first.stop()
    await redis.hset(f"assent:{{00}}:req:{asked[0].id}", "outcome:x", "{")
    caplog.set_level(logging.INFO)

    await start_bot()

    await until(lambda: "untaken.compared" in caplog.text)
    assert "loop.failed" not in caplog.text


async def overwrite(redis: Redis, side: str, interrupt_id: str) -> None:
    """Put a key of another type in the place of one half of a record."""
    await redis.set(f"assent:{{00}}:{side}:{interrupt_id}", "foreign")


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
    async with asyncio.timeout(30):
        assert (await waits[1]).status == "decided"


async def test_the_lookout_sees_the_others_beside_a_key_of_another_type(
    start_bot, client, store, redis, watcher
):
    """It passes over what cannot be read, and compares the messages of the others with what Slack lists."""
    damaged, fine = (client.interrupt(asking(an_action())) for _ in range(2))
    await start_bot()
    for each in (damaged, fine):
        await client.publish(each)
        await watcher.card(each.id)
    await overwrite(redis, "card", damaged.id)

    messages, _ = await store.posted()
    assert {message.interrupt_id for message in messages} == {fine.id}


async def test_a_run_whose_record_is_of_another_type_holds_up_no_other(redis, redis_url, client):
    """A worker takes the other run; the damaged one stays owed, and the list of owed runs says why."""
    lane = client.runs._lane
    damaged, fine = (client.interrupt(asking(an_action())) for _ in range(2))
    for each in (damaged, fine):
        await client.publish(each)
        await redis.hset(lane.req(each.id), "needs", "billing: office")
        await redis.zadd(lane.unresumed, {each.id: 1})
    await overwrite(redis, "req", damaged.id)

    taken, _ = await client.runs.lease(["billing: office"], limit=8, lease=60_000)

    assert [run.interrupt_id for run in taken] == [fine.id]
    listed = {line.partition("\t")[0]: line async for line in lines(redis_url, "assent")}
    assert set(listed) == {damaged.id, fine.id}
    assert "cannot be read" in listed[damaged.id]


async def test_a_foreign_id_among_the_owed_work_holds_nothing_up(start_bot, client, redis, watcher):
    """It is taken out: it cannot even be named."""
    await redis.zadd("assent:{00}:undrawn", {BYTES: 1})
    await redis.zadd("assent:{00}:due", {BYTES: 1})
    await start_bot()

    await watcher.card(await client.publish(client.interrupt(asking(an_action()))))

    assert await redis.zscore("assent:{00}:undrawn", BYTES) is None
    assert await redis.zscore("assent:{00}:due", BYTES) is None


def test_both_errors_are_of_one_family():
    """Whoever catches the library's errors catches these."""
    assert issubclass(UnreadableRecordError, AgentAdapterError)
    assert issubclass(InterruptRefusedError, AgentAdapterError)
