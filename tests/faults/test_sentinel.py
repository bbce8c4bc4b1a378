"""A primary, two replicas and three Sentinels: the bot and its agents follow the primary."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.redis.pipelined import Pipelined
from agent_adapter.redis.pool import open_redis, pipelined, place_of
from playground.sentinels import Sentinels
from tests.conftest import serving
from tests.support.builders import an_action, asking
from tests.support.faults import eventually, pressed_until_accepted, rounds, settled_card, take


@pytest.fixture
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    """A service of this test's own."""
    yield from serving(Sentinels(Path(tmp_path_factory.mktemp("s"))))


@pytest.fixture
def redis_url(sentinels: Sentinels) -> str:
    """All parts of these tests use it."""
    return sentinels.url


async def test_a_planned_failover_ends_at_once_with_the_commands_that_are_told(sentinels):
    """After the last one, the former primary is a replica. Otherwise a Sentinel would make it one ten seconds later."""
    lines = sentinels.told().splitlines()
    first, last = (next(n for n, line in enumerate(lines) if word in line) for word in ("former=", "UNPAUSE"))
    before = sentinels.primary()

    planned = "\n".join(["set -e", *map(str.strip, lines[first : last + 1])])
    async with open_redis(sentinels.url) as redis:
        line = pipelined(redis)
        assert line
        assert await port_of(line) == before
        await asyncio.to_thread(subprocess.run, planned, shell=True, check=True)
        assert await changed(sentinels, before)
        await eventually(lambda: leads_on(line, before))

    async with open_redis(f"redis://127.0.0.1:{before}") as at_former:
        role, *_ = await at_former.execute_command("ROLE")
    assert await changed(sentinels, before)
    assert role == "slave"
    await eventually(lambda: asyncio.to_thread(sentinels.replicated))


async def port_of(line: Pipelined) -> int:
    """Give the port of the server to which the scripts of a bot go now."""
    while (sent := line.send("INFO", "server")) is None:
        await asyncio.sleep(0.01)
    found = re.search(r"tcp_port:(\d+)", str(await sent))
    return int(found[1]) if found else 0


async def leads_on(line: Pipelined, before: int) -> bool:
    """Whether they go to another server, though the former one still answers."""
    return await port_of(line) not in {0, before}


async def changed(sentinels: Sentinels, before: int) -> bool:
    """Whether another server is the primary."""
    return await asyncio.to_thread(sentinels.primary) != before


@pytest.mark.timeout(300)
async def test_a_click_that_the_replicas_confirmed_outlives_the_primary_that_is_killed_right_then(
    sentinels, start_bot, client, slack, store, watcher
):
    """Nobody waits for the replicas but the click itself. Behind Sentinels it waits for all, also for one that is away."""
    bot = await start_bot(durability="replica")
    assert bot.store.durability.replicas == len(sentinels.servers) - 1
    for _ in range(rounds(1, 5)):
        interrupt = client.interrupt(asking(an_action()))
        waiting = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        await pressed_until_accepted(slack, card)

        killed = await asyncio.to_thread(sentinels.kill_primary)

        async with asyncio.timeout(60):
            assert (await waiting).decisions == (ApproveDecision(),)
        async with open_redis(sentinels.url) as redis:
            assert await place_of(redis).replicas() == len(sentinels.servers) - 1
        await asyncio.to_thread(sentinels.bring_back, killed)
        await settled_card(store, watcher, interrupt.id)
