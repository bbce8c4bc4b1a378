"""Something else writes to Redis: a record that cannot be read ends once, with our own words on both sides."""

import asyncio
import contextlib
import logging

import pytest
from redis.asyncio import Redis

from agent_adapter.errors import AgentAdapterError, InterruptRefusedError, UnreadableRecordError
from agent_adapter.redis.pool import open_redis
from agent_adapter.worker.listing import lines
from bot.domain.admission import Place
from bot.jobs.outdated import first_outdated
from bot.rendering.card.card import render_card
from bot.store.codec import ADMISSION
from bot.store.sealed import FACTS
from tests.conftest import until
from tests.support.builders import an_action, an_admission
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


async def test_a_card_that_slack_did_not_take_is_closed_later(
    start_bot, slack, client, redis, store, watcher
):
    """Its record has ended by then, and its buttons would stay."""
    await start_bot()
    interrupt_id = await client.publish(client.interrupt(asking(an_action())))
    await watcher.card(interrupt_id)
    await damage(redis, interrupt_id, "a body of text")
    await slack.fault("chat.update", "error", error="internal_error", times=2)

    await store.queue_drawing(interrupt_id)

    await until(lambda: not buttons(watcher.cards(interrupt_id)[0]))
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
    await redis.hdel(f"{{assent}}:req:{interrupt.id}", field)
    dana = Someone(slack, "U0DANA")

    await dana.press(card, "approve:0")
    await dana.notice("The stored data of this request cannot be read")

    for verb in (client.resuming(interrupt.id).__aenter__, lambda: client.wait(interrupt.id)):
        said = await outcome(asyncio.create_task(verb()))
        assert said.startswith(f"UnreadableRecordError: {interrupt.id} cannot be read")
    await store.queue_drawing(interrupt.id)
    await until(lambda: not buttons(watcher.cards(interrupt.id)[0]))
    assert await redis.hget(f"{{assent}}:card:{interrupt.id}", "d:0") is None


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

    await redis.zadd("{assent}:due", {interrupt.id: 1})

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
    await redis.hset(f"{{assent}}:card:{interrupt.id}", "d:0", BYTES)
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
    await redis.hset(f"{{assent}}:{side}:{damaged.id}", mapping={field: value, "status": "expired"})
    await redis.hset(f"{{assent}}:card:{fine.id}", mapping={"status": "refused", "code": "x", "reason": "y"})

    async with asyncio.timeout(120):
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
    await redis.hset(f"{{assent}}:req:{interrupt_id}", field, value)

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
    await redis.hset(f"{{assent}}:req:{damaged.id}", field, "{")
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
    await redis.hset(f"{{assent}}:req:{asked[0].id}", "outcome:x", "{")
    caplog.set_level(logging.INFO)

    await start_bot()

    await until(lambda: "untaken.compared" in caplog.text)
    assert "loop.failed" not in caplog.text


GARBAGE = {
    "a word": "x",
    "nothing": "",
    "bytes": BYTES,
    "a large number": "9" * 30,
    "a number of 5,000 digits": "9" * 5000,
    "a number that is out of bounds": "99",
    "a negative number": "-1",
    "a megabyte": "x" * (1 << 20),
    "deep JSON": "[" * 100_000,
    "an object": '{"a": 1}',
    "a list": "[1, 2]",
    "null": "null",
}
WRITTEN_LATER = {
    "status", "reason", "code", "deadline", "open", "settled", "lapsed", "untaken", "votes", "d", "t", "by", "at", "signed",
    "extended", "waiting", "sticky_grant", "sticky_until", "sticky_left", "sticky_ended", "sticky_uses", "sticky_given",
    "up", "lease", "missed", "gone", "notice", "remarks", "seal", "sealed",
}  # fmt: skip
"""The kinds of fields that bots write after the admission, beside those with a mark of their own."""


@pytest.mark.parametrize("what", GARBAGE)
async def test_whatever_stands_in_a_field_of_a_card_the_bot_reads_it_or_says_that_it_cannot(
    what, client, redis, store
):
    """What it reads it can draw. No other error comes out of the reader, so none ends a loop, a list or a click."""
    interrupt_id = await client.publish(client.interrupt(asking(an_action("a"), an_action("b"))))
    await store.take_inbox("billing")
    places = (Place(channel="C1", actions=(0, 1)),)
    await store.admit(await store.load(interrupt_id), an_admission(places=places))
    key = f"{{assent}}:card:{interrupt_id}"
    before = await redis.hgetall(key)
    # Each kind alone, and as the field of an action, of a place, of one that is not there, of none.
    names = [
        kind + of
        for kind in sorted(ADMISSION | FACTS | WRITTEN_LATER)
        for of in ("", ":0", ":0:0", ":99", ":x")
    ]

    for name in names:
        await redis.hset(key, name, GARBAGE[what])
        store.forget_remembered()
        with contextlib.suppress(UnreadableRecordError):
            state = await store.load(interrupt_id)
            render_card(state)
            first_outdated(state)
        async with redis.pipeline() as putting_back:
            await putting_back.delete(key).hset(key, mapping=before).execute()


WELL_FORMED = {
    "a vote on no action": ("votes:7", 'U0DANA approve click 1 {"decision": {"type": "approve"}}'),
    "a message in no place": ("part:7:0", "C0APPROVALS 1.1 open digest"),
    "somebody who looks at no place": ("claim:7", "1 99999999999999 U0DANA"),
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


@pytest.mark.parametrize("value", ["99", "x", "9" * 5000, "-1", "", "bytes", "another type"])
async def test_whatever_stands_where_the_last_change_request_is_noted_the_next_call_is_asked(
    value, start_bot, slack, client, redis, watcher
):
    """Without a comparison with an earlier proposal."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    first = client.interrupt(asking(an_action("pay")), run="run", pauses=["a"])
    await client.publish(first)
    form = await dana.opened(await watcher.card(first.id), "changes:0")
    await dana.fill(form, What="Half of it.")
    [key] = await eventually(lambda: redis.keys("*:changes:*"))
    await redis.delete(key)
    match value:
        case "bytes":
            await redis.set(key, BYTES)
        case "another type":
            await redis.rpush(key, "x")
        case number:
            await redis.set(key, f"{first.id}:{number}")

    second = client.interrupt(asking(an_action("pay", {"amount": 2})), run="run", pauses=["b"])
    await client.publish(second)

    assert "approve:0" in buttons(await watcher.card(second.id))


@pytest.mark.parametrize("name", [BYTES, "x", "x:y", "billing.x:99", f"billing.x:{'9' * 5000}"])
async def test_a_foreign_entry_among_the_standing_approvals_hides_no_request(
    name, start_bot, client, redis, watcher, tmp_path
):
    """A call that a standing approval may cover is asked, since none covers it."""
    rules = tmp_path / "policy.yaml"
    rules.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], standing: {scope: agent, lasts: 1h}}\n"
    )
    await start_bot(policy=str(rules), approvers="", channel=None)
    await redis.zadd("{assent}:sticky", {name: 99_999_999_999_999})

    await watcher.card(await client.publish(client.interrupt(asking(an_action()))))


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
    lane = client.runs._keys
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
    await redis.zadd("{assent}:undrawn", {BYTES: 1})
    await redis.zadd("{assent}:due", {BYTES: 1})
    await start_bot()

    await watcher.card(await client.publish(client.interrupt(asking(an_action()))))

    assert await redis.zscore("{assent}:undrawn", BYTES) is None
    assert await redis.zscore("{assent}:due", BYTES) is None


def test_both_errors_are_of_one_family():
    """Whoever catches the library's errors catches these."""
    assert issubclass(UnreadableRecordError, AgentAdapterError)
    assert issubclass(InterruptRefusedError, AgentAdapterError)
