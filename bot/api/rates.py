"""How many requests one key may send to one process, and how many may wait there."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bot.api.failures import RefusedError

MAX_WAITING = 500
"""Requests that wait at the same time. Each holds a connection, which is one of the open files that a process may have."""
STRANGERS = ""
"""The name of the bucket that all requests without a valid key share."""


class Rates:
    """A token bucket for each key. It holds the requests of a minute and fills evenly."""

    def __init__(self, per_minute: int) -> None:
        self._most = per_minute
        self._buckets: dict[str, tuple[float, float]] = {}
        self._waiting = 0

    def spend(self, key_id: str) -> None:
        """Take one request from a key's allowance.

        Raises:
            RefusedError: 429, with the seconds until the next one.
        """
        now = time.monotonic()
        left, since = self._buckets.get(key_id, (float(self._most), now))
        left = min(float(self._most), left + (now - since) * self._most / 60)
        if left < 1:
            seconds = math.ceil((1 - left) * 60 / self._most)
            cure = f"go on after {seconds} s, and wait with ?wait=60 rather than ask often"
            raise _limited(f"more than {self._most} requests a minute: {cure}", seconds)
        self._buckets[key_id] = (left - 1, now)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a request that waits.

        Raises:
            RefusedError: 429, when too many do.
        """
        if self._waiting >= MAX_WAITING:
            cure = "ask again without waiting, or ask another bot"
            raise _limited(f"{MAX_WAITING} requests wait at this bot already: {cure}", 1)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1


def _limited(sentence: str, seconds: int) -> RefusedError:
    return RefusedError(429, "rate_limited", sentence, Retry_After=str(seconds))
