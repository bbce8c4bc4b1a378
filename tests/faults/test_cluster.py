"""A Redis Cluster of three primaries and three replicas: a bot and agents work while servers hand over and die."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.keys import Keys
from playground.clusters import Cluster
from tests.conftest import serving
from tests.faults.flow import Flow
from tests.support.builders import an_action, asking
from tests.support.faults import nothing_owed, pressed_until_decided, rounds, settled_card, take

KEYS = Keys("assent")


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of this test's own."""
    yield from serving(Cluster(Path(tmp_path_factory.mktemp("c"))))


@pytest.fixture
def redis_url(cluster: Cluster) -> str:
    """All parts of these tests use it."""
    return cluster.url


def home_of(cluster: Cluster) -> int:
    """Give the port of the server that has the namespace."""
    return cluster.primary_of(KEYS.audit)


@pytest.mark.timeout(900)
async def test_planned_failovers_lose_nothing(cluster, start_bot, client, slack, store, watcher):
    """The server hands over while agents wait and people press. What Slack shows as accepted reaches each agent."""
    for _ in range(2):
        await start_bot()

    async def hand_over() -> None:
        await asyncio.to_thread(cluster.fail_over, home_of(cluster))

    flow = Flow(client, slack, store, watcher)
    # After each, an agent waits for a lease, in case another process holds its claim.
    async with flow.breaking(hand_over, pauses=(1.5, 3)) as handed_over:
        await flow.run(rounds(8, 40), at_once=4)

    assert handed_over
    await nothing_owed(store)


@pytest.mark.timeout(600)
async def test_what_was_asked_is_decided_after_the_primary_was_killed(
    cluster, start_bot, client, slack, store, watcher
):
    """Twice: the bot edits the card that is there, and the waiting agent gets the decision."""
    await start_bot()
    for _ in range(2):
        interrupt = client.interrupt(asking(an_action()))
        waiting = asyncio.create_task(take(client, interrupt))
        await watcher.card(interrupt.id)

        await asyncio.to_thread(cluster.replicate)
        killed = home_of(cluster)
        await asyncio.to_thread(cluster.kill, killed)
        await asyncio.to_thread(cluster.bring_back, killed)
        await pressed_until_decided(slack, watcher, interrupt.id)

        async with asyncio.timeout(60):
            assert (await waiting).decisions == (ApproveDecision(),)
        await settled_card(store, watcher, interrupt.id, stage="resumed")
        assert len(watcher.cards(interrupt.id)) == 1
    await nothing_owed(store)
