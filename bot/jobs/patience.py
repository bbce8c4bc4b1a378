"""Notes in Redis that must not be given up at the first error: others would wait for them until a lease ends."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent_adapter.errors import ServerRefusesError, ServerUnreachableError

_T = TypeVar("_T")

AGAIN_IN = 0.5
"""Seconds between two attempts."""


async def noted_by(until: float, note: Callable[[], Awaitable[_T]]) -> _T:
    """Note something, and try it again while Redis takes no writes.

    Args:
        until: When it is given up, by the monotonic clock.
        note: Safe to repeat.

    Raises:
        ServerUnreachableError: when Redis has not taken it by then.
        ServerRefusesError: at once, because nothing changes by itself.
    """
    while True:
        try:
            return await note()
        except ServerRefusesError:
            raise
        except ServerUnreachableError:
            if time.monotonic() + AGAIN_IN > until:
                raise
        await asyncio.sleep(AGAIN_IN)
