"""Listens for what wakes this bot: an agent that has noted something in its inbox, and a card to draw."""

import asyncio
from collections.abc import Callable

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from agent_adapter.contract.keys import Keys
from agent_adapter.loops import Loop
from agent_adapter.redis.pool import open_blocking_redis
from agent_adapter.redis.server_check import explained
from bot.jobs.inboxes import InboxReader
from bot.jobs.redis_restore import RestoreGuard

QUIET = 3.0
"""Seconds without a message after which the server has to answer a PING: after a failover, a connection may only go silent."""
AGAIN_IN = 0.5
"""Seconds until the next attempt to connect."""


class WakeUps:
    """One connection. A message may be lost without harm, since it only says where to look."""

    def __init__(
        self,
        url: str,
        keys: Keys,
        inboxes: InboxReader,
        draw: Callable[[], None],
        restore_guard: RestoreGuard,
        *,
        address: str,
        credentials: str | None,
    ) -> None:
        self._url = url
        self._namespace = keys.namespace
        self._credentials = credentials
        self._inboxes = inboxes
        self._draw = draw
        self._restore_guard = restore_guard
        self._address = address
        self._told = keys.channel("inbox")
        self._is_connected = True
        """Until the connection is lost for the first time, there is nothing to doubt."""
        self._channels = [self._told, keys.channel("wake")]

    async def run(self, loop: Loop) -> None:
        """Listen until cancelled."""
        redis = open_blocking_redis(
            self._url, block=QUIET, namespace=self._namespace, credentials=self._credentials
        )
        try:
            while True:
                try:
                    await self._listen(redis, loop)
                except (RedisError, OSError) as error:
                    self._is_connected = False
                    loop.hinder(str(explained(self._address, error)))
                    await asyncio.sleep(AGAIN_IN)
        finally:
            await redis.aclose()

    async def _listen(self, redis: Redis, loop: Loop) -> None:
        """Hear messages over one connection, until another server may answer the commands."""
        guard = self._restore_guard
        async with redis.pubsub() as heard:
            await heard.subscribe(*self._channels)
            if not self._is_connected:
                guard.doubt()
                self._is_connected = True
            # What was said while nobody listened.
            self._draw()
            self._inboxes.look_at_all()
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
            if message["channel"] == self._told:
                self._inboxes.look_at(message["data"])
            else:
                self._draw()
        return True
