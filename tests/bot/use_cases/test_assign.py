"""Who may look at a card, hand it over or give more time: those who may decide it, whatever the agent's order of decisions."""

from datetime import timedelta
from itertools import count

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.domain.admission import Place, Terms
from bot.domain.approval import Approval
from bot.domain.schedule import Extension
from bot.store.records import ApprovalStore
from bot.use_cases.assign import Assignments
from bot.use_cases.who_may_decide import Judge
from tests.bot.domain import test_rules as policies
from tests.support.builders import an_action, an_admission, an_interrupt

directory = policies.directory
"""A Slack with everybody of the table about decisions, whose answers hold here, too."""
MINUTE = timedelta(minutes=1)
RUNS = count()


async def asked(
    client: ApprovalClient, store: ApprovalStore, *each: Terms, allowed: tuple[str, ...] = KNOWN_DECISIONS
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
@pytest.mark.parametrize(
    ("person", "rule", "may"),
    [
        ("approver", "group", True),
        ("approver", "narrow_own", True),
        ("requester", "own", True),
        ("requester", "group", False),
        ("member", "channel", False),
    ],
)
async def test_who_may_look_and_give_more_time(client, store, directory, person, rule, may, allowed):
    """Whoever may approve, or reject where nothing else is offered. The requester may only reject, and is not enough."""
    state = await asked(client, store, policies.RULES[rule], allowed=allowed)
    assignments = Assignments(store, Judge(directory))

    for act in (assignments.extend, assignments.assign):
        assert (await act(state, policies.IDS[person], 0)).recorded is may
