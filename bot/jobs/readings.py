"""What cards from before the last doubt show in Slack, read 200 messages at once: Slack takes fifty reads a minute."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable

from bot.domain.errors import SlackBusyError, SlackError
from bot.domain.ids import Label
from bot.domain.messages import Shown
from bot.slack.client import Seen, SlackClient

CLOCKS = 60.0
"""Seconds by which the clocks of Slack, Redis and this process may differ."""
AGAIN_AFTER = 10.0
"""Seconds until a channel is read again whose messages Slack did not give."""
_CALLS = 3
"""Another bot may have read its record before the doubt. It then looks, and edits. So many calls later it has ended."""


class Readings:
    """Keeps what was read since the last doubt. What is read while calls are under way is not kept."""

    def __init__(self, slack: SlackClient) -> None:
        self._slack = slack
        self.begin()

    def begin(self) -> None:
        """Forget everything, because there was a doubt."""
        self._until = time.time() + CLOCKS
        self._settles_at = time.monotonic() + _CALLS * self._slack.within
        self._labels: dict[tuple[str, str], tuple[float, Label]] = {}
        self._pages: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._again_at: dict[str, float] = {}

    def label(self, channel: str, ts: str) -> Label | None:
        """Give what a message showed when it was read; `None` when it was not, or is not ours."""
        _, label = self._labels.get((channel, ts), (0.0, None))
        return label

    def forget(self, channel: str, ts: str) -> None:
        """Forget a message that was compared."""
        self._labels.pop((channel, ts), None)

    def note(self, channel: str, seen: Seen) -> bool:
        """Keep what was read; `False` when a call that was under way may have changed it since."""
        if seen.at < self._settles_at:
            return False
        for ts, label in seen.labels.items():
            before, _ = self._labels.get((channel, ts), (0.0, None))
            if float(ts) <= self._until and before <= seen.at:
                self._labels[channel, ts] = seen.at, label
        return True

    async def learn(self, shown: Shown, turn: Callable[[], Awaitable[int]]) -> int:
        """Read what a card in a channel shows, together with those around it, unless it was read.

        Args:
            shown: The card.
            turn: Gives the milliseconds to wait before a history is read; 0 means go.

        Returns:
            Milliseconds to wait; 0 when it was read, or can only be read alone.

        Raises:
            SlackBusyError: when Slack takes no read now.
        """
        if self._is_read(shown):
            return 0
        async with self._locks[shown.channel]:
            if self._is_read(shown):
                return 0
            if wait := await turn():
                return wait
            if time.monotonic() < self._settles_at:
                # Each card is read right before its edit.
                return 0
            await self._read_page(shown)
        return 0

    def _is_read(self, shown: Shown) -> bool:
        is_on_page = any(oldest <= float(shown.ts) <= latest for oldest, latest in self._pages[shown.channel])
        fails = time.monotonic() < self._again_at.get(shown.channel, 0.0)
        return is_on_page or fails or (shown.channel, shown.ts) in self._labels

    async def _read_page(self, shown: Shown) -> None:
        """Read the newest messages from before the doubt. If those are read, read the ones before this card."""
        channel, pages = shown.channel, self._pages[shown.channel]
        latest = float(shown.ts) if pages else self._until
        try:
            seen = await self._slack.look(channel, None, "0", f"{latest:.6f}")
        except SlackBusyError:
            raise
        except SlackError:
            self._again_at[channel] = time.monotonic() + AGAIN_AFTER
            return
        if self.note(channel, seen):
            pages.append((float(seen.oldest), latest))
