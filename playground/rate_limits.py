"""Slack's rate limits: a sliding minute for each method, a small burst for posts."""

import math
import time
from collections import deque

PER_MINUTE = {"tier2": 20, "tier3": 50, "tier4": 100, "special": 600}
POSTS_PER_MINUTE = 300
"""`chat.postMessage` in the whole workspace; Slack says "several hundred"."""
BURST = 3
"""Posts that one channel takes at once before one a second holds."""


class RateLimits:
    """What was called lately."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = self._at_start = enabled
        self._calls: dict[str, deque[float]] = {}
        self._channels: dict[str, float] = {}

    def take(self, method: str, tier: str, channel: str) -> int:
        """Count one call.

        Returns:
            0 when it may proceed, otherwise the seconds of `Retry-After`.
        """
        if not self.enabled:
            return 0
        now = time.monotonic()
        if tier == "post":
            return self._take_post(channel, now)
        return _whole(self._wait_in_minute(method, PER_MINUTE[tier], now))

    def reset(self) -> None:
        """As at the start."""
        self.enabled = self._at_start
        self.clear()

    def clear(self) -> None:
        """Forget every call."""
        self._calls.clear()
        self._channels.clear()

    def _take_post(self, channel: str, now: float) -> int:
        # The channel's next free second may lie ahead by the burst: a bucket kept as one number.
        free = max(self._channels.get(channel, 0.0), now)
        wait = free - now - (BURST - 1)
        if wait > 0:
            return _whole(wait)
        wait = self._wait_in_minute("chat.postMessage", POSTS_PER_MINUTE, now)
        if wait <= 0:
            self._channels[channel] = free + 1.0
        return _whole(wait)

    def _wait_in_minute(self, key: str, most: int, now: float) -> float:
        calls = self._calls.setdefault(key, deque())
        while calls and calls[0] <= now - 60:
            calls.popleft()
        if len(calls) >= most:
            return calls[0] + 60 - now
        calls.append(now)
        return 0.0


def _whole(wait: float) -> int:
    return max(1, math.ceil(wait)) if wait > 0 else 0
