"""Serving the gateway: to one client over standard input and output, or to many over HTTP."""

import secrets

import uvicorn
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.authentication import AuthenticationMiddleware

from agent_adapter.errors import InvalidRequestError
from agent_adapter.mcp.call import Caller
from agent_adapter.mcp.gateway import Gateway, Open
from agent_adapter.mcp.tokens import Tokens

RUN = "Assent-Run"
"""The header that names a run over HTTP."""
SESSION = "Mcp-Session-Id"
PROCESS = secrets.token_hex(16)
"""The run of those who name none and have no session."""
ENDING = 2
"""Seconds in which open requests may be answered when the process ends."""


async def over_stdio(gateway: Gateway) -> None:
    """Serve one client until it closes standard input."""
    server = await _server(gateway)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def over_http(gateway: Gateway, *, address: str, tokens: Tokens) -> None:
    """Serve everybody who has a token, until the process is told to end."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidRequestError(f"--http: {address!r} is not HOST:PORT, as in 127.0.0.1:8800")
    server = await _server(gateway)
    # Behind a proxy, requests name another host. A page of another site has no token.
    any_host = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(transport_security=any_host, token_verifier=tokens)
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(tokens))
    config = uvicorn.Config(
        app, host=host, port=int(port), log_level="warning", timeout_graceful_shutdown=ENDING
    )
    await uvicorn.Server(config).serve()


def one_caller(requested_by: str | None, run: str | None, _: Open) -> Caller:
    """Say who calls over standard input: the person and the run of the options, or else this process."""
    return Caller(requested_by, run or PROCESS, can_return=bool(run))


def caller_by_token(ctx: Open) -> Caller:
    """Say who calls over HTTP: whose token it is, in the run of the header, the session, or else this process."""
    request = ctx.request
    assert request is not None
    named = request.headers.get(RUN)
    run = named or request.headers.get(SESSION) or PROCESS
    return Caller(request.user.username, run, can_return=bool(named))


async def _server(gateway: Gateway) -> Server[dict[str, object]]:
    return Server(
        gateway.upstream.name,
        instructions=(await gateway.upstream.client()).instructions,
        on_list_tools=gateway.list_tools,
        on_call_tool=gateway.call_tool,
    )
