"""Shows the demo, or serves its parts for an agent of your own, until it has ended or is interrupted."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import Any

from agent_adapter import AgentAdapterError
from bot.domain.errors import BotError
from bot.runtime.logs import set_up_logging
from playground.demo import own
from playground.demo.stage import on_stage
from playground.demo.terminal import HINT, serve
from playground.demo.tour import EXPECTED, differences, play
from playground.errors import ControlError
from playground.redis_server import RedisServerError, redis_on_a_port

PORT, REDIS_PORT, HTTP_PORT = 8765, 6390, 3000
TOUR_WITHIN = 60.0
INTERRUPTED = 130
"""What a shell reports for Ctrl-C."""


def main() -> int:
    """Run the demo, or with the argument `own` everything but its agent.

    Returns:
        The exit code: 0 when the tour went as it should, or when a person ended what is served.
    """
    set_up_logging("WARNING")
    is_own = "own" in sys.argv[1:]
    show = _for_your_own if is_own else _at_terminal if sys.stdin.isatty() else _tour
    try:
        # A tour that was interrupted has not come to its end. The others end so, and `make` reports any code but 0.
        return asyncio.run(_until_signal(show(), interrupted=INTERRUPTED if show is _tour else 0))
    except* (AgentAdapterError, BotError, ControlError, RedisServerError, OSError, ValueError) as errors:
        for error in errors.exceptions:
            sys.stderr.write(f"{'The playground did not start' if is_own else 'The demo failed'}: {error}\n")
    return 1


async def _at_terminal() -> int:
    async with on_stage(PORT, hint=HINT) as stage:
        await serve(stage, _say)
    return 0


async def _for_your_own() -> int:
    with redis_on_a_port(REDIS_PORT) as redis_url:
        lines, redis = own.lines(redis_url), nullcontext(redis_url)
        async with on_stage(
            PORT, redis=redis, namespace="assent", http_port=HTTP_PORT, own_keys_count=True, lines=lines
        ) as stage:
            http_url = f"http://127.0.0.1:{stage.bot.http.port}"
            with own.environment(stage.bot.settings, http_url) as environment:
                said = {"url": stage.url, "redis_url": redis_url, "http_url": http_url, "lines": lines}
                _say(own.WELCOME.format(**said, environment=environment))
                await asyncio.Event().wait()
    return 0


async def _tour() -> int:
    try:
        async with asyncio.timeout(TOUR_WITHIN) as limit, on_stage() as stage:
            report = await play(stage, _say)
    except TimeoutError as error:
        if limit.expired():
            raise TimeoutError(f"the tour did not end within {TOUR_WITHIN:g} seconds") from error
        raise
    if found := differences(EXPECTED, report):
        _say("\nThe tour did not go as it should:\n  " + "\n  ".join(found))
        return 1
    _say("\nEverything went as it should.")
    return 0


async def _until_signal(work: Coroutine[Any, Any, int], *, interrupted: int) -> int:
    """Do the work, or end it in order at the first signal."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(name, stop.set)
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    working.cancel()
    try:
        return await working
    except asyncio.CancelledError:
        return interrupted


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
