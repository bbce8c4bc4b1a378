"""What falls due, in a real Redis: each step once, none after the end, and the earliest time first."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from agent_adapter import ApprovalClient
from bot.domain.admission import Place, Terms
from bot.domain.approval import Approval
from bot.domain.ids import Remark
from bot.domain.schedule import Extension, QuietHours, Step
from bot.domain.transitions import reach
from bot.jobs.deadlines import TOO_EARLY, UNREADABLE_AGAIN, Deadlines, SilenceCheck
from bot.sentences import to_agent
from bot.store.connected import Refused
from bot.store.records import ApprovalStore
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.deciding import admit, assign, extend

MINUTE = timedelta(minutes=1)
REMIND = Step(kind="remind", after=timedelta(0), actions=(0,))


@pytest.fixture
def clock(store: ApprovalStore) -> Deadlines:
    return Deadlines(store)


async def admitted(client: ApprovalClient, store: ApprovalStore, *steps: Step, **fields: object) -> Approval:
    """Publish two actions and admit them with this schedule."""
    life = fields.pop("life", None)
    run = fields.pop("run", "run-1")
    interrupt_id = await client.publish(an_interrupt(an_action("a"), an_action("b"), run=run))
    given = {"places": (Place(channel="C1", actions=(0, 1)),), "approvers": ("U0ERIK",), **fields}
    return await admit(store, interrupt_id, steps=steps, life=life, **given)


async def test_many_replicas_say_it_once(client, store, clock):
    """Whoever comes later finds it said."""
    state = await admitted(client, store, REMIND)

    waits = await asyncio.gather(*(Deadlines(store).on_due(state.id) for _ in range(10)))

    newest = await store.load(state.id)
    assert newest.remarks == {1: Remark(kind="remind", places=(0,), actions=(0,), mentions=("U0ERIK",))}
    left = (state.deadline - state.now).total_seconds() * 1000
    assert all(left - 5_000 < wait <= left for wait in waits)


async def test_what_waits_for_the_end_of_quiet_hours_comes_then(client, store, clock):
    """The record is looked at again just then, and not before."""
    now = (await admitted(client, store)).now
    quiet = QuietHours(start=(now - MINUTE).time(), end=(now + timedelta(seconds=1.5)).time(), zone="UTC")
    steps = (REMIND, Step(kind="escalate", after=timedelta(0), actions=(0,), approvers=("U0MIRA",)))
    state = await admitted(
        client, store, *(step.model_copy(update={"quiet": quiet}) for step in steps), run="in the night"
    )

    wait = await clock.on_due(state.id)

    assert (await store.load(state.id)).remarks == {}
    assert 0 < wait <= 1_500
    await asyncio.sleep((wait + 20) / 1000)
    await clock.on_due(state.id)
    assert {r.kind for r in (await store.load(state.id)).remarks.values()} == {"remind", "escalate"}


async def test_an_escalation_lets_more_people_decide(client, store, clock):
    """Only about the actions of its rule, and what else holds for them stays."""
    own = {1: Terms(approvers=("U0NOOR",), decisions=("reject",))}
    step = Step(kind="escalate", after=timedelta(0), actions=(1,), approvers=("U0MIRA", "U0NOOR"))
    state = await admitted(client, store, step, own=own)

    await clock.on_due(state.id)

    admission = (await store.load(state.id)).admission
    assert admission.terms[0].approvers == ("U0ERIK",)
    assert admission.terms[1] == Terms(approvers=("U0NOOR", "U0MIRA"), decisions=("reject",))


async def test_after_the_end_nothing_happens(client, store, clock):
    """Not to a record that expired between the look and the script."""
    state = await admitted(client, store, REMIND, life=0)

    steps = {0: Remark(kind="remind", places=(0,))}
    assert not await store.update(state, partial(reach, steps=steps, circle="", at=state.now))
    assert await extend(store, state, MINUTE) == "closed"
    assert await assign(store, state, 0, "U0ERIK") == "closed"
    assert await clock.on_due(state.id) is None

    ended = await store.load(state.id)
    assert (ended.status, ended.remarks, ended.deadline) == ("expired", {}, state.deadline)


class SlowStore(ApprovalStore):
    """Its answer to a step takes longer than the record has left."""

    async def update(self, state, transition, **given):
        noted = await super().update(state, transition, **given)
        while not (await self.load(state.id)).is_past:
            await asyncio.sleep(0.01)
        return noted


async def test_a_deadline_that_passes_while_the_clock_looks_is_not_missed(client, store, redis):
    """Nobody else would look at it again."""
    state = await admitted(client, store, REMIND, life=3_000)
    slow = Deadlines(SlowStore(redis, store.keys, address="here"))

    assert await slow.on_due(state.id) == TOO_EARLY
    assert await slow.on_due(state.id) is None

    assert (await store.load(state.id)).status == "expired"


async def test_a_second_press_gives_no_second_extension(client, store):
    """However late it comes: the button names how often it was pressed before."""
    state = await admitted(client, store, extension=Extension(by=MINUTE, times=5))

    outcomes = await asyncio.gather(*(extend(store, state, MINUTE) for _ in range(5)))

    newest = await store.load(state.id)
    assert sorted(outcomes) == ["extended", *["repeat"] * 4]
    assert (newest.deadline - state.deadline, newest.extended) == (MINUTE, 1)


async def test_of_two_who_claim_one_looks(client, store):
    """The other is told."""
    state = await admitted(client, store, places=(Place(channel="C1", actions=(0, 1), assign=MINUTE),))

    outcomes = await asyncio.gather(assign(store, state, 0, "U0ERIK"), assign(store, state, 0, "U0MIRA"))

    assert sorted(outcomes) == ["assigned", "taken"]
    assignment = (await store.load(state.id)).assignment_at(0)
    assert (assignment.user, assignment.until - assignment.since) == (
        ["U0ERIK", "U0MIRA"][outcomes.index("assigned")],
        MINUTE,
    )


async def test_what_falls_due_for_an_unreadable_record_is_said_on_its_card(client, store, redis, clock):
    """Its card is owed a drawing, which says so; the record is looked at again later."""
    state = await admitted(client, store)
    await redis.hset(store.keys.req(state.id), "body", "send money")

    assert await clock.on_due(state.id) == UNREADABLE_AGAIN

    assert [each.interrupt_id for each in await store.lease_work("undrawn", limit=1, lease=0)] == [state.id]


async def test_silence_approves_nothing_that_this_process_knows_to_be_refused():
    """Somebody who can write to Redis hides the answer of a person there, but not in the bot that took it."""
    state, refused = a_state(by_silence=True), Refused()
    refused.add(state.id, 0, is_final=False)

    assert await SilenceCheck(None, None, refused).why_not(state) == to_agent.WAS_REFUSED
