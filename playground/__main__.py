"""`python -m playground --port N`: the stand-in as a process of its own."""

import argparse
import asyncio
import json
import signal
import sys

from playground.server import Playground


def main() -> None:
    """Serve until a signal; the first line of the output says how to connect, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m playground", description="A strict local Slack.")
    parser.add_argument("--host", default="127.0.0.1", help="127.0.0.1 or localhost")
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument("--events-url", help="deliver by signed HTTP to this address")
    parser.add_argument("--no-limits", action="store_true", help="without Slack's rate limits")
    asked = parser.parse_args()
    try:
        playground = Playground(asked.host, asked.port, asked.events_url, limits=not asked.no_limits)
    except ValueError as error:
        parser.error(str(error))
    try:
        asyncio.run(_serve(playground))
    except (OSError, OverflowError) as error:
        parser.error(f"cannot listen on {asked.host}:{asked.port}: {error}")


async def _serve(playground: Playground) -> None:
    stopping = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    async with playground:
        connect = {
            "url": playground.url,
            "SLACK_API_URL": playground.api_url,
            "SLACK_BOT_TOKEN": playground.bot_token,
            "SLACK_APP_TOKEN": playground.app_token,
            "SLACK_SIGNING_SECRET": playground.signing_secret,
        }
        sys.stdout.write(json.dumps(connect) + "\n")
        sys.stdout.flush()
        await stopping.wait()


if __name__ == "__main__":
    main()
