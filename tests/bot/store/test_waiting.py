"""The lists of what waits for whom, in a real Redis: never one request too few, and those that have ended go."""

import asyncio
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from bot.domain.admission import Place, Terms
from bot.domain.approval import Approval
from bot.domain.messages import Remark
from bot.domain.schedule import Extension, Step
from bot.domain.waiting import Spot
from bot.jobs.deadlines import Deadlines
from bot.jobs.waiting_sweep import WaitingSweep
from bot.store.records import ApprovalStore
from tests.bot.store.test_records import decide
from tests.bot.store.test_votes import press
from tests.bot.use_cases.test_propose import a_proposal, propose
from tests.support.builders import an_action, an_admission, an_interrupt

HOUR = 3_600_000


async def admitted(
    client: ApprovalClient,
    store: ApprovalStore,
    *,
    run: str = "one",
    approvers: tuple[str, ...] = ("U0ERIK", "S0OPS", "channel"),
    actions: int = 1,
    requested_by: str | None = None,
    life: int = HOUR,
    **admission: object,
) -> Approval:
    """Publish and admit a request in the channel C1."""
    asked = an_interrupt(*[an_action("pay")] * actions, run=run, expires_in=timedelta(hours=2))
    if requested_by:
        asked = asked.model_copy(
            update={"context": asked.context.model_copy(update={"requested_by": requested_by})}
        )
    interrupt_id = await client.publish(asked)
    places = (Place(channel="C1", actions=tuple(range(actions))),)
    fixed = an_admission(approvers=approvers, places=places, **admission)
    await store.admit(await store.load(interrupt_id), fixed, life=life)
    state = await store.admitted(interrupt_id)
    assert state is not None
    return state


async def waiting(
    store: ApprovalStore, *entries: str, after: Spot | None = None, limit: int = 50
) -> list[str]:
    return [spot.interrupt_id for spot in await store.waiting(entries, after=after, limit=limit)]


@pytest.mark.parametrize("entry", ["U0ERIK", "S0OPS", "C1"])
async def test_a_request_waits_for_each_person_group_and_channel_that_may_decide_it(client, store, entry):
    """`channel` is the channel where it is asked."""
    state = await admitted(client, store)

    assert await waiting(store, entry) == [state.id]


async def test_what_waits_for_a_person_in_several_ways_is_listed_once_and_the_oldest_deadline_comes_first(
    client, store
):
    later = await admitted(client, store, run="later", approvers=("U0ERIK",))
    sooner = await admitted(client, store, run="sooner", approvers=("S0OPS", "channel"), life=HOUR // 2)
    await admitted(client, store, run="of others", approvers=("U0MIRA",))

    assert await waiting(store, "U0ERIK", "S0OPS", "C1") == [sooner.id, later.id]


async def test_a_list_goes_on_where_the_one_before_it_ended(client, store):
    """Also where several requests have the same deadline, and where one before it was decided meanwhile."""
    states = [await admitted(client, store, run=str(n), life=HOUR + n // 2) for n in range(7)]
    everything = await store.waiting(["U0ERIK", "S0OPS"], limit=50)
    first = await store.waiting(["U0ERIK", "S0OPS"], limit=3)

    decided = next(state for state in states if state.id == first[0].interrupt_id)
    await decide(store, decided, {0: ApproveDecision()})

    assert await store.waiting(["U0ERIK", "S0OPS"], after=first[-1], limit=50) == everything[3:]


@pytest.mark.parametrize("ending", ["expired", "withdrawn", "refused"])
async def test_what_ended_waits_for_nobody(client, store, redis, ending):
    state = await admitted(client, store, life=0 if ending == "expired" else HOUR)

    await store.settle(state.id, ending)

    assert await redis.keys("{assent}:waiting:*") == []


async def test_what_is_decided_waits_for_nobody_once_all_of_it_is_decided(client, store, redis):
    state = await admitted(client, store, actions=2)

    await decide(store, state, {0: ApproveDecision()}, token="first")
    assert await waiting(store, "S0OPS") == [state.id]
    await decide(store, state, {1: RejectDecision()}, token="second")

    assert await redis.keys("{assent}:waiting:*") == []


async def test_a_step_lists_the_request_for_those_whom_it_adds(client, store, redis):
    """And its end takes it from their lists as well."""
    steps = (Step(kind="escalate", after=timedelta(0), actions=(0,), approvers=("U0NOOR", "S0BOSS")),)
    state = await admitted(client, store, steps=steps)
    assert await waiting(store, "U0NOOR", "S0BOSS") == []

    await Deadlines(store).on_due(state.id)

    assert await waiting(store, "U0NOOR") == await waiting(store, "S0BOSS") == [state.id]
    await decide(store, await store.admitted(state.id), {0: ApproveDecision()})
    assert await redis.keys("{assent}:waiting:*") == []


async def test_a_proposal_lists_the_request_for_those_who_decide_it(client, store, redis):
    """`channel` is the channel of the other rule."""
    state = await admitted(client, store)

    await propose(store, state, a_proposal(terms=Terms(approvers=("S0MONEY", "channel"), quorum=2)))

    assert await waiting(store, "S0MONEY") == await waiting(store, "C2") == [state.id]
    await store.settle(state.id, "withdrawn")
    assert await redis.keys("{assent}:waiting:*") == []


async def test_more_time_moves_a_request_in_the_lists(client, store):
    extension = Extension(by=timedelta(hours=1), times=1)
    extended = await admitted(client, store, run="extended", extension=extension, life=HOUR // 2)
    other = await admitted(client, store, run="other")

    await store.extend(extended, Remark(kind="extend", places=(0,), by="U0ERIK"), by=extension.by)

    assert await waiting(store, "U0ERIK") == [other.id, extended.id]


async def test_a_sweep_writes_lists_again_that_were_lost(client, store, redis):
    state = await admitted(client, store)
    over = await admitted(client, store, run="over")
    await store.settle(over.id, "withdrawn")
    await redis.delete(*await redis.keys("{assent}:waiting:*"))

    await WaitingSweep(store).sweep()

    for entry in ("U0ERIK", "S0OPS", "C1"):
        assert await waiting(store, entry) == [state.id]


async def test_a_sweep_reaches_every_open_request(client, store, redis, monkeypatch):
    monkeypatch.setattr("bot.jobs.waiting_sweep.AT_ONCE", 3)
    states = [await admitted(client, store, run=str(n)) for n in range(8)]
    await redis.delete(*await redis.keys("{assent}:waiting:*"))

    await WaitingSweep(store).sweep()

    assert {*await waiting(store, "S0OPS")} == {state.id for state in states}


async def test_what_waits_is_counted_and_listed_by_agent(client, store, redis):
    """Each request once, in however many lists it is. An agent whose name begins like another one's is another agent."""
    lane = store.keys
    await redis.zadd(lane.waiting("U0ERIK"), {f"billing.{n}": n + 1 for n in range(1_500)})
    await redis.zadd(lane.waiting("S0OPS"), {"billing.7": 8, "bill.1": 2_000, "ops.1": 3_000})

    assert await store.count_waiting(["U0ERIK", "S0OPS", "C1"]) == {"billing": 1_500, "bill": 1, "ops": 1}
    for agent in ("bill", "ops"):
        found = await store.waiting(["U0ERIK", "S0OPS"], agent=agent, limit=5)
        assert [spot.interrupt_id for spot in found] == [f"{agent}.1"]


async def test_an_entry_of_a_request_that_has_ended_is_removed_when_it_is_met(client, store, redis):
    """One of an open request stays, whatever its reader thought."""
    lane = store.keys
    still = await admitted(client, store)
    over = await admitted(client, store, run="over")
    await store.settle(over.id, "withdrawn")
    await redis.zadd(lane.waiting("S0OPS"), {over.id: 1, "billing.never": 2})

    await store.drop_stale(["S0OPS"], [over.id, "billing.never", still.id])

    assert await waiting(store, "S0OPS") == [still.id]


async def test_entries_that_nobody_meets_go_a_day_after_their_deadline(client, store, redis):
    lane = store.keys
    await redis.zadd(lane.waiting("S0OPS"), {"billing.never": 1})

    state = await admitted(client, store, approvers=("S0OPS",))

    assert await waiting(store, "S0OPS") == [state.id]


async def test_a_list_that_something_else_overwrote_prevents_no_question_and_no_decision(
    client, store, redis
):
    lane = store.keys
    for key in (
        lane.waiting("C1,S0OPS,U0ERIK"),
        f"{lane.prefix}circles:S0OPS",
        lane.mine("decided", "U0ERIK"),
        lane.mine("asked", "U0NOOR"),
    ):
        await redis.set(key, "overwritten")

    await admitted(client, store, run="overwritten", requested_by="U0NOOR")
    state = await admitted(client, store, approvers=("S0OPS", "channel"))

    assert await waiting(store, "S0OPS", "C1") == [state.id]
    assert await decide(store, state, {0: ApproveDecision()}) == ["recorded"]
    assert await waiting(store, "C1") == []


async def test_those_who_may_decide_together_share_one_entry(client, store, redis):
    """So a request takes the same room for one person and for twenty."""
    people = tuple(f"U0P{number:02}" for number in range(20))

    state = await admitted(client, store, approvers=people)

    [key] = await redis.keys("{assent}:waiting:*")
    assert await redis.zrange(key, 0, -1) == [state.id]
    for person in people:
        assert await waiting(store, person) == [state.id]


async def test_rules_that_name_the_same_people_in_another_order_share_a_list(client, store, redis):
    await admitted(client, store, run="one", approvers=("U0ERIK", "U0MIRA"))
    await admitted(client, store, run="other", approvers=("U0MIRA", "U0ERIK"))

    assert await redis.keys("{assent}:waiting:*") == ["{assent}:waiting:U0ERIK,U0MIRA"]


async def test_a_name_that_begins_like_another_one_finds_nothing_of_it(client, store):
    """What waits for somebody else is not even looked at."""
    await admitted(client, store, approvers=("U0ERIKA", "S0OPS2"))

    assert await waiting(store, "U0ERIK", "S0OPS") == []


async def test_what_an_older_version_listed_for_each_person_is_still_found_and_goes_with_its_end(
    client, store, redis
):
    """It wrote a list for each of them, and their names without commas."""
    lane = store.keys
    state = await admitted(client, store)
    score = state.deadline.timestamp() * 1000
    await redis.delete(*await redis.keys("{assent}:waiting:*"), *await redis.keys("{assent}:circles:*"))
    await redis.hset(lane.card(state.id), "waiting", "U0ERIK S0OPS C1")
    for entry in ("U0ERIK", "S0OPS", "C1"):
        await redis.zadd(lane.waiting(entry), {state.id: score})

    assert await waiting(store, "S0OPS") == [state.id]
    await decide(store, state, {0: ApproveDecision()})
    assert await redis.keys("{assent}:waiting:*") == []


async def test_somebody_who_is_added_twice_is_listed_once(client, store, redis):
    """A proposal that replaces another one is for the same people."""
    state = await admitted(client, store)

    for name in ("one", "two"):
        await propose(store, state, a_proposal(name=name, terms=Terms(approvers=("S0MONEY", "U0CFO"))))

    written = await redis.hget(store.keys.card(state.id), "waiting")
    assert written == "C1,S0OPS,U0ERIK S0MONEY,U0CFO"


async def test_a_circle_without_requests_is_forgotten_when_somebody_looks(client, store, redis):
    state = await admitted(client, store)
    await store.settle(state.id, "withdrawn")

    assert await waiting(store, "S0OPS") == []

    assert "{assent}:circles:S0OPS" not in await redis.keys("{assent}:circles:*")


async def test_a_list_of_what_waits_ends_when_nothing_was_added_for_a_month(client, store, redis):
    """A sweep renews it while a request is open."""
    await admitted(client, store)
    keys = [key for name in ("waiting", "circles") for key in await redis.keys(f"{{assent}}:{name}:*")]
    assert len(keys) == 4
    for key in keys:
        assert 0 < await redis.ttl(key) <= 30 * 86_400
        await redis.expire(key, 60)

    await WaitingSweep(store).sweep()

    for key in keys:
        assert await redis.ttl(key) > 60


async def test_what_a_person_asked_for_and_decided_is_listed_the_newest_first(client, store):
    first = await admitted(client, store, run="first", requested_by="U0NOOR")
    await asyncio.sleep(0.005)
    second = await admitted(client, store, run="second", requested_by="U0NOOR")
    for state in (second, first):
        await decide(store, state, {0: ApproveDecision()}, by="U0ERIK", token=f"on {state.id}")
        await asyncio.sleep(0.005)

    assert await store.mine("asked", "U0NOOR") == [second.id, first.id]
    assert await store.mine("decided", "U0ERIK") == [first.id, second.id]


async def test_whoever_agreed_finds_it_among_what_they_decided(client, store):
    """Also those whose votes did not make it final."""
    state = await admitted(client, store, quorum=2)
    for user in ("U0ERIK", "U0MIRA"):
        await press(store, state, user, ApproveDecision())

    for user in ("U0ERIK", "U0MIRA"):
        assert await store.mine("decided", user) == [state.id]


async def test_a_batch_that_is_decided_at_once_is_noted_once(client, store, redis):
    """However many calls it has. A click on a long batch would hold Redis otherwise."""
    state = await admitted(client, store, actions=20)
    await redis.config_resetstat()

    await decide(store, state, dict.fromkeys(range(20), ApproveDecision()))

    used = await redis.info("commandstats")
    assert used["cmdstat_zremrangebyrank"]["calls"] == 1
    assert await store.mine("decided", "U0ERIK") == [state.id]


async def test_lists_of_what_is_over_do_not_live_for_ever(client, store, redis: Redis):
    state = await admitted(client, store, requested_by="U0NOOR")
    await decide(store, state, {0: ApproveDecision()})

    lane = store.keys
    for key in (lane.mine("asked", "U0NOOR"), lane.mine("decided", "U0ERIK")):
        assert 0 < await redis.ttl(key) <= 30 * 86_400
