"""Users of Redis as `python -m bot acl` makes them, on a server that runs."""

import contextlib
import functools
import re
from collections.abc import Iterator

from redis import Redis
from redis.exceptions import ResponseError

from agent_adapter.contract.access import Role, rules_of
from agent_adapter.contract.keys import Keys

OLDEST = (7, 0)
"""Before it, Redis has no rights to read alone."""


@functools.cache
def has_users(url: str) -> bool:
    """Whether this server knows such users."""
    with Redis.from_url(url) as redis:
        version = str(redis.info("server")["redis_version"])
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= OLDEST


_under_users = False


@contextlib.contextmanager
def under_users() -> Iterator[None]:
    """Give bots and agents users of their own while the body runs, where the server knows such users."""
    global _under_users  # noqa: PLW0603  # fixtures of all tests and those of one folder share it
    _under_users = True
    try:
        yield
    finally:
        _under_users = False


def address_for(url: str, role: Role, agent: str = "") -> str:
    """Give the address that a bot or an agent uses: with its own user inside of `under_users`."""
    return as_user(url, role, agent) if _under_users and "@" not in url and has_users(url) else url


def as_user(url: str, role: Role, agent: str = "", *, namespace: str = "assent") -> str:
    """Make the user on the server, and give the address with its password."""
    name = "-".join(filter(None, (namespace, role, agent)))
    with Redis.from_url(url) as redis:
        redis.execute_command(
            "ACL", "SETUSER", name, "on", ">secret", *rules_of(role, Keys(namespace), agent)
        )
        # A server without a file for users does not keep them.
        with contextlib.suppress(ResponseError):
            redis.execute_command("ACL", "SAVE")
    return url.replace("://", f"://{name}:secret@")
