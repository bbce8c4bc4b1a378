"""The record in a real Redis: one outcome per action, one deadline, one final answer, and nothing kept for ever."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import (
    ApproveDecision,
    Decision,
    EditDecision,
    EditedAction,
    RejectDecision,
)
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import dump_recorded
from agent_adapter.errors import InvalidRequestError, ServerUnreachableError
from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval, Published
from bot.domain.errors import StoreUnavailableError
from bot.domain.ids import REMARKS_FROM, MessageId
from bot.domain.messages import Shown
from bot.store.records import ApprovalStore
from bot.store.votes import Outcome
from bot.store.work import Work, WorkSet
from playground.redis_server import RedisServer
from tests.support.builders import an_action, an_admission, an_interrupt

CARD = MessageId(0)
DAY = 86_400_000


@pytest.fixture
def lane(store: ApprovalStore) -> Keys:
    return store.keys


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
    interrupt_id = await publish(client, store, *names)
    await store.admit(await store.load(interrupt_id), admission(len(names) or 1), life=life)
    state = await store.load(interrupt_id)
    assert state is not None
    return state


def admission(count: int = 1, *, approvers: tuple[str, ...] = ("U0ERIK",)) -> Admission:
    places = (Place(channel="C1", actions=tuple(range(count))),)
    return an_admission(approvers=approvers, places=places)


async def decide(
    store: ApprovalStore,
    state: Published,
    decisions: Mapping[int, Decision],
    *,
    by: str = "U0ERIK",
    token: str = "click",
) -> list[str]:
    """Record decisions and give the outcomes in action order."""
    texts = {
        index: dump_recorded(decision, fingerprint=state.fingerprints[index], decided_by=by)
        for index, decision in decisions.items()
    }
    outcomes = await store.record_decision(state.id, texts, token=token, person=by, deadline=5)
    return [str(outcomes[index]) for index in decisions]


# --- Deciding ---------------------------------------------------------------------------------------------------


async def test_a_decision_is_recorded_once(client: ApprovalClient, store: ApprovalStore):
    """The first decision of an action stands: the same click says so again, another click is told it came late."""
    state = await admitted(client, store, "a", "b")

    assert await decide(store, state, {0: ApproveDecision()}) == ["recorded"]
    assert await decide(store, state, {0: ApproveDecision()}) == ["repeat"]
    assert await decide(store, state, {0: RejectDecision()}, by="U0DANA", token="other") == ["taken"]

    newest = await store.load(state.id)
    assert newest.status == "pending"
    assert newest.recorded[0].decision == ApproveDecision()
    assert newest.recorded[0].decided_by == "U0ERIK"
    assert newest.created_at <= newest.recorded[0].decided_at <= newest.now
    assert newest.is_open_at(1)


async def test_the_last_decision_settles_the_record(client: ApprovalClient, store: ApprovalStore, lane: Keys):
    """Once nothing is open, the record is decided; once that is drawn, no deadline is owed any more."""
    state = await admitted(client, store, "a", "b")

    await decide(store, state, {1: RejectDecision()})
    assert (await store.load(state.id)).settled_at is None
    await decide(store, state, {0: ApproveDecision()}, token="last")

    newest = await store.load(state.id)
    assert newest.status == "decided"
    assert newest.settled_at == newest.recorded[0].decided_at
    await store.start_retention(state.id)
    assert await store.owed() == {"undrawn": 1, "due": 0, "unresumed": 0}


async def test_several_actions_have_an_outcome_each(client: ApprovalClient, store: ApprovalStore):
    """A bulk click takes what is open and is told about the rest."""
    state = await admitted(client, store, "a", "b", "c")
    await decide(store, state, {1: RejectDecision()}, by="U0DANA", token="first")

    everything = dict.fromkeys(range(3), ApproveDecision())
    assert await decide(store, state, everything, token="all") == ["recorded", "taken", "recorded"]
    assert await decide(store, state, everything, token="all") == ["repeat", "taken", "repeat"]

    kinds = [recorded.decision.type for recorded in (await store.load(state.id)).recorded]
    assert kinds == ["approve", "reject", "approve"]


async def test_many_clicks_at_once_have_one_winner(client: ApprovalClient, store: ApprovalStore):
    """However many people press together, one is recorded and all others are told."""
    state = await admitted(client, store)

    outcomes = await asyncio.gather(
        *(decide(store, state, {0: ApproveDecision()}, by=f"U{n}", token=f"t{n}") for n in range(20))
    )

    winner = outcomes.index(["recorded"])
    assert sorted(outcomes) == [["recorded"], *[["taken"]] * 19]
    assert (await store.load(state.id)).recorded[0].decided_by == f"U{winner}"


async def test_after_the_deadline_nothing_is_recorded(client: ApprovalClient, store: ApprovalStore):
    """The server's clock decides, also before anybody has noted that it is over."""
    state = await admitted(client, store, "a", "b", life=0)

    assert await decide(store, state, {0: ApproveDecision(), 1: ApproveDecision()}) == ["closed", "closed"]
    assert (await store.load(state.id)).recorded == (None, None)


@pytest.mark.parametrize("status", ["withdrawn", "refused"])
async def test_an_ended_record_takes_no_decision(client: ApprovalClient, store: ApprovalStore, status: Any):
    """What was decided before stands and can be repeated; what was open stays open."""
    state = await admitted(client, store, "a", "b")
    await decide(store, state, {0: ApproveDecision()})
    await store.settle(state.id, status, reason="over")

    both = {0: ApproveDecision(), 1: ApproveDecision()}
    assert await decide(store, state, both) == ["repeat", "closed"]


async def test_what_is_not_admitted_cannot_be_decided(client: ApprovalClient, store: ApprovalStore):
    """Before anything judges clicks, no click counts; nor does one on a record that is not there."""
    state = await store.load(await publish(client, store))

    assert await decide(store, state, {0: ApproveDecision()}) == ["closed"]
    nowhere = await store.record_decision("billing.never", {0: "x"}, token="t", person="U0ERIK", deadline=5)
    assert nowhere == {0: Outcome.CLOSED}


async def test_a_redis_that_is_away_is_said_within_the_deadline(tmp_path):
    """The person who clicked hears in time that nothing may have been recorded."""
    async with open_redis(f"unix://{tmp_path}/nobody.sock") as redis:
        store = ApprovalStore(redis, Keys(), address="there")

        with pytest.raises(StoreUnavailableError, match="did not take the change in time"):
            await store.record_decision("billing.x", {0: "x"}, token="t", person="U0ERIK", deadline=0.2)


async def test_a_request_for_changes_is_not_held_by_a_redis_that_hangs(client, store, redis, monkeypatch):
    """Its person hears in time that nothing was recorded."""
    state = await admitted(client, store)
    monkeypatch.setattr("bot.store.changes.WITHIN", 0.05)

    async with asyncio.timeout(30):
        await redis.client_pause(1_000)
        with pytest.raises(StoreUnavailableError, match="did not take the change in time"):
            await store.note_changes(state, 0)


# --- Bodies -----------------------------------------------------------------------------------------------------


async def test_bodies_pass_through_redis_untouched(client: ApprovalClient, store: ApprovalStore):
    """Empty lists, large integers, real numbers and the order of keys are the same bytes on the other side."""
    args = {"z": [], "a": {}, "n": 2**63 + 1, "big": -(10**40), "r": 1.0, "e": 1e-07, "t": "\u2028 é"}
    interrupt_id = await publish(client, store, "pay", args=args)
    await store.admit(await store.load(interrupt_id), admission())
    state = await store.load(interrupt_id)
    edited = {"list": [], "n": 2**64, "r": 2.0}

    edit = EditDecision(edited_action=EditedAction(name="pay", args=edited))
    await decide(store, state, {0: edit})

    assert encode(state.actions[0].request.args) == encode(args)
    resume = await client.wait(interrupt_id)
    assert encode(resume.decisions[0].edited_action.args) == encode(edited)


async def test_a_record_that_is_not_there_is_none(store: ApprovalStore):
    """An old card's click finds nothing rather than an error."""
    assert await store.load("billing.never") is None


async def test_nobody_decides_a_record_before_it_is_admitted(client: ApprovalClient, store: ApprovalStore):
    """What judges a click is fixed first; until then a click finds nothing."""
    published = await store.load(await publish(client, store, "pay"))

    assert await store.admitted(published.id) is None
    assert store.recall(published.id) is None

    await store.admit(published, admission())

    assert (await store.admitted(published.id)).admission.places == admission().places


async def test_a_record_that_cannot_be_read_is_one_error(store: ApprovalStore, redis: Redis, lane: Keys):
    """A newer agent's record is told from a missing one."""
    await redis.hset(
        lane.req("billing.x"), mapping={"body": '{"schema_version":9}', "created": 1, "deadline": 2}
    )

    with pytest.raises(InvalidRequestError, match="written by a newer agent"):
        await store.load("billing.x")


async def test_a_record_under_another_name_is_not_read(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """Nobody decides one interrupt by the card of another."""
    interrupt_id = await publish(client, store)
    await redis.copy(lane.req(interrupt_id), lane.req("billing.other"))

    with pytest.raises(InvalidRequestError, match=f"billing.other holds the interrupt {interrupt_id}"):
        await store.load("billing.other")


# --- Admission, deadline, settling ------------------------------------------------------------------------------


async def test_the_first_admission_counts(client: ApprovalClient, store: ApprovalStore):
    """Replicas with other settings cannot change who judges a question that is asked already."""
    state = await admitted(client, store)

    await store.admit(state, admission(approvers=("U0NOOR",)), life=5)

    newest = await store.load(state.id)
    assert newest.admission.terms[0].approvers == ("U0ERIK",)
    assert newest.deadline == state.deadline


async def test_what_was_fixed_is_read_as_it_was_written(client: ApprovalClient, store: ApprovalStore):
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
                risk="low",
                by_silence=True,
                mask=("a b", "c"),
                mask_random=("e",),
                mask_key="0123456789abcdef",
                modal_only=("d",),
                rule="transfers, large ones",
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
async def test_the_earlier_deadline_holds(
    client: ApprovalClient, store: ApprovalStore, life: int | None, lasts: timedelta
):
    """Neither side can stretch what the other allows."""
    state = await admitted(client, store, life=life)

    assert state.deadline - state.created_at == lasts
    assert await store.owed() == {"undrawn": 1, "due": 1, "unresumed": 0}


async def test_a_record_expires_at_its_deadline_and_not_before(client: ApprovalClient, store: ApprovalStore):
    """A clock that asks too early is told so; afterwards it ends once."""
    early = await admitted(client, store, "a")
    assert await store.settle(early.id, "expired") == "early"
    assert (await store.load(early.id)).is_open
    interrupt = an_interrupt(run="another", expires_in=timedelta(hours=1))
    late = await store.load(await client.publish(interrupt))
    await store.admit(late, admission(), life=0)

    assert await store.settle(late.id, "expired") == "settled"
    assert await store.settle(late.id, "expired") == "expired"
    assert await store.settle("billing.never", "expired") == "unknown"
    assert (await store.load(late.id)).status == "expired"


async def test_the_agents_own_deadline_holds_before_admission(client: ApprovalClient, store: ApprovalStore):
    """A record that no bot ever admitted does not expire early either."""
    interrupt_id = await publish(client, store)

    assert await store.settle(interrupt_id, "expired") == "early"


async def test_an_end_is_final(client: ApprovalClient, store: ApprovalStore):
    """The first way to end stands, with its reason; once that is drawn nothing is owed to the clock."""
    state = await admitted(client, store)

    assert (
        await store.settle(state.id, "refused", reason="no such channel", code="channel_not_found")
        == "settled"
    )
    assert await store.settle(state.id, "withdrawn", reason="late") == "refused"

    newest = await store.load(state.id)
    assert (newest.status, newest.reason, newest.code) == ("refused", "no such channel", "channel_not_found")
    await store.start_retention(state.id)
    assert (await store.owed())["due"] == 0


async def test_a_decided_record_cannot_be_withdrawn(client: ApprovalClient, store: ApprovalStore):
    """What people decided is not taken back by a later end."""
    state = await admitted(client, store)
    await decide(store, state, {0: ApproveDecision()})

    assert await store.settle(state.id, "withdrawn") == "decided"


async def test_a_withdrawal_before_the_first_drawing_stays_due(
    client: ApprovalClient, store: ApprovalStore, lane: Keys
):
    """A question that is taken back at once ends at once, not at its deadline."""
    interrupt_id = await publish(client, store)
    await client.withdraw(interrupt_id)
    await store.take_inbox("billing")
    await store.admit(await store.load(interrupt_id), admission())

    (due,) = await store.lease_work("due", limit=10, lease=60_000)
    assert due.interrupt_id == interrupt_id


# --- Retention --------------------------------------------------------------------------------------------------


async def lifetimes(redis: Redis, lane: Keys, interrupt_id: str) -> list[float]:
    """Days until each key of a record ends: its two hashes and its pauses; -1 means never."""
    pauses = (await redis.hget(lane.req(interrupt_id), "pauses")).split()
    keys = [
        lane.req(interrupt_id),
        lane.card(interrupt_id),
        *(lane.pause("billing", pause) for pause in pauses),
    ]
    return [round(left / DAY, 2) if (left := await redis.pttl(key)) > 0 else left for key in keys]


async def test_nothing_pending_expires(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """An open question has no lifetime of its own, partly decided or not."""
    state = await admitted(client, store, "a", "b")
    await decide(store, state, {0: ApproveDecision()})
    await store.mark_read(state, state.actions[1], "U0ERIK", 1)
    await store.start_retention(state.id)

    assert await lifetimes(redis, lane, state.id) == [-1, -1, -1, -1]
    assert (await store.owed())["due"] == 1


async def test_a_settled_record_stays_thirty_days_for_its_agent(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """An agent that comes back within a month of the last drawing still finds its answer, also by its pauses."""
    decided = await admitted(client, store, "a", "b")
    await decide(store, decided, {0: ApproveDecision(), 1: ApproveDecision()})
    refused = await client.publish(an_interrupt(run="another"))
    await store.settle(refused, "refused", code="no_channel")
    assert {*await lifetimes(redis, lane, decided.id), *await lifetimes(redis, lane, refused)} == {-1}
    for interrupt_id in (decided.id, refused):
        await store.start_retention(interrupt_id)

    assert await lifetimes(redis, lane, decided.id) == [30, 30, 30, 30]
    assert await lifetimes(redis, lane, refused) == [30, 30, 30]


async def test_a_taken_answer_stays_seven_days(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """Arguments do not lie around after the run has gone on; drawing the card keeps the lifetime."""
    state = await admitted(client, store)
    await decide(store, state, {0: ApproveDecision()})
    async with client.resuming(state.id):
        pass
    await store.lease_part(state.id, CARD, owner="me", lease=1_000)
    await store.save_part(state.id, CARD, owner="me", shown=Shown("C1", "1.2", "digest", "resumed"))
    await store.set_notice(state.id, "still here")
    await store.start_retention(state.id)

    assert await lifetimes(redis, lane, state.id) == [7, 7, 7]


async def test_an_agent_that_went_on_without_a_bot_is_not_kept_longer(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """A bot that comes back later and ends the record leaves it the week that it has."""
    interrupt_id = await client.publish(an_interrupt(expires_in=timedelta(seconds=1)))
    await client.wait(interrupt_id)
    async with client.resuming(interrupt_id):
        pass

    assert await store.settle(interrupt_id, "expired") == "settled"
    await store.start_retention(interrupt_id)
    assert await lifetimes(redis, lane, interrupt_id) == [7, 7, 7]


# --- Drawing ----------------------------------------------------------------------------------------------------


async def test_one_process_draws_a_part_at_a_time(client: ApprovalClient, store: ApprovalStore):
    """A lease is held by one; another part of the same card is free."""
    state = await admitted(client, store)

    assert (await store.lease_part(state.id, CARD, owner="me", lease=60_000)).outcome == "mine"
    busy = await store.lease_part(state.id, CARD, owner="you", lease=60_000)
    assert busy.outcome == "busy"
    assert 0 < busy.since <= 60_000
    assert (
        await store.lease_part(state.id, MessageId(0, "part", 1), owner="you", lease=60_000)
    ).outcome == "mine"


async def test_the_holder_of_a_part_can_hold_it_longer(client: ApprovalClient, store: ApprovalStore):
    """A process that still looks for a message keeps the others away meanwhile."""
    state = await admitted(client, store)
    await store.lease_part(state.id, CARD, owner="me", lease=30_000)

    assert (await store.lease_part(state.id, CARD, owner="me", lease=60_000)).outcome != "busy"

    busy = await store.lease_part(state.id, CARD, owner="you", lease=60_000)
    assert busy.outcome == "busy"
    assert busy.since > 30_000


async def test_a_post_that_was_not_saved_is_a_takeover(client: ApprovalClient, store: ApprovalStore):
    """Whoever comes after a lapsed lease learns since when a message may be there."""
    state = await admitted(client, store)
    first = await store.lease_part(state.id, CARD, owner="crashed", lease=0)
    await asyncio.sleep(0.005)

    second = await store.lease_part(state.id, CARD, owner="next", lease=0)
    third = await store.lease_part(state.id, CARD, owner="last", lease=60_000)

    assert (second.outcome, third.outcome) == ("takeover", "takeover")
    assert first.since == second.since == third.since


async def test_who_lets_go_of_a_message_has_the_next_one_look_whether_it_is_there(
    client: ApprovalClient, store: ApprovalStore
):
    """It is unknown whether something was sent: a takeover at once, and not when the lease ends. Nobody else's lease ends."""
    state = await admitted(client, store)
    first = await store.lease_part(state.id, CARD, owner="me", lease=60_000)
    await store.let_go(state.id, CARD, owner="you")
    assert (await store.lease_part(state.id, CARD, owner="you", lease=60_000)).outcome == "busy"

    await store.let_go(state.id, CARD, owner="me")

    second = await store.lease_part(state.id, CARD, owner="you", lease=60_000)
    assert (second.outcome, second.since) == ("takeover", first.since)


async def test_an_edit_that_was_not_saved_is_made_again(client: ApprovalClient, store: ApprovalStore):
    """Where the message is known there is nothing to look for."""
    state = await admitted(client, store)
    await store.lease_part(state.id, CARD, owner="me", lease=60_000)
    await store.save_part(state.id, CARD, owner="me", shown=Shown("C1", "1.2", "digest"))
    await store.lease_part(state.id, CARD, owner="crashed", lease=0)

    assert (await store.lease_part(state.id, CARD, owner="next", lease=60_000)).outcome == "mine"


async def test_what_slack_shows_is_saved_by_who_holds_the_lease(client: ApprovalClient, store: ApprovalStore):
    """A process whose lease went to somebody else cannot save its old picture over the new one."""
    state = await admitted(client, store)
    shown = Shown("C1", "1.2", "digest", "ended")
    await store.lease_part(state.id, CARD, owner="slow", lease=0)
    await store.lease_part(state.id, CARD, owner="quick", lease=60_000)

    assert not await store.save_part(state.id, CARD, owner="slow", shown=Shown("C1", "1.1", "old"))
    assert await store.save_part(state.id, CARD, owner="quick", shown=shown)
    assert not await store.save_part(state.id, CARD, owner="quick", shown=Shown("C1", "1.3", "again"))

    assert (await store.load(state.id)).shown == {CARD: shown}


async def test_a_card_that_is_gone_is_forgotten(client: ApprovalClient, store: ApprovalStore):
    """Letting go without a picture keeps what was shown; forgetting has it posted anew."""
    state = await admitted(client, store)
    shown = Shown("C1", "1.2", "digest")

    async def drawn(picture: Shown | None, *, forget: bool = False) -> Mapping[MessageId, Shown]:
        await store.lease_part(state.id, CARD, owner="me", lease=60_000)
        assert await store.save_part(state.id, CARD, owner="me", shown=picture, forget=forget)
        return (await store.load(state.id)).shown

    assert await drawn(shown) == {CARD: shown}
    assert await drawn(None) == {CARD: shown}
    assert await drawn(None, forget=True) == {}


async def test_a_card_that_is_gone_takes_its_parts_with_it(client: ApprovalClient, store: ApprovalStore):
    """A card that is posted anew has new parts in its own thread. What stands beside it stays known."""
    state = await store.load(await publish(client, store))
    places = tuple(Place(channel=channel, actions=(0,)) for channel in ("C1", "C2"))
    await store.admit(state, an_admission(places=places))
    part, last_part = MessageId(0, "part", 1), MessageId(0, "part", REMARKS_FROM - 1)
    remark, elsewhere, approved = (
        MessageId(0, "remark", 0),
        MessageId(1, "part", 1),
        MessageId(0, "standing", 0),
    )
    for number, message in enumerate((CARD, part, last_part, remark, elsewhere, approved)):
        await store.lease_part(state.id, message, owner="me", lease=60_000)
        await store.save_part(state.id, message, owner="me", shown=Shown("C1", f"1.{number}", "digest"))

    await store.lease_part(state.id, CARD, owner="me", lease=60_000)
    await store.save_part(state.id, CARD, owner="me", shown=None, forget=True)

    assert set((await store.load(state.id)).shown) == {remark, elsewhere, approved}


async def test_a_record_whose_retention_has_ended_is_not_drawn(store: ApprovalStore, redis: Redis):
    """Late drawing leaves nothing behind that would live for ever."""
    assert (await store.lease_part("billing.never", CARD, owner="me", lease=1)).outcome == "gone"
    assert not await store.save_part("billing.never", CARD, owner="me", shown=Shown("C1", "1", "d"))
    await store.set_notice("billing.never", "nobody hears this")
    await store.refuse_rewound("billing.never", CARD, code="went_back", reason="nobody hears this")

    assert await redis.keys("*billing.never") == []
    assert (await store.owed())["undrawn"] == 0


async def test_reading_is_noted_for_one_person_and_these_arguments(
    client: ApprovalClient, store: ApprovalStore
):
    """How far somebody has read is theirs alone, and worth nothing for another action."""
    state = await admitted(client, store, "a", "b")
    await store.mark_read(state, state.actions[0], "U0ERIK", 3)

    newest = await store.load(state.id)

    one, other = newest.actions
    assert newest.pages_read(one, "U0ERIK") == 3
    assert newest.pages_read(one, "U0DANA") == 0
    assert newest.pages_read(other, "U0ERIK") == 0


@pytest.mark.parametrize("has_ended", [False, True], ids=["open", "not resumed"])
async def test_what_slack_is_asked_about_are_the_messages_that_somebody_may_still_need(
    client: ApprovalClient, store: ApprovalStore, *, has_ended: bool
):
    """A card while people may decide; afterwards until the run has gone on, unless it was refused."""
    state, refused, resumed = [
        await admitted_and_shown(client, store, run) for run in ("asked", "refused", "resumed")
    ]
    await store.settle(refused.id, "refused", code="no_channel")
    await decide(store, resumed, {0: ApproveDecision()})
    async with client.resuming(resumed.id):
        pass
    if has_ended:
        await decide(store, state, {0: ApproveDecision()})
    for each in (state, refused, resumed):
        await store.start_retention(each.id)

    open_now, _ = await store.posted()
    untaken = await store.posted_unresumed()

    found = [(each.interrupt_id, each.part, each.shown.ts) for each in (untaken if has_ended else open_now)]
    assert found == [(state.id, CARD, "1.2")]
    assert (open_now if has_ended else untaken) == []


async def admitted_and_shown(client: ApprovalClient, store: ApprovalStore, run: str) -> Approval:
    """Publish, admit, and post the card."""
    interrupt_id = await client.publish(an_interrupt(run=run))
    await store.admit(await store.load(interrupt_id), admission())
    await store.lease_part(interrupt_id, CARD, owner="me", lease=60_000)
    await store.save_part(interrupt_id, CARD, owner="me", shown=Shown("C1", "1.2", "digest"))
    state = await store.load(interrupt_id)
    assert isinstance(state, Approval)
    return state


# --- Owed work --------------------------------------------------------------------------------------------------


async def test_claimed_work_is_hidden_until_its_lease_ends(
    client: ApprovalClient, store: ApprovalStore, lane: Keys
):
    """One process takes an id; a process that died gives it back by its lease."""
    interrupt_id = await publish(client, store)

    (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    assert work.interrupt_id == interrupt_id
    assert await store.lease_work("undrawn", limit=10, lease=60_000) == []
    await store.finish_work(work, again_in=0)
    (lost,) = await store.lease_work("undrawn", limit=10, lease=0)
    (again,) = await store.lease_work("undrawn", limit=10, lease=60_000)

    assert lost.interrupt_id == again.interrupt_id == interrupt_id


async def test_leases_that_nobody_may_know_of_end_at_once(client: ApprovalClient, store: ApprovalStore):
    """What is due later than a lease can end stays as it is: a deadline, for example."""
    state = await admitted(client, store)
    await store.lease_work("undrawn", limit=10, lease=60_000)
    later = await store.first_due("due", limit=10)

    for kind in ("undrawn", "due"):
        await store.end_leases(kind, lease=60_000)

    (again,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    assert again.interrupt_id == state.id
    assert await store.first_due("due", limit=10) == later


async def test_finished_work_is_gone(client: ApprovalClient, store: ApprovalStore, lane: Keys):
    """Done is done, until something changes."""
    await publish(client, store)
    (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)

    await store.finish_work(work)

    assert await store.owed() == {"undrawn": 0, "due": 0, "unresumed": 0}


async def test_work_that_fails_comes_back_later(client: ApprovalClient, store: ApprovalStore, lane: Keys):
    """It stays owed, and is not due at once."""
    await publish(client, store)
    (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)

    await store.finish_work(work, again_in=60_000)

    assert await store.lease_work("undrawn", limit=10, lease=60_000) == []
    assert (await store.owed())["undrawn"] == 1


@pytest.mark.parametrize("again_in", [None, 60_000], ids=["done", "later"])
async def test_work_that_comes_in_during_a_claim_stays_due(
    client: ApprovalClient, store: ApprovalStore, lane: Keys, again_in: int | None
):
    """A decision that falls while its card is drawn is drawn afterwards, whatever the first drawing says."""
    state = await admitted(client, store, "a", "b")
    (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    await decide(store, state, {0: ApproveDecision()})

    await store.finish_work(work, again_in=again_in)

    (found,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    assert found.interrupt_id == state.id


async def test_an_attempt_that_fails_puts_off_nothing_that_came_in_meanwhile(
    client: ApprovalClient, store: ApprovalStore, lane: Keys
):
    """A decision may be what was missing: the failure of the older drawing counts for nothing."""
    state = await admitted(client, store, "a", "b")
    (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    await decide(store, state, {0: ApproveDecision()})

    assert await store.fail_work(work, reason="broken", first_pause=60_000, too_many=1) == 0

    assert await store.failing() == {}
    (found,) = await store.lease_work("undrawn", limit=10, lease=60_000)
    assert found.interrupt_id == state.id


@pytest.mark.parametrize("kind", ["undrawn", "due"])
async def test_work_that_fails_too_often_rests_until_it_is_released(
    client: ApprovalClient, store: ApprovalStore, lane: Keys, kind: WorkSet
):
    """Each failure counts; a released record is tried again at once, as if it had never failed."""
    state = await admitted(client, store, life=0)

    async def failed() -> int:
        (work,) = await store.lease_work(kind, limit=10, lease=60_000)
        assert work.interrupt_id == state.id
        return await store.fail_work(work, reason="broken", first_pause=0, too_many=2)

    assert [await failed(), await failed()] == [1, 2]
    assert (await store.owed())[kind] == 0
    assert [*await store.failing()] == [f"{kind}:{state.id}"]

    assert await store.release_work(state.id)
    assert not await store.release_work(state.id)
    assert await failed() == 1


async def test_only_a_success_ends_the_count_of_failures(
    client: ApprovalClient, store: ApprovalStore, lane: Keys
):
    """Work that is put back untried, such as for a turn to edit, has not recovered yet."""
    interrupt_id = await publish(client, store)

    async def leased() -> Work:
        (work,) = await store.lease_work("undrawn", limit=10, lease=60_000)
        return work

    await store.fail_work(await leased(), reason="broken", first_pause=0, too_many=5)
    await store.put_back("undrawn", {await leased(): 0})
    assert [*await store.failing()] == [f"undrawn:{interrupt_id}"]

    assert await store.finish_work(await leased(), again_in=0)
    assert await store.failing() == {}
    assert not await store.finish_work(await leased())


async def test_an_entry_that_is_not_an_id_of_ours_is_owed_no_more(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """What somebody else wrote among owed work is taken out, and holds up no record."""
    interrupt_id = await publish(client, store)
    await redis.zadd(lane.undrawn, {"fremd\u00e9": 1})

    works = await store.lease_work("undrawn", limit=10, lease=60_000)

    assert [work.interrupt_id for work in works] == [interrupt_id]
    assert (await store.owed())["undrawn"] == 1


async def test_several_changes_of_one_record_are_one_piece_of_work(
    client: ApprovalClient, store: ApprovalStore, lane: Keys
):
    """However many clicks fell meanwhile, the card is drawn once."""
    state = await admitted(client, store, "a", "b", "c")
    for index in range(3):
        await decide(store, state, {index: ApproveDecision()}, token=f"t{index}")

    assert len(await store.lease_work("undrawn", limit=10, lease=60_000)) == 1


async def test_the_oldest_work_is_claimed_first_and_only_so_much(
    client: ApprovalClient, store: ApprovalStore, lane: Keys
):
    """A busy process leaves the rest to the others."""
    published = []
    for run in "abc":
        published.append(await client.publish(an_interrupt(run=run)))
        await store.take_inbox("billing")
        await asyncio.sleep(0.002)

    works = await store.lease_work("undrawn", limit=2, lease=60_000)

    assert [work.interrupt_id for work in works] == published[:2]


# --- Telling ----------------------------------------------------------------------------------------------------


async def test_every_transition_is_in_the_audit(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """Who decided what can be read afterwards; a repeated click and a refused one leave no second entry."""
    state = await admitted(client, store, "a", "b")
    for _ in range(2):
        await decide(store, state, {0: ApproveDecision()})
    await decide(store, state, {1: RejectDecision(), 0: RejectDecision()}, by="U0DANA", token="other")
    async with client.resuming(state.id):
        pass
    gone = await client.publish(an_interrupt(run="another"))
    await store.take_inbox("billing")
    await store.settle(gone, "refused", code="no_channel")

    entries = [
        tuple(text for name, text in fields.items() if name not in {"facts", "seq"})
        for _, fields in await redis.xrange(lane.audit)
    ]
    counted = [fields["seq"] for _, fields in await redis.xrange(lane.audit)]

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


async def test_a_waiting_agent_learns_why_nothing_happens(client: ApprovalClient, store: ApprovalStore):
    """A notice stands on the record until it is taken back."""
    state = await admitted(client, store)

    await store.set_notice(state.id, "Slack refuses the app")
    assert (await store.load(state.id)).notice == "Slack refuses the app"
    await store.set_notice(state.id, "")
    assert (await store.load(state.id)).notice is None


async def test_a_notice_that_is_repeated_wakes_a_waiting_agent_once(
    client: ApprovalClient, store: ApprovalStore, redis: Redis, lane: Keys
):
    """A fault that lasts for hours is looked at every two seconds, and is news only once."""
    state = await admitted(client, store)
    replies = f"{lane.prefix}replies:billing.me"
    await redis.hset(lane.req(state.id), "w:billing.me", "1")
    await redis.xadd(replies, {"id": "before"})

    for sentence in ("Slack refuses the app", "Slack refuses the app", "", ""):
        await store.set_notice(state.id, sentence)

    assert [fields["id"] for _, fields in await redis.xrange(replies)] == ["before", state.id, state.id]


async def test_bots_say_that_they_live(store: ApprovalStore, redis: Redis, lane: Keys):
    """The newest heartbeat of each stands, and says how many others live; those of yesterday are forgotten."""
    await redis.zadd(lane.bots, {"dead": 1})

    assert (await store.heartbeat("one")).others == frozenset()
    assert (await store.heartbeat("two")).others == {"one"}

    assert set(await redis.zrange(lane.bots, 0, -1)) == {"one", "two"}
    assert (await store.heartbeat("one", alive=False)).others == {"two"}
    assert (await store.heartbeat("two")).others == frozenset()


async def test_an_unreachable_redis_is_one_sentence(tmp_path):
    """Reading says where it looked, as writing does."""
    server = RedisServer(tmp_path / "r")
    server.start()
    async with open_redis(server.url, retries=0) as redis:
        store = ApprovalStore(redis, await freeze_meta(redis, "assent"), address="redis://here")
        server.stop()

        for call in (store.load("billing.x"), store.owed(), store.heartbeat("me")):
            with pytest.raises(ServerUnreachableError, match="redis://here does not answer"):
                await call


@pytest.mark.parametrize("value", ["x", "", "one 1", "nan nan nan"])
async def test_a_lease_that_no_script_wrote_holds_no_message(client, store, redis, lane, value):
    """Whoever leases the message next looks first whether it was posted."""
    state = await admitted(client, store)
    await redis.hset(lane.card(state.id), f"lease:{CARD}", value)

    lease = await store.lease_part(state.id, CARD, owner="one", lease=60_000)

    assert lease.outcome == "takeover"
