"""Publishes and clicks a second against 1, 3 and 6 primaries with 1, 2 and 4 bots, as far as the cores of this machine go."""

import asyncio
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import freeze_meta, open_redis
from benchmarks.cards import ACTIONS, DRAWN_WITHIN, NAMESPACE, interrupt
from benchmarks.clicks import SPREAD
from benchmarks.processes import app, private_redis
from benchmarks.slack import Click, HttpPeople, Slack, at_once
from playground.clusters import Cluster

PRIMARIES, BOTS = (1, 3, 6), (1, 2, 4)
AGENTS = tuple(f"bench-{number}" for number in range(12))
"""Who asks."""
RECORDS = 600
AT_ONCE = 32
WARM_UP = 60

Setup = tuple[int, int]
"""How many primaries, and how many bots."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What one setup did in a second."""

    publishes: float
    clicks: float


async def measure(slack: Slack, *, quick: bool = False) -> dict[Setup, Rates]:
    """Measure every setup; with `quick`, only the smallest and one in the middle, with fewer records."""
    setups = [(1, 1), (3, 2)] if quick else list(itertools.product(PRIMARIES, BOTS))
    return {setup: await _one(slack, setup, RECORDS // 4 if quick else RECORDS) for setup in setups}


def table(found: Mapping[Setup, Rates]) -> str:
    """Write a table. Its ratios are to one primary with one bot, in the same run."""
    first = found[1, 1]
    lines = [
        "| primaries | bots | publishes/s | ratio | clicks/s | ratio |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {primaries} | {bots} | {rates.publishes:,.0f} | {rates.publishes / first.publishes:.2f} "
        f"| {rates.clicks:,.0f} | {rates.clicks / first.clicks:.2f} |"
        for (primaries, bots), rates in found.items()
    ]
    return "\n".join(lines)


async def _one(slack: Slack, setup: Setup, count: int) -> Rates:
    primaries, bots = setup
    async with AsyncExitStack() as stack:
        url = stack.enter_context(_redis_of(primaries))
        people = []
        for _ in range(bots):
            bot = app("bot", url, f"{slack.url}/api/", over_socket=False)
            port, _process = await stack.enter_async_context(bot)
            people.append(await stack.enter_async_context(HttpPeople().connected(port)))
        clients = [
            await stack.enter_async_context(ApprovalClient.from_url(url, agent=agent)) for agent in AGENTS
        ]
        await _publish(clients, WARM_UP)
        started = time.monotonic()
        ids = await _publish(clients, count)
        publishes = count / (time.monotonic() - started)
        await _all_drawn(url)
        bot_of = itertools.cycle(people)

        async def press(raw: Any) -> None:
            await next(bot_of).press(raw)

        clicks = await at_once(press, people[0].requests, _clicks(ids), AT_ONCE)
        return Rates(publishes, clicks)


@contextmanager
def _redis_of(primaries: int) -> Iterator[str]:
    if primaries == 1:
        with private_redis() as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        cluster = Cluster(Path(folder), size=primaries, is_replicated=False)
        try:
            cluster.start()
            yield cluster.url
        finally:
            cluster.stop()


async def _publish(clients: Sequence[ApprovalClient], count: int) -> list[str]:
    """Publish so many requests, each agent one after the other."""

    async def one(client: ApprovalClient) -> list[str]:
        asked = [interrupt(apart=True, agent=client.agent) for _ in range(count // len(clients))]
        return [await client.publish(each) for each in asked]

    ids = await asyncio.gather(*map(one, clients))
    return [record for of_agent in zip(*ids, strict=True) for record in of_agent]


async def _all_drawn(url: str) -> None:
    """Return once the bots owe no card."""
    async with asyncio.timeout(DRAWN_WITHIN), open_redis(url) as redis:
        keys = await freeze_meta(redis, NAMESPACE)
        while await _owes(redis, keys):
            await asyncio.sleep(0.1)


async def _owes(redis: Redis, keys: Keys) -> bool:
    inboxes = [keys.inbox(agent) for agent in AGENTS]
    return any([await redis.exists(inbox) for inbox in inboxes]) or any([await redis.zcard(keys.undrawn)])


def _clicks(ids: Sequence[str]) -> list[Click]:
    """Approve every action; two of one record are never pressed at the same time."""
    placed = [
        (number + SPREAD * index, index, record)
        for number, record in enumerate(ids)
        for index in range(ACTIONS)
    ]
    return [(record, index) for _, index, record in sorted(placed)]
