"""As much of Slack as a click needs, and fast: a Web API that agrees, Socket Mode, and people who press buttons."""

import asyncio
import hashlib
import hmac
import itertools
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

from benchmarks.cards import TS, Presses

TEAM = "T0PLAY"
SECRET = "bench-signing-secret"
APP_TOKEN = "xapp-bench"
CONNECTIONS = 32
PRESSES_AT_MOST = 3

Click = tuple[str, int]
"""Record and index of the action that is approved."""
Press = Callable[[Any], Awaitable[None]]
Prepare = Callable[[Iterable[Click]], list[Any]]


class NotAcknowledgedError(Exception):
    """The app answered something else than 200."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One click: when it was sent, and when it was acknowledged."""

    record: str
    sent: float
    acked: float


class Slack:
    """Answers every method at once, or after `delay` seconds."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.url = ""
        self._metadata: dict[str, Any] = {}
        """Of the newest message of each channel."""
        self._sockets: list[web.WebSocketResponse] = []
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._numbers = itertools.count(1)
        self._turn = itertools.count()

    @asynccontextmanager
    async def running(self):
        """Serve while the body runs."""
        site = web.Application(client_max_size=4 << 20)
        site.add_routes([web.route("*", "/api/{method}", self._answer), web.get("/socket", self._socket)])
        runner = web.AppRunner(site, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def wait_for_sockets(self, count: int) -> None:
        """Return once the app has connected."""
        async with asyncio.timeout(20):
            while len(self._sockets) < count:
                await asyncio.sleep(0.02)

    async def press(self, frame: tuple[str, str]) -> None:
        """Send one envelope to one of the sockets and wait for its acknowledgement."""
        envelope, text = frame
        self._waiting[envelope] = acknowledged = asyncio.get_running_loop().create_future()
        await self._sockets[next(self._turn) % len(self._sockets)].send_str(text)
        await acknowledged

    def envelopes(self, clicks: Iterable[Click]) -> list[tuple[str, str]]:
        """Make what `press` sends."""
        return [self._envelope(record, index) for record, index in clicks]

    def _envelope(self, record: str, index: int) -> tuple[str, str]:
        envelope = f"envelope-{next(self._numbers)}"
        head = f'"envelope_id":"{envelope}","type":"interactive","accepts_response_payload":false'
        return envelope, f'{{{head},"payload":{PRESSES.text(record, index)}}}'

    async def _answer(self, request: web.Request) -> web.Response:
        if self.delay:
            await asyncio.sleep(self.delay)
        answer: dict[str, Any] = {"ok": True}
        match request.match_info["method"]:
            case "auth.test":
                answer |= {
                    "team_id": TEAM,
                    "user_id": "U0BOT",
                    "bot_id": "B0PLAY",
                    "team": "Bench",
                    "user": "bot",
                }
                answer |= {"url": f"{self.url}/"}
            case "bots.info":
                answer |= {"bot": {"id": "B0PLAY", "app_id": "A0PLAY"}}
            case "apps.connections.open":
                answer |= {"url": f"{self.url.replace('http', 'ws', 1)}/socket"}
            case "users.info":
                answer |= {"user": {"id": request.query["user"], "team_id": TEAM}}
            case "conversations.info":
                answer |= {"channel": {"id": request.query["channel"]}}
            case "chat.postMessage" | "chat.update" as method:
                said = await request.json()
                self._metadata[said["channel"]] = said["metadata"]
                if method == "chat.postMessage":
                    PRESSES.note(said["blocks"])
                answer |= {"ts": TS}
            case "conversations.history":
                # The bot looks whether its cards are still there, and would draw anew what it misses: also each of the
                # thousands that are noted in Redis as shown, and that nobody has posted here.
                found = self._metadata.get(request.query["channel"])
                message = {"ts": TS, "bot_id": "B0PLAY", "metadata": found}
                answer = (
                    {"ok": True, "messages": [message]}
                    if found
                    else {"ok": False, "error": "channel_not_found"}
                )
            case method:
                answer |= {"ts": TS, "channel": method}
        return web.json_response(answer)

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": len(self._sockets) + 1})
        self._sockets.append(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    acknowledged = self._waiting.pop(json.loads(message.data)["envelope_id"], None)
                    if acknowledged and not acknowledged.done():
                        acknowledged.set_result(None)
        finally:
            self._sockets.remove(socket)
        return socket


class HttpPeople:
    """Press buttons through signed requests, over connections that stay open."""

    def __init__(self) -> None:
        self._free: asyncio.LifoQueue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.LifoQueue()

    @asynccontextmanager
    async def connected(self, port: int):
        """Hold the connections while the body runs."""
        async with AsyncExitStack() as stack:
            for _ in range(CONNECTIONS):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                stack.callback(writer.close)
                # A connection that brings no request for a while is closed.
                writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                await _answer(reader)
                self._free.put_nowait((reader, writer))
            yield self

    async def press(self, raw: bytes) -> None:
        """Press until it is acknowledged, as a person does whom Slack tells that it was not.

        Raises:
            NotAcknowledgedError: when three presses were not.
        """
        for _ in range(PRESSES_AT_MOST):
            head = await self._send(raw)
            if head.startswith(b"HTTP/1.1 200"):
                return
            sys.stderr.write(
                f"{time.strftime('%X')} a press was answered with {head.split(b' ')[1].decode()}\n"
            )
        raise NotAcknowledgedError(head.decode())

    async def _send(self, raw: bytes) -> bytes:
        """Send one request; give the head of its answer."""
        reader, writer = await self._free.get()
        writer.write(raw)
        head = await _answer(reader)
        self._free.put_nowait((reader, writer))
        return head

    def requests(self, clicks: Iterable[Click]) -> list[bytes]:
        """Make what `press` sends, signed now."""
        return [_signed(PRESSES.form(record, index)) for record, index in clicks]


async def _answer(reader: asyncio.StreamReader) -> bytes:
    """Read an answer to its end; give its head."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
    )
    await reader.readexactly(int(length.partition(b":")[2]))
    return head


def _signed(body: bytes) -> bytes:
    timestamp = str(int(time.time()))
    signature = hmac.new(
        SECRET.encode(), b"v0:%s:%s" % (timestamp.encode(), body), hashlib.sha256
    ).hexdigest()
    return (
        f"POST /slack/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"X-Slack-Request-Timestamp: {timestamp}\r\nX-Slack-Signature: v0={signature}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def at_once(press: Press, prepare: Prepare, clicks: Sequence[Click], at_once: int) -> float:
    """Press so many at a time; answer how many a second were acknowledged."""
    waiting = iter(prepare(clicks))

    async def person() -> None:
        for raw in waiting:
            await press(raw)

    started = time.monotonic()
    await asyncio.gather(*(person() for _ in range(at_once)))
    return len(clicks) / (time.monotonic() - started)


async def at_rate(press: Press, prepare: Prepare, clicks: Sequence[Click], rate: float) -> list[Timed]:
    """Press so many a second, whether or not the earlier ones were acknowledged."""

    async def person(record: str, raw: Any) -> Timed:
        sent = time.monotonic()
        await press(raw)
        return Timed(record, sent, time.monotonic())

    prepared, people = prepare(clicks), []
    started = time.monotonic()
    for number, ((record, _), raw) in enumerate(zip(clicks, prepared, strict=True)):
        await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
        people.append(asyncio.create_task(person(record, raw)))
    return await asyncio.gather(*people)


PRESSES = Presses()
