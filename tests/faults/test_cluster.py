"""A Redis Cluster of three primaries and three replicas: agents in different lanes, and the bot that shows them all."""

import asyncio
import random
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, EditDecision, RespondDecision
from agent_adapter.contract.keys import IN_CLUSTER, Keys
from bot.domain.errors import NotConfirmedError
from playground.clusters import Cluster
from tests.conftest import an_agent, until
from tests.faults.flow import Flow, breaking
from tests.support.builders import an_action
from tests.support.faults import (
    CHANNEL,
    asking,
    eventually,
    nothing_owed,
    pressed_until_decided,
    rounds,
    settled_card,
    take,
)
from tests.support.people import Someone, buttons, words

KEYS = Keys("assent", IN_CLUSTER)
BACK = "A technical fault lost"
AGENTS = ("billing", "payroll", "refunds", "deploys")


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of this test's own."""
    service = Cluster(Path(tmp_path_factory.mktemp("c")))
    try:
        service.start()
        yield service
    finally:
        service.stop()


@pytest.fixture
def redis_url(cluster: Cluster) -> str:
    """All parts of these tests use it."""
    return cluster.url


@pytest.fixture
async def agents(redis_url: str) -> AsyncIterator[dict[str, ApprovalClient]]:
    """Agents whose records are on different servers."""
    async with AsyncExitStack() as stack:
        yield {name: await stack.enter_async_context(an_agent(redis_url, name)) for name in AGENTS}


def home_of(cluster: Cluster, agent: str) -> int:
    """Give the port of the server that has the records of an agent."""
    return cluster.primary_of(KEYS.lane_for(agent).audit)


@pytest.fixture
def flows(agents, slack, store, watcher) -> list[Flow]:
    return [Flow(client, slack, store, watcher) for client in agents.values()]


async def run(flows: list[Flow], batches: int) -> None:
    """Send so many batches of each agent through."""
    async with asyncio.TaskGroup() as group:
        for flow in flows:
            group.create_task(flow.run(batches, at_once=2))


@pytest.mark.parametrize("word", ["SHUTDOWN", "kill -9"])
async def test_a_primary_that_was_stopped_comes_back_with_the_command_that_is_told(cluster, word):
    """It is written for a shell, so that it can be pasted."""
    lines = [line.strip() for line in cluster.told().splitlines()]
    stop, planned, primary, other = (
        next(line for line in lines if each in line) for each in (word, "FAILOVER", "primary=", "replica=")
    )
    first = cluster.primaries()[0]
    server = lines[lines.index(f"# {first}") + 1]
    replica = cluster.replica_of(first)

    await asyncio.to_thread(subprocess.run, f"{primary}; {stop}", shell=True, check=True)
    await eventually(lambda: asyncio.to_thread(lambda: replica in cluster.primaries()))
    returned = await asyncio.create_subprocess_shell(f"exec {server}")
    try:
        await eventually(lambda: asyncio.to_thread(cluster.is_whole))
        assert cluster.replica_of(replica) == first

        # A replica that has just come back does not always take over at the first command.
        hand_over = f"{other}; test -z $replica || {planned}"
        await eventually(lambda: asyncio.to_thread(has_handed_over, cluster, first, hand_over), within=120)
    finally:
        returned.kill()
        await returned.wait()


def has_handed_over(cluster: Cluster, port: int, command: str) -> bool:
    """Run the command, and say after a second whether this server is a primary."""
    subprocess.run(command, shell=True, check=True)
    time.sleep(1)
    return port in cluster.primaries()


async def test_agents_on_different_servers_get_what_people_decide(
    cluster, start_bot, agents, flows, slack, store, watcher
):
    """Approved, edited, rejected and answered, each through the card of its own agent."""
    await start_bot()
    assert len({home_of(cluster, agent) for agent in AGENTS}) == 3

    await run(flows, 2)

    dana, client = Someone(slack, "U0DANA"), agents["payroll"]
    interrupt = client.interrupt(
        asking(an_action("pay", {"to": "alice"}), an_action("ask", {"about": "lunch"}))
    )
    waiting = asyncio.create_task(take(client, interrupt))
    await watcher.card(interrupt.id)
    await dana.fill(await dana.opened(await dana.showing("edit:0"), "edit:0"), to="bob")
    await dana.fill(await dana.opened(await dana.showing("respond:1"), "respond:1"), answer="soup")

    edited, answered = (await waiting).decisions
    assert isinstance(edited, EditDecision)
    assert edited.edited_action.args == {"to": "bob"}
    assert answered == RespondDecision(message="soup")
    await settled_card(store, watcher, interrupt.id, stage="resumed")
    await nothing_owed(store)


@pytest.mark.timeout(900)
async def test_planned_failovers_lose_nothing(cluster, start_bot, flows, store):
    """Servers hand over while agents wait and people press. What Slack shows as accepted reaches each agent."""
    for _ in range(2):
        await start_bot()

    async def hand_over() -> int:
        port = random.choice(cluster.primaries())
        await asyncio.to_thread(cluster.fail_over, port)
        return port

    async with breaking(hand_over, pauses=(0.2, 1)) as handed_over:
        await run(flows, rounds(8, 40))

    assert len(handed_over) > 1
    await nothing_owed(store)


@pytest.mark.timeout(900)
async def test_while_a_lane_moves_nothing_is_made_on_a_server_that_has_a_part_of_it(
    cluster, start_bot, flows, store
):
    """Operators are told to stop everything before it. If they do not, nobody writes a key that has yet to arrive."""
    await start_bot()

    async def move() -> int:
        return await asyncio.to_thread(cluster.move, KEYS.lane_for("billing").audit, pause=0.05)

    async with breaking(move, pauses=(0.3, 1)) as moved:
        await flows[0].run(rounds(6, 20), at_once=3)

    assert any(moved)
    await nothing_owed(store)


@pytest.mark.timeout(600)
async def test_what_was_asked_is_decided_after_each_primary_was_killed(
    cluster, start_bot, agents, slack, store, watcher
):
    """The bot edits the cards that are there, and each waiting agent gets its decision."""
    await start_bot()
    interrupts = {name: client.interrupt(asking(an_action())) for name, client in agents.items()}
    waiting = [
        asyncio.create_task(Flow(agents[name], slack, store, watcher).ask(each))
        for name, each in interrupts.items()
    ]
    for each in interrupts.values():
        await watcher.card(each.id)

    for port in cluster.primaries():
        await asyncio.to_thread(cluster.replicate)
        await asyncio.to_thread(cluster.kill, port)
        await asyncio.to_thread(cluster.bring_back, port)
    for each in interrupts.values():
        await pressed_until_decided(slack, watcher, each.id)

    async with asyncio.timeout(60):
        for resume in await asyncio.gather(*waiting):
            assert resume.decisions == (ApproveDecision(),)
    for interrupt in interrupts.values():
        await settled_card(store, watcher, interrupt.id, stage="resumed")
        assert len(watcher.cards(interrupt.id)) == 1
    await nothing_owed(store)


@pytest.mark.timeout(600)
async def test_a_half_that_was_cut_off_loses_nothing_and_does_nothing_twice(
    cluster, start_bot, redis_url, slack, store, watcher
):
    """A primary and two replicas are away while people press, and come back with what was sent to them meanwhile."""
    for _ in range(2):
        await start_bot(reassert_seconds=120)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(an_agent(redis_url, name)) for name in AGENTS]
        flows = [Flow(client, slack, store, watcher) for client in clients]
        deciding = asyncio.create_task(run(flows, rounds(4, 20)))
        await asyncio.sleep(1)

        home = home_of(cluster, random.choice(AGENTS))
        await asyncio.to_thread(cut_off_for, cluster, home, 3.0)

        await deciding
        assert home not in cluster.primaries()
    await nothing_owed(store)


def cut_off_for(cluster: Cluster, port: int, seconds: float) -> None:
    with cluster.cutting_off(port):
        time.sleep(seconds)


@pytest.mark.timeout(300)
async def test_a_click_waits_for_the_replica_of_its_own_server(
    cluster, start_bot, agents, redis_url, slack, store, watcher
):
    """The one of another server is frozen. A click on a request there is not accepted until it is back, and counts once."""
    bot = await start_bot(durability="replica")
    assert bot.store.durability.replicas == 1
    frozen = home_of(cluster, "billing")
    other = next(name for name in AGENTS if home_of(cluster, name) != frozen)
    cards = {}
    for name in ("billing", other):
        interrupt = agents[name].interrupt(asking(an_action("pay")))
        await agents[name].publish(interrupt)
        cards[name] = await watcher.card(interrupt.id), interrupt.id
        await settled_card(store, watcher, interrupt.id)
    replica = cluster.replica_of(frozen)

    cluster.servers[replica].freeze()
    try:
        for name, is_accepted in ((other, True), ("billing", False)):
            answer = await slack.click("U0DANA", CHANNEL, cards[name][0]["ts"], "approve:0")
            assert answer["ack"]["ok"] is is_accepted
    finally:
        cluster.servers[replica].thaw()

    state = await settled_card(store, watcher, cards["billing"][1])
    assert [recorded.decided_by for recorded in state.recorded] == ["U0DANA"]
    await eventually(lambda: is_confirmed(bot, cards["billing"][1]))


async def is_confirmed(bot, interrupt_id: str) -> bool:
    """Whether what a server has is on its replica."""
    try:
        await bot.store.confirm(interrupt_id)
    except NotConfirmedError:
        return False
    return True


@pytest.mark.timeout(300)
async def test_an_approval_that_no_replica_had_comes_back(
    cluster, start_bot, redis_url, slack, store, watcher
):
    """It has run, and the replica that took over knows it as open. Its card and its record say that it was approved."""
    await start_bot(reassert_seconds=120)
    async with an_agent(redis_url) as client:
        interrupt = client.interrupt(asking(an_action("pay")))
        agent = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        cluster.replicate()

        with cluster.forgetting(home_of(cluster, "billing")):
            await Someone(slack, "U0DANA").press(card, "approve:0")
            await agent
            await settled_card(store, watcher, interrupt.id, stage="resumed")

    state = await settled_card(store, watcher, interrupt.id, stage="resumed")
    assert [recorded.decided_by for recorded in state.recorded] == ["U0DANA"]
    assert "Approved" in words(watcher.cards(interrupt.id)[0]["blocks"])
    await nothing_owed(store)


@pytest.mark.timeout(300)
async def test_an_approval_that_nobody_has_kept_is_neither_asked_again_nor_said_to_have_expired(
    cluster, start_bot, agents, slack, store, watcher
):
    """It has run, and the replica that took over knows it as open. The card goes on saying that it was approved."""
    bot = await start_bot()
    client, dana = agents["billing"], Someone(slack, "U0DANA")
    interrupt = client.interrupt(asking(an_action("pay")))
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    cluster.replicate()

    with cluster.forgetting(home_of(cluster, "billing")):
        await dana.press(card, "approve:0")
        await agent
        await settled_card(store, watcher, interrupt.id, stage="resumed")

    await until(lambda: BACK in words(watcher.cards(interrupt.id)[0]["blocks"]), within=60)
    assert "Approved" in words(watcher.cards(interrupt.id)[0]["blocks"])
    assert buttons(watcher.cards(interrupt.id)[0]) == []
    assert "Expired" not in " ".join(watcher.shown[card["ts"]])
    await until(lambda: "went_back" in bot.health.warnings, within=60)
    await nothing_owed(store)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("elsewhere", ["billing", "refunds"], ids=["records", "records and turns"])
async def test_a_part_of_the_cluster_that_is_gone_keeps_nobody_from_deciding_about_the_others(
    cluster, start_bot, agents, slack, watcher, elsewhere
):
    """A primary and its replica are down, and the cluster goes on without their slots.

    What was decided there just before cannot be looked for. A new request gets its card, too, also where the server is gone
    that keeps the turns for Slack's limits.
    """
    for port in cluster.servers:
        cluster.ask(port, "CONFIG", "SET", "cluster-require-full-coverage", "no")
    bot = await start_bot(pace=True)
    gone = home_of(cluster, elsewhere)
    assert (cluster.primary_of(KEYS.pace("edit")) == gone) == (elsewhere == "refunds")
    client = next(agents[name] for name in AGENTS if home_of(cluster, name) != gone)
    interrupts = [client.interrupt(asking(an_action("pay"))) for _ in range(3)]
    waiting = [asyncio.create_task(take(client, interrupt)) for interrupt in interrupts]
    cards = [await watcher.card(interrupt.id) for interrupt in interrupts]
    there = agents[elsewhere].interrupt(asking(an_action("pay")))
    answered = asyncio.create_task(take(agents[elsewhere], there))
    await Someone(slack, "U0MIRA").press(await watcher.card(there.id), "approve:0")
    await answered
    cluster.servers[cluster.replica_of(gone)].kill()
    cluster.servers[gone].kill()
    await until(lambda: any(loop.trouble for loop in bot.health.loops), within=30)

    # At first, every part can have been replaced.
    await until(lambda: len(bot.store.unlooked) < bot.store.keys.lanes, within=30)
    for agent, card in zip(waiting, cards, strict=True):
        await asyncio.sleep(3)
        await Someone(slack, "U0MIRA").press(card, "approve:0")
        assert (await asyncio.wait_for(agent, 10)).decisions == (ApproveDecision(),)
    new = client.interrupt(asking(an_action("note")))
    agent = asyncio.create_task(take(client, new))
    await Someone(slack, "U0MIRA").press(await watcher.card(new.id, within=30), "approve:0")
    assert (await asyncio.wait_for(agent, 10)).decisions == (ApproveDecision(),)
