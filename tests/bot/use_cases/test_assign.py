"""Who may look at a card, hand it over or give more time: those who may decide it, whatever the agent's order of decisions."""

from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.domain.admission import Place
from bot.domain.schedule import Extension
from bot.use_cases.assign import Assignments
from bot.use_cases.who_may_decide import Judge
from tests.bot.domain import test_rules as policies
from tests.support.builders import an_action, an_interrupt
from tests.support.deciding import admit

directory = policies.directory
"""A Slack with everybody of the table about decisions, whose answers hold here, too."""
PLACE = Place(channel="C0APPROVALS", actions=(0,), assign=timedelta(minutes=10))
EXTENSION = Extension(by=timedelta(minutes=30))


@pytest.fixture
def asked(client, store):
    """Ask about an action on these terms, 56 minutes ago for an hour, so that more time may be asked for."""

    async def asked(terms, allowed):
        interrupt_id = await client.publish(an_interrupt(an_action(allowed=allowed)))
        await admit(store, interrupt_id, **dict(terms), places=(PLACE,), extension=EXTENSION)
        await store._redis.hincrby(store.keys.req(interrupt_id), "created", -56 * 60_000)
        await store._redis.hincrby(store.keys.card(interrupt_id), "deadline", -56 * 60_000)
        return await store.load(interrupt_id)

    return asked


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
async def test_who_may_look_and_give_more_time(store, directory, asked, person, rule, may, allowed):
    """Whoever may approve, or reject where nothing else is offered. The requester may only reject, and is not enough."""
    state = await asked(policies.RULES[rule], allowed)
    assignments = Assignments(store, Judge(directory))

    for act in (assignments.extend, assignments.assign):
        assert (await act(state, policies.IDS[person], 0)).recorded is may
