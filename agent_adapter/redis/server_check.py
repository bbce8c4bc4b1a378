"""Which Redis servers can keep approvals, and what each refusal of a server means."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.sentinel import MasterNotFoundError
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterCrossSlotError,
    ClusterDownError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from agent_adapter.errors import (
    AgentAdapterError,
    ServerFailedError,
    ServerRefusesError,
    ServerUnreachableError,
    ServerUnsuitableError,
)
from agent_adapter.redis.address import is_cluster

_OF_SEVERAL = ("redis+", "rediss+")
"""How addresses of Sentinels and of a cluster begin."""
MINIMUM_VERSION = (6, 2)
CLUSTER = "is a node of a Redis Cluster: write redis+cluster://host1:6379,host2:6379, with some of its nodes"
NO_CLUSTER = "is not a node of a Redis Cluster: write redis:// before the host instead of redis+cluster://"
REPLICA = (
    "is a replica, and replicas take no writes: use the address of the primary. After a failover, a name or an address "
    "that follows the primary saves you this step"
)

FOR_NOW = {
    "LOADING": "is still loading its data: wait until it has",
    "OOM": (
        "has reached its maxmemory and takes nothing new: raise maxmemory, and give it no other data to keep. "
        "Leave maxmemory-policy at noeviction"
    ),
    "READONLY": REPLICA,
    "MASTERDOWN": "is a replica that has lost its primary: use the address of the primary",
    "NOREPLICAS": (
        "takes no writes, because fewer replicas follow it than min-replicas-to-write asks for. Right after a failover "
        "they follow by themselves. If it stays so, bring the replicas back, or lower min-replicas-to-write"
    ),
    "MISCONF": "takes no writes, because it cannot write to its own disk: its log says why",
    "UNBLOCKED": "handed over to another server while somebody waited there: the next attempt finds it",
    "BUSY": "is busy with a script of somebody else, and answers nobody: SCRIPT KILL ends it",
}
"""Refusals that end by themselves, or as soon as somebody has acted; so try again."""
NO_WRITES = ("OOM", "NOREPLICAS", "MISCONF")
"""Of these, the refusals where reads still work and writes fail until somebody has acted."""
IN_CLUSTER = {
    "CLUSTERDOWN": "does not serve all slots: a primary is down, and no replica has taken over yet",
    **dict.fromkeys(("MOVED", "ASK", "TRYAGAIN"), "is moving these keys to another of its servers"),
}
"""More of them, where the address is one of a cluster."""
FOR_GOOD = {
    "MOVED": CLUSTER,
    "ASK": CLUSTER,
    "CROSSSLOT": CLUSTER,
    "CLUSTERDOWN": CLUSTER,
    "TRYAGAIN": CLUSTER,
    "NOCLUSTER": NO_CLUSTER,
    "NOPERM": (
        "does not allow this user what is needed: connect with the user that `python -m bot acl` made for exactly this "
        "agent, worker, operator or bot; after an upgrade, make the users again"
    ),
    "NOAUTH": "wants a user and a password: put them into the address, redis://user:password@host:6379/0",
    "WRONGPASS": "refuses the user or the password of this address: correct them",
    "NODATABASE": (
        "has no database of the number in the address: write redis://host:6379/0, or raise `databases` in the server's "
        "configuration"
    ),
}
"""Refusals that last until somebody changes the settings."""

_IN_WORDS = (
    ("can't run this command", "NOPERM"),
    ("can't access at least one of the keys", "NOPERM"),
    ("invalid username-password", "WRONGPASS"),
    ("invalid password", "WRONGPASS"),
    ("Authentication required", "NOAUTH"),
    ("with the client already authenticated", "NOAUTH"),
    ("DB index is out of range", "NODATABASE"),
    ("SELECT is not allowed in cluster mode", "MOVED"),
    ("cluster support disabled", "NOCLUSTER"),
    # What a script meets at a key that is still to come, while its slot moves.
    ("access a non local key", "TRYAGAIN"),
)
"""Texts of errors that have no code: errors inside a script, and errors that redis-py rewrites."""
_BY_CLASS: dict[type[RedisError], str] = {
    BusyLoadingError: "LOADING",
    ReadOnlyError: "READONLY",
    OutOfMemoryError: "OOM",
    MasterDownError: "MASTERDOWN",
    NoPermissionError: "NOPERM",
    # MovedError is one of these.
    AskError: "ASK",
    TryAgainError: "TRYAGAIN",
    ClusterDownError: "CLUSTERDOWN",
    ClusterCrossSlotError: "CROSSSLOT",
}
"""Classes that redis-py has for a code, which it takes out of the text."""
_CODE = re.compile(rf"\b({'|'.join([*FOR_NOW, *FOR_GOOD])})\b")


_JUDGED = {
    "redis_version": "its version",
    "aof_enabled": "whether it keeps an append-only file",
    "maxmemory_policy": "what it evicts",
}
"""What is judged of INFO, and is not noticed later in another way."""


@contextmanager
def explaining(address: str) -> Iterator[None]:
    """Turn an error of redis-py in the body into one of ours, with the sentence of `explained`."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise explained(address, error) from error


def explained(address: str, error: Exception) -> AgentAdapterError:
    """Say in one sentence why Redis did not run a command, and what helps.

    Returns:
        A ServerUnreachableError when trying again is right, a ServerRefusesError (a subclass of it) when somebody has
        to change something first, and a ServerFailedError when only this command fails.
    """
    words = str(error) or type(error).__name__
    # redis-py may wrap what was raised while it connected.
    if isinstance(error, MasterNotFoundError) or isinstance(error.__cause__, MasterNotFoundError):
        return ServerUnreachableError(words)
    # redis-py wraps what was raised while it connected, and the pool what a former server answers.
    code = code_of(error) or code_of(error.__cause__)
    if code == "READONLY" and address.startswith(_OF_SEVERAL):
        code = ""
    if is_cluster(address) and code in IN_CLUSTER:
        return ServerUnreachableError(f"Redis at {address} {IN_CLUSTER[code]} ({words})", code=code)
    if code in FOR_GOOD:
        return ServerRefusesError(f"Redis at {address} {FOR_GOOD[code]} ({words})")
    if code in FOR_NOW:
        return ServerUnreachableError(f"Redis at {address} {FOR_NOW[code]} ({words})", code=code)
    if isinstance(error, ResponseError):
        return ServerFailedError(f"Redis at {address} failed at a command ({words}): is the record damaged?")
    asks = "is it running, and is this the right address?"
    if address.startswith(_OF_SEVERAL):
        asks = "a failover may be under way. If it stays so: are the servers running, and is this the right address?"
    return ServerUnreachableError(f"Redis at {address} does not answer ({words}): {asks}")


def code_of(error: BaseException | None) -> str:
    """Return the code of what a server answered; empty where it has none, or nothing was answered."""
    text = str(error)
    for words, code in _IN_WORDS:
        if words in text:
            return code
    for kind, code in _BY_CLASS.items():
        if isinstance(error, kind):
            return code
    if isinstance(error, AuthenticationError):
        return "WRONGPASS"
    found = _CODE.search(text) if isinstance(error, ResponseError) else None
    return found[0] if found else ""


async def check_server(redis: Redis, address: str) -> list[str]:
    """Refuse a Redis that cannot keep approvals; return warnings about a Redis that may lose them."""
    with explaining(address):
        info = await read_info(redis)
    return [*judge_server(info, address), *unsaid(info, address)]


async def read_info(redis: Redis, *sections: str) -> dict[str, Any]:
    """Return what INFO says: nothing where a service does not let its customers ask."""
    try:
        found: dict[str, Any] = await redis.info(*sections)
    except ResponseError as error:
        if not isinstance(error, NoPermissionError) and "unknown command" not in str(error):
            raise
        return {}
    return found


def judge_server(info: dict[str, Any], address: str) -> list[str]:
    """Refuse an unsuitable server by its INFO; return warnings about one that may lose approvals."""
    if refusal := _refusal(info, address):
        raise ServerUnsuitableError(f"Redis at {address} {refusal}")
    warnings = []
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction":
        warnings.append(
            f"Redis at {address} evicts approvals once it is full (maxmemory-policy {policy}): set maxmemory-policy noeviction"
        )
    if not int(info.get("aof_enabled", 1)):
        warnings.append(
            f"Redis at {address} keeps no append-only file: a crash loses approvals; set appendonly yes"
        )
    if _is_plain_and_far(address):
        warnings.append(
            f"Redis at {address} is on another machine, and the connection is not encrypted: use rediss://"
        )
    return warnings


def unsaid(info: dict[str, Any], address: str) -> list[str]:
    """Say what cannot be checked, because the server does not say it. That is no reason to refuse a managed server."""
    missing = [what for field, what in _JUDGED.items() if field not in info]
    if not missing:
        return []
    sentence = (
        f"Redis at {address} does not say {', '.join(missing)}, so this was not checked: look at the settings of your "
        "service. Needed are 6.2 or newer, an append-only file, and maxmemory-policy noeviction"
    )
    return [sentence]


def _is_plain_and_far(address: str) -> bool:
    """Whether passwords and approvals cross a network that is not ours. A name without a dot is a container beside this one."""
    parts = urlsplit(address)
    host = parts.hostname or "localhost"
    try:
        is_near = ip_address(host).is_loopback
    except ValueError:
        is_near = "." not in host or host.endswith(".localhost")
    return parts.scheme in {"redis", "redis+sentinel", "redis+cluster"} and not is_near


def _refusal(info: dict[str, Any], address: str) -> str:
    """Say why a server is unsuitable; empty when it is suitable."""
    mode = info.get("redis_mode")
    if mode == "sentinel":
        return (
            "is a Sentinel, which keeps no data. To have it asked for the primary, write "
            "redis+sentinel://host1:26379,host2:26379/service"
        )
    if (mode == "cluster" or int(info.get("cluster_enabled", 0))) and not is_cluster(address):
        return CLUSTER
    if info.get("role") == "slave":
        return f"{REPLICA} (it follows {info.get('master_host')}:{info.get('master_port')})"
    if (version := version_in(info)) and version < MINIMUM_VERSION:
        return f"is {info['redis_version']}; 6.2 or newer (or Valkey) is needed: upgrade it"
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if int(info.get("maxmemory", 0)) > 0 and policy.startswith("allkeys"):
        return (
            f"evicts pending approvals (maxmemory-policy {policy}): "
            "set maxmemory-policy noeviction, or use a server of its own"
        )
    return ""


def version_in(info: Mapping[str, Any]) -> tuple[int, ...]:
    """Read the first two numbers of a server's version; nothing where it does not say so."""
    return tuple(int(part) for part in re.findall(r"\d+", str(info.get("redis_version", "")))[:2])
