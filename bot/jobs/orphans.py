"""A message that was posted after the lease for it had ended."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.domain.errors import SlackError
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
                await slack.delete_message(channel, ts)
            return
        # The process that took over may still be posting. If it dies, the next one finds our message or its message.
        await asyncio.sleep(lease / 1000 / LOOKS)


async def remove_second(
    slack: SlackClient,
    channel: str,
    find: Callable[..., Awaitable[str | None]],
    *,
    kept: Callable[[], Awaitable[str]],
    lease: int,
) -> None:
    """Delete our message if it arrives after another process has posted, when nobody has told us its `ts`.

    Args:
        slack: Where it may be.
        channel: Its channel.
        find: Looks in Slack for a message in this place, other than the one given as `besides`.
        kept: Reads which message is kept; empty while there is none.
        lease: Milliseconds for which our message may still arrive.
    """
    await asyncio.sleep(lease / 1000)
    try:
        # Where none is kept, whoever posts next looks for ours first.
        if (known := await kept()) and (ts := await find(besides=known)):
            await slack.delete_message(channel, ts)
    except SlackError as error:
        logger.warning("card.second_may_stand", extra={"channel": channel, "reason": str(error)})
