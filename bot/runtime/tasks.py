"""Background work after an acknowledgement. It is logged, and finished before the process ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from agent_adapter.background import in_background
from bot.domain.errors import SlackError


class Tasks:
    """Keeps references to tasks, because asyncio does not."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in the background."""
        task = in_background(work, expected=(SlackError,))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self) -> None:
        """Wait for everything that was started."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
