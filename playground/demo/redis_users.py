"""Users of Redis as `python -m bot acl` makes them, on a server of our own."""

import contextlib
import functools
import re
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from agent_adapter.contract.access import Role, rules_of
from agent_adapter.contract.keys import Keys
from agent_adapter.redis.address import Address

OLDEST = (7, 0)
"""Before it, Redis has no rights to read alone."""
_PASSWORD = "secret"  # noqa: S105  # of a server that nobody else uses


@functools.cache
def has_users(url: str) -> bool:
    """Whether this server knows such users."""
    with Redis.from_url(_servers(url)[0]) as redis:
        version = str(redis.info("server")["redis_version"])
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= OLDEST


def as_user(url: str, role: Role, agent: str = "", *, namespace: str = "assent") -> str:
    """Make the user on each server, and give the address with its password in place of any other user's."""
    name = "-".join(filter(None, (namespace, role, agent)))
    keys = Keys(namespace)
    for server in _servers(url):
        with Redis.from_url(server) as redis:
            redis.execute_command("ACL", "SETUSER", name, "on", f">{_PASSWORD}", *rules_of(role, keys, agent))
            # A server without a file for users does not keep them.
            with contextlib.suppress(ResponseError):
                redis.execute_command("ACL", "SAVE")
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{name}:{_PASSWORD}@{rest.rpartition('@')[2]}"


def _servers(url: str) -> list[str]:
    """Give the address of each server: neither replicas nor the other nodes of a cluster get users from another server."""
    address = Address.of(url)
    if address.kind == "cluster":
        return [f"redis://{host}:{port}" for host, port in address.hosts]
    return _behind(address) if address.kind == "sentinel" else [url]


def _behind(sentinels: Address) -> list[str]:
    host, port = sentinels.hosts[0]
    with Redis(host=host, port=port, decode_responses=True) as sentinel:
        found: list[Any] = [
            sentinel.sentinel_master(sentinels.service),
            *sentinel.sentinel_slaves(sentinels.service),
        ]
    return [f"redis://{each['ip']}:{each['port']}" for each in found]
