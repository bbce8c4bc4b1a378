"""The agents that speak HTTP: each has one client here, as it would have in its own process."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta

from redis.asyncio import Redis

from agent_adapter.client import ApprovalClient
from agent_adapter.connection import Scripts, address_of
from agent_adapter.continuation import Seal
from agent_adapter.contract.keys import Keys
from agent_adapter.loops import Loop
from agent_adapter.records import Records

GRACE = timedelta(seconds=30)
"""How long after a deadline an interrupt is open while no bot ends it, as in `ApprovalClient`."""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: its client, and its records."""

    name: str
    client: ApprovalClient
    records: Records


class Agents:
    """Makes what an agent needs when it first asks. All its waits share one stream of wake-ups."""

    def __init__(self, redis: Redis, keys: Keys, *, url: str, process: str) -> None:
        self._redis = redis
        self._keys = keys
        self._url = url
        self._process = process
        self._scripts = Scripts(redis, keys, "agent_adapter.scripts", address=address_of(url))
        self._known: dict[str, Agent] = {}
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def find(self, name: str) -> Agent:
        """Give what this agent needs.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        async with self._opening:
            if name not in self._known:
                self._known[name] = await self._open(name)
        return self._known[name]

    def loops(self) -> Iterator[Loop]:
        """Give what works in the background for all of them."""
        for agent in self._known.values():
            yield from agent.client.loops

    async def close(self) -> None:
        """Close every client."""
        await self._stack.aclose()

    async def _open(self, name: str) -> Agent:
        namespace = self._keys.namespace
        # No continuation travels over HTTP, so there is nothing to encrypt.
        seal = Seal()
        client = ApprovalClient.from_url(self._url, agent=name, namespace=namespace, grace=GRACE, seal=seal)
        await self._stack.enter_async_context(client)
        records = Records(
            self._redis,
            self._scripts,
            self._keys.lane_for(name),
            process=f"{name}.{self._process}",
            namespace=namespace,
            grace=GRACE,
            seal=seal,
        )
        return Agent(name, client, records)
