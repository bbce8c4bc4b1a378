"""The MCP server that the gateway stands before."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import httpx2
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from agent_adapter.background import in_background
from agent_adapter.errors import InvalidRequestError
from agent_adapter.redis.pool import end_task

R = TypeVar("R", bound=types.Result)
TOKEN = "ASSENT_MCP_UPSTREAM_TOKEN"  # noqa: S105  # the name of a setting
_TIMES = httpx2.Timeout(30, read=None)
ANSWERS_WITHIN = 30.0
"""Seconds in which a server says what it is, and gives a page of its tools. A call of a tool may take any time."""
_SESSION_OVER = "Session terminated"
"""What the SDK says when a server over HTTP does not know the session any more."""


class Upstream:
    """A connection to the server, which all clients of the gateway share. After it has ended, the next request opens another."""

    def __init__(self, name: str, target: Sequence[str]) -> None:
        """Prepare it. The target is a URL, or a command with its arguments."""
        self.name = name
        self._target = target
        self._is_url = target[0].startswith(("http://", "https://"))
        if self._is_url and len(target) > 1:
            raise InvalidRequestError(f"{target[1]}: nothing comes after the URL of a server")
        self._client: asyncio.Future[Client] | None = None
        self._owner: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """End the connection."""
        if self._owner:
            await end_task(self._owner)

    async def client(self) -> Client:
        """Return what is connected to it.

        Raises:
            MCPError: when it cannot be reached.
        """
        return await asyncio.shield(self._connection())

    def _connection(self) -> asyncio.Future[Client]:
        if self._client is None:
            self._client = asyncio.get_running_loop().create_future()
            # The SDK ends a connection in the task that opened it, and a failure ends that task.
            self._owner = in_background(self._keep(self._client))
        return self._client

    async def _keep(self, client: asyncio.Future[Client]) -> None:
        """Keep a connection until this task is cancelled, or the connection fails."""
        try:
            async with AsyncExitStack() as stack:
                # Without callbacks, the server cannot ask the gateway's client for anything.
                server = await self._server(stack)
                async with asyncio.timeout(ANSWERS_WITHIN):
                    connected = await stack.enter_async_context(Client(server, cache=None))
                client.set_result(connected)
                await asyncio.Event().wait()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # each transport has errors of its own
            if not client.done():
                said = f"{self.name} cannot be reached: {_first(error) or 'it does not answer'}"
                client.set_exception(MCPError(types.CONNECTION_CLOSED, said))
        finally:
            self._forget(client)

    async def _server(self, stack: AsyncExitStack) -> Any:
        first, *rest = self._target
        if not self._is_url:
            return StdioServerParameters(command=first, args=rest, env=_environment())
        token = os.environ.get(TOKEN)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=_TIMES))
        return streamable_http_client(first, http_client=http)

    def _forget(self, client: asyncio.Future[Client]) -> None:
        if self._client is client and self._owner:
            self._client = None
            self._owner.cancel()

    async def page(self, params: types.PaginatedRequestParams | None = None) -> types.ListToolsResult:
        """Return one page of its tools, as they are."""
        request = types.ListToolsRequest(params=types.PaginatedRequestParams(cursor=params and params.cursor))
        return await self._send(request, types.ListToolsResult)

    async def find(self, name: str) -> types.Tool | None:
        """Return the definition that a tool has now; `None` when there is no such tool."""
        params = types.PaginatedRequestParams()
        while True:
            page = await self.page(params)
            for tool in page.tools:
                if tool.name == name:
                    return tool
            if not page.next_cursor:
                return None
            params = types.PaginatedRequestParams(cursor=page.next_cursor)

    async def call(self, name: str, args: Mapping[str, Any], progress: ProgressFnT) -> types.CallToolResult:
        """Call a tool with these arguments, and nothing else that a client has sent."""
        params = types.CallToolRequestParams(name=name, arguments=dict(args))
        return await self._send(types.CallToolRequest(params=params), types.CallToolResult, progress)

    async def _send(self, request: Any, kind: type[R], progress: ProgressFnT | None = None) -> R:
        """Send a request once. Where the connection ends meanwhile, nobody knows what became of it."""
        client = self._connection()
        session = (await asyncio.shield(client)).session
        try:
            # Not `call_tool`, which would check the result in the client's place.
            within = None if progress else ANSWERS_WITHIN
            return await session.send_request(request, kind, within, progress_callback=progress)
        except MCPError as error:
            if error.code != types.CONNECTION_CLOSED and error.message != _SESSION_OVER:
                raise
            self._forget(client)
            raise MCPError(types.CONNECTION_CLOSED, f"the connection to {self.name} has ended") from error
        except ValidationError as error:
            raise MCPError(
                types.INTERNAL_ERROR, f"{self.name} answered with something that is not a result"
            ) from error


def _first(error: BaseException) -> str:
    """Return what the first error in groups of them says."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else str(error)


def _environment() -> dict[str, str]:
    """Return what the server's process gets. With the address of Redis, it could approve its own calls."""
    return {name: each for name, each in os.environ.items() if not name.startswith(("REDIS_URL", "ASSENT_"))}
