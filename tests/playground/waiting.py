"""Waiting for something that the stand-in or the SDK does in its own time."""

import asyncio
from collections.abc import Awaitable, Callable


async def eventually(condition: Callable[[], Awaitable[bool]], within: float = 30.0) -> None:
    """Look every 10 ms until the condition holds."""
    for _ in range(int(within / 0.01)):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"It did not come true within {within} s.")
