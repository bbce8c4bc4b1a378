"""Requests that wait for people, and end at once when the process does."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent_adapter.background import in_background

_T = TypeVar("_T")


class Waits:
    """What is waited for by somebody who can ask again."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ended = False

    def start(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        """Begin waiting. The task is cancelled when everything ends."""
        task = in_background(work, name="waiting")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._ended:
            task.cancel()
        return task

    async def within(self, work: Coroutine[Any, Any, object], seconds: float) -> None:
        """Wait for this, at most so long. Its errors are raised; its result is read elsewhere."""
        task = self.start(work)
        try:
            await asyncio.wait({task}, timeout=seconds)
            if task.done() and not task.cancelled():
                task.result()
        finally:
            task.cancel()

    def end(self) -> None:
        """Let everybody who waits go, and whoever comes later."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
