"""Work that goes on after an acknowledgement: kept, logged, and finished before the process ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from agent_adapter.background import in_background
from bot.errors import SlackError


class Tasks:
    """Holds tasks, since the loop itself does not."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this in the background."""
        task = in_background(work, expected=(SlackError,))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Finish what was started."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
