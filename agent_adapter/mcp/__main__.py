"""`python -m agent_adapter.mcp gateway` stands before an MCP server: people decide about its tool calls before they run."""

import argparse
import asyncio
import logging
import secrets
import sys
from collections.abc import Sequence
from contextlib import aclosing
from datetime import timedelta
from functools import partial
from pathlib import Path

from agent_adapter.asking import check_asking
from agent_adapter.client import from_environment
from agent_adapter.contract.interrupt import Context
from agent_adapter.contract.names import is_person
from agent_adapter.errors import AgentAdapterError, InvalidRequestError
from agent_adapter.extras import needs

try:
    from mcp import MCPError

    from agent_adapter.mcp.gateway import Gateway, Rules
    from agent_adapter.mcp.serve import caller_by_token, one_caller, over_http, over_stdio
    from agent_adapter.mcp.tokens import Tokens, hashed
    from agent_adapter.mcp.upstream import Upstream
except ImportError as error:
    raise ImportError(needs("The MCP gateway", "mcp", error)) from error


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    given = _parser().parse_args(arguments)
    # Standard output belongs to the protocol.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s")
    try:
        if given.command == "token":
            print("\n".join(_new_token(given.person)))  # noqa: T201  # this is what the command is for
        else:
            asyncio.run(_gateway(given))
    except (AgentAdapterError, MCPError) as error:
        sys.exit(f"agent_adapter.mcp: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agent_adapter.mcp", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    token = commands.add_parser("token", help="make a token for a person, and the line about it for --tokens")
    token.add_argument("person", help="their Slack id")
    gateway = commands.add_parser("gateway", help="stand before a server", allow_abbrev=False)
    add = gateway.add_argument
    add("target", nargs="+", help="its URL, or after -- the command that starts it")
    add("--upstream", required=True, metavar="NAME", help="its name on cards and in the policy")
    add("--agent", default="mcp", help="the name of the agent on cards [mcp]")
    add("--channel", help="the id of the Slack channel; the bot's settings have another")
    add("--requested-by", metavar="ID", help="the Slack id of the person that the client works for")
    add("--run", help="a run id: who starts again with it finds what was asked before")
    add("--wait", type=int, default=3600, help="seconds that people may take [3600]")
    add("--hold", type=float, help="seconds until a call is answered with `still pending`")
    add("--use-within", type=int, default=600, help="seconds that an approval waits for its call [600]")
    add("--allow", action="append", default=[], metavar="TOOL", help="run this tool without a question")
    add("--trust-read-only", action="store_true", help="run what the server calls read-only without one")
    add("--http", metavar="HOST:PORT", help="serve streamable HTTP at /mcp; needs --tokens")
    add("--tokens", type=Path, help="the file that says whose each bearer token is")
    return parser


def _new_token(person: str) -> list[str]:
    if not is_person(person):
        raise InvalidRequestError(f"{person!r} is not the id of a person in Slack, as in U0123ABCD")
    token = f"asm_{secrets.token_urlsafe(32)}"
    return [f"Token, for the client: {token}", f"Line, for --tokens:    {person} {hashed(token)}"]


async def _gateway(given: argparse.Namespace) -> None:
    expires_in = timedelta(seconds=given.wait)
    context = Context(requested_by=given.requested_by)
    check_asking({"channel": given.channel, "expires_in": expires_in, "context": context})
    rules = Rules(
        channel=given.channel,
        expires_in=expires_in,
        allowed=given.allow,
        trusts_read_only=given.trust_read_only,
        hold=given.hold,
        use_within=timedelta(seconds=given.use_within),
    )
    if not (given.hold is None or given.hold > 0) or given.use_within <= 0:
        raise InvalidRequestError("--hold and --use-within: write a number of seconds")
    if bool(given.http) != bool(given.tokens):
        raise InvalidRequestError("--http and --tokens: over HTTP, a token says who calls: pass both or none")
    if given.http and (given.requested_by or given.run):
        raise InvalidRequestError(
            "--requested-by and --run: over HTTP, tokens and the header Assent-Run say it"
        )
    tokens = Tokens.load(given.tokens) if given.tokens else None
    caller_of = caller_by_token if tokens else partial(one_caller, given.requested_by, given.run)
    async with (
        from_environment(given.agent) as approvals,
        aclosing(Upstream(given.upstream, given.target)) as upstream,
        aclosing(Gateway(approvals, upstream, rules, caller_of)) as gateway,
    ):
        await (over_http(gateway, address=given.http, tokens=tokens) if tokens else over_stdio(gateway))


if __name__ == "__main__":
    main()
