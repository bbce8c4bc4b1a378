"""`assent-claude`: `init` puts people before the tool calls of Claude Code, `check` tries to get around them, `hook` asks."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NoReturn

from agent_adapter.asking import Asking, check_asking
from agent_adapter.claude import check, settings
from agent_adapter.claude.call import ToolCall
from agent_adapter.claude.hook import answer
from agent_adapter.claude.prompt import serve
from agent_adapter.client import from_environment
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.interrupt import Context
from agent_adapter.contract.wire import agent_name
from agent_adapter.errors import AgentAdapterError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="assent-claude", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, about in (
        ("hook", "ask about the call on standard input"),
        ("prompt", "be the MCP server for --permission-prompt-tool mcp__assent__approve"),
        ("init", "write the hook into the settings"),
    ):
        command = commands.add_parser(name, help=about, allow_abbrev=False)
        command.add_argument("--agent", default="claude-code", help="its name on the cards [claude-code]")
        command.add_argument("--channel", help="the id of the Slack channel; the bot's settings have another")
        command.add_argument("--requested-by", help="the Slack id of the person that Claude works for")
        command.add_argument("--wait", type=int, default=3600, help="seconds that people may take [3600]")
    command.add_argument("--user", action="store_true", help="also for everything else that this user starts")
    command = commands.add_parser("check", help="try each way to lose the hook, with the real CLI, offline")
    command.add_argument("--cli", default=check.find_cli(), help="the program of Claude Code [claude]")
    arguments = sys.argv[1:] if arguments is None else arguments
    given = parser.parse_args(arguments, argparse.Namespace(written=arguments[1:]))
    if given.command == "hook":
        _hook(given)
    try:
        if given.command == "prompt":
            return serve(partial(from_environment, given.agent), **_asking(given))
        for line in check.run(Path.cwd(), given.cli) if given.command == "check" else _init(given):
            print(line, flush=True)  # noqa: T201  # this is what the command is for
    except AgentAdapterError as error:
        sys.exit(f"assent-claude: {error}")
    sys.exit(given.command == "check" and line != check.SAFE)


def _hook(given: argparse.Namespace) -> NoReturn:
    """Answer Claude Code. Every error, and the end of this process, refuses the call."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Python ends the task that waits for an answer when it is interrupted. The question is then withdrawn.
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        call = ToolCall.of(decode(sys.stdin.buffer.read()))
        found = asyncio.run(answer(call, partial(from_environment, given.agent), **_asking(given)))
        sys.stdout.buffer.write(encode(found).encode())
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001  # Claude Code runs the call with any other exit code than 2
        said = "the hook was ended" if isinstance(error, KeyboardInterrupt) else error
        with suppress(Exception):
            sys.stderr.write(f"Assent: this call does not run: {said or type(error).__name__}\n")
            sys.stderr.flush()
        os._exit(2)
    # Nothing after the answer can change the exit code.
    os._exit(0)


def _asking(given: argparse.Namespace) -> Asking:
    context, wait = Context(requested_by=given.requested_by), timedelta(seconds=given.wait)
    return Asking(context=context, expires_in=wait, channel=given.channel)


def _init(given: argparse.Namespace) -> list[str]:
    agent_name(given.agent)
    check_asking({**_asking(given)})
    options = [each for each in given.written if each != "--user"]
    return settings.install(Path.cwd(), settings.hook_command(options), given.wait, for_user=given.user)


if __name__ == "__main__":
    main()
