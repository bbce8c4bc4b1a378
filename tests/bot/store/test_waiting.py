"""The lists of what waits for whom, in a real Redis: never one request too few, and those that have ended go."""

import asyncio
from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.interrupt import Context
from bot.domain.admission import Terms
from bot.domain.approval import Approval
from bot.domain.schedule import Step
from bot.domain.waiting import Spot
from bot.jobs.deadlines import Deadlines
from bot.store.records import ApprovalStore
from tests.bot.use_cases.test_propose import a_proposal, propose
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import admit, record

HOUR = 3_600_000


async def admitted(
    client: ApprovalClient,
    store: ApprovalStore,
    *,
    run: str = "one",
    approvers: tuple[str, ...] = ("U0ERIK", "S0OPS", "channel"),
    actions: int = 1,
    requested_by: str = "U0DANA",
    life: int = HOUR,
    **admission: object,
) -> Approval:
    """Publish and admit a request in the channel C1."""
    context, calls = Context(requested_by=requested_by), [an_action("pay")] * actions
    asked = an_interrupt(*calls, run=run, expires_in=timedelta(hours=2), context=context)
    interrupt_id = await client.publish(asked)
    return await admit(store, interrupt_id, approvers=approvers, life=life, **admission)


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
    await record(store, decided.id, {0: ApproveDecision()})

    assert await store.waiting(["U0ERIK", "S0OPS"], after=first[-1], limit=50) == everything[3:]


@pytest.mark.parametrize("ending", ["expired", "withdrawn", "refused"])
async def test_what_ended_waits_for_nobody(client, store, redis, ending):
    state = await admitted(client, store, life=0 if ending == "expired" else HOUR)

    await store.settle(state.id, ending)

    assert await redis.keys("{assent}:waiting:*") == []


async def test_what_is_decided_waits_for_nobody_once_all_of_it_is_decided(client, store, redis):
    state = await admitted(client, store, actions=2)

    await record(store, state.id, {0: ApproveDecision()})
    assert await waiting(store, "S0OPS") == [state.id]
    await record(store, state.id, {1: RejectDecision()})

    assert await redis.keys("{assent}:waiting:*") == []


async def test_a_step_lists_the_request_for_those_whom_it_adds(client, store, redis):
    """And its end takes it from their lists as well."""
    steps = (Step(kind="escalate", after=timedelta(0), actions=(0,), approvers=("U0NOOR", "S0BOSS")),)
    state = await admitted(client, store, steps=steps)
    assert await waiting(store, "U0NOOR", "S0BOSS") == []

    await Deadlines(store).on_due(state.id)

    assert await waiting(store, "U0NOOR") == await waiting(store, "S0BOSS") == [state.id]
    await record(store, state.id, {0: ApproveDecision()})
    assert await redis.keys("{assent}:waiting:*") == []


async def test_a_proposal_lists_the_request_for_those_who_decide_it(client, store, redis):
    """`channel` is the channel of the other rule."""
    state = await admitted(client, store)

    await propose(store, state, a_proposal(terms=Terms(approvers=("S0MONEY", "channel"), quorum=2)))

    assert await waiting(store, "S0MONEY") == await waiting(store, "C2") == [state.id]
    await store.settle(state.id, "withdrawn")
    assert await redis.keys("{assent}:waiting:*") == []


async def test_those_who_may_decide_together_share_one_entry(client, store, redis):
    """So a request takes the same room for one person and for twenty."""
    people = tuple(f"U0P{number:02}" for number in range(20))

    state = await admitted(client, store, approvers=people)

    [key] = await redis.keys("{assent}:waiting:*")
    assert await redis.zrange(key, 0, -1) == [state.id]
    for person in people:
        assert await waiting(store, person) == [state.id]


async def test_what_a_person_asked_for_and_decided_is_listed_the_newest_first(client, store):
    first = await admitted(client, store, run="first", requested_by="U0NOOR")
    await asyncio.sleep(0.005)
    second = await admitted(client, store, run="second", requested_by="U0NOOR")
    for state in (second, first):
        await record(store, state.id, {0: ApproveDecision()})
        await asyncio.sleep(0.005)

    assert await store.mine("asked", "U0NOOR") == [second.id, first.id]
    assert await store.mine("decided", "U0ERIK") == [first.id, second.id]
