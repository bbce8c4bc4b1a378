"""A link to Redis that a test can break: every connection through it can be reset, as a firewall resets idle ones."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Proxy:
    """Passes bytes between a port of its own and a unix socket."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._server: asyncio.Server
        self._links: set[asyncio.Task[None]] = set()
        self._clients: set[asyncio.StreamWriter] = set()
        self._silent: set[asyncio.StreamWriter] = set()
        self.opened = 0
        """How many connections were made so far."""

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()
        return f"redis://{host}:{port}/0"

    async def start(self) -> None:
        """Take connections."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    def lead_to(self, url: str) -> None:
        """Lead what connects from now on to another server; what is connected stays where it is."""
        self._path = url.removeprefix("unix://")

    def fall_silent(self) -> None:
        """Pass nothing more over what is connected, and do not end it either."""
        self._silent |= self._clients

    async def reset(self) -> None:
        """End every connection with a reset (RST): neither side sees an orderly end."""
        for client in self._clients:
            client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        await self._end()

    async def close(self) -> None:
        """Take no more connections and end those that are open."""
        # In several turns, the event loop makes a transport of what it has accepted, and leaves it open where the server is closed.
        asyncio.get_running_loop().remove_reader(self._server.sockets[0].fileno())
        for _ in range(20):
            await asyncio.sleep(0)
        self._server.close()
        await self._end()
        # It ends a transport in a later turn, and a test may end right here.
        await asyncio.sleep(0.05)

    async def _end(self) -> None:
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        link = asyncio.create_task(self._link(reader, writer))
        self._links.add(link)
        link.add_done_callback(self._links.discard)
        # Also of a link that was cancelled before it began.
        link.add_done_callback(lambda _: writer.transport.abort())

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            await self._pass(reader, writer)
        finally:
            self._clients.discard(writer)
            # Not `close`, which would wait for what is still to be written.
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(self._path)

        async def pump(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                if writer not in self._silent:
                    to.write(data)
                    await to.drain()

        pumps = [
            asyncio.create_task(pump(reader, server_writer)),
            asyncio.create_task(pump(server_reader, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in pumps:
                each.cancel()
            server_writer.close()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Proxy]:
    """Stand between a Redis on a unix socket and whoever uses it."""
    proxy = Proxy(url.removeprefix("unix://"))
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
