"""Whether this process is late itself: then it cannot tell whether others answer in time."""

import asyncio
import time

LATE = 0.25
"""Seconds. A bot whose event loop takes longer for one turn does not get through a click within a second."""


async def blaming(reason: str, due: float | None = None) -> str:
    """Give the reason why Redis did not answer; if this process is late, give that instead.

    `due` is when the time limit ended, by the monotonic clock; left out, now.
    """
    since = time.monotonic() if due is None else due
    await asyncio.sleep(0)
    late = time.monotonic() - since
    itself = f"this process has too much to do: it is {late:.1f} seconds late itself, and Redis may be fine"
    return reason if late < LATE else itself
