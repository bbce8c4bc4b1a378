"""Who may read and write which keys in Redis: the rights of the users that `python -m bot acl` makes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from agent_adapter.contract.keys import Keys, Lane

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
    "undrawn": Rights("", "", "RW"),
    "due": Rights("", "", "RW"),
    "failing": Rights("", "", "RW"),
    "meta": Rights("R", "R", "R"),
    "keys": Rights("", "", "RW"),
    "keys:used": Rights("", "", "RW"),
}
"""Keys that all agents share. Of those that are not here, an operator reads all, and agents and workers none."""

CHANNELS: Mapping[Role, tuple[Literal["wake", "inbox"], ...]] = {
    "agent": ("inbox",),
    "worker": ("inbox",),
    "operator": ("wake",),
}
"""Where messages may be published. A bot may publish and listen everywhere in its namespace."""

_OF_CONNECTIONS = "cluster|slots info ping select"
_OF_SCRIPTS = "eval eval_ro evalsha evalsha_ro"
_OF_AGENTS = (
    "del exists get hdel hexists hget hgetall hincrby hmget hset hsetnx mget pexpire pttl publish set time type "
    "xadd xread xtrim zadd zrange zrangebyscore zrem zrevrange zscore"
)
_OF_BOTS = (
    "hkeys hstrlen hvals incr memory|usage persist renamenx sadd scan smembers srem subscribe unsubscribe xdel xlen "
    "xinfo|stream xrange xrevrange zcard zcount zrank zremrangebyrank zremrangebyscore"
)
_OF_OPERATORS = (
    # Nobody else could tell Redis that the file of users has changed.
    "acl|load exists get hdel hexists hget hgetall hkeys hset memory|usage mget publish scan smembers time type "
    "xinfo|stream xlen xrange xrevrange zadd zcard zrange"
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


def rules_of(role: Role, keys: Keys, agent: str = "", *, old: Keys | None = None) -> list[str]:
    """Return the rules of a user, as `ACL SETUSER` takes them from Redis 7.0 on. They begin from nothing.

    Args:
        role: What the user is for.
        keys: The namespace.
        agent: Whose keys they are, for an agent and a worker.
        old: A namespace that the bots serve as well.
    """
    rules = [
        "resetkeys",
        "resetchannels",
        "clearselectors",
        "-@all",
        *(f"+{name}" for name in COMMANDS[role]),
    ]
    for each in filter(None, (keys, old)):
        rules += [*_key_rules(role, each, agent), *_channel_rules(role, each, agent)]
    return rules


def _key_rules(role: Role, keys: Keys, agent: str) -> Iterator[str]:
    match role:
        case "bot":
            yield from (f"%RW~{pattern}" for pattern in _everything(keys))
        case "operator":
            yield from (f"%R~{pattern}" for pattern in _everything(keys))
            for kind, rights in OF_AGENTS.items():
                if rights.operator == "RW":
                    yield from (f"%RW~{lane.prefix}{kind}:*" for lane in keys.all_lanes())
            yield from _shared_rules(role, keys, keys.all_lanes(), only="RW")
        case _:
            lane = keys.lane_for(agent)
            for kind, rights in OF_AGENTS.items():
                yield f"%{getattr(rights, role)}~{_of_agent(lane, kind, agent)}"
            yield from _shared_rules(role, keys, [lane])


def _shared_rules(role: Role, keys: Keys, lanes: Iterable[Lane], only: Right = "") -> Iterator[str]:
    outside = {"meta": keys.meta, "keys": keys.api_keys, "keys:used": keys.api_keys_used}
    for kind, rights in OF_ALL.items():
        right = getattr(rights, role)
        if right and (not only or right == only):
            names = [outside[kind]] if kind in outside else [lane.prefix + kind for lane in lanes]
            yield from (f"%{right}~{name}" for name in names)


def _channel_rules(role: Role, keys: Keys, agent: str) -> Iterator[str]:
    if role == "bot":
        yield f"&{keys.namespace}:{{*"
        return
    lanes = keys.all_lanes() if role == "operator" else [keys.lane_for(agent)]
    yield from (f"&{lane.channel(name)}" for lane in lanes for name in CHANNELS[role])


def _of_agent(lane: Lane, kind: str, agent: str) -> str:
    return lane.inbox(agent) if kind == "inbox" else f"{lane.prefix}{kind}:{agent}.*"


def _everything(keys: Keys) -> list[str]:
    """Return patterns of all keys of a namespace, and of none whose namespace has a longer name."""
    return [f"{keys.namespace}:{{*", keys.meta, keys.api_keys, keys.api_keys_used]
