"""Slack's rate limits, kept by all replicas together: ask for a turn before a call, wait when told to."""

import secrets
import time
from dataclasses import dataclass

from agent_adapter.connection import Scripts
from agent_adapter.contract.keys import Keys


@dataclass(frozen=True, slots=True)
class Limit:
    """So many calls in so many milliseconds."""

    calls: int
    window: int


POSTS = Limit(1, 1_050)
"""`chat.postMessage`: one a second for each channel."""
EDITS = Limit(50, 60_300)
"""`chat.update`: fifty a minute for the workspace. The windows are a little longer than Slack's, whose clock differs."""

ASKING_AT_ONCE = 16
LONGEST_WAIT = 60_000
"""Milliseconds."""


class Pacing:
    """Gives turns. Nothing sleeps here: who must wait puts its work back and draws the newest state later."""

    def __init__(self, scripts: Scripts, keys: Keys, *, enabled: bool = True) -> None:
        self._scripts = scripts
        self._keys = keys
        self._enabled = enabled
        self._edits_closed = 0.0

    async def turn_to_post(self, channel: str) -> int:
        """Milliseconds to wait before a post in this channel; 0 means go, and counts."""
        return await self._turn(self._keys.pace("post", channel), POSTS, urgent=True)

    async def turn_to_edit(self, *, urgent: bool) -> int:
        """Milliseconds to wait before an edit; 0 means go, and counts. Urgent edits go before the others."""
        wait = await self._turn(self._keys.pace("edit"), EDITS, urgent=urgent)
        if urgent and wait:
            self._edits_closed = time.monotonic() + wait / 1000
        return wait

    def edits_closed(self) -> int:
        """Milliseconds for which no edit gets a turn, not even an urgent one, as far as this process knows."""
        return max(0, int((self._edits_closed - time.monotonic()) * 1000))

    async def hold_posts(self, channel: str, seconds: float) -> None:
        """Slack asked for this much quiet in a channel."""
        await self._hold(self._keys.pace("post", channel), seconds)

    async def hold_edits(self, seconds: float) -> None:
        """Slack asked for this much quiet about edits."""
        await self._hold(self._keys.pace("edit"), seconds)

    async def _turn(self, key: str, limit: Limit, *, urgent: bool) -> int:
        if not self._enabled:
            return 0
        return int(
            await self._scripts(
                "take_turn",
                [key, f"{key}:held", f"{key}:urgent"],
                [limit.calls, limit.window, int(urgent), secrets.token_hex(6)],
            )
        )

    async def _hold(self, key: str, seconds: float) -> None:
        await self._scripts("hold_turns", [f"{key}:held"], [int(seconds * 1000) + 50])


class Queue:
    """Who was told to wait, and until when. A change in between alters what is drawn then, not when."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._prune_at = 64

    def remaining(self, name: str) -> int:
        """Milliseconds that this one still has to wait."""
        left = self._until.get(name, 0.0) - time.monotonic()
        if left <= 0:
            self._until.pop(name, None)
        return max(0, int(left * 1000))

    def join(self, name: str, wait: int) -> int:
        """Wait at least so many milliseconds: longer in a long queue, since few of those who ask get the next turn."""
        now = time.monotonic()
        if len(self._until) >= self._prune_at:
            # Another replica may have drawn what was told to wait here.
            self._until = {other: until for other, until in self._until.items() if until > now}
            self._prune_at = max(64, 2 * len(self._until))
        wait = min(wait * max(1, len(self._until) // ASKING_AT_ONCE), LONGEST_WAIT)
        self._until[name] = now + wait / 1000
        return wait
