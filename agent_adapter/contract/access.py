"""Who may read and write which keys in Redis: the rights of the users that `python -m bot acl` makes."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from agent_adapter.contract.keys import Keys

Role: TypeAlias = Literal["agent", "worker", "bot", "operator"]
Right: TypeAlias = Literal["", "R", "RW"]


class Rights(NamedTuple):
    """What each role may do with a kind of key. A bot may read and write all of them."""

    agent: Right
    worker: Right
    operator: Right


OF_AGENTS: Mapping[str, Rights] = {
    "req": Rights("RW", "RW", "R"),
    "run": Rights("RW", "RW", "RW"),
    "pause": Rights("RW", "RW", "R"),
    "thread": Rights("RW", "RW", "R"),
    "replies": Rights("RW", "RW", "R"),
    "inbox": Rights("RW", "RW", "R"),
    "card": Rights("R", "R", "R"),
}
"""Keys of one agent: its name begins their last part. An agent has these rights for its own keys only."""

OF_ALL: Mapping[str, Rights] = {
    "bots": Rights("R", "R", "R"),
    "clock": Rights("R", "R", "R"),
    "server": Rights("R", "R", "R"),
    "unresumed": Rights("", "RW", "RW"),
    "meta": Rights("R", "R", "R"),
    "keys": Rights("", "", "RW"),
    "keys:used": Rights("", "", "RW"),
}
"""Keys that all agents share. Of those that are not here, an operator reads all, and agents and workers none."""

_OF_CONNECTIONS = "cluster|slots info ping select"
"""The servers of a Cluster are asked which of them has which keys."""
_OF_SCRIPTS = "eval evalsha"
_OF_AGENTS = (
    "del exists get hdel hexists hget hgetall hmget hset hsetnx mget pexpire pttl publish set time type "
    "xadd xread xtrim zadd zrange zrangebyscore zrem zrevrange zscore"
)
_OF_BOTS = (
    "hkeys hstrlen hvals incr memory|usage persist sadd scan smembers srem subscribe unsubscribe xdel xlen "
    "xrange xrevrange zcard zcount zrank zremrangebyrank zremrangebyscore"
)
_OF_OPERATORS = (
    # Nobody else could tell Redis that the file of users has changed.
    "acl|load exists get hdel hexists hget hgetall hkeys hset memory|usage mget scan smembers time type "
    "xlen xrange xrevrange zadd zcard zrange"
)
COMMANDS: Mapping[Role, tuple[str, ...]] = {
    "agent": (*_OF_CONNECTIONS.split(), *_OF_SCRIPTS.split(), *_OF_AGENTS.split()),
    "worker": (*_OF_CONNECTIONS.split(), *_OF_SCRIPTS.split(), *_OF_AGENTS.split()),
    # Agents that speak HTTP are clients in the bot.
    "bot": (
        *_OF_CONNECTIONS.split(),
        *_OF_SCRIPTS.split(),
        *_OF_AGENTS.split(),
        *_OF_BOTS.split(),
        "wait",
        # WAITAOF. Redis 7.0 does not have it, and refuses a file that names it.
        "@blocking",
    ),
    "operator": (*_OF_CONNECTIONS.split(), *_OF_SCRIPTS.split(), *_OF_OPERATORS.split()),
}


def rules_of(role: Role, keys: Keys, agent: str) -> list[str]:
    """Return the rules of a user of this agent, as `ACL SETUSER` takes them from Redis 7.0 on. They begin from nothing."""
    return [
        "resetkeys",
        "resetchannels",
        "clearselectors",
        "-@all",
        *(f"+{name}" for name in COMMANDS[role]),
        *_rights(role, keys, agent),
    ]


def _rights(role: Role, keys: Keys, agent: str) -> Iterator[str]:
    if role == "bot":
        yield from (f"%RW~{keys.prefix}*", f"&{keys.prefix}*")
        return
    if role == "operator":
        yield f"%R~{keys.prefix}*"
    for kind, rights in (*OF_AGENTS.items(), *OF_ALL.items()):
        whose = "*" if role == "operator" else agent if kind == "inbox" else f"{agent}.*"
        right: Right = getattr(rights, role)
        # An operator may read everything.
        if right and (role != "operator" or right == "RW"):
            yield f"%{right}~{keys.prefix}{kind}" + (f":{whose}" if kind in OF_AGENTS else "")
    if role != "operator":
        yield f"&{keys.channel('inbox')}"
