"""Serving the gateway: to one client over standard input and output, or to many over HTTP."""

import asyncio
import logging
import os
import secrets
from functools import partial
from typing import NoReturn

import uvicorn
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.stdio import stdio_server
from starlette.middleware.authentication import AuthenticationMiddleware

from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient
from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from agent_adapter.mcp.call import Caller
from agent_adapter.mcp.gateway import Gateway, Open, Rules
from agent_adapter.mcp.tokens import Tokens
from agent_adapter.mcp.upstream import Upstream

logger = logging.getLogger(__name__)
RUN = "Assent-Run"
"""The header that names a run over HTTP."""
SESSION = "Mcp-Session-Id"
LOST = "the connection to the server {} has ended, so this gateway ends: start it again"
ENDING = 2
"""Seconds in which open requests may be answered when the gateway ends."""


async def over_stdio(
    approvals: ApprovalClient, upstream: Upstream, rules: Rules, *, requested_by: str | None, run: str | None
) -> None:
    """Serve one client until it closes standard input. Without a run id, this process is the run."""
    caller = Caller(requested_by, run or secrets.token_hex(16), can_return=bool(run))
    gateway = Gateway(approvals, upstream, rules, lambda _: caller)
    gateway.on_lost = lambda: in_background(_give_up(gateway))
    server = _server_of(gateway)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
    await gateway.close()


async def _give_up(gateway: Gateway) -> NoReturn:
    # The client reads first what became of its call.
    await asyncio.sleep(ENDING)
    await gateway.close()
    logger.error(LOST.format(gateway.upstream.name))
    # A thread waits for standard input, and nothing else can end it.
    os._exit(1)


async def over_http(
    approvals: ApprovalClient, upstream: Upstream, rules: Rules, *, address: str, tokens: Tokens
) -> None:
    """Serve everybody who has a token, until the process is told to end."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidRequestError(f"--http: {address!r} is not HOST:PORT, as in 127.0.0.1:8800")
    process = secrets.token_hex(16)
    gateway = Gateway(approvals, upstream, rules, partial(_caller, process))
    app = _server_of(gateway).streamable_http_app(host=host, token_verifier=tokens)
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(tokens))
    config = uvicorn.Config(
        app, host=host, port=int(port), log_level="warning", timeout_graceful_shutdown=ENDING
    )
    serving, lost = uvicorn.Server(config), asyncio.Event()

    def end() -> None:
        lost.set()
        serving.should_exit = True

    gateway.on_lost = end
    await serving.serve()
    await gateway.close()
    if lost.is_set():
        raise AgentAdapterError(LOST.format(upstream.name))


def _caller(process: str, ctx: Open) -> Caller:
    """Say who calls: whose token it is, in the run of the header, the session, or else this process."""
    request = ctx.request
    assert request is not None
    named = request.headers.get(RUN)
    run = named or request.headers.get(SESSION) or process
    return Caller(request.user.username, run, can_return=bool(named))


def _server_of(gateway: Gateway) -> Server[dict[str, object]]:
    return Server(
        gateway.upstream.name,
        instructions=gateway.upstream.client.instructions,
        on_list_tools=gateway.list_tools,
        on_call_tool=gateway.call_tool,
    )
