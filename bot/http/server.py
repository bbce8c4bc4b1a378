"""The bot's port."""

import logging

from aiohttp import web

from bot.http.application import Malformed

LINGER = 1.0
"""Seconds for which the rest of a refused body is read and dropped before its connection is closed."""
CLOSE_WITHIN = 5
"""Seconds that open requests have when the server stops. Then they are cut off: a client that waits asks again."""


class HttpServer:
    """Serves the application on one port."""

    def __init__(self, site: web.Application, host: str, port: int) -> None:
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
        self._address = host, port

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before it does."""
        return int(self._runner.addresses[0][1]) if self._runner.addresses else 0

    async def start(self) -> None:
        """Listen."""
        await self._runner.setup()
        await web.TCPSite(self._runner, *self._address).start()

    async def stop(self) -> None:
        """Stop listening, and finish the requests that have begun."""
        await self._runner.cleanup()
