"""A Redis Cluster: its address as one setting, and a client that sends each command to the server that has its key."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import Connection
from redis.asyncio.retry import Retry
from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    MovedError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from agent_adapter.contract.keys import SLOTS, slot_of
from agent_adapter.redis.away import Away
from agent_adapter.redis.hosts import Host, read_hosts, shown_hosts

_SCHEMES = {"redis+cluster": "redis", "rediss+cluster": "rediss"}
_PORT = 6379
_KEYLESS = frozenset({"CLUSTER", "INFO", "PING", "SCAN", "TIME"})
"""Commands of ours that name no key. Any server answers them."""
_MOVING = "access a non local key"
"""What a script meets at a key that is still to come, while its slot moves."""
_SCRIPTS = frozenset({"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"})
PASSING: tuple[type[RedisError], ...] = (
    RedisConnectionError,
    RedisTimeoutError,
    AskError,
    MovedError,
    TryAgainError,
    ClusterDownError,
)
"""What a command meets while slots move from one server to another. Then it is tried again."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """`redis+cluster://user:password@host1:6379,host2,host3?ssl_ca_certs=…`, taken apart. Options are redis-py's."""

    hosts: tuple[Host, ...]
    """Servers that are asked where the others are."""
    server_url: str
    """A server of the cluster, in the form that redis-py reads. Its host says nothing."""

    @classmethod
    def of(cls, url: str) -> "ClusterAddress | None":
        """Take an address apart; `None` when it is none of a cluster.

        Raises:
            ValueError: when a part is missing or wrong.
        """
        scheme = url.partition("://")[0]
        if scheme not in _SCHEMES:
            return None
        parts = urlsplit(url)
        user, at, hosts = parts.netloc.rpartition("@")
        if not hosts or parts.path not in {"", "/", "/0"}:
            raise ValueError("no host, or a database that a cluster does not have")
        options = urlencode(dict(parse_qsl(parts.query)))
        server = f"{_SCHEMES[scheme]}://{user}{at}server" + (f"?{options}" if options else "")
        return cls(read_hosts(hosts, port=_PORT), server)

    @property
    def shown(self) -> str:
        """The address without passwords, for errors and logs."""
        scheme = urlsplit(self.server_url).scheme
        return f"{scheme}+cluster://{shown_hosts(self.hosts)}"


def is_cluster(url: str) -> bool:
    """Whether an address is one of a cluster."""
    return url.partition("://")[0] in _SCHEMES


class AtAnyServer(Connection):
    """A connection to the first server that answers."""

    def __init__(self, *, hosts: Callable[[], Sequence[Host]], **options: Any) -> None:
        self._hosts = hosts
        super().__init__(**options)

    async def _connect(self) -> None:
        failure: Exception = RedisConnectionError("no server is known")
        for host, port in self._hosts():
            self.host, self.port = host, port
            try:
                await super()._connect()  # type: ignore[no-untyped-call]  # redis-py does not type it
            except (RedisError, OSError, TimeoutError) as error:
                failure = error
            else:
                return
        raise failure


class AtServer(Connection):
    """A connection to one server. It says when it was lost and the server answers again."""

    def __init__(self, *, on_again: Callable[[], None], **options: Any) -> None:
        self._on_again = on_again
        self._was_connected = False
        super().__init__(**options)

    async def on_connect_check_health(self, *args: Any, **kwargs: Any) -> None:
        """Greet the server. No command has gone over the connection yet."""
        await super().on_connect_check_health(*args, **kwargs)
        # Only now: a server that accepts connections and answers nothing is still the same server.
        if self._was_connected:
            self._on_again()
        self._was_connected = True


class ClusterRedis(Redis):
    """A client that sends each command to the server that has its key.

    Its own connections are to any server, for what is about no key. Each server has a pool beside them.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        anywhere: ConnectionPool,
        pool_of: Callable[[Host, Callable[[], None]], ConnectionPool],
        retry: Retry,
    ) -> None:
        """Take servers that are asked where the others are, and make no connection yet.

        Args:
            hosts: Those servers.
            anywhere: The pool for what is about no key.
            pool_of: Makes the pool of one server, which calls what it is given when it connects again.
            retry: How commands are repeated.
        """
        super().__init__(connection_pool=anywhere)
        self.auto_close_connection_pool = True
        self.on_change: Callable[[], None] = lambda: None
        """Called before a command goes to a server that may know less than what answered before."""
        self._away = Away(self._answers)
        self._hosts: list[Host] = list(hosts)
        anywhere.connection_kwargs["hosts"] = lambda: sorted(self._hosts, key=self._away.__contains__)
        self._pool_of = pool_of
        self._retry = retry
        self._servers: dict[Host, Redis] = {}
        self._owners: list[Host] = []
        """The server of each slot, as was last said."""
        self._is_current = False
        self._looking = asyncio.Lock()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run a command on the server that has its key."""
        key = _key_of(args)
        if key is None:
            return await self._anywhere(*args, **options)
        return await self._at(key, lambda server: _run(server, *args, **options))

    async def on_one_connection(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run commands about keys of one slot on one connection. An error is an answer, too, unless it is about where keys are."""

        async def run(server: Redis) -> list[Any]:
            answers = await _in_order(server, commands)
            for answer in map(_named, answers):
                if isinstance(answer, PASSING):
                    raise answer
            return answers

        return await self._at(_key_of(commands[0]), run)

    async def _at(self, key: Any, call: Callable[[Redis], Awaitable[_T]]) -> _T:
        """Call the server that has a key, and again where that can be another one by now.

        A server that is away for long holds nobody up: until it answers, what is for it fails at once.
        """
        slot = slot_of(key)
        if self._owners:
            self._away.check(self._owners[slot])

        async def run() -> _T:
            if not self._is_current:
                await self._look()
            host = self._owners[slot]
            try:
                found = await call(self._server(host))
            except (RedisConnectionError, RedisTimeoutError) as error:
                self._away.note_failed(host, key, error)
                raise
            self._away.note_answered(host)
            return found

        found: _T = await self._retry.call_with_retry(run, self._doubt)
        return found

    async def _answers(self, key: Any) -> Exception | None:
        """Ask the server that has a key, and give the error where it does not answer. Whatever else it says is an answer."""
        try:
            if not self._is_current:
                await self._look()
            await _run(self._server(self._owners[slot_of(key)]), "EXISTS", key)
        except (AskError, TryAgainError, AuthenticationError):
            return None
        except PASSING as error:
            await self._doubt(error)
            return error
        except RedisError:
            return None
        return None

    async def primaries(self) -> list[Redis]:
        """Give a client of each server that takes writes now."""
        self._is_current = False
        try:
            await self._look()
        except PASSING as error:
            await self._doubt(error)
            raise
        return [self._server(host) for host in dict.fromkeys(self._owners)]

    async def aclose(self, close_connection_pool: bool | None = None) -> None:  # noqa: FBT001  # its signature
        """Close all connections."""
        await self._away.close()
        for server in self._servers.values():
            await server.aclose()
        await super().aclose(close_connection_pool)

    def pipeline(self, *_: Any, **__: Any) -> Any:
        """Refuse: its commands could need several servers."""
        raise NotImplementedError("there is no pipeline over several servers: use `in_one_go`")

    async def _doubt(self, error: Exception, *_: Any) -> None:
        """Take what an error says about where a slot is, or ask anew before the next command.

        ASK is not followed. The server that it names has some of the slot's keys, and a script would take the others for keys
        that do not exist. A moment later, it has all of them.
        """
        if isinstance(error, MovedError) and error.host:
            self._owners[error.slot_id] = (error.host, error.port)
            self.on_change()
        elif isinstance(error, MovedError) or not isinstance(error, (AskError, TryAgainError)):
            self._is_current = False
            # The server that was asked may be the one that has fallen behind.
            self._hosts.append(self._hosts.pop(0))
            await self.connection_pool.disconnect(inuse_connections=False)

    async def _anywhere(self, *args: Any, **options: Any) -> Any:
        return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]  # redis-py does not type it

    def _server(self, host: Host) -> Redis:
        if host not in self._servers:
            self._servers[host] = Redis.from_pool(self._pool_of(host, self._changed))
        return self._servers[host]

    def _changed(self) -> None:
        self.on_change()

    async def _look(self) -> None:
        """Ask a server where the slots are.

        Raises:
            ClusterDownError: when a slot has no server.
        """
        async with self._looking:
            if self._is_current:
                return
            answer = await self._anywhere("CLUSTER SLOTS")
            ranges = [(first, last, [_place(place) for place in places]) for first, last, *places in answer]
            owners = [places[0] for first, last, places in sorted(ranges) for _ in range(first, last + 1)]
            if len(owners) != SLOTS:
                raise ClusterDownError(f"{SLOTS - len(owners)} of {SLOTS} slots have no server")
            if self._owners and self._owners != owners:
                self.on_change()
            self._owners, self._is_current = owners, True
            self._hosts = list(
                dict.fromkeys([*self._hosts, *(each for *_, places in ranges for each in places)])
            )


async def _run(redis: Redis, *args: Any, **options: Any) -> Any:
    try:
        return await redis.execute_command(*args, **options)  # type: ignore[no-untyped-call]  # redis-py does not type it
    except ResponseError as error:
        if (named := _named(error)) is error:
            raise
        raise named from error


def _named(answer: Any) -> Any:
    """Return an answer. What a script meets while a slot moves is the error that a command meets then."""
    is_moving = isinstance(answer, ResponseError) and _MOVING in str(answer)
    return TryAgainError(str(answer)) if is_moving else answer


def _place(said: Sequence[Any]) -> Host:
    host, port, *_ = said
    return str(host), int(port)


def _key_of(args: Sequence[Any]) -> Any:
    """Return the first key of a command; `None` when it has none."""
    name = str(args[0]).split()[0].upper()
    if name in _KEYLESS:
        return None
    if name == "XREAD":
        return args[next(at for at, arg in enumerate(args) if arg in {"STREAMS", b"STREAMS"}) + 1]
    return args[3 if name in _SCRIPTS else 1]


async def primaries_of(redis: Redis) -> list[Redis]:
    """Give a client of each server that takes writes. Without a cluster, that is one."""
    return await redis.primaries() if isinstance(redis, ClusterRedis) else [redis]


async def in_one_go(redis: Redis, commands: Sequence[tuple[Any, ...]], **options: Any) -> list[Any]:
    """Run commands about any keys, and return the answers in order. An error is an answer, too."""
    if not isinstance(redis, ClusterRedis):
        return await _in_order(redis, commands, **options)
    return [await _answer(redis.execute_command(*command, **options)) for command in commands]


async def on_one_connection(redis: Redis, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run commands about keys of one slot on one connection, and return the answers in order. An error is an answer, too.

    A connection that is lost meanwhile has all of them sent again.
    """
    if isinstance(redis, ClusterRedis):
        return await redis.on_one_connection(commands)
    return await _in_order(redis, commands)


async def _in_order(redis: Redis, commands: Sequence[tuple[Any, ...]], **options: Any) -> list[Any]:
    async with redis.pipeline(transaction=False) as asking:
        for command in commands:
            asking.execute_command(*command, **options)
        return await asking.execute(raise_on_error=False)


async def _answer(call: Awaitable[_T]) -> _T | RedisError:
    try:
        return await call
    except RedisConnectionError:
        raise
    except RedisError as error:
        return error
