"""A message that was posted after the lease for it had ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from agent_adapter.errors import ServerUnreachableError
from bot.domain.errors import InterruptFaultError, SlackError
from bot.slack.client import SlackClient

logger = logging.getLogger(__name__)

LOOKS = 10


async def remove_if_orphan(
    slack: SlackClient, channel: str, ts: str, *, kept: Callable[[], Awaitable[str]], lease: int
) -> None:
    """Delete our message if another one is kept in its place.

    Args:
        slack: Where it is.
        channel: Its channel.
        ts: Our message.
        kept: Reads which message is kept; empty while there is none.
        lease: Milliseconds for which another process may still be posting.
    """
    for _ in range(LOOKS):
        if found := await kept():
            if found != ts:
                # `remove_second` of another process may have deleted it.
                with suppress(InterruptFaultError):
                    await slack.delete_message(channel, ts)
            return
        # The process that took over may still be posting. If it dies, the next one finds our message or its message.
        await asyncio.sleep(lease / 1000 / LOOKS)


@dataclass(frozen=True, slots=True)
class Second:
    """A message of ours that may come after another process has posted. Nobody has told us its `ts`."""

    find: Callable[..., Awaitable[str | None]]
    """Looks in Slack for it: a message like it, other than the one given as `besides`."""
    kept: Callable[[], Awaitable[str]]
    """Reads which message is kept in its place; empty while there is none."""
    delete: Callable[[str], Awaitable[object]]
    note: Callable[[], Awaitable[bool]]
    """Notes that it may be there. The next process that posts looks for it first. False while another one may be posting."""
    is_in_doubt: Callable[[], bool]
    """Whether Redis may have lost which message is kept."""


async def remove_second(second: Second, *, lease: int, name: str) -> None:
    """Delete it once it has come.

    Args:
        second: The message.
        lease: Milliseconds for which it may still come.
        name: What it is, for the log.
    """
    for _ in range(LOOKS):
        await asyncio.sleep(lease / 1000)
        if second.is_in_doubt():
            break
        try:
            if await _is_removed(second):
                return
        except (SlackError, ServerUnreachableError) as error:
            logger.info("card.second_not_found", extra={"card": name, "reason": str(error)})
    logger.warning("card.second_may_stand", extra={"card": name})


async def _is_removed(second: Second) -> bool:
    known = await second.kept()
    if not known:
        return await second.note()
    ts = await second.find(besides=known)
    if ts is None:
        return True
    if await second.kept() == known:
        await second.delete(ts)
    # There may be another one.
    return False
