"""The MCP server that the gateway stands before."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import ProgressFnT
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

TOKEN = "ASSENT_MCP_UPSTREAM_TOKEN"  # noqa: S105  # the name of a setting
_TIMES = httpx2.Timeout(30, read=None)


@dataclass(frozen=True)
class Upstream:
    """A connection to the server. All clients of the gateway share it."""

    name: str
    client: Client

    @classmethod
    @asynccontextmanager
    async def opened(cls, name: str, target: Sequence[str]) -> AsyncIterator["Upstream"]:
        """Connect to a URL, or start a command and connect to it."""
        async with AsyncExitStack() as stack:
            if target[0].startswith(("http://", "https://")):
                token = os.environ.get(TOKEN)
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=_TIMES))
                server: Any = streamable_http_client(target[0], http_client=http)
            else:
                server = StdioServerParameters(command=target[0], args=[*target[1:]], env=_environment())
            # Without callbacks, it cannot ask the gateway's client for anything.
            yield cls(name, await stack.enter_async_context(Client(server, cache=None)))

    async def page(self, params: PaginatedRequestParams | None = None) -> ListToolsResult:
        """Return one page of its tools, as they are."""
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=params and params.cursor))
        return await self.client.session.send_request(request, ListToolsResult)

    async def find(self, name: str) -> Tool | None:
        """Return the definition that a tool has now; `None` when there is no such tool."""
        params = PaginatedRequestParams()
        while True:
            page = await self.page(params)
            for tool in page.tools:
                if tool.name == name:
                    return tool
            if not page.next_cursor:
                return None
            params = PaginatedRequestParams(cursor=page.next_cursor)

    async def call(self, name: str, args: Mapping[str, Any], progress: ProgressFnT) -> CallToolResult:
        """Call a tool with these arguments, and nothing else that a client has sent.

        Raises:
            MCPError: when the server answers with an error, or its connection has ended.
            ValidationError: when what it answers is not a result.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(args)))
        # Not `call_tool`, which would check the result in the client's place.
        return await self.client.session.send_request(request, CallToolResult, progress_callback=progress)


def _environment() -> dict[str, str]:
    """Return what the server's process gets. With the address of Redis, it could approve its own calls."""
    own = {"REDIS_URL"}
    return {
        name: value
        for name, value in os.environ.items()
        if name not in own and not name.startswith("ASSENT_")
    }
