"""Which Redis the tests run on: `ASSENT_TESTS_ON` is `server`, `sentinel` or `cluster`.

- `server`, where nothing is said: one server.
- `sentinel`: a primary and two replicas behind three Sentinels.
- `cluster`: three primaries with a replica each.
"""

import os
from typing import Any, Literal, TypeAlias, get_args

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.backoff import ConstantBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.address import Address, is_cluster
from agent_adapter.redis.pool import open_redis
from playground.clusters import Cluster
from playground.sentinels import Sentinels

Topology: TypeAlias = Literal["server", "sentinel", "cluster"]

ON = os.environ.get("ASSENT_TESTS_ON") or "server"
if ON not in get_args(Topology):
    raise ValueError(f"ASSENT_TESTS_ON is {ON!r}: write one of {', '.join(get_args(Topology))}")
KEYS = Keys("assent")
"""The names of keys as the bots of these tests have them."""
_TESTERS: dict[str, str] = {}
"""By the address of a server that lets nobody in without a user: the same with the user of the tests."""


def close_to_strangers(url: str) -> None:
    """Let nobody into a server without a user. The tests themselves keep one that may do everything."""
    with Redis.from_url(url) as redis:
        redis.execute_command("ACL", "SETUSER", "tests", "on", ">secret", "~*", "&*", "+@all")
        redis.execute_command("ACL", "SETUSER", "default", "off")
    _TESTERS[url] = url.replace("://", "://tests:secret@")


def as_tester(url: str) -> str:
    """Give the address of somebody who may do everything, to look, to break things, and to make users."""
    return _TESTERS.get(url, url)


def opened(url: str) -> AsyncRedis:
    """Give a connection of the bot's kind, but of somebody who may do everything."""
    return open_redis(as_tester(url))


async def scanned(redis: AsyncRedis, pattern: str) -> list[str]:
    """Give the names of the keys that are like this."""
    return [key async for key in redis.scan_iter(pattern)]


def connected(url: str, **options: Any) -> Any:
    """Give a connection of somebody who may do everything."""
    address = Address.of(url)
    if address.kind == "cluster":
        host, port = address.hosts[0]
        return RedisCluster(host=host, port=port, **options)
    if address.kind == "sentinel":
        # The test before may have ended with a failover.
        patient = Retry(ConstantBackoff(0.2), 100)
        return Sentinel(address.hosts).master_for(address.service, retry=patient, **options)
    return Redis.from_url(as_tester(url), **options)


def each_primary(url: str, **options: Any) -> list[Redis]:
    """Give connections of such a person to all servers that take writes."""
    if not is_cluster(url):
        return [connected(url, **options)]
    with connected(url) as cluster:
        return [Redis(host=node.host, port=node.port, **options) for node in cluster.get_primaries()]


def hand_over(service: Sentinels | Cluster) -> None:
    """Have another server take over from the one with the records of `billing`, in order."""
    match service:
        case Sentinels():
            service.fail_over()
        case Cluster():
            service.fail_over(service.primary_of(KEYS.audit))


def kill_primary(service: Sentinels | Cluster) -> None:
    """Kill the server with the records of `billing`, wait until another one has taken over, and bring it back."""
    match service:
        case Sentinels():
            service.bring_back(service.kill_primary())
        case Cluster():
            service.replicate()
            killed = service.primary_of(KEYS.audit)
            service.kill(killed)
            service.bring_back(killed)
