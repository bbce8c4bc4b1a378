"""Socket Mode, with two connections: Slack's client closes one before it opens the next."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeAlias

import aiohttp
import orjson
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError
from bot.slack.client import WORKSPACE_FAULTS

logger = logging.getLogger(__name__)

Deliver: TypeAlias = Callable[[dict[str, Any]], Awaitable[tuple[int, dict[str, Any] | None]]]
"""Handles what arrives. It gives a status, and what Slack is told beside it."""
CONNECTIONS = 2
CONNECT_WITHIN = 10.0
"""Seconds for one connection to open."""
ADDRESS_WITHIN = 60.0
"""Seconds for Slack to give an address. It can ask the bot to wait for most of a minute."""
ANSWER_WITHIN = 3.0
"""Seconds that Slack waits for an answer."""
UNREADABLE = "Socket Mode: what answers apps.connections.open is not Slack: look at SLACK_API_URL, and at proxies in between"
CROWDED = (
    "Socket Mode: Slack gives an app 10 connections, and all of them are taken: run at most five bots of one app. This one "
    "connects as soon as there is room"
)


class Connection(SocketModeClient):
    """One connection. It knows which envelopes it still has to answer, and does not connect again at once when Slack refuses."""

    def __init__(self, app_token: str, web_client: AsyncWebClient, deliver: Deliver) -> None:
        super().__init__(
            app_token=app_token,
            web_client=web_client,
            ping_interval=10,
            # Only after Slack's greeting. A refused connection tries again when `Sockets` says so.
            auto_reconnect_enabled=False,
        )
        self._deliver = deliver
        self._handling = 0
        self._greeted = asyncio.Event()
        self.refused = ""
        """Why Slack has closed it in place of a greeting."""

    async def process_message(self) -> None:
        """Start to handle what was received next."""
        raw = await self.message_queue.get()
        message = orjson.loads(raw) if raw and raw.startswith("{") else {}
        # The task of Slack's own client could be collected as garbage before it ends.
        in_background(
            self.run_message_listeners(message, raw),
            expected=(AgentAdapterError, OSError, aiohttp.ClientError),
        )

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Handle what Slack sends."""
        if "envelope_id" in message:
            await self._answer(message["envelope_id"], message["payload"])
            return
        if message.get("type") == "hello":
            self.auto_reconnect_enabled = True
            self._greeted.set()
        if message.get("type") == "disconnect" and message.get("reason") == "too_many_websockets":
            self.auto_reconnect_enabled, self.refused = False, CROWDED
            await self.disconnect()  # type: ignore[no-untyped-call]  # as Slack ships it
            self._greeted.set()
            return
        await super().run_message_listeners(message, raw_message)

    async def _answer(self, envelope_id: str, payload: dict[str, Any]) -> None:
        self._handling += 1
        try:
            status, answer = await self._deliver(payload)
            if status == 200:
                said = {"envelope_id": envelope_id, **({} if answer is None else {"payload": answer})}
                await self.send_message(orjson.dumps(said).decode())
        finally:
            self._handling -= 1

    @property
    def is_busy(self) -> bool:
        """Whether an envelope still waits for its answer."""
        return bool(self._handling) or not self.message_queue.empty()

    async def has_ended(self) -> bool:
        """Whether it is closed and does not connect again."""
        # If connecting again fails, it ends within seconds.
        will_come_back = self.auto_reconnect_enabled or self.connect_operation_lock.locked()
        return not will_come_back and not await self.is_connected()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:  # noqa: FBT001, FBT002  # as Slack's
        """Connect again, or end if that fails: `Sockets` then opens another connection. Calls meanwhile wait for the first one.

        Slack's own client stops waiting for its lock after 5 seconds and opens a second connection. One of the two
        connections is then read by nobody, and the clicks that it gets are lost.
        """
        session = self.current_session
        async with self.connect_operation_lock:
            is_done = session is not self.current_session or (not force and await self.is_connected())
            if self.closed or is_done:
                return
            if reason := await _failure(self._dial()):
                logger.warning("socket.not_reconnected", extra={"reason": reason})
                await self.close()  # type: ignore[no-untyped-call]  # as Slack ships it

    async def open(self) -> None:
        """Connect, and wait for Slack's greeting."""
        async with asyncio.timeout(CONNECT_WITHIN):
            await self._dial()
            await self._greeted.wait()

    async def _dial(self) -> None:
        """Connect to a new address."""
        # Left alone, the client repeats every failure without end and reports nothing.
        async with asyncio.timeout(ADDRESS_WITHIN):
            self.wss_uri = await self.issue_new_wss_url()
        async with asyncio.timeout(CONNECT_WITHIN):
            await self.connect()  # type: ignore[no-untyped-call]  # as Slack ships it


class Sockets:
    """The connections of one process."""

    def __init__(self, app_token: str, web_client: AsyncWebClient, deliver: Deliver) -> None:
        self._app_token = app_token
        self._web_client = web_client
        self._deliver = deliver
        self._open: list[Connection] = []

    async def connect(self) -> str | None:
        """Open the connections that are not open yet. Returns what prevents that, or `None` when clicks can arrive."""
        # Connections that will not come back by themselves, such as those that Slack refused.
        gone = [each for each in self._open if await each.has_ended()]
        await _close(gone)
        self._open = [each for each in self._open if each not in gone]
        while len(self._open) < CONNECTIONS:
            connection = Connection(self._app_token, self._web_client, self._deliver)
            if reason := await _failure(connection.open()) or connection.refused:
                await _close([connection])
                return None if await self.is_connected() and reason == CROWDED else reason
            self._open.append(connection)
        return None if await self.is_connected() else "Socket Mode: no connection is open"

    async def is_connected(self) -> bool:
        """Whether clicks can arrive: one connection is enough."""
        return any([await connection.is_connected() for connection in self._open])

    async def close(self) -> None:
        """Answer the clicks that are here, and receive no more."""
        await _close(self._open)


async def _failure(attempt: Coroutine[Any, Any, None]) -> str | None:
    """Try to connect. Returns what prevents it."""
    try:
        await attempt
    except SlackApiError as error:
        code = error.response.get("error")
        cure = ": check SLACK_APP_TOKEN" if code in WORKSPACE_FAULTS else ""
        return f"Socket Mode: {code}{cure}" if code else UNREADABLE
    except (AttributeError, TypeError):
        # slack_sdk 3.47 raises these for plain text or broken JSON instead of an answer.
        return UNREADABLE
    except (TimeoutError, OSError, aiohttp.ClientError) as error:
        return f"Socket Mode: {str(error) or type(error).__name__}"
    return None


async def _close(connections: Sequence[Connection]) -> None:
    """Close connections, once the clicks that are here are answered."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_WITHIN):
            while any(connection.is_busy for connection in connections):  # noqa: ASYNC110  # nobody is told
                await asyncio.sleep(0.01)
    for connection in connections:
        await connection.close()  # type: ignore[no-untyped-call]  # as Slack ships it
