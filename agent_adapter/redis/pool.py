"""Connections to Redis with every time limit stated, and scripts that are safe to repeat."""

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from importlib import resources
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
from redis.commands.core import AsyncScript
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from agent_adapter.contract.keys import Keys, Lane
from agent_adapter.errors import ServerUnreachableError, ServerUnsuitableError, UnreadableRecordError
from agent_adapter.servers import check_keys, explained, looked_into

logger = logging.getLogger(__name__)

SCHEMA = 1
"""Version of the data model in `contract.keys`."""
SHARED_SCRIPTS = ("read.lua", "claim_work.lua", "finish_work.lua")
"""What both sides do in the same words."""
COMMAND_TIMEOUT = 5.0
"""Seconds until one command counts as unanswered."""
TURN_TIMEOUT = 30.0
"""Seconds until one command has waited too long while others have all connections: a crowd is no reason to doubt the server."""
CONNECT_TIMEOUT = 3.0
REPEAT_WITHIN = 8.0
"""Seconds after which nothing is tried once more; what has begun may take its own time-out."""


class _Sending(AbstractConnection):
    """Says that a connection is lost where uvloop says something else.

    redis-py does not notice that an idle connection was reset, and writes to it. asyncio's own loop then raises an
    OSError, which redis-py knows and repeats after; uvloop raises a RuntimeError, which nobody expects.
    """

    async def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        try:
            await super().send_packed_command(*args, **kwargs)
        except RuntimeError as error:
            raise RedisConnectionError(f"the connection was lost: {error}") from error


class _Tcp(_Sending, Connection):
    pass


class _Tls(_Sending, SSLConnection):
    pass


class _Unix(_Sending, UnixDomainSocketConnection):
    pass


_SENDING: dict[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: _Tcp,
    SSLConnection: _Tls,
    UnixDomainSocketConnection: _Unix,
}


_DATABASE = re.compile(r"(/[0-9]*)?", re.ASCII)

_repeating_until: ContextVar[float | None] = ContextVar("repeating_until", default=None)


class _Patience(Retry):
    """Repeats for so long and no longer, and never what a password is refused to.

    redis-py repeats the connecting inside of each repeated command: 36 attempts of five seconds where a server accepts
    connections and says nothing.
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


def open_redis(url: str, *, connections: int = 32, retries: int = 5) -> Redis:
    """Open the pool for commands. Every write that goes through it is an idempotent script, so it may be retried."""
    return _over(
        BlockingConnectionPool.from_url(
            url,
            max_connections=connections,
            timeout=TURN_TIMEOUT,
            decode_responses=True,
            socket_timeout=COMMAND_TIMEOUT,
            socket_connect_timeout=CONNECT_TIMEOUT,
            health_check_interval=30,
            # redis-py 8 retries nothing on an explicit pool unless it is told to.
            retry=_Patience(ExponentialWithJitterBackoff(base=0.05, cap=1), retries),
        )
    )


def open_blocking_redis(url: str, *, block: float) -> Redis:
    """Open the one connection of a loop that reads with `BLOCK block` seconds. The loop itself retries."""
    return _over(
        # Nobody else uses it, so nobody waits for it.
        ConnectionPool.from_url(
            url,
            max_connections=1,
            decode_responses=True,
            # An entry with foreign bytes must not keep the entries after it from being read.
            encoding_errors="surrogateescape",
            # A socket time-out below BLOCK would cut every quiet wait; none at all would hang on a silent link.
            socket_timeout=block + COMMAND_TIMEOUT,
            socket_connect_timeout=CONNECT_TIMEOUT,
            retry=Retry(NoBackoff(), 0),
        )
    )


def _over(pool: ConnectionPool) -> Redis:
    pool.connection_class = _SENDING[pool.connection_class]
    return Redis.from_pool(pool)


def address_of(url: str) -> str:
    """Name a server without its password.

    Raises:
        ServerUnreachableError: when this is no address of a Redis.
    """
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"redis", "rediss", "unix"} and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise ServerUnreachableError("this is no address of a Redis: write redis://host:6379/0")
    if parts.scheme == "unix":
        return f"unix://{parts.path}"
    # redis-py takes what is no number for database 0.
    if not _DATABASE.fullmatch(parts.path):
        raise ServerUnreachableError(
            "this is no address of a Redis, because what stands after the host is not the number of a database: "
            "write redis://host:6379/0"
        )
    host = parts.hostname or "localhost"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{parts.port or 6379}{parts.path}"


async def freeze_meta(redis: Redis, namespace: str, *, address: str = "", lanes: int = 1) -> Keys:
    """Agree with everybody on the data model, and return the names to use.

    Raises:
        ServerUnreachableError: when Redis does not take it, or something else has overwritten a key.
        ServerUnsuitableError: when the namespace was written by another version.
    """
    keys = Keys(namespace)
    await check_keys(redis, keys, address)
    meta = keys.meta
    try:
        await redis.hsetnx(meta, "schema", str(SCHEMA))
        await redis.hsetnx(meta, "lanes", str(lanes))
        stored: Any = await redis.hgetall(meta)
    except (RedisError, OSError) as error:
        raise explained(address, error) from error
    schema = stored["schema"]
    if schema != str(SCHEMA):
        raise ServerUnsuitableError(
            f"namespace {namespace!r} was written with schema {schema}, this version reads {SCHEMA}: "
            "run the version that wrote it, or choose another namespace"
        )
    return Keys(namespace, int(stored["lanes"]))


def entries_of(answer: object) -> list[tuple[str, dict[str, str]]]:
    """Flatten what XREAD returns, a list or (with RESP3) a dictionary, oldest first."""
    if not answer:
        return []
    streams = answer.items() if isinstance(answer, dict) else answer
    found: list[tuple[str, dict[str, str]]] = []
    for _, batches in streams:  # type: ignore[attr-defined]  # redis-py does not type the two shapes
        entries = batches[0] if batches and isinstance(batches[0], list) else batches
        found.extend(entries)
    return found


def _cancellations() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task that reads from Redis, and wait for its end."""
    while not task.done():
        # redis-py may turn a cancellation that meets a connecting socket into a time-out.
        task.cancel()
        await asyncio.wait([task], timeout=0.1)


async def read_hashes(
    scripts: "Scripts", lane: Lane, interrupt_id: str
) -> tuple[dict[str, str], dict[str, str], int]:
    """Read both halves of a record and the server's milliseconds, at one moment.

    Raises:
        ServerUnreachableError: when Redis does not answer.
    """
    # One answer of strings costs half of what a transaction of three commands does.
    req, card, now = await scripts("read", [lane.req(interrupt_id), lane.card(interrupt_id)], [])
    return fields_of(req), fields_of(card), now


def fields_of(flat: Sequence[str]) -> dict[str, str]:
    """Read a hash as a script returns it: name, value, name, value, …"""
    return dict(zip(flat[::2], flat[1::2], strict=True))


class Scripts:
    """The Lua of one side, by verb."""

    def __init__(self, redis: Redis, keys: Keys, package: str, *, address: str = "") -> None:
        self._redis = redis
        self._keys = keys
        self.address = address
        prelude = _read("agent_adapter.scripts", "prelude.lua")
        own = [(package, name) for name in _names(package) if name != "prelude.lua"]
        self._scripts: dict[str, AsyncScript] = {
            name.removesuffix(".lua"): redis.register_script(f"{prelude}\n{_read(where, name)}")
            for where, name in [*own, *(("agent_adapter.scripts", name) for name in SHARED_SCRIPTS)]
        }

    async def __call__(self, verb: str, keys: Sequence[str], args: Iterable[str | int | float]) -> Any:
        """Run one script.

        Raises:
            ServerUnreachableError: after the retries of the pool.
            ServerRefusesError: when something else has overwritten a key that it needs.
            UnreadableRecordError: when what it answers is not text.
        """
        before = _cancellations()
        try:
            return await self._run(verb, keys, args)
        finally:
            if _cancellations() > before:
                # redis-py may turn a cancellation that meets a connecting socket into a time-out, and try again.
                raise asyncio.CancelledError

    async def _run(self, verb: str, keys: Sequence[str], args: Iterable[str | int | float]) -> Any:
        try:
            return await self._scripts[verb](keys=keys, args=list(args), client=self._redis)
        except UnicodeDecodeError as error:
            raise UnreadableRecordError(f"{keys[0]}: what is stored there is not UTF-8 text") from error
        except (RedisError, OSError) as error:
            if isinstance(error, ResponseError):
                # After a failover the address may lead elsewhere, and what is open leads to the server of before.
                await self._redis.connection_pool.disconnect(inuse_connections=False)
            raise await looked_into(self._redis, self._keys, self.address, error) from error


def _names(package: str) -> list[str]:
    return sorted(entry.name for entry in resources.files(package).iterdir() if entry.name.endswith(".lua"))


def _read(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
