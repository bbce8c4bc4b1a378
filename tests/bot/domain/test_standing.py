"""What was approved for later calls: how wide it is, what it covers, how often it is used, when it is over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.connection import freeze_meta, open_redis
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.interrupt import Context, Interrupt
from agent_adapter.contract.record import dump_recorded
from bot.clock import Clock
from bot.decisions import Decisions
from bot.grants import Grants, covers
from bot.people import Directory
from bot.playground.server import Playground
from bot.slack_client import SlackClient
from bot.state import Admission, ApprovalState, Place, Terms
from bot.sticky import Covered, Ended, Grant, Sticky, StickyApproval, sticky_name
from bot.store import ApprovalStore
from tests.support.builders import NOW, a_state, an_action, an_interrupt

DANA, ERIK, NOOR = "U0DANA", "U0ERIK", "U0NOOR"
HOUR = timedelta(hours=1)
WIDE = Sticky(scope="agent")
PAY = an_action("pay", {"amount": 5})


@pytest.mark.parametrize(
    ("given", "allowed", "is_within"),
    [
        ({}, {}, True),
        ({"same": "tool"}, {}, False),
        ({"same": "tool"}, {"same": "tool"}, True),
        ({"scope": "agent"}, {}, False),
        ({"scope": "run"}, {"scope": "agent"}, True),
        ({"lasts": 2 * HOUR}, {}, False),
        ({"lasts": HOUR / 2}, {}, True),
        ({"uses": 11}, {}, False),
        ({"uses": 1}, {}, True),
    ],
)
def test_nobody_gives_more_than_the_policy_allows(given, allowed, is_within):
    """In every respect: which calls, where, how long, how often."""
    assert Grant(**given).is_within(Sticky(**allowed)) is is_within


# --- What it covers -----------------------------------------------------------------------------------------------


def given_before(
    *action: Any, ended: Ended | None = None, until=NOW + HOUR, run="run-1", agent="billing", **grant
):
    """Build a record whose first action was approved for later calls, too."""
    interrupt = an_interrupt(*(action or (PAY,)), run=run, agent=agent)
    approval = StickyApproval(Grant(**{"scope": "agent", **grant}), until, ended=ended)
    return a_state(interrupt, decided={0: ApproveDecision()}, status="decided", sticky={0: approval})


def asked_now(
    *action: Any, sticky: Sticky | None = WIDE, run: str = "run-2", agent: str = "billing", **terms: Any
) -> ApprovalState:
    """Build a record that is about to be admitted."""
    places = (Place(channel="C1", actions=(0,)),)
    admission = Admission(policy_version="2", places=places, approvers=("U0ERIK",), sticky=sticky, **terms)
    return a_state(an_interrupt(*(action or (PAY,)), run=run, agent=agent), admission=admission)


LOW = {"risk": "low", "sticky": Sticky(same="tool", scope="agent")}
OTHER = an_action("pay", {"amount": 6})
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "the same call": ({}, {}, True),
    "other arguments": ({}, {"action": OTHER}, False),
    "another tool": ({}, {"action": an_action("refund", {"amount": 5})}, False),
    "another agent": ({}, {"agent": "sales"}, False),
    "another schema": ({}, {"action": an_action("pay", {"amount": 5}, schema={"type": "object"})}, False),
    "the same run": ({"scope": "run"}, {"run": "run-1"}, True),
    "another run": ({"scope": "run"}, {"run": "run-2"}, False),
    "only runs by now": ({"scope": "agent"}, {"run": "run-1", "sticky": Sticky(scope="run")}, False),
    "longer than by now": ({"lasts": 2 * HOUR}, {}, False),
    "more often than by now": ({"uses": 11}, {}, False),
    "over by time": ({"until": NOW}, {}, False),
    "revoked": ({"ended": Ended(NOW, "U0DANA")}, {}, False),
    "not offered any more": ({}, {"sticky": None}, False),
    "no approval by now": ({}, {"decisions": ("reject",)}, False),
    "any arguments": ({"same": "tool"}, {"action": OTHER, **LOW}, True),
    "any arguments, of another tool": ({"same": "tool"}, {"action": an_action("refund"), **LOW}, False),
    "any arguments, risk normal by now": ({"same": "tool"}, {**LOW, "risk": "normal"}, False),
    "any arguments, only the same by now": ({"same": "tool"}, {"risk": "low"}, False),
}


@pytest.mark.parametrize(("before", "now", "is_covered"), CASES.values(), ids=CASES)
def test_a_call_is_covered_only_by_what_was_approved_and_is_allowed_now(before, now, is_covered):
    """Never wider than what was on the card, and by the newest rules."""
    now = dict(now)
    action = now.pop("action", PAY)
    asked = asked_now(action, **now)

    assert covers(given_before(**before), 0, asked, asked.actions[0]) is is_covered


# --- In the store -------------------------------------------------------------------------------------------------


@pytest.fixture
async def redis(redis_url: str):
    async with open_redis(redis_url) as redis:
        yield redis


@pytest.fixture
async def store(redis: Redis) -> ApprovalStore:
    return ApprovalStore(redis, await freeze_meta(redis, "assent"), address="here")


@pytest.fixture
async def directory(playground: Playground) -> AsyncIterator[Directory]:
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        slack = SlackClient(playground.bot_token, playground.api_url, session)
        await slack.who_am_i()
        yield Directory(slack)


async def admitted(
    client: ApprovalClient,
    store: ApprovalStore,
    *actions: Any,
    covered: Sequence[Covered] = (),
    **fields: Any,
) -> ApprovalState:
    interrupt = an_interrupt(*(actions or (PAY,)), expires_in=HOUR, **fields)
    interrupt_id = await client.publish(interrupt)
    state = await store.load(interrupt_id)
    assert state is not None
    places = (Place(channel="C1", actions=tuple(range(len(state.recorded)))),)
    terms = Terms(approvers=("U0DANA",), sticky=WIDE)
    await store.admit(state, Admission(policy_version="1", places=places, **dict(terms)), covered=covered)
    return await loaded(store, interrupt_id)


async def loaded(store: ApprovalStore, interrupt_id: str) -> ApprovalState:
    state = await store.load(interrupt_id)
    assert state is not None
    return state


async def give(store: ApprovalStore, state: ApprovalState, grant: Grant, *, index: int = 0) -> ApprovalState:
    """Approve an action for later calls, too."""
    await record(store, state, ApproveDecision(), grant=grant, index=index)
    return await loaded(store, state.id)


async def record(
    store: ApprovalStore, state: ApprovalState, decision: Any, *, by="U0DANA", grant=None, index=0
):
    text = dump_recorded(decision, fingerprint=state.actions[index].fingerprint, decided_by=by)
    return await store.record_decision(
        state.id, {index: text}, token=f"{by} {index}", person=by, deadline=5, grant=grant
    )


def using(state: ApprovalState, *, index: int = 0, at: int = 0) -> Covered:
    """Name what covers the action at `at` of another record."""
    name = sticky_name(state.id, index)
    kept = {"interrupt_id": "billing.x", "index": at, "requested_by": None}
    return Covered(at, state.actions[index].fingerprint, "U0DANA", name, kept)


async def test_a_use_is_counted_and_recorded_on_both_sides(client, store):
    """The later record says from which decision its own follows, the earlier one where it was used."""
    before = await give(store, await admitted(client, store), Grant(uses=2))
    asked = await admitted(client, store, run="later", covered=[using(before)])

    assert (asked.status, asked.recorded[0].sticky) == ("decided", sticky_name(before.id, 0))
    assert asked.recorded[0].decided_by == "U0DANA"
    (use,) = (await loaded(store, before.id)).sticky[0].uses
    assert (use.interrupt_id, use.index) == ("billing.x", 0)
    assert await store.sticky(store.keys.lane(0)) != []


async def test_nobody_uses_it_more_often_than_it_was_given_for(client, store):
    """Three equal calls of one batch, two uses left: the third is asked."""
    before = await give(store, await admitted(client, store), Grant(uses=2))
    batch = await admitted(
        client, store, PAY, PAY, PAY, run="later", covered=[using(before, at=i) for i in range(3)]
    )

    assert [bool(recorded) for recorded in batch.recorded] == [True, True, False]
    assert batch.status == "pending"
    over = (await loaded(store, before.id)).sticky[0]
    assert (len(over.uses), over.ended.by) == (2, "uses")
    assert await store.sticky(store.keys.lane(0)) == []
    assert await store.end_sticky(before.id, 0, by="U0DANA") == "known"


@pytest.mark.parametrize("how", ["revoked", "over", "withdrawn", "late"])
async def test_what_holds_no_more_when_it_is_recorded_is_asked(client, store, how, redis):
    """Somebody revokes it between the look and the record, its time runs out, or the agent has gone."""
    lasts = timedelta(milliseconds=1) if how == "over" else HOUR
    before = await give(store, await admitted(client, store), Grant(lasts=lasts))
    if how == "revoked":
        assert await store.end_sticky(before.id, 0, by="U0ERIK") == "ended"
    interrupt_id = await client.publish(an_interrupt(PAY, run="later", expires_in=HOUR))
    if how == "withdrawn":
        await client.withdraw(interrupt_id, "no need")
    state = await loaded(store, interrupt_id)
    places = (Place(channel="C1", actions=(0,)),)
    admission = Admission(policy_version="1", places=places, approvers=("U0DANA",), sticky=WIDE)
    await store.admit(state, admission, covered=[using(before)], life=0 if how == "late" else None)

    assert (await loaded(store, interrupt_id)).recorded == (None,)
    assert (await loaded(store, before.id)).sticky[0].uses == ()


async def test_it_is_given_only_with_the_decision_that_stands(client, store):
    """Whoever comes second gives nothing, and a rejection holds for nothing later."""
    state = await admitted(client, store)
    await record(store, state, RejectDecision(), by="U0ERIK")
    await record(store, state, ApproveDecision(), grant=Grant())

    assert (await loaded(store, state.id)).sticky == {}


async def test_a_damaged_approval_keeps_no_other_call_from_being_asked(client, store, redis, caplog):
    """What cannot be read covers nothing, and hinders nothing."""
    kept = await give(store, await admitted(client, store), Grant())
    broken = await give(store, await admitted(client, store, run="another"), Grant())
    await redis.hset(store.keys.lane(0).card(broken.id), "claim:0", "nonsense")

    assert [state.id for state, _ in await store.sticky(store.keys.lane(0))] == [kept.id]
    assert "record.unreadable" in caplog.text


@pytest.mark.parametrize("status", ["decided", "pending", "expired", "withdrawn"])
async def test_its_end_falls_due_whatever_became_of_its_record(client, store, redis, status):
    """The clock comes back when its time is over, and not before; also when it ended the record, and that was drawn."""
    actions = (PAY,) if status == "decided" else (PAY, OTHER)
    before = await give(
        store, await admitted(client, store, *actions), Grant(lasts=timedelta(milliseconds=300))
    )
    if status == "expired":
        await redis.hset(store.keys.lane(0).card(before.id), "deadline", 1)
    if status == "withdrawn":
        await client.withdraw(before.id)
    clock = Clock(store)
    await fall_due(store, clock)
    await store.rest(before.id)
    assert (await loaded(store, before.id)).status == status
    assert await store.end_sticky(before.id, 0) == "early"
    assert await redis.zscore(store.keys.lane(0).due, before.id)

    assert 0 < await clock.fall_due(before.id) <= 300
    async with asyncio.timeout(5):
        while not (found := await loaded(store, before.id)).sticky[0].ended:
            await fall_due(store, clock)
            await asyncio.sleep(0.05)
    await fall_due(store, clock)

    assert found.sticky[0].ended.by == "time"
    assert found.status == status
    is_due_later = await redis.zscore(store.keys.lane(0).due, before.id) is not None
    assert is_due_later is (status == "pending")
    assert await store.end_sticky(before.id, 1) == "unknown"


async def fall_due(store: ApprovalStore, clock: Clock) -> None:
    """Do what is due, as the bot does."""
    for work in await store.claim_work("due", store.keys.lane(0), limit=10, lease=1_000):
        await store.finish_work(work, again_in=await clock.fall_due(work.interrupt_id))


async def test_every_step_is_in_the_audit(client, store, redis):
    """Given, used, ended: with the record, the action, and by whom."""
    before = await give(store, await admitted(client, store), Grant(uses=1))
    asked = await admitted(client, store, run="later", covered=[using(before)])
    entries = [fields for _, fields in await redis.xrange(store.keys.lane(0).audit)]

    found = [
        (e["event"], e["id"], e.get("by") or e.get("for"))
        for e in entries
        if e["event"].startswith("sticky_") or "sticky" in e
    ]
    assert found == [
        ("sticky_given", before.id, "U0DANA"),
        ("sticky_used", before.id, asked.id),
        ("sticky_ended", before.id, "uses"),
        ("decided", asked.id, "U0DANA"),
    ]


async def test_an_agent_that_waits_is_woken_by_what_was_approved_before(client, store):
    """Nobody has to press anything."""
    before = await give(store, await admitted(client, store), Grant())
    asked = await admitted(client, store, run="later", covered=[using(before)])
    resume = await client.wait(asked.id)

    assert resume.status == "decided"
    assert resume.records[0].sticky == sticky_name(before.id, 0)
    assert asked.is_covered(asked.places[0])


async def test_it_holds_only_while_whoever_gave_it_could_give_it(client, store, directory):
    """A rule that lets only Erik approve later calls takes Dana's approvals out of force at once."""
    grants = Grants(Decisions(store, directory))
    interrupt = an_interrupt(PAY, context=Context(), expires_in=HOUR)
    before = await asked(client, store, grants, interrupt, sticky=WIDE)
    await give(store, before, Grant(scope="agent"))
    state = await loaded(store, await client.publish(an_interrupt(PAY, context=Context(), run="later")))
    places = (Place(channel="C0APPROVALS", actions=(0,)),)

    covered = {
        approvers: await grants.covering(
            state,
            Admission(
                policy_version="2",
                places=places,
                approvers=(DANA, ERIK),
                sticky=Sticky(scope="agent", approvers=approvers),
            ),
        )
        for approvers in ((), (DANA,), (ERIK,))
    }
    assert {approvers: bool(found) for approvers, found in covered.items()} == {
        (): True,
        (DANA,): True,
        (ERIK,): False,
    }


# --- Against a model ----------------------------------------------------------------------------------------------

RUNS = count()


@dataclass(frozen=True)
class Call:
    """One call that an agent asks about, and what somebody then presses."""

    tool: str
    amount: int
    run: str
    requester: str | None
    person: str
    grant: Grant | None


@dataclass
class Given:
    """What the model keeps of a sticky approval."""

    call: Call
    left: int


CALLS = st.lists(
    st.builds(
        Call,
        st.sampled_from(["pay", "look_up"]),
        st.sampled_from([5, 5, 6]),
        st.sampled_from("112"),
        st.sampled_from([None, DANA]),
        st.sampled_from([DANA, DANA, ERIK, NOOR]),
        st.none()
        | st.builds(
            Grant,
            same=st.sampled_from(["arguments", "tool"]),
            scope=st.sampled_from(["run", "agent"]),
            uses=st.integers(1, 3),
        ),
    ),
    max_size=8,
)
# Dana and Erik may approve, and Dana alone later calls; any arguments only for what looks something up.
TERMS = {
    "pay": {"sticky": Sticky(scope="agent", approvers=(DANA,))},
    "look_up": {"sticky": Sticky(scope="agent", same="tool", approvers=(DANA,)), "risk": "low"},
}


def covered_by(call: Call, given: list[Given]) -> Given | None:
    """Say what covers a call, as anybody would read the rules."""
    for each in given:
        before, grant = each.call, each.call.grant
        assert grant is not None
        same_call = grant.same == "tool" or before.amount == call.amount
        same_run = grant.scope == "agent" or before.run == call.run
        own_request = call.requester == before.person
        if each.left and before.tool == call.tool and same_call and same_run and not own_request:
            return each
    return None


def gives(call: Call) -> bool:
    """Say whether what somebody presses is an approval for later calls."""
    allowed = call.grant is not None and (call.grant.same == "arguments" or call.tool == "look_up")
    return allowed and call.person == DANA and call.requester != DANA


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS)
async def test_no_calls_run_without_asking_that_a_plain_model_does_not_let_run(
    client, store, directory, calls
):
    """Whatever is asked and given, in whatever order."""
    for state, index in await store.sticky(store.keys.lane(0)):
        await store.end_sticky(state.id, index, by="another-example")
    decisions, example = Decisions(store, directory), f"example-{next(RUNS)}"
    grants, model = Grants(decisions), list[Given]()
    for number, call in enumerate(calls):
        interrupt = an_interrupt(
            an_action(call.tool, {"amount": call.amount}),
            run=f"{example}-{call.run}",
            id=f"billing.{example}-{number}",
            context=Context(requested_by=call.requester),
            expires_in=HOUR,
        ).model_copy(update={"pauses": (f"pause-{number}",)})
        model_covers = covered_by(call, model)
        state = await asked(client, store, grants, interrupt, **TERMS[call.tool])

        assert bool(state.recorded[0]) == (model_covers is not None)
        if model_covers:
            model_covers.left -= 1
            continue
        await decisions.decide(state, call.person, {0: ApproveDecision()}, grant=call.grant)
        newest = await loaded(store, state.id)
        assert bool(newest.sticky) == gives(call)
        if gives(call):
            assert call.grant is not None
            model.append(Given(call, call.grant.uses))


async def asked(
    client: ApprovalClient, store: ApprovalStore, grants: Grants, interrupt: Interrupt, **terms: Any
) -> ApprovalState:
    """Publish and admit, as the presenter does."""
    state = await loaded(store, await client.publish(interrupt))
    places = (Place(channel="C0APPROVALS", actions=(0,)),)
    admission = Admission(policy_version="1", places=places, approvers=(DANA, ERIK), **terms)
    await store.admit(state, admission, covered=await grants.covering(state, admission))
    return await loaded(store, state.id)
