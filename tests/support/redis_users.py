"""Bots and agents with users of their own in Redis, for the tests that ask for it."""

import contextlib
from collections.abc import Iterator

from agent_adapter.contract.access import Role
from playground.demo import redis_users
from playground.demo.redis_users import OLDEST
from tests.support.topologies import as_tester

__all__ = ["OLDEST", "address_for", "as_user", "has_users", "under_users"]

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


def has_users(url: str) -> bool:
    """Whether this server knows such users."""
    return redis_users.has_users(as_tester(url))


def as_user(url: str, role: Role, agent: str = "") -> str:
    """Make the user on the server, and give the address with its password."""
    return redis_users.as_user(as_tester(url), role, agent)


def address_for(url: str, role: Role, agent: str = "") -> str:
    """Give the address that a bot or an agent uses: with its own user inside of `under_users`."""
    return as_user(url, role, agent) if _under_users and "@" not in url and has_users(url) else url
