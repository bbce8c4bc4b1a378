"""Socket Mode: two connections, since Slack's client closes one before it opens the next."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.slack_client import WORKSPACE_FAULTS

logger = logging.getLogger(__name__)

CONNECTIONS = 2
CONNECT_WITHIN = 10.0
"""Seconds for one connection to open."""
ANSWER_WITHIN = 3.0
"""Seconds that Slack waits for an answer."""
UNREADABLE = "Socket Mode: what answers apps.connections.open is not Slack: look at SLACK_API_URL, and at proxies in between"
MOST_CONNECTIONS = 10
"""Slack hands each click to one of at most ten connections of an app."""


class Connection(AsyncSocketModeHandler):
    """One connection, which knows what it still has to acknowledge."""

    handling = 0

    async def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]  # as Bolt
        """Handle one envelope and answer it."""
        self.handling += 1
        try:
            await super().handle(client, req)
        finally:
            self.handling -= 1


class Sockets:
    """The connections of one process."""

    def __init__(self, bolt: AsyncApp, app_token: str) -> None:
        self._handlers = [Connection(bolt, app_token) for _ in range(CONNECTIONS)]
        self._open: list[Connection] = []

    async def connect(self) -> str | None:
        """Open the connections that are not open yet; say what keeps them closed, `None` when all are open."""
        for handler in self._handlers[len(self._open) :]:
            client = handler.client
            try:
                async with asyncio.timeout(CONNECT_WITHIN):
                    # Asked by itself, the client repeats whatever goes wrong for ever and tells nobody.
                    client.wss_uri = await client.issue_new_wss_url()
                    await client.connect()  # type: ignore[no-untyped-call]  # as Slack ships it
            except SlackApiError as error:
                code = error.response.get("error")
                cure = ": check SLACK_APP_TOKEN" if code in WORKSPACE_FAULTS else ""
                return f"Socket Mode: {code}{cure}" if code else UNREADABLE
            except (AttributeError, TypeError):
                # How slack_sdk 3.47 meets plain text, and broken JSON, in place of an answer.
                return UNREADABLE
            except (TimeoutError, OSError, aiohttp.ClientError) as error:
                return f"Socket Mode: {error or type(error).__name__}"
            client.message_listeners.append(_watch_hello)
            self._open.append(handler)
        return None if await self.is_connected() else "Socket Mode: no connection is open"

    async def is_connected(self) -> bool:
        """Whether clicks can arrive: one connection is enough."""
        return any([await handler.client.is_connected() for handler in self._open])

    async def close(self) -> None:
        """Take no more clicks, once those that are here are answered."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_WITHIN):
                while any(handler.handling for handler in self._open):  # noqa: ASYNC110  # Bolt tells nobody
                    await asyncio.sleep(0.01)
        for handler in self._handlers:
            await handler.close_async()  # type: ignore[no-untyped-call]  # as Bolt ships it


async def _watch_hello(_client: Any, message: Mapping[str, Any], _raw: str | None) -> None:
    connections = message.get("num_connections")
    if isinstance(connections, int) and connections >= MOST_CONNECTIONS:
        # Ghosts of broken connections take clicks and lose them (python-slack-sdk issue 1940).
        logger.error("socket.crowded", extra={"connections": connections})
