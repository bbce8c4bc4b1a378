"""A message that was posted after the lease for it had ended."""

import asyncio
from collections.abc import Awaitable, Callable

from bot.slack.client import SlackClient

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
