"""Takes what agents have noted in their inboxes. A wake-up names the agent, and may be lost: a sweep looks at all of them."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from agent_adapter.contract.keys import Keys
from agent_adapter.contract.names import is_agent_name
from agent_adapter.errors import AgentAdapterError, ServerFailedError
from agent_adapter.loops import Loop
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import open_blocking_redis
from agent_adapter.redis.server_check import explained
from bot.jobs.redis_restore import RestoreGuard
from bot.runtime.metrics import TIME_TO_AGENT, exemplar_of
from bot.runtime.settings import Settings
from bot.store.records import ApprovalStore

logger = logging.getLogger(__name__)

FIND_EVERY, FIND_AGAIN_IN = 600.0, 5.0
"""Seconds between two looks for inboxes that nobody knows, and after one that failed. That looks at all keys in Redis."""
FEW = 8
"""Up to so many inboxes are looked into without asking first which of them have something."""
TOLD_OF = 256
"""How many names are kept until the next round. A program that may send a message may send any number of names."""
QUIET = 3.0
"""Seconds without a message after which the server has to answer a PING: after a failover, a connection may only go silent."""
AGAIN_IN = 0.5
"""Seconds until the next attempt to connect."""
TAKE_EVERY = 0.02
"""Seconds between two rounds. A burst of an agent then takes few scripts."""


class InboxReader:
    """Reads the inboxes, and wakes who draws."""

    def __init__(self, store: ApprovalStore, wake: Callable[[], None], *, sweep: float) -> None:
        self._store = store
        self._wake = wake
        self._sweep = sweep
        self._told_of: set[str] = set()
        """Agents that may have something in their inbox."""
        self._told = asyncio.Event()
        self._swept = -sweep
        """When all known inboxes were looked at."""
        self._found = -FIND_EVERY

    def look_at(self, agent: str) -> None:
        """Look into the inbox of an agent now and not at the next sweep."""
        if is_agent_name(agent):
            if len(self._told_of) < TOLD_OF:
                self._told_of.add(agent)
            self._told.set()

    def look_at_all(self) -> None:
        """Look into all known inboxes now: a wake-up may have been lost."""
        self._swept = time.monotonic() - self._sweep
        self._told.set()

    async def run(self, loop: Loop) -> None:
        """Read until cancelled."""
        while True:
            self._told.clear()
            try:
                try:
                    await self._find()
                finally:
                    # Known agents are served, also where that fails.
                    await self._take_round()
                loop.beat()
            except AgentAdapterError as error:
                loop.hinder(str(error))
                self.look_at_all()
                await asyncio.sleep(min(1.0, self._sweep))
            if not self._told_of:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._sweep):
                        await self._told.wait()
            await asyncio.sleep(min(TAKE_EVERY, self._sweep))

    async def _find(self) -> None:
        """Look for inboxes whose wake-up was lost, from time to time."""
        now = time.monotonic()
        if now - self._found >= FIND_EVERY:
            # What fails is not waited for in each round.
            self._found = now - FIND_EVERY + FIND_AGAIN_IN
            self._told_of.update(await self._store.find_inboxes())
            self._found = now

    async def _take_round(self) -> None:
        """Take some notes of each agent, so that a flood of one does not delay the others."""
        for agent in await self._full():
            # One that notes something meanwhile is in the next round.
            self._told_of.discard(agent)
            try:
                taken = await self._store.take_inbox(agent)
            except ServerFailedError as error:
                logger.error("inbox.broken", extra={"agent": agent, "reason": str(error)})  # noqa: TRY400  # the sentence says all
                continue
            except AgentAdapterError:
                # Nobody says again that there is something.
                self._told_of.add(agent)
                raise
            if taken.has_more:
                self._told_of.add(agent)
            if taken.refused:
                logger.warning("inbox.refused", extra={"agent": agent, "notes": taken.refused})
            for wait, trace in taken.waits:
                TIME_TO_AGENT.observe(wait / 1000, exemplar_of(trace))
            if taken.notes:
                self._wake()

    async def _full(self) -> list[str]:
        """Name the agents that may have something in their inbox. A sweep looks at the known ones, too."""
        told_of, now = sorted(self._told_of), time.monotonic()
        if now - self._swept < self._sweep and len(told_of) <= FEW:
            return told_of
        full = await self._store.full_inboxes(told_of)
        self._swept = now
        self._told_of.difference_update({*told_of} - {*full})
        return full


@dataclass
class WakeUps:
    """Listens over one connection for an agent that has noted something, and for a card to draw. A message may be lost without harm."""

    settings: Settings
    keys: Keys
    inboxes: InboxReader
    draw: Callable[[], None]
    guard: RestoreGuard
    _is_connected: bool = True
    """Until the connection is lost for the first time, there is nothing to doubt."""

    async def run(self, loop: Loop) -> None:
        """Listen until cancelled."""
        settings, namespace = self.settings, self.keys.namespace
        async with open_blocking_redis(
            settings.redis_url, block=QUIET, namespace=namespace, credentials=settings.redis_credentials
        ) as redis:
            while True:
                try:
                    await self._listen(redis, loop)
                except (RedisError, OSError) as error:
                    self._is_connected = False
                    loop.hinder(str(explained(address_of(settings.redis_url), error)))
                    await asyncio.sleep(AGAIN_IN)

    async def _listen(self, redis: Redis, loop: Loop) -> None:
        """Hear messages over one connection, until another server may answer the commands."""
        guard = self.guard
        async with redis.pubsub() as heard:
            await heard.subscribe(self.keys.channel("inbox"), self.keys.channel("wake"))
            if not self._is_connected:
                guard.doubt()
                self._is_connected = True
            # What was said while nobody listened.
            self.draw()
            self.inboxes.look_at_all()
            doubts = guard.doubts
            while guard.doubts == doubts:
                if not await self._hear(heard):
                    await heard.ping()
                    if not await self._hear(heard):
                        raise RedisConnectionError("it does not answer a PING")
                loop.beat()

    async def _hear(self, heard: PubSub) -> bool:
        message = await heard.get_message(timeout=QUIET)
        if message is None:
            return False
        if message["type"] == "message":
            if message["channel"] == self.keys.channel("inbox"):
                self.inboxes.look_at(message["data"])
            else:
                self.draw()
        return True
