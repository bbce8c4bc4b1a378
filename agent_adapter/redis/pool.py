"""Connections to Redis with every time limit stated."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import (
    BlockingConnectionPool,
    Connection,
    ConnectionPool,
    Redis,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.exceptions import ConnectionError as RedisConnectionError

from agent_adapter.contract.keys import IN_CLUSTER, Keys
from agent_adapter.errors import InvalidRequestError, ServerUnreachableError, ServerUnsuitableError
from agent_adapter.redis.address import Answering, AtAddress
from agent_adapter.redis.cancellation import cancellations, was_cancelled_since
from agent_adapter.redis.cluster import PASSING, AtAnyServer, AtServer, ClusterAddress, ClusterRedis
from agent_adapter.redis.credentials import Credentials
from agent_adapter.redis.hosts import Host
from agent_adapter.redis.sentinel import AtPrimary, Primary, SentinelAddress
from agent_adapter.redis.server_check import check_keys, explaining

try:
    import hiredis
except ImportError:
    hiredis = None  # type: ignore[assignment]  # it is an extra of redis-py

logger = logging.getLogger(__name__)

SCHEMA = 2
"""Version of the data model in `contract.keys`."""
COMMAND_TIMEOUT = 5.0
"""Seconds until a command counts as unanswered."""
TURN_TIMEOUT = 30.0
"""Seconds that a command waits for a free connection. It is long because many commands do not mean that the server is down."""
CONNECT_TIMEOUT = 3.0
REPEAT_WITHIN = 8.0
"""Seconds after which a command is not tried again. A try that has started may still take its own time-out."""


class _Sending(AbstractConnection):
    """Writes commands with hiredis if it is installed, and turns uvloop's error about a lost connection into redis-py's.

    redis-py does not notice that an idle connection was reset, and writes to it. asyncio's own loop then raises an
    OSError, and redis-py tries again. uvloop raises a RuntimeError, which redis-py does not expect. A connection that is
    closed while it writes is an AttributeError there.

    It also ends in a cancellation that Python 3.11 loses: its `asyncio.wait_for`, in which redis-py writes, ignores one
    that comes in the moment when the write ends.
    """

    async def on_connect_check_health(self, *args: Any, **kwargs: Any) -> None:
        try:
            await super().on_connect_check_health(*args, **kwargs)
        except AuthenticationError as error:
            if self.credential_provider is None:
                raise
            # A new password can be known to the server before the provider has it. So it is asked again.
            raise RedisConnectionError("it refuses what the provider of credentials gave") from error

    def pack_command(self, *args: Any) -> list[bytes]:
        # redis-py reads with hiredis but writes in Python: twelve calls for each of a script's thirty arguments.
        if hiredis is None:
            return super().pack_command(*args)
        try:
            return [hiredis.pack_command((*args[0].split(), *args[1:]))]
        except TypeError:
            # redis-py's own error says what cannot be sent.
            return super().pack_command(*args)

    async def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        if not self.is_connected:
            await self.connect_check_health(check_health=False)
        before = await cancellations()
        try:
            await super().send_packed_command(*args, **kwargs)
        except (RuntimeError, AttributeError) as error:
            if isinstance(error, AttributeError) and self.is_connected:
                raise
            raise RedisConnectionError(f"the connection was lost: {error}") from error
        if was_cancelled_since(before):
            # Nobody will read the answer, so nobody else may get this connection.
            await self.disconnect(nowait=True)
            raise asyncio.CancelledError


class _Tcp(_Sending, AtAddress, Connection):
    pass


class _Tls(_Sending, AtAddress, SSLConnection):
    pass


class _Unix(_Sending, AtAddress, UnixDomainSocketConnection):
    pass


class _TcpAtPrimary(_Sending, AtPrimary):
    pass


class _TlsAtPrimary(_Sending, AtPrimary, SSLConnection):
    pass


class _TcpAtServer(_Sending, AtServer):
    pass


class _TlsAtServer(_Sending, AtServer, SSLConnection):
    pass


class _TcpAtAnyServer(_Sending, AtAnyServer):
    pass


class _TlsAtAnyServer(_Sending, AtAnyServer, SSLConnection):
    pass


_SENDING: dict[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: _Tcp,
    SSLConnection: _Tls,
    UnixDomainSocketConnection: _Unix,
}
_AT_PRIMARY: dict[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: _TcpAtPrimary,
    SSLConnection: _TlsAtPrimary,
}
_AT_SERVER: dict[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: _TcpAtServer,
    SSLConnection: _TlsAtServer,
}
_AT_ANY_SERVER: dict[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: _TcpAtAnyServer,
    SSLConnection: _TlsAtAnyServer,
}


_DATABASE = re.compile(r"(/[0-9]*)?", re.ASCII)

_repeating_until: ContextVar[float | None] = ContextVar("repeating_until", default=None)


class _Patience(Retry):
    """Retries for `REPEAT_WITHIN` seconds at most, and never after a refused password.

    redis-py also retries the connection inside each retry of a command. For a server that accepts connections and never
    answers, that makes 36 attempts of five seconds.
    """

    async def call_with_retry(self, do: Any, fail: Any, **options: Any) -> Any:  # type: ignore[override]  # others in 6.4
        until, failures = _repeating_until.get(), 0
        if until is None:
            until = time.monotonic() + REPEAT_WITHIN
        outer = _repeating_until.set(until)
        try:
            while True:
                try:
                    return await do()
                except self._supported_errors as error:
                    failures += 1
                    await (fail(error, failures) if options.get("with_failure_count") else fail(error))
                    is_final = isinstance(error, AuthenticationError) or failures > self._retries
                    if is_final or time.monotonic() >= until:
                        raise
                    await asyncio.sleep(self._backoff.compute(failures))
        finally:
            _repeating_until.reset(outer)


def open_redis(
    url: str,
    *,
    connections: int = 32,
    retries: int = 5,
    keeps_bytes: bool = False,
    credentials: CredentialProvider | str | None = None,
) -> Redis:
    """Open the pool for commands. Commands are retried: every write through it is an idempotent script.

    Args:
        url: The address of the server.
        connections: How many there are at most.
        retries: How often a command is repeated.
        keeps_bytes: Whether bytes that are not UTF-8 are read with `surrogateescape`. Otherwise they are an error.
        credentials: Gives user and password in place of the address: a provider, or its name as `module:attribute`.

    Raises:
        InvalidRequestError: when there is no such provider, or the address has a user or password, too.
    """
    return _open(
        url,
        BlockingConnectionPool,
        credentials,
        max_connections=connections,
        timeout=TURN_TIMEOUT,
        decode_responses=True,
        encoding_errors="surrogateescape" if keeps_bytes else "strict",
        socket_timeout=COMMAND_TIMEOUT,
        socket_connect_timeout=CONNECT_TIMEOUT,
        health_check_interval=30,
        # redis-py 8 retries nothing on an explicit pool without this.
        retry=_Patience(ExponentialWithJitterBackoff(base=0.05, cap=1), retries),
    )


def open_blocking_redis(
    url: str, *, block: float, credentials: CredentialProvider | str | None = None
) -> Redis:
    """Open the single connection of a loop that blocks in XREAD for `block` seconds. The loop itself retries."""
    return _open(
        url,
        # Only this loop uses the connection, so nobody waits for a free one.
        ConnectionPool,
        credentials,
        max_connections=1,
        decode_responses=True,
        # An entry with bytes that are not UTF-8 must not stop the loop from reading the entries after it.
        encoding_errors="surrogateescape",
        # A socket time-out below BLOCK would cut every quiet wait. No time-out would hang on a dead connection.
        socket_timeout=block + COMMAND_TIMEOUT,
        socket_connect_timeout=CONNECT_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
    )


def _open(
    url: str, kind: type[ConnectionPool], credentials: CredentialProvider | str | None, **options: Any
) -> Redis:
    if cluster := ClusterAddress.of(url):
        return _open_cluster(cluster, kind, credentials, **options)
    sentinels = SentinelAddress.of(url)
    pool = kind.from_url(sentinels.server_url if sentinels else url, **options)
    _authenticate(pool, credentials)
    if sentinels:
        pool.connection_kwargs["primary"] = Primary(sentinels, pool.connection_kwargs)
    else:
        pool.connection_kwargs["answering"] = Answering()
    pool.connection_class = (_AT_PRIMARY if sentinels else _SENDING)[pool.connection_class]
    return Redis.from_pool(pool)


def _open_cluster(
    address: ClusterAddress,
    kind: type[ConnectionPool],
    credentials: CredentialProvider | str | None,
    *,
    retry: Retry,
    **options: Any,
) -> Redis:
    retry.update_supported_errors(PASSING)

    def pool_of(host: Host, on_again: Callable[[], None]) -> ConnectionPool:
        # What one server did not answer may be for another one, so only the client tries again.
        pool = kind.from_url(address.server_url, retry=Retry(NoBackoff(), 0), **options)
        _authenticate(pool, credentials)
        pool.connection_kwargs |= {
            "host": host[0],
            "port": host[1],
            "on_again": on_again,
        }
        pool.connection_class = _AT_SERVER[pool.connection_class]
        return pool

    anywhere = kind.from_url(address.server_url, retry=retry, **options)
    _authenticate(anywhere, credentials)
    anywhere.connection_class = _AT_ANY_SERVER[anywhere.connection_class]
    return ClusterRedis(address.hosts, anywhere, pool_of, retry)


def _authenticate(pool: ConnectionPool, credentials: CredentialProvider | str | None) -> None:
    """Have a provider give user and password of each connection.

    Raises:
        InvalidRequestError: when there is no such provider, or the address has a user or password, too.
    """
    if not credentials:
        return
    if {"username", "password"} & pool.connection_kwargs.keys():
        raise InvalidRequestError(
            "the address of Redis has a user or a password, and a provider gives them, too: leave one of them out"
        )
    pool.connection_kwargs["credential_provider"] = Credentials.of(credentials)


def on_change(redis: Redis, call: Callable[[], None]) -> None:
    """Have something called before a command goes to a server that may know less than what answered before."""
    options = redis.connection_pool.connection_kwargs
    target = redis if isinstance(redis, ClusterRedis) else options.get("primary") or options.get("answering")
    if target is not None:
        target.on_change = call


async def known_replicas(redis: Redis) -> int:
    """Count the replicas that the Sentinels of this primary know; 0 without Sentinels."""
    primary: Primary | None = redis.connection_pool.connection_kwargs.get("primary")
    return await primary.replicas() if primary else 0


def address_of(url: str) -> str:
    """Return the address of a server without its password, for errors and logs.

    Raises:
        ServerUnreachableError: when this is not the address of a Redis.
    """
    try:
        if sentinels := SentinelAddress.of(url):
            return sentinels.shown
    except ValueError:
        # Not with the cause: a misspelt address may hold a password.
        raise ServerUnreachableError(
            "this is not the address of Sentinels: write redis+sentinel://host1:26379,host2:26379/service, "
            "and after the service the number of a database, if it is not 0"
        ) from None
    try:
        if cluster := ClusterAddress.of(url):
            return cluster.shown
    except ValueError:
        raise ServerUnreachableError(
            "this is not the address of a Redis Cluster: write redis+cluster://host1:6379,host2:6379, "
            "and no number of a database"
        ) from None
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"redis", "rediss", "unix"} and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise ServerUnreachableError("this is not the address of a Redis: write redis://host:6379/0")
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    # redis-py would use database 0 for anything that is not a number.
    if not _DATABASE.fullmatch(parts.path):
        raise ServerUnreachableError(
            "this is not the address of a Redis, because the part after the host is not the number of a database: "
            "write redis://host:6379/0"
        )
    host = parts.hostname or "localhost"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or 6379}{parts.path}"


async def freeze_meta(redis: Redis, namespace: str, *, address: str = "", lanes: int | None = None) -> Keys:
    """Write the version of the data model if the namespace is new, check it otherwise, and return the names of the keys.

    Args:
        redis: The client.
        namespace: The beginning of all keys.
        address: Where this is, for errors.
        lanes: How many lanes it has to have. `None`: as many as it has, and if it is new, what fits the address.

    Raises:
        ServerUnreachableError: when Redis does not answer, or something else has overwritten a key.
        ServerUnsuitableError: when the namespace was written with another version of the data model, or with another
            number of lanes.
    """
    keys = Keys(namespace)
    await check_keys(redis, keys, address)
    meta = keys.meta
    with explaining(address):
        stored: Any = await redis.hgetall(meta)
        if not {"schema", "lanes"} <= stored.keys():
            try:
                await redis.hsetnx(meta, "schema", str(SCHEMA))
                await redis.hsetnx(meta, "lanes", str(lanes or lanes_in(redis)))
            except NoPermissionError as error:
                raise ServerUnsuitableError(
                    f"no bot has started in namespace {namespace!r} yet: start one, or correct the namespace"
                ) from error
            stored = await redis.hgetall(meta)
    if another := another_schema(stored, namespace) or other_lanes(stored, namespace, lanes):
        raise ServerUnsuitableError(another)
    return Keys(namespace, int(stored["lanes"]))


def lanes_in(redis: Redis) -> int:
    """Return how many lanes a new namespace gets there."""
    return IN_CLUSTER if isinstance(redis, ClusterRedis) else 1


def other_lanes(meta: Mapping[str, str], namespace: str, lanes: int | None) -> str:
    """Say why this number of lanes cannot be had; empty when it can."""
    stored = meta.get("lanes")
    if not (lanes and stored) or int(stored) == lanes:
        return ""
    return (
        f"namespace {namespace!r} has the number of lanes {stored} for good, and ASSENT_LANES is {lanes}: remove the "
        "setting, or give ASSENT_NAMESPACE a new name, and ASSENT_NAMESPACE_OLD this one"
    )


def another_schema(meta: Mapping[str, str], namespace: str) -> str:
    """Say why this version cannot use a namespace that another version wrote; empty when it can."""
    schema = meta.get("schema", str(SCHEMA))
    if schema == str(SCHEMA):
        return ""
    cure = (
        "start a bot of this version first"
        if schema == str(SCHEMA - 1)
        else "run the version that wrote it, or choose another namespace"
    )
    return f"namespace {namespace!r} was written with schema {schema}, this version reads {SCHEMA}: {cure}"


def entries_of(answer: object) -> list[tuple[str, dict[str, str]]]:
    """Flatten the answer of XREAD, a list or (with RESP3) a dictionary, oldest first."""
    if not answer:
        return []
    streams = answer.items() if isinstance(answer, dict) else answer
    found: list[tuple[str, dict[str, str]]] = []
    for _, batches in streams:  # type: ignore[attr-defined]  # redis-py does not type the two shapes
        entries = batches[0] if batches and isinstance(batches[0], list) else batches
        found.extend(entries)
    return found


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task that reads from Redis, and wait for its end."""
    while not task.done():
        # redis-py may turn a cancellation during a connect into a time-out.
        task.cancel()
        await asyncio.wait([task], timeout=0.1)
