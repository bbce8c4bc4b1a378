"""A message of ours that stands, or may come, beside the one that another process has posted in its place."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent_adapter.errors import ServerUnreachableError
from bot.domain.errors import InterruptFaultError, SlackBusyError, SlackError

logger = logging.getLogger(__name__)

LOOKS = 10
GONE = "message_not_found"
"""What Slack says when another process has deleted it."""


@dataclass(frozen=True, slots=True)
class Second:
    """Such a message, and how to get rid of it."""

    ts: str
    """Its `ts`; empty when Slack did not tell us whether it took it."""
    kept: Callable[[], Awaitable[str]]
    """Reads which message is kept in its place; empty while there is none."""
    find: Callable[[str], Awaitable[str | None]]
    """Looks in Slack for a message like it, other than the one that is kept."""
    delete: Callable[[str], Awaitable[object]]
    note: Callable[[], Awaitable[bool]]
    """Notes that it may be there. The next process that posts looks for it first. False while another one may be posting."""


async def remove_second(second: Second, *, every: float, name: str) -> None:
    """Delete it. One that may still come is looked for until it has come, or until no call of before can be under way.

    Args:
        second: The message.
        every: Seconds between two looks. Within that time a call to Slack has ended.
        name: What it is, for the log.
    """
    pause = 0.0 if second.ts else every
    try:
        for _ in range(LOOKS):
            await asyncio.sleep(pause)
            pause = every
            try:
                if await _is_removed(second):
                    return
            except (SlackError, ServerUnreachableError) as error:
                logger.info("card.second_not_found", extra={"card": name, "reason": str(error)})
                if isinstance(error, SlackBusyError):
                    pause = max(every, error.retry_after)
    except asyncio.CancelledError:
        logger.warning("card.second_may_stand", extra={"card": name})
        raise
    logger.warning("card.second_may_stand", extra={"card": name})


async def _is_removed(second: Second) -> bool:
    known = await second.kept()
    if not known:
        return await second.note()
    ts = second.ts or await second.find(known)
    if ts is None or ts == known:
        return True
    if await second.kept() != known:
        return False
    try:
        await second.delete(ts)
    except InterruptFaultError as error:
        if error.code != GONE:
            raise
    # Where nobody told us, there may be another one.
    return bool(second.ts)
