"""The record in a real Redis: one outcome per action, one deadline, one final answer, and nothing kept for ever."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import unix_milliseconds
from agent_adapter.errors import InvalidRequestError, UnreadableRecordError
from bot.domain.admission import Place, Terms
from bot.domain.approval import Approval
from bot.domain.ids import REMARKS_FROM, MessageId, Shown
from bot.domain.transitions import Change, Entry
from bot.store.records import ApprovalStore
from bot.store.work import Work
from tests.support.builders import an_action, an_admission, an_interrupt, edited
from tests.support.deciding import admit, has_read, record, shows, start_retention

CARD = MessageId(0)
DAY = 86_400_000


async def publish(
    client: ApprovalClient, store: ApprovalStore, *names: str, args: dict[str, Any] | None = None
) -> str:
    """Publish an interrupt of these tools, and let the bot see it."""
    actions = [an_action(name, args) for name in names or ("pay",)]
    interrupt_id = await client.publish(an_interrupt(*actions, expires_in=timedelta(hours=1)))
    await store.take_inbox("billing")
    return interrupt_id


async def admitted(
    client: ApprovalClient, store: ApprovalStore, *names: str, life: int | None = None
) -> Approval:
    """Publish and admit; with a life of 0 its deadline is past."""
    return await admit(store, await publish(client, store, *names), life=life)


# --- Deciding ---------------------------------------------------------------------------------------------------


async def test_after_the_deadline_nothing_is_recorded(client, store):
    """The server's clock decides, also before anybody has noted that it is over."""
    state = await admitted(client, store, "a", "b", life=0)

    both = {0: ApproveDecision(), 1: ApproveDecision()}
    assert await record(store, state.id, both) == {0: "closed", 1: "closed"}
    late = Change({"status": "decided"}, until=state.now)
    assert (await store.commit(state, late)).status == "pending"
    assert (await store.load(state.id)).recorded == (None, None)


@pytest.mark.parametrize("status", ["withdrawn", "refused"])
async def test_an_ended_record_takes_no_decision(client, store, status):
    """What was decided before stands and can be repeated; what was open stays open."""
    state = await admitted(client, store, "a", "b")
    await record(store, state.id, {0: ApproveDecision()}, token="click")
    await store.settle(state.id, status, reason="over")

    both = {0: ApproveDecision(), 1: ApproveDecision()}
    assert await record(store, state.id, both, token="click") == {0: "repeat", 1: "closed"}


async def test_a_change_whose_answer_was_lost_is_sent_again_and_stored_once(client, store, redis, keys):
    """Whoever sends it hears that it is stored, and not that somebody else has changed the record."""
    state = await admitted(client, store)
    once = store.durable

    async def twice(*given, **named):
        await once(*given, **named)
        return await once(*given, **named)

    store.durable = twice
    ending = Change({"status": "decided"}, entries=[Entry("decided", {"by": "U0ERIK"})])
    assert await store.commit(state, ending) is None
    assert [each[1]["event"] for each in await redis.xrange(keys.audit)].count("decided") == 1


# --- Bodies -----------------------------------------------------------------------------------------------------


async def test_bodies_pass_through_redis_untouched(client, store):
    """Empty lists, large integers, real numbers and the order of keys are the same bytes on the other side."""
    args = {"z": [], "a": {}, "n": 2**63 + 1, "big": -(10**40), "r": 1.0, "e": 1e-07, "t": "\u2028 é"}
    state = await admit(store, await publish(client, store, "pay", args=args))
    changed = {"list": [], "n": 2**64, "r": 2.0}

    await record(store, state.id, {0: edited("pay", **changed)})

    assert encode(state.actions[0].request.args) == encode(args)
    resume = await client.wait(state.id)
    assert encode(resume.decisions[0].edited_action.args) == encode(changed)


async def test_nobody_decides_a_record_before_it_is_admitted(client, store):
    """What judges a click is fixed first; until then a click finds nothing."""
    published = await store.load(await publish(client, store, "pay"))

    assert await store.admitted(published.id) is None
    assert store.recall(published.id) is None

    await admit(store, published.id)

    assert (await store.admitted(published.id)).admission.terms[0].approvers == ("U0ERIK",)


async def test_a_record_under_another_name_is_not_read(client, store, redis, keys):
    """Nobody decides one interrupt by the card of another."""
    interrupt_id = await publish(client, store)
    await redis.copy(keys.req(interrupt_id), keys.req("billing.other"))

    with pytest.raises(InvalidRequestError, match=f"billing.other holds the interrupt {interrupt_id}"):
        await store.load("billing.other")


# --- Admission, deadline, settling ------------------------------------------------------------------------------


async def test_the_first_admission_counts(client, store):
    """Replicas with other settings cannot change who judges a question that is asked already."""
    state = await admitted(client, store)

    newest = await admit(store, state.id, approvers=("U0NOOR",), life=5)

    assert newest.admission.terms[0].approvers == ("U0ERIK",)
    assert newest.deadline == state.deadline


async def test_times_that_are_not_as_they_are_written_are_not_admitted(client, store, redis):
    """Its agent may write them. Otherwise the bots would look at the record without end."""
    state = await store.load(await publish(client, store))
    await redis.hset(store.keys.req(state.id), "created", f"0{unix_milliseconds(state.created_at)}")

    with pytest.raises(UnreadableRecordError, match="its times"):
        await admit(store, state.id)


async def test_what_was_fixed_is_read_as_it_was_written(client, store):
    """Places beyond the ninth, the terms of each action, and how much of it has to be read."""
    names = [f"tool_{number}" for number in range(12)]
    fixed = an_admission(
        approvers=("U0ERIK", "S0OPS"),
        requester_may_decide=True,
        decisions=("approve", "reject"),
        own={
            3: Terms(approvers=("channel",)),
            11: Terms(approvers=("U0DANA",), decisions=("respond",), allow_always=False),
            5: Terms(
                approvers=("U0DANA",),
                resembles="pay_* in 'a'",
                matched="*",
                risk="low",
                by_silence=True,
                mask=("a b", "c"),
                mask_random=("e",),
                mask_key="0123456789abcdef",
                modal_only=("d",),
                rule="transfers, large ones",
                tell_approvers=False,
            ),
        },
        quorum=2,
        reject_quorum=3,
        risk="high",
        mask=("token", 'a "quoted" name'),
        policy_version="0123456789ab",
        requested_by="U0DANA",
        requester_known=True,
        unsigned=True,
        thread_author="U0NOOR",
        on_timeout="raise",
        places=tuple(Place(channel=f"C{number}", actions=(number,)) for number in range(12)),
        pages=(0, 3, *[0] * 9, 12),
    )
    interrupt_id = await publish(client, store, *names)
    await store.admit(await store.load(interrupt_id), fixed)

    state = await store.load(interrupt_id)

    assert state.admission == fixed
    assert state.on_expiry == "raise"


@pytest.mark.parametrize(
    ("life", "lasts"),
    [(None, timedelta(hours=1)), (60_000, timedelta(minutes=1)), (10 * 3_600_000, timedelta(hours=1))],
    ids=["agent's", "policy's is earlier", "policy's is later"],
)
async def test_the_earlier_deadline_holds(client, store, life, lasts):
    """Neither side can stretch what the other allows."""
    state = await admitted(client, store, life=life)

    assert state.deadline - state.created_at == lasts
    assert await store.owed() == {"undrawn": 1, "due": 1, "unresumed": 0}


async def test_a_record_expires_at_its_deadline_and_not_before(client, store):
    """A clock that asks too early is told so; afterwards it ends once."""
    early = await admitted(client, store, "a")
    assert await store.settle(early.id, "expired") == "early"
    assert (await store.load(early.id)).is_open
    interrupt = an_interrupt(run="another", expires_in=timedelta(hours=1))
    late = await admit(store, await client.publish(interrupt), life=0)

    assert await store.settle(late.id, "expired") == "settled"
    assert await store.settle(late.id, "expired") == "expired"
    assert await store.settle("billing.never", "expired") == "unknown"
    assert (await store.load(late.id)).status == "expired"


async def test_an_end_is_final(client, store):
    """The first way to end stands, with its reason; once that is drawn nothing is owed to the clock."""
    state = await admitted(client, store)

    assert (
        await store.settle(state.id, "refused", reason="no such channel", code="channel_not_found")
        == "settled"
    )
    assert await store.settle(state.id, "withdrawn", reason="late") == "refused"

    newest = await store.load(state.id)
    assert (newest.status, newest.reason, newest.code) == ("refused", "no such channel", "channel_not_found")
    await start_retention(store, state.id)
    assert (await store.owed())["due"] == 0


# --- Retention --------------------------------------------------------------------------------------------------


async def lifetimes(redis: Redis, keys: Keys, interrupt_id: str) -> list[float]:
    """Days until each key of a record ends: its two hashes and its pauses; -1 means never."""
    pauses = (await redis.hget(keys.req(interrupt_id), "pauses")).split()
    found = [
        keys.req(interrupt_id),
        keys.card(interrupt_id),
        *(keys.pause("billing", pause) for pause in pauses),
    ]
    return [round(left / DAY, 2) if (left := await redis.pttl(key)) > 0 else left for key in found]


async def test_nothing_pending_expires(client, store, redis, keys):
    """An open question has no lifetime of its own, partly decided or not."""
    state = await admitted(client, store, "a", "b")
    await record(store, state.id, {0: ApproveDecision()})
    await has_read(store, state, 1, "U0ERIK", 1)

    assert await lifetimes(redis, keys, state.id) == [-1, -1, -1, -1]
    assert (await store.owed())["due"] == 1


async def test_a_settled_record_stays_thirty_days_for_its_agent(client, store, redis, keys):
    """An agent that comes back within a month of the last drawing still finds its answer, also by its pauses."""
    decided = await admitted(client, store, "a", "b")
    await record(store, decided.id, {0: ApproveDecision(), 1: ApproveDecision()})
    refused = await client.publish(an_interrupt(run="another"))
    await store.settle(refused, "refused", code="no_channel")
    assert {*await lifetimes(redis, keys, decided.id), *await lifetimes(redis, keys, refused)} == {-1}
    for interrupt_id in (decided.id, refused):
        await start_retention(store, interrupt_id)

    assert await lifetimes(redis, keys, decided.id) == [30, 30, 30, 30]
    assert await lifetimes(redis, keys, refused) == [30, 30, 30]


async def test_a_taken_answer_stays_seven_days(client, store, redis, keys):
    """Arguments do not lie around after the run has gone on; drawing the card keeps the lifetime."""
    state = await admitted(client, store)
    await record(store, state.id, {0: ApproveDecision()})
    async with client.resuming(state.id):
        pass
    await shows(store, state.id, CARD, Shown("C1", "1.2", "digest", "resumed"))
    await store.set_notice(state.id, "still here")
    await start_retention(store, state.id)

    assert await lifetimes(redis, keys, state.id) == [7, 7, 7]


# --- Drawing ----------------------------------------------------------------------------------------------------


async def test_one_process_draws_a_part_at_a_time(client, store):
    """A lease is held by one; another part of the same card is free. Who was too slow saves no old picture over a new one."""
    state = await admitted(client, store)
    shown = Shown("C1", "1.2", "digest", "ended")
    slow = await store.lease_part(state, CARD, owner="slow", lease=0)
    quick = await store.lease_part(state, CARD, owner="quick", lease=60_000)
    busy = await store.lease_part(state, CARD, owner="you", lease=60_000)
    beside = await store.lease_part(state, MessageId(0, "part", 1), owner="you", lease=60_000)

    assert (busy.outcome, beside.outcome) == ("busy", "mine")
    assert 0 < busy.since <= 60_000
    old = Shown("C1", "1.1", "old")
    assert not await store.save_part(state.id, CARD, held=slow.held, shown=old)
    assert await store.save_part(state.id, CARD, held=quick.held, shown=shown)
    assert not await store.save_part(state.id, CARD, held=quick.held, shown=old)
    assert (await store.load(state.id)).shown == {CARD: shown}


async def test_what_is_leased_is_the_record_as_it_is_now(client, store):
    """It is read again only where another process has decided, or drawn, since it was read."""
    state = await admitted(client, store)
    unchanged = await store.lease_part(state, MessageId(0, "part", 1), owner="me", lease=60_000)
    await record(store, state.id, {0: ApproveDecision()})
    decided = await store.lease_part(state, CARD, owner="me", lease=60_000)
    await store.save_part(state.id, CARD, held=decided.held, shown=Shown("C1", "1.2", "digest"))
    drawn = await store.lease_part(state, CARD, owner="me", lease=60_000)

    assert unchanged.state is state
    assert decided.state.decided == {0}
    assert [*drawn.state.shown] == [CARD]


async def test_a_post_that_was_not_saved_is_a_takeover(client, store):
    """Whoever comes after a lapsed lease learns since when a message may be there."""
    state = await admitted(client, store)
    first = await store.lease_part(state, CARD, owner="crashed", lease=0)
    await asyncio.sleep(0.005)

    second = await store.lease_part(state, CARD, owner="next", lease=0)
    third = await store.lease_part(state, CARD, owner="last", lease=60_000)

    assert (second.outcome, third.outcome) == ("takeover", "takeover")
    assert first.since == second.since == third.since


async def test_a_card_that_is_gone_takes_its_parts_with_it(client, store):
    """A card that is posted anew has new parts in its own thread. What stands beside it stays known."""
    places = tuple(Place(channel=channel, actions=(0,)) for channel in ("C1", "C2"))
    state = await admit(store, await publish(client, store), places=places)
    part, last_part = MessageId(0, "part", 1), MessageId(0, "part", REMARKS_FROM - 1)
    remark, elsewhere, approved = (
        MessageId(0, "remark", 0),
        MessageId(1, "part", 1),
        MessageId(0, "standing", 0),
    )
    for number, message in enumerate((CARD, part, last_part, remark, elsewhere, approved)):
        await shows(store, state.id, message, Shown("C1", f"1.{number}", "digest"))

    await shows(store, state.id, CARD, None, forget=True)

    newest = await store.load(state.id)
    assert set(newest.shown) == {remark, elsewhere, approved}
    assert newest.gone == {("C1", f"1.{number}") for number in range(3)}
    assert set(newest.up) == {remark, elsewhere, approved}


# --- Owed work --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again_in", [None, 60_000], ids=["done", "later"])
async def test_work_that_comes_in_during_a_claim_stays_due(client, store, keys, again_in):
    """A decision that falls while its card is drawn is drawn afterwards, whatever the first drawing says."""
    state = await admitted(client, store, "a", "b")
    (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    await record(store, state.id, {0: ApproveDecision()})

    await store.finish_work(work, again_in=again_in)

    (found,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    assert found.interrupt_id == state.id


async def taken(store: ApprovalStore, interrupt_id: str) -> Work:
    """Take the drawing of a card as a bot does, as soon as it is due."""
    await store._redis.zadd(store.keys.undrawn, {interrupt_id: 1})
    (work,) = await store.lease_work("undrawn", limit=1, lease=60_000)
    return work


async def test_what_fails_is_tried_again_after_twice_as_long_and_a_minute_at_most(client, store):
    """And what is given back, when it says."""
    state = await admitted(client, store)

    async def pause(*, fails: bool) -> int:
        work = await taken(store, state.id)
        if fails:
            await store.fail_work(work, reason="broken", first_pause=30_000)
        else:
            await store.finish_work(work, again_in=90_000)
        due = (await store.first_due("undrawn", limit=1))[state.id]
        return round(due - await store._now(), -4)

    assert [await pause(fails=fails) for fails in (True, True, True, False)] == [
        30_000,
        60_000,
        60_000,
        90_000,
    ]


async def test_work_that_keeps_failing_is_listed_and_tried_again_every_minute(client, store, redis, keys):
    """Once it is done, nothing says that it ever failed. What no bot wrote there is left out."""
    state = await admitted(client, store)
    await redis.hset(keys.failing, mapping={"undrawn:other": "nonsense", "what:ever": "5 1 broken"})
    failures = [
        await store.fail_work(await taken(store, state.id), reason="broken", first_pause=1_000)
        for _ in range(20)
    ]
    [failing] = await store.failing()
    due = (await store.first_due("undrawn", limit=1))[state.id] - await store._now()
    assert failures == [*range(1, 21)]
    assert (failing.interrupt_id, failing.kind, failing.failures, failing.reason) == (
        state.id, "undrawn", 20, "broken",
    )  # fmt: skip
    assert round(due, -4) == 60_000

    assert await store.finish_work(await taken(store, state.id))
    assert await store.failing() == []


# --- Telling ----------------------------------------------------------------------------------------------------


async def test_a_record_that_nobody_can_read_ends_although_others_change_it(
    client, store, redis, keys, monkeypatch
):
    """Else it would stay open with a card that cannot be drawn."""
    state = await admitted(client, store)
    await redis.hset(keys.req(state.id), "body", "{}")
    write, notices = store.write, ["no room"]

    async def write_after_others(*given: Any, **more: Any) -> Any:
        while notices:
            await store.set_notice(state.id, notices.pop())
        return await write(*given, **more)

    monkeypatch.setattr(store, "write", write_after_others)
    assert await store.settle(state.id, "refused", code="unreadable") == "settled"
    assert await redis.hget(keys.card(state.id), "status") == "refused"


async def test_every_transition_is_in_the_audit(client, store, redis, keys):
    """Who decided what can be read afterwards; a repeated click and a refused one leave no second entry."""
    state = await admitted(client, store, "a", "b")
    for _ in range(2):
        await record(store, state.id, {0: ApproveDecision()})
    await record(store, state.id, {1: RejectDecision(), 0: RejectDecision()}, by="U0DANA")
    async with client.resuming(state.id):
        pass
    gone = await client.publish(an_interrupt(run="another"))
    await store.take_inbox("billing")
    await store.settle(gone, "refused", code="no_channel")

    entries = [
        tuple(text for name, text in fields.items() if name not in {"facts", "seq"})
        for _, fields in await redis.xrange(keys.audit)
    ]
    counted = [fields["seq"] for _, fields in await redis.xrange(keys.audit)]

    assert counted == [str(number) for number in range(1, 8)]
    assert entries == [
        ("published", state.id),
        ("admitted", state.id, "1"),
        ("decided", state.id, "0", "U0ERIK", "1"),
        ("decided", state.id, "1", "U0DANA", "1"),
        ("resumed", state.id),
        ("published", gone),
        ("refused", gone, "no_channel", ""),
    ]


async def test_a_refused_click_is_entered_and_changes_no_record(client, store, redis, keys):
    """Also one about a record that is gone."""
    state = await admitted(client, store)
    before = await redis.hgetall(keys.card(state.id))

    for interrupt_id in (state.id, "billing.gone"):
        await store.note_click(interrupt_id, "U0DANA", button="approve", code="not_an_approver")

    trail = [fields for _, fields in await redis.xrange(keys.audit)]
    assert [each["id"] for each in trail if each["event"] == "click_refused"] == [state.id, "billing.gone"]
    assert await redis.hgetall(keys.card(state.id)) == before
    assert not await redis.exists(keys.card("billing.gone"))


async def test_bots_say_that_they_live(store, redis, keys):
    """The newest heartbeat of each stands; those of yesterday are forgotten."""
    await redis.zadd(keys.bots, {"dead": 1})
    for name in ("one", "two"):
        await store.heartbeat(name)
    assert set(await redis.zrange(keys.bots, 0, -1)) == {"one", "two"}

    await store.heartbeat("one", alive=False)
    assert set(await redis.zrange(keys.bots, 0, -1)) == {"two"}
