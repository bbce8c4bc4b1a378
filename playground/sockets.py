"""Socket Mode: up to ten connections, each envelope to one of them."""

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

from playground.delivery import Envelope, Refused
from playground.timing import Timing
from playground.workspace import APP_ID

MOST_CONNECTIONS = 10
SECONDS_OF_A_CONNECTION = 18_060


@dataclass(eq=False, slots=True)
class Connection:
    """One open socket, with the envelopes that it has not acknowledged yet."""

    socket: web.WebSocketResponse
    waiting: dict[str, asyncio.Future[Any]]
    leaving: bool = False
    """Told to reconnect: nothing new is sent to it."""


class Sockets:
    """The transport of Socket Mode."""

    name = "socket"

    def __init__(self, timing: Timing, tickets: set[str], on_change: Callable[[], None]) -> None:
        self._timing = timing
        self._tickets = tickets
        self._on_change = on_change
        self._connections: list[Connection] = []
        self._turn = itertools.count()
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._connections)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection from its first frame to its last."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=404, text="This address was used already, or never given out.")
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse(max_msg_size=4 << 20, timeout=1)
        await socket.prepare(request)
        if len(self._connections) >= MOST_CONNECTIONS:
            await socket.send_json(_disconnect("too_many_websockets"))
            await socket.close()
            return socket
        await self._serve(Connection(socket, {}))
        return socket

    async def send(self, envelope: Envelope) -> Any:
        """Send to one of the connections and wait for its acknowledgement."""
        open_ones = [each for each in self._connections if not each.leaving and not each.socket.closed]
        if not open_ones:
            raise Refused("the app has no open socket", "connection_failed")
        connection = open_ones[next(self._turn) % len(open_ones)]
        acknowledged = asyncio.get_running_loop().create_future()
        connection.waiting[envelope.id] = acknowledged
        try:
            await connection.socket.send_str(_frame(envelope))
            return await acknowledged
        except ConnectionError as error:
            raise Refused("the socket broke", "connection_failed") from error
        finally:
            connection.waiting.pop(envelope.id, None)

    async def disconnect(self, reason: str) -> None:
        """Tell every connection to reconnect; it is closed at once, or 10 s after a `warning`."""
        wait = self._timing.disconnect_warning if reason == "warning" else 0.0
        for connection in tuple(self._connections):
            connection.leaving = True
            await connection.socket.send_json(_disconnect(reason))
            task = asyncio.get_running_loop().create_task(_close_after(connection.socket, wait))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close every connection without a word."""
        for task in tuple(self._closing):
            task.cancel()
        await asyncio.gather(*(each.socket.close() for each in tuple(self._connections)))

    async def _serve(self, connection: Connection) -> None:
        self._connections.append(connection)
        self._on_change()
        try:
            await connection.socket.send_json(_hello(len(self._connections)))
            async for message in connection.socket:
                if message.type is WSMsgType.TEXT:
                    _acknowledge(connection, message.data)
        finally:
            self._connections.remove(connection)
            for waiting in connection.waiting.values():
                if not waiting.done():
                    waiting.set_exception(Refused("the socket closed", "connection_failed"))
            self._on_change()


def _acknowledge(connection: Connection, text: str) -> None:
    answer = json.loads(text)
    waiting = connection.waiting.get(answer.get("envelope_id", ""))
    if waiting and not waiting.done():
        waiting.set_result(answer.get("payload"))


def _frame(envelope: Envelope) -> str:
    frame: dict[str, Any] = {
        "envelope_id": envelope.id,
        "type": envelope.type,
        "payload": envelope.payload,
        "accepts_response_payload": envelope.accepts_response,
    }
    if envelope.type == "events_api":
        frame |= {
            "retry_attempt": envelope.retry,
            "retry_reason": envelope.retry_reason.removeprefix("http_"),
        }
    return json.dumps(frame)


def _hello(connections: int) -> dict[str, Any]:
    return {
        "type": "hello",
        "num_connections": connections,
        "debug_info": {"host": "playground", "approximate_connection_time": SECONDS_OF_A_CONNECTION},
        "connection_info": {"app_id": APP_ID},
    }


def _disconnect(reason: str) -> dict[str, Any]:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "playground"}}


async def _close_after(socket: web.WebSocketResponse, wait: float) -> None:
    await asyncio.sleep(wait)
    await socket.close()
