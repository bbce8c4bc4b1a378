"""Waits for servers that have to agree with each other."""

import contextlib
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from playground.redis_server import RedisServerError

WITHIN = 90.0
"""Seconds that it may take. A Sentinel that stood still for two seconds does nothing for the next thirty (TILT). Where
servers do not agree at once, they vote again ten seconds later, each time."""


def wait_until(condition: Callable[[], bool], otherwise: str) -> None:
    """Ask again and again, also while a server does not answer.

    Args:
        condition: What is asked.
        otherwise: What is said if it never holds.

    Raises:
        RedisServerError: when it does not hold within `WITHIN`.
    """
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        with contextlib.suppress(RedisError, OSError, KeyError):
            if condition():
                return
        time.sleep(0.05)
    raise RedisServerError(f"{otherwise} after {WITHIN:g} seconds")
