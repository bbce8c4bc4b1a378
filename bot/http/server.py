"""The bot's port."""

import asyncio
import logging

from aiohttp import web

from bot.http.application import Malformed
from bot.http.connections import Connections

LINGER = 1.0
"""Seconds for which the rest of a refused body is read and dropped before its connection is closed."""
CLOSE_WITHIN = 5
"""Seconds that open connections have when the server stops."""


class HttpServer:
    """Serves the application on one port."""

    def __init__(self, site: web.Application, connections: Connections, host: str, port: int) -> None:
        http = logging.getLogger("aiohttp.server")
        if not any(isinstance(known, Malformed) for known in http.filters):
            http.addFilter(Malformed())
        self._runner = web.AppRunner(
            site,
            handle_signals=False,
            access_log=None,
            logger=http,
            shutdown_timeout=CLOSE_WITHIN,
            auto_decompress=False,
            lingering_time=LINGER,
        )
        self._connections = connections
        self._address = host, port
        self._listening: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before it does."""
        return int(self._listening.sockets[0].getsockname()[1]) if self._listening else 0

    async def start(self) -> None:
        """Listen."""
        await self._runner.setup()
        server = self._runner.server
        assert server
        self._listening = await asyncio.get_running_loop().create_server(
            lambda: self._connections.accept(server), *self._address
        )

    async def stop(self) -> None:
        """Stop listening, and finish the requests that have begun."""
        if self._listening:
            self._listening.close()
        await self._runner.cleanup()
