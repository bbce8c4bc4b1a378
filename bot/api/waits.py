"""Requests that wait for people. They end at once when the process ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent_adapter.background import in_background

_T = TypeVar("_T")


class Waits:
    """The waits of clients, which can ask again."""

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
        """Wait for this, at most this long. Its errors are raised. Its result is read elsewhere."""
        task = self.start(work)
        try:
            await asyncio.wait({task}, timeout=seconds)
            if task.done() and not task.cancelled():
                task.result()
        finally:
            task.cancel()

    def end(self) -> None:
        """End all waits, and those that begin later."""
        self._ended = True
        for task in self._tasks:
            task.cancel()
