"""A link to Redis that a test can break: every connection through it can be reset, as a firewall resets idle ones."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Proxy:
    """Passes bytes between a port of its own and a unix socket."""

    # Not a server of asyncio: in Python 3.11 one that is closed loses what it has just accepted, and leaves it open.
    def __init__(self, path: str) -> None:
        self._path = path
        self._port = socket.create_server(("127.0.0.1", 0))
        self._port.setblocking(False)
        self._links: set[asyncio.Task[None]] = set()
        self._clients: set[socket.socket] = set()
        self._silent: set[socket.socket] = set()
        self.opened = 0
        """How many connections were made so far."""

    @property
    def url(self) -> str:
        host, port = self._port.getsockname()
        return f"redis://{host}:{port}/0"

    def start(self) -> None:
        """Take connections."""
        asyncio.get_running_loop().add_reader(self._port, self._accept)

    def lead_to(self, url: str) -> None:
        """Lead what connects from now on to another server; what is connected stays where it is."""
        self._path = url.removeprefix("unix://")

    def fall_silent(self) -> None:
        """Pass nothing more over what is connected, and do not end it either."""
        self._silent |= self._clients

    async def reset(self) -> None:
        """End every connection with a reset (RST): neither side sees an orderly end."""
        for client in self._clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        await self._end()

    async def close(self) -> None:
        """Take no more connections and end those that are open."""
        asyncio.get_running_loop().remove_reader(self._port)
        self._port.close()
        await self._end()

    async def _end(self) -> None:
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    def _accept(self) -> None:
        client, _ = self._port.accept()
        self.opened += 1
        self._clients.add(client)
        link = asyncio.create_task(self._link(client))
        self._links.add(link)
        link.add_done_callback(self._links.discard)
        # Also of a link that was cancelled before it began.
        link.add_done_callback(lambda _: self._forget(client))

    def _forget(self, client: socket.socket) -> None:
        self._clients.discard(client)
        client.close()

    async def _link(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            server_reader, server_writer = await asyncio.open_unix_connection(self._path)
            pumps = [
                asyncio.create_task(self._pump(client, reader, server_writer)),
                asyncio.create_task(self._pump(client, server_reader, writer)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                server_writer.transport.abort()
        finally:
            # Not `close`, which would wait for what is still to be written.
            writer.transport.abort()

    async def _pump(
        self, client: socket.socket, source: asyncio.StreamReader, to: asyncio.StreamWriter
    ) -> None:
        while data := await source.read(65_536):
            if client not in self._silent:
                to.write(data)
                await to.drain()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Proxy]:
    """Stand between a Redis on a unix socket and whoever uses it."""
    proxy = Proxy(url.removeprefix("unix://"))
    proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
