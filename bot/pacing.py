"""Slack's rate limits, kept by all replicas together: ask for a turn before a call, wait when told to."""

import secrets
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


class Pacing:
    """Gives turns. Nothing sleeps here: who must wait puts its work back and draws the newest state later."""

    def __init__(self, scripts: Scripts, keys: Keys, *, enabled: bool = True) -> None:
        self._scripts = scripts
        self._keys = keys
        self._enabled = enabled

    async def turn_to_post(self, channel: str) -> int:
        """Milliseconds to wait before a post in this channel; 0 means go, and counts."""
        return await self._turn(self._keys.pace("post", channel), POSTS, urgent=True)

    async def turn_to_edit(self, *, urgent: bool) -> int:
        """Milliseconds to wait before an edit; 0 means go, and counts. Urgent edits go before the others."""
        return await self._turn(self._keys.pace("edit"), EDITS, urgent=urgent)

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
                [key, f"{key}:held", f"{key}:urgent", f"{key}:queue"],
                [limit.calls, limit.window, int(urgent), secrets.token_hex(6), int(limit is POSTS)],
            )
        )

    async def _hold(self, key: str, seconds: float) -> None:
        await self._scripts("hold_turns", [f"{key}:held"], [int(seconds * 1000) + 50])
