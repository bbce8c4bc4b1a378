"""`assent-claude`: `init` puts people before the tool calls of Claude Code, `check` tries to get around them, `hook` asks."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NoReturn

from agent_adapter.asking import Asking, check_asking
from agent_adapter.claude import check, settings
from agent_adapter.claude.call import ToolCall
from agent_adapter.claude.hook import Grants, answer
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.interrupt import Context
from agent_adapter.contract.wire import agent_name
from agent_adapter.errors import AgentAdapterError, InvalidRequestError

REFUSES = 2
"""The only exit code with which Claude Code does not run the call."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="assent-claude", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, about in (
        ("hook", "ask about the call on standard input; Claude Code runs this"),
        ("init", "write the hook into .claude/settings.json of this folder"),
    ):
        command = commands.add_parser(name, help=about)
        command.add_argument(
            "--agent", default="claude-code", help="the agent's name on the cards [claude-code]"
        )
        command.add_argument("--channel", help="the id of the Slack channel; the bot's settings have another")
        command.add_argument("--requested-by", help="the Slack id of the person that Claude works for")
        command.add_argument("--wait", type=int, default=3600, help="seconds that people may take [3600]")
    command = commands.add_parser("check", help="try each way to lose the hook, with the real CLI, offline")
    command.add_argument("--cli", default=check.find_cli(), help="the program of Claude Code [claude]")
    given = parser.parse_args(arguments)
    if given.command == "hook":
        _hook(given)
    try:
        sys.exit(_init(given) if given.command == "init" else check.main(Path.cwd(), given.cli))
    except AgentAdapterError as error:
        sys.exit(f"assent-claude: {error}")


def _hook(given: argparse.Namespace) -> NoReturn:
    """Answer Claude Code. Every error, and the end of this process, refuses the call."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(REFUSES))
    try:
        call = ToolCall.read(sys.stdin.buffer.read())
        grants = Grants.here()
        found = asyncio.run(answer(call, partial(_connect, given.agent), grants, **_asking(given)))
        sys.stdout.buffer.write(encode(found).encode())
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # Claude Code runs the call with any other exit code than 2
        said = "the hook was ended" if isinstance(error, asyncio.CancelledError | SystemExit) else error
        sys.stderr.write(f"Assent: this call does not run: {said or type(error).__name__}\n")
        sys.stderr.flush()
        os._exit(REFUSES)
    # Nothing after the answer can change the exit code.
    os._exit(0)


def _asking(given: argparse.Namespace) -> Asking:
    asking = Asking(
        context=Context(requested_by=given.requested_by), expires_in=timedelta(seconds=given.wait)
    )
    return Asking(**asking, channel=given.channel) if given.channel else asking


def _connect(agent: str) -> ApprovalClient:
    if not (url := os.environ.get("REDIS_URL")):
        raise InvalidRequestError(
            "REDIS_URL is not set, so nobody can be asked: set it where you start claude"
        )
    return ApprovalClient.from_url(
        url,
        agent=agent,
        namespace=os.environ.get("ASSENT_NAMESPACE", "assent"),
        credentials=os.environ.get("ASSENT_REDIS_CREDENTIALS"),
    )


def _init(given: argparse.Namespace) -> int:
    agent_name(given.agent)
    check_asking({**_asking(given)})
    options = ["--agent", given.agent, "--wait", str(given.wait)]
    for name in ("channel", "requested_by"):
        if value := getattr(given, name):
            options += [f"--{name.replace('_', '-')}", value]
    for line in settings.install(Path.cwd(), settings.hook_command(options), given.wait):
        print(line)  # noqa: T201  # this is what the command is for
    return 0


if __name__ == "__main__":
    main()
