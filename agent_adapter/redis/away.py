"""The servers of a cluster that do not answer. What is for one of them fails at once, so that it holds up nothing else."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from copy import copy
from typing import Any

from agent_adapter.background import in_background
from agent_adapter.redis.hosts import Host

AWAY_AFTER = 3.0
"""Seconds from the first failure after which a server counts as away, unless it has answered since."""
ASKS_EVERY = 0.5
"""Seconds between two questions whether it is back."""


class Away:
    """Which servers are away. One task for each of them asks until it answers."""

    def __init__(self, ask: Callable[[Any], Awaitable[Exception | None]]) -> None:
        """Take how to ask the server of a key: it gives the error where that does not answer."""
        self._ask = ask
        self._failing: dict[Host, float] = {}
        """Since when each of them has not answered, by the monotonic clock."""
        self._why: dict[Host, Exception] = {}
        self._asking: dict[Host, asyncio.Task[None]] = {}
        self._is_closed = False

    def __contains__(self, host: Host) -> bool:
        return host in self._why

    def check(self, host: Host) -> None:
        """Raise the newest error of a server that is away."""
        if error := self._why.get(host):
            raise copy(error) from error

    def note_answered(self, host: Host) -> None:
        """Note that a server answers."""
        self._failing.pop(host, None)

    def note_failed(self, host: Host, key: Any, error: Exception) -> None:
        """Note that a server did not answer a command about a key."""
        now = time.monotonic()
        is_away = now - self._failing.setdefault(host, now) >= AWAY_AFTER
        if is_away and host not in self and not self._is_closed:
            self._why[host] = error
            # In a context of its own: the limits of the command that failed are not for this task.
            self._asking[host] = Context().run(in_background, self._ask_until_it_answers(host, key))

    async def _ask_until_it_answers(self, host: Host, key: Any) -> None:
        """Ask for a key of this server, which another one may have by now."""
        try:
            await asyncio.sleep(ASKS_EVERY)
            while error := await self._ask(key):
                self._why[host] = error
                await asyncio.sleep(ASKS_EVERY)
        finally:
            self.note_answered(host)
            del self._why[host], self._asking[host]

    async def close(self) -> None:
        """Stop asking, for good."""
        self._is_closed = True
        asking = [*self._asking.values()]
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
