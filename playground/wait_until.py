"""Waits for servers that have to agree with each other."""

import contextlib
import time
from collections.abc import Callable

from redis.exceptions import RedisError

from playground.redis_server import RedisServerError

WITHIN = 30.0


def wait_until(condition: Callable[[], bool], otherwise: str, *, within: float = WITHIN) -> None:
    """Ask again and again, also while a server does not answer.

    Args:
        condition: What is asked.
        otherwise: What is said if it never holds.
        within: Seconds that it may take.

    Raises:
        RedisServerError: when it does not hold by then.
    """
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        with contextlib.suppress(RedisError, OSError, KeyError):
            if condition():
                return
        time.sleep(0.05)
    raise RedisServerError(f"{otherwise} after {within:g} seconds")
