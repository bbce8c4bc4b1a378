"""Who may look at a card, hand it over or give more time: those who may decide it, whatever the agent's order of decisions."""

from datetime import timedelta
from itertools import count

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.domain.admission import Place, Terms
from bot.domain.approval import Approval
from bot.domain.errors import PersonUnknownError
from bot.domain.schedule import Extension
from bot.store.records import ApprovalStore
from bot.use_cases.assign import Assignments
from bot.use_cases.who_may_decide import Judge
from tests.bot.domain import test_rules as policies
from tests.support.builders import an_action, an_admission, an_interrupt
from tests.support.deciding import assign

directory = policies.directory
"""A Slack with everybody of the table about decisions, whose answers hold here, too."""
MINUTE = timedelta(minutes=1)
RUNS = count()


async def asked(
    client: ApprovalClient,
    store: ApprovalStore,
    *each: Terms,
    allowed: tuple[str, ...] = KNOWN_DECISIONS,
) -> Approval:
    """Ask about an action on each of these terms, 56 minutes ago for an hour, so that more time may be asked for."""
    actions = [an_action(allowed=allowed) for _ in each]
    interrupt_id = await client.publish(an_interrupt(*actions, run=f"run-{next(RUNS)}"))
    admission = an_admission(
        **dict(each[0]),
        own=dict(enumerate(each)),
        policy_version="1",
        places=(Place(channel="C0APPROVALS", actions=tuple(range(len(each))), assign=10 * MINUTE),),
        extension=Extension(by=30 * MINUTE),
    )
    await store.admit(await store.load(interrupt_id), admission)
    for key, name in ((store.keys.req(interrupt_id), "created"), (store.keys.card(interrupt_id), "deadline")):
        await store._redis.hincrby(key, name, -56 * 60_000)
    return await store.load(interrupt_id)


@pytest.mark.parametrize("allowed", [KNOWN_DECISIONS, KNOWN_DECISIONS[::-1]], ids=["as ever", "turned round"])
@pytest.mark.parametrize("person", policies.IDS)
async def test_who_may_look_hand_over_and_give_more_time(client, store, directory, slack, person, allowed):
    """Whoever may approve, or reject where nothing else is offered; everybody else reads the same sentence as for a decision."""
    found = {}
    for rule, terms in policies.RULES.items():
        state = await asked(client, store, terms, allowed=allowed)
        if person == "no_answer":
            directory.forget("user", policies.IDS[person])
            await slack.fault("users.info", "error", error="fatal_error", times=None)
        found[rule] = await signs_for(Assignments(store, Judge(directory)), state, person, rule)
        await slack.clear_faults()

    expected = {}
    for rule, signs in policies.table()[person].items():
        sign = signs[KNOWN_DECISIONS.index("reject" if rule == "narrow_own" else "approve")]
        # To whom it is handed over is not told why they may not decide.
        expected[rule] = sign + sign + (sign if sign in "+u" else "-")
    assert found == expected


async def signs_for(assignments: Assignments, state: Approval, person: str, rule: str) -> str:
    """Have one person ask for more time, have it assigned to them, and have it handed over to them; give a sign for each answer."""
    user, decision = policies.IDS[person], "reject" if rule == "narrow_own" else "approve"
    signs = ""
    for answer in (assignments.extend(state, user, 0), assignments.assign(state, user, 0)):
        try:
            given = await answer
        except PersonUnknownError:
            signs += "u"
            continue
        signs += next(s for s in "+gobdsn" if given.sentence == policies.sentence_of(s, rule, decision))
        assert given.recorded is (signs[-1] == "+")
    return signs + await sign_of_hand_over(assignments, state, user)


async def sign_of_hand_over(assignments: Assignments, state: Approval, to: str) -> str:
    store, holder = assignments.store, "U0HOLDER"
    assignment = (await store.load(state.id)).assignment_at(0)
    if assignment is None:
        assert await assign(store, state, 0, holder) == "assigned"
    newest = await store.load(state.id)
    try:
        answer = await assignments.hand_over(newest, newest.assignment_at(0).user, 0, to)
    except PersonUnknownError:
        return "u"
    if answer.recorded:
        assert (await store.load(state.id)).assignment_at(0).user == to
        return "+"
    assert answer.sentence == f"<@{to}> may not decide this, so it stays with you."
    assert (await store.load(state.id)).assignment_at(0).user != to
    return "-"
