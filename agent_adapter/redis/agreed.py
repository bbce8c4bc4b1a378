"""What the bots of a namespace tell each process that connects: for how long it keeps its writes, and which servers are settled.

A new process does not know whether a failover has happened just before. A bot that has been connected to a server for long
enough knows, and notes its identity in the namespace. A failover or a restart begins a new identity.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys

KEPT = "reassert"
SETTLED = "settled:"


@dataclass(frozen=True, slots=True)
class Agreed:
    """What bots have noted in a namespace."""

    kept: float
    """For how many seconds agents keep what they write, unless they are told otherwise."""
    settled: frozenset[str]
    """The identities of servers on which nothing is written again any more."""

    def is_settled(self, servers: Iterable[str]) -> bool:
        """Whether these are the servers that answer, and nothing is written again there any more."""
        known = set(servers)
        return bool(known) and known <= self.settled


async def read_agreed(redis: Redis, keys: Keys) -> Agreed:
    """Read it.

    Raises:
        RedisError: when Redis does not answer.
    """
    stored: Any = await redis.hgetall(keys.meta)
    settled = (name.removeprefix(SETTLED) for name in stored if name.startswith(SETTLED))
    return Agreed(float(stored.get(KEPT) or 0), frozenset(settled))


async def note_kept(redis: Redis, keys: Keys, seconds: float) -> None:
    """Tell agents for how many seconds to keep what they write.

    Raises:
        RedisError: when Redis does not answer.
    """
    known = (await read_agreed(redis, keys)).kept
    if seconds and seconds != known:
        await redis.hset(keys.meta, KEPT, f"{seconds:g}")
    elif known and not seconds:
        await redis.hdel(keys.meta, KEPT)


async def note_settled(redis: Redis, keys: Keys, servers: Iterable[str]) -> None:
    """Note that nothing is written again any more on these servers, and forget those from before.

    Raises:
        RedisError: when Redis does not answer.
    """
    known = (await read_agreed(redis, keys)).settled
    for server in set(servers) - known:
        await redis.hset(keys.meta, f"{SETTLED}{server}", "1")
    if gone := [f"{SETTLED}{server}" for server in known.difference(servers)]:
        await redis.hdel(keys.meta, *gone)
