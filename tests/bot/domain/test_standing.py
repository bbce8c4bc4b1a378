"""What was approved for later calls: how wide it is, what it covers, how often it is used, when it is over."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.interrupt import Context
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError
from bot.domain.standing import (
    Ended,
    StandingApproval,
    StandingLimits,
    StandingMatch,
    StandingTerms,
    standing_name,
)
from bot.jobs.deadlines import Deadlines
from bot.rendering.card.layout import lay_out
from bot.sentences import in_answer
from bot.store.records import ApprovalStore
from bot.use_cases.standing import applies_to
from tests.support.builders import NOW, a_state, an_action, an_admission, an_interrupt
from tests.support.deciding import admit, end_standing, record, start_retention
from tests.support.faults import eventually

DANA, ERIK = "U0DANA", "U0ERIK"
HOUR = timedelta(hours=1)
WIDE = StandingLimits(scope="agent")
PAY = an_action("pay", {"amount": 5})


# --- What it covers -----------------------------------------------------------------------------------------------


def given_before(*, ended: Ended | None = None, until=NOW + HOUR, **standing):
    """Build a record whose action was approved for later calls, too."""
    approval = StandingApproval(StandingTerms(**{"scope": "agent", **standing}), until, ended=ended)
    given = {"decided": {0: ApproveDecision()}, "status": "decided", "standing": {0: approval}}
    return a_state(an_interrupt(PAY), **given)


def asked_now(action: Any = PAY, *, run: str = "run-2", agent: str = "billing", **terms: Any) -> Approval:
    """Build a record that is about to be admitted."""
    interrupt = an_interrupt(action, run=run, agent=agent)
    return a_state(interrupt, policy_version="2", approvers=["U0ERIK"], **{"standing": WIDE, **terms})


LOW = {"risk": "low", "standing": StandingLimits(same="tool", scope="agent")}
OTHER = an_action("pay", {"amount": 6})
ASKED = an_action("pay", {"amount": 6}, effects=["words_only"])
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "the same call": ({}, {}, True),
    "other arguments": ({}, {"action": OTHER}, False),
    "another tool": ({}, {"action": an_action("refund", {"amount": 5})}, False),
    "another agent": ({}, {"agent": "sales"}, False),
    "another schema": ({}, {"action": an_action("pay", {"amount": 5}, schema={"type": "object"})}, False),
    "the same run": ({"scope": "run"}, {"run": "run-1"}, True),
    "another run": ({"scope": "run"}, {"run": "run-2"}, False),
    "only runs by now": ({"scope": "agent"}, {"run": "run-1", "standing": StandingLimits(scope="run")}, False),
    "longer than by now": ({"lasts": 2 * HOUR}, {}, False),
    "more often than by now": ({"uses": 11}, {}, False),
    "over by time": ({"until": NOW}, {}, False),
    "revoked": ({"ended": Ended(NOW, "U0DANA")}, {}, False),
    "not offered any more": ({}, {"standing": None}, False),
    "no approval by now": ({}, {"decisions": ("reject",)}, False),
    "any arguments": ({"same": "tool"}, {"action": OTHER, **LOW}, True),
    "a question that the tool asks": ({"same": "tool"}, {"action": ASKED, **LOW}, False),
    "any arguments, of another tool": ({"same": "tool"}, {"action": an_action("refund"), **LOW}, False),
    "any arguments, risk normal by now": ({"same": "tool"}, {**LOW, "risk": "normal"}, False),
    "any arguments, only the same by now": ({"same": "tool"}, {"risk": "low"}, False),
}  # fmt: skip


@pytest.mark.parametrize(("before", "now", "is_matched"), CASES.values(), ids=CASES)
def test_a_call_is_matched_only_by_what_was_approved_and_is_allowed_now(before, now, is_matched):
    """Never wider than what was on the card, and by the newest rules."""
    asked = asked_now(**now)

    assert applies_to(given_before(**before), 0, asked, asked.actions[0]) is is_matched


# --- In the store -------------------------------------------------------------------------------------------------


async def admitted(
    client: ApprovalClient,
    store: ApprovalStore,
    *actions: Any,
    matched: Sequence[StandingMatch] = (),
    **fields: Any,
) -> Approval:
    interrupt = an_interrupt(*(actions or (PAY,)), expires_in=HOUR, **fields)
    return await admit(
        store, await client.publish(interrupt), approvers=("U0DANA",), standing=WIDE, matched=matched
    )


async def give(store: ApprovalStore, state: Approval, standing: StandingTerms, *, index: int = 0) -> Approval:
    """Approve an action for later calls, too."""
    await record(store, state.id, {index: ApproveDecision()}, by="U0DANA", standing=standing)
    return await store.load(state.id)


def using(state: Approval, *, index: int = 0, at: int = 0) -> StandingMatch:
    """Name what covers the action at `at` of another record."""
    name = standing_name(state.id, index)
    kept = {"interrupt_id": "billing.x", "index": at, "requested_by": None}
    return StandingMatch(at, state.actions[index].fingerprint, "U0DANA", name, kept)


async def test_a_use_is_counted_and_recorded_on_both_sides(client, store):
    """The later record says from which decision its own follows, the earlier one where it was used."""
    before = await give(store, await admitted(client, store), StandingTerms(uses=2))
    asked = await admitted(client, store, run="later", matched=[using(before)])

    assert (asked.status, asked.recorded[0].sticky) == ("decided", standing_name(before.id, 0))
    assert asked.recorded[0].decided_by == "U0DANA"
    (use,) = (await store.load(before.id)).standing[0].uses
    assert (use.interrupt_id, use.index) == ("billing.x", 0)
    assert await store.standing() != []
    *_, entry = [f for _, f in await store._redis.xrange(store.keys.audit) if f["event"] == "decided"]
    assert json.loads(entry["facts"])["how"] == "standing"


async def test_nobody_uses_it_more_often_than_it_was_given_for(client, store):
    """Three equal calls of one batch, two uses left: the third is asked."""
    before = await give(store, await admitted(client, store), StandingTerms(uses=2))
    batch = await admitted(
        client, store, PAY, PAY, PAY, run="later", matched=[using(before, at=i) for i in range(3)]
    )

    assert [bool(recorded) for recorded in batch.recorded] == [True, True, False]
    assert batch.status == "pending"
    over = (await store.load(before.id)).standing[0]
    assert (len(over.uses), over.ended.by) == (2, "uses")
    assert await store.standing() == []
    assert await end_standing(store, before.id, 0, by="U0DANA") == "known"


@pytest.mark.parametrize("how", ["revoked", "over", "withdrawn", "late"])
async def test_what_holds_no_more_when_it_is_recorded_is_asked(client, store, how, redis):
    """Somebody revokes it between the look and the record, its time runs out, or the agent has gone."""
    lasts = timedelta(milliseconds=1) if how == "over" else HOUR
    before = await give(store, await admitted(client, store), StandingTerms(lasts=lasts))
    if how == "revoked":
        assert await end_standing(store, before.id, 0, by="U0ERIK") == "ended"
    interrupt_id = await client.publish(an_interrupt(PAY, run="later", expires_in=HOUR))
    if how == "withdrawn":
        await client.withdraw(interrupt_id, "no need")
    state = await store.load(interrupt_id)
    admission = an_admission(approvers=("U0DANA",), standing=WIDE)
    await store.admit(state, admission, matched=[using(before)], life=0 if how == "late" else None)

    assert (await store.load(interrupt_id)).recorded == (None,)
    assert (await store.load(before.id)).standing[0].uses == ()


@pytest.mark.parametrize("how", ["withdrawn", "late"])
async def test_what_ends_while_a_standing_approval_is_looked_for_is_not_approved(client, store, how):
    """The agent withdraws, or the deadline passes, after the bot read the record: it ends as it would without one."""
    before = await give(store, await admitted(client, store), StandingTerms(uses=2))
    life = timedelta(seconds=1) if how == "late" else HOUR
    interrupt_id = await client.publish(an_interrupt(PAY, run="later", expires_in=life))
    state = replace(await store.load(interrupt_id), now=NOW)
    if how == "withdrawn":
        await client.withdraw(interrupt_id, "no need")

    async def ended() -> bool | None:
        left = await store.load(interrupt_id)
        return left.is_past or left.withdraw_asked is not None or None

    await eventually(ended)
    admission = an_admission(approvers=("U0DANA",), standing=WIDE)
    assert await store.admit(state, admission, matched=[using(before)]) is None
    assert (await store.load(interrupt_id)).status == "new"


async def test_it_is_given_only_with_the_decision_that_stands(client, store):
    """Whoever comes second gives nothing, and a rejection holds for nothing later."""
    state = await admitted(client, store)
    await record(store, state.id, {0: RejectDecision()})
    await record(store, state.id, {0: ApproveDecision()}, by="U0DANA", standing=StandingTerms())

    assert (await store.load(state.id)).standing == {}


@pytest.mark.parametrize("status", ["decided", "pending", "expired", "withdrawn"])
async def test_its_end_falls_due_whatever_became_of_its_record(client, store, redis, status):
    """The clock comes back when its time ran out, and not before; also when it ended the record, and that was drawn."""
    actions = (PAY,) if status == "decided" else (PAY, OTHER)
    before = await give(
        store, await admitted(client, store, *actions), StandingTerms(lasts=timedelta(milliseconds=300))
    )
    if status == "expired":
        await redis.hset(store.keys.card(before.id), "deadline", 1)
    if status == "withdrawn":
        await client.withdraw(before.id)
    clock = Deadlines(store)
    await fall_due(store, clock)
    await start_retention(store, before.id)
    assert (await store.load(before.id)).status == status
    assert await end_standing(store, before.id, 0) == "early"
    assert await redis.zscore(store.keys.due, before.id)

    assert 0 < await clock.on_due(before.id) <= 300
    async with asyncio.timeout(30):
        while not (found := await store.load(before.id)).standing[0].ended:
            await fall_due(store, clock)
            await asyncio.sleep(0.05)
    await fall_due(store, clock)

    assert found.standing[0].ended.by == "time"
    assert found.status == status
    is_due_later = await redis.zscore(store.keys.due, before.id) is not None
    # A call that was approved also falls due, until its agent goes on with it.
    assert is_due_later is (status != "withdrawn")
    assert await end_standing(store, before.id, 1) == "unknown"


async def fall_due(store: ApprovalStore, clock: Deadlines) -> None:
    """Do what is due, as the bot does."""
    for work in await store.lease_work("due", limit=10, lease=1_000):
        await store.finish_work(work, again_in=await clock.on_due(work.interrupt_id))


@pytest.fixture
def pay(client, store, approvals):
    """Have a payment asked whose approval may hold for later calls, as the presenter does: `await pay(approvers=(…,))`."""

    async def admitted(**limits):
        interrupt = an_interrupt(PAY, context=Context(), expires_in=HOUR)
        state = await store.load(await client.publish(interrupt))
        standing = StandingLimits(scope="agent", **limits)
        admission = lay_out(interrupt, an_admission(approvers=(DANA, ERIK), standing=standing))
        await store.admit(state, admission, matched=await approvals.matching(state, admission))
        return await store.load(state.id)

    return admitted


async def test_it_holds_only_while_its_giver_may_still_give_it(client, store, approvals, pay):
    """A rule that lets only Erik approve later calls takes Dana's approvals out of force at once."""
    await give(store, await pay(), StandingTerms(scope="agent"))
    state = await store.load(await client.publish(an_interrupt(PAY, context=Context(), run="later")))

    found = {}
    for approvers in ((), (DANA,), (ERIK,)):
        limits = StandingLimits(scope="agent", approvers=approvers)
        admission = an_admission(approvers=(DANA, ERIK), standing=limits)
        found[approvers] = bool(await approvals.matching(state, lay_out(state.interrupt, admission)))
    assert found == {(): True, (DANA,): True, (ERIK,): False}


@pytest.mark.parametrize(
    ("by", "standing", "said"),
    [
        (ERIK, StandingTerms(), in_answer.standing_only_by(f"<@{DANA}>")),
        (DANA, StandingTerms(same="tool"), in_answer.standing_too_wide(1)),
        (DANA, StandingTerms(uses=11), in_answer.standing_too_wide(1)),
    ],
    ids=["not named", "any arguments", "too often"],
)
async def test_it_is_given_by_whom_the_rule_names_and_no_wider_than_it_allows(
    store, decisions, pay, by, standing, said
):
    """Whatever a form says. The call is not approved either."""
    state = await pay(approvers=(DANA,))

    answer = await decisions.decide(state, by, {0: ApproveDecision()}, standing=standing)

    assert (answer.recorded, answer.sentence) == (False, said)
    newest = await store.load(state.id)
    assert (newest.recorded, newest.standing) == ((None,), {})


# --- While Slack does not answer, nothing is given, listed or revoked in doubt ---------------------------------------


async def test_whether_somebody_may_approve_later_calls_is_never_guessed(approvals, pay, slack):
    """Slack does not say who is in the group of those who may: that is no sentence that they may not."""
    state = await pay(approvers=("S0FINANCE",))
    await slack.fault("usergroups.users.list", "error", error="fatal_error", times=None)

    with pytest.raises(PersonUnknownError):
        await approvals.judge.may_give_standing(state, DANA, 0)


async def test_a_list_of_what_somebody_may_revoke_is_whole_or_it_is_none(
    approvals, pay, store, slack, monkeypatch
):
    """The form has to be open within three seconds; with half of the list it would hide the other half."""
    monkeypatch.setattr("bot.use_cases.standing.LIST_WITHIN", 0.2)
    given = await give(store, await pay(), StandingTerms(scope="agent"))
    assert [(state.id, index) for state, index in await approvals.revocable(ERIK)] == [(given.id, 0)]
    approvals.judge.directory.forget("user", ERIK)
    await slack.fault("users.info", "delay", seconds=1, times=None)

    with pytest.raises(PersonUnknownError):
        await approvals.revocable(ERIK)
