"""Who may hold a connection, and for how long: strangers who send nothing, or little, keep nobody out."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from bot.http.bodies import Bodies, BodyError
from bot.http.connections import Connections

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(connections: Connections, bodies: Bodies | None = None) -> AsyncIterator[int]:
    """Serve a page, a page that never ends, and one that reads a body; give the port."""
    kept = bodies or Bodies()
    site = web.Application(middlewares=[connections.serve])

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="here")

    async def long(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    async def body(request: web.Request) -> web.Response:
        try:
            return web.Response(text=str(len(await kept.read(request, most=1_000))))
        except BodyError as error:
            return web.Response(status=error.status, text=error.code)

    site.add_routes([web.get("/", page), web.get("/long", long), web.post("/", body)])
    runner = web.AppRunner(site, access_log=None, shutdown_timeout=0.1, lingering_time=0.1)
    await runner.setup()
    assert runner.server
    server = runner.server
    listening = await asyncio.get_running_loop().create_server(
        lambda: connections.accept(server), "127.0.0.1", 0
    )
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await runner.cleanup()


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., object]]:
    """Open a connection and send these bytes: `await connect(port, b"...")`."""
    async with AsyncExitStack() as stack:

        async def opened(port: int, sent: bytes = b"") -> Opened:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(writer.close)
            writer.write(sent)
            await writer.drain()
            return reader, writer

        yield opened


async def is_cut(opened: Opened) -> bool:
    """Tell whether the server ends this connection within two seconds, without an answer."""
    try:
        return await asyncio.wait_for(opened[0].read(), 60) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


async def status(port: int) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as answer:
        return answer.status


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: bot\r\n"], ids=["nothing", "half a head"])
async def test_who_sends_no_request_is_cut_off(connect, sent):
    """A connection is for a request: one that brings none in time is closed."""
    async with serving(Connections(10, head_within=0.1)) as port:
        assert await is_cut(await connect(port, sent))


async def test_who_has_asked_once_may_ask_again_later(connect):
    """A proxy keeps its connections: the limit of time is for the first request."""
    async with serving(Connections(10, head_within=0.1)) as port:
        reader, writer = await connect(port, b"GET / HTTP/1.1\r\nHost: bot\r\n\r\n")
        assert b"200" in await reader.readuntil(b"here")
        await asyncio.sleep(0.3)
        writer.write(b"GET / HTTP/1.1\r\nHost: bot\r\n\r\n")
        assert b"200" in await reader.readuntil(b"here")


async def test_beyond_the_limit_who_was_idle_for_longest_makes_room(connect):
    """Forty connections that send nothing keep no click out, and who is being answered stays."""
    async with serving(Connections(4)) as port:
        asking = await connect(port, b"GET /long HTTP/1.1\r\nHost: bot\r\n\r\n")
        await asyncio.sleep(0.1)
        idle = [await connect(port) for _ in range(40)]

        assert await status(port) == 200
        assert all([await is_cut(opened) for opened in idle[:36]])
        assert not asking[0].at_eof()


async def test_when_everybody_is_being_answered_nobody_else_gets_in(connect):
    """The limit holds: the newest one is cut off."""
    async with serving(Connections(2)) as port:
        for _ in range(2):
            await connect(port, b"GET /long HTTP/1.1\r\nHost: bot\r\n\r\n")
        await asyncio.sleep(0.1)

        assert await is_cut(await connect(port))


HALF = b"POST / HTTP/1.1\r\nHost: bot\r\nContent-Length: 900\r\n\r\n" + b"x" * 600


async def test_a_body_that_does_not_arrive_is_408(connect):
    """Who announces a body has to send it."""
    async with serving(Connections(10), Bodies(within=0.1)) as port:
        reader, _ = await connect(port, HALF)
        assert b"408" in await reader.readline()


async def test_of_too_many_unfinished_bodies_the_oldest_makes_room(connect):
    """Bytes of strangers are bounded, and a body that is sent at once is always read."""
    async with serving(Connections(10), Bodies(at_once=1_500)) as port:
        first, second, third = [await connect(port, HALF) for _ in range(3)]
        assert b"408" in await first[0].readline()

        third[1].write(b"x" * 300)
        assert b"200" in await third[0].readline()
        second[1].write(b"x" * 300)
        assert b"200" in await second[0].readline()


@pytest.mark.parametrize("framing", [b"Content-Length: 1001", b"Transfer-Encoding: chunked"])
async def test_a_body_over_the_limit_is_413(connect, framing):
    """Whether its length is announced or not."""
    async with serving(Connections(10)) as port:
        sent = b"POST / HTTP/1.1\r\nHost: bot\r\n" + framing + b"\r\n\r\n"
        chunk = b"3e9\r\n" + b"x" * 1_001 + b"\r\n0\r\n\r\n"
        reader, _ = await connect(port, sent + (chunk if b"chunked" in framing else b""))
        assert b"413" in await reader.readline()
