"""The stream of changes of the workspace, for everybody who watches it."""

import asyncio
from typing import Any

BACKLOG = 10_000
"""Changes a slow watcher may lag behind before it is cut off."""


class Feed:
    """Fan-out of changes; costs nothing while nobody watches."""

    def __init__(self) -> None:
        self._watchers: set[asyncio.Queue[dict[str, Any] | None]] = set()

    @property
    def watched(self) -> bool:
        """Whether anybody is listening."""
        return bool(self._watchers)

    def publish(self, change: dict[str, Any]) -> None:
        """Hand a change to every watcher; one that lags too far behind is cut off."""
        for watcher in tuple(self._watchers):
            if watcher.qsize() >= BACKLOG:
                self.leave(watcher)
            else:
                watcher.put_nowait(change)

    def join(self) -> asyncio.Queue[dict[str, Any] | None]:
        """Watch from now on; `None` in the queue says that the feed has ended."""
        watcher: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._watchers.add(watcher)
        return watcher

    def leave(self, watcher: asyncio.Queue[dict[str, Any] | None]) -> None:
        """Stop watching."""
        self._watchers.discard(watcher)
        watcher.put_nowait(None)

    def close(self) -> None:
        """End every stream."""
        for watcher in tuple(self._watchers):
            self.leave(watcher)
