"""Background tasks: an error that ends one is always in the log, even if nobody awaits the task."""

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from agent_adapter.errors import AgentAdapterError

logger = logging.getLogger(__name__)
_T = TypeVar("_T")


def in_background(
    work: Coroutine[Any, Any, _T],
    *,
    name: str = "",
    expected: tuple[type[Exception], ...] = (AgentAdapterError,),
    among: set[asyncio.Task[_T]] | None = None,
) -> asyncio.Task[_T]:
    """Start a task, which is one `among` these until it ends.

    The errors that are `expected` are logged with their sentence, others with their traceback.
    """
    task = asyncio.create_task(work, name=name or getattr(work, "__qualname__", None))
    if among is not None:
        among.add(task)
        task.add_done_callback(among.discard)
    task.add_done_callback(partial(_note_end, expected))
    return task


def _note_end(expected: tuple[type[Exception], ...], task: asyncio.Task[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if isinstance(error, expected):
        logger.warning("background.ended", extra={"task": task.get_name(), "reason": str(error)})
    elif error is not None:
        logger.error("background.failed", exc_info=error, extra={"task": task.get_name()})
