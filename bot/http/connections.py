"""Limits the connections to the bot's port. One without a request ends soon, and an idle one makes room for a new one."""

import asyncio
import resource
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiohttp import web

MOST = 4_000
"""The most connections at once, if the system allows as many open files."""
HEAD_WITHIN = 5.0
"""Seconds from the beginning of a connection to the end of its first request's headers."""
_LEAST = 64
_FILES = 256
"""Open files that are left for Redis, Slack and everything else."""


class Connections:
    """Lets clients connect to a server. Beyond the limit, the connection that has been idle for longest is closed.

    Without it, a few hundred clients that send nothing would keep Slack's clicks out.
    """

    def __init__(self, most: int, *, head_within: float = HEAD_WITHIN) -> None:
        self.most = most
        self._head_within = head_within
        self._open: set[asyncio.Transport] = set()
        self._idle: dict[asyncio.Transport, asyncio.TimerHandle | None] = {}
        """Connections without a request, the longest idle first, each with a timer until its first request."""

    def accept(self, server: Callable[[], asyncio.Protocol]) -> "Connection":
        """Make the protocol of a new connection."""
        return Connection(server(), self)

    @web.middleware
    async def serve(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Note that a connection is in use while it is answered."""
        transport = request.transport
        if transport is not None:
            self._take(transport)
        try:
            return await handler(request)
        finally:
            if transport in self._open:
                self._idle[transport] = None

    def opened(self, transport: asyncio.Transport) -> None:
        """Count a connection, and make room for it."""
        self._open.add(transport)
        timer = asyncio.get_running_loop().call_later(self._head_within, transport.abort)
        self._idle[transport] = timer
        if len(self._open) > self.most:
            longest = next(iter(self._idle))
            self.closed(longest)
            longest.abort()

    def closed(self, transport: asyncio.Transport) -> None:
        """Forget a connection."""
        self._open.discard(transport)
        self._take(transport)

    def _take(self, transport: asyncio.Transport) -> None:
        if timer := self._idle.pop(transport, None):
            timer.cancel()


class Connection(asyncio.Protocol):
    """A protocol around the server's own one, which sees a connection open and close."""

    def __init__(self, inner: asyncio.Protocol, connections: Connections) -> None:
        self._inner = inner
        self._connections = connections
        self._transport: Any = None
        # The bytes go directly to the server's protocol.
        self.data_received = inner.data_received  # type: ignore[method-assign]  # as said above
        self.eof_received = inner.eof_received  # type: ignore[method-assign]  # as said above
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign]  # as said above
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign]  # as said above

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._inner.connection_made(transport)
        self._connections.opened(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.closed(self._transport)
        self._inner.connection_lost(error)


def most_connections() -> int:
    """Give how many connections this process may serve, asking the system for more open files where it grants them."""
    wanted = MOST + _FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _number(soft)
    if files < wanted:
        granted = min(wanted, _number(hard))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, hard))
            files = granted
    return max(_LEAST, min(MOST, files - _FILES))


def _number(limit: int) -> int:
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
