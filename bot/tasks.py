"""Work that goes on after an acknowledgement: kept, logged, and finished before the process ends."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from bot.errors import SlackError

logger = logging.getLogger(__name__)


class Tasks:
    """Holds tasks, since the loop itself does not."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run this in the background."""
        task = asyncio.create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Finish what was started."""
        while self._tasks:
            await asyncio.gather(*self._tasks)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except SlackError as error:
        logger.warning("slack.refused", extra={"reason": str(error)})
    except Exception:
        logger.exception("task.failed")
