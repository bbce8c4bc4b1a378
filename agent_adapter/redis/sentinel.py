"""The primary behind Redis Sentinel: its address as one setting, and where it is now."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ReadOnlyError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from agent_adapter.background import in_background
from agent_adapter.redis.hosts import Host, read_hosts, shown_hosts

_SCHEMES = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}
_PORT = 26379
_ANSWER_WITHIN = 1.0
"""Seconds that a Sentinel has to answer."""
_LOOKS_EVERY = 1.0
"""Seconds until the Sentinels are asked again, while commands are sent: a former primary takes writes for ten seconds more."""
_AWAY = (RedisConnectionError, RedisTimeoutError)
"""The errors of a Sentinel that does not answer."""
_LOGIN = {"sentinel_username": "username", "sentinel_password": "password"}


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """`redis+sentinel://user:password@host1:26379,host2,host3/service/0?sentinel_password=…`, taken apart.

    User and password are those of the servers. The Sentinels have their own, as `sentinel_username` and
    `sentinel_password`. Other options are redis-py's, such as `ssl_ca_certs`.
    """

    hosts: tuple[Host, ...]
    service: str
    server_url: str
    """A server of the service, in the form that redis-py reads. Its host says nothing."""
    login: dict[str, str]
    """User and password of the Sentinels."""

    @classmethod
    def of(cls, url: str) -> "SentinelAddress | None":
        """Take an address apart; `None` when it is none of Sentinels.

        Raises:
            ValueError: when a part is missing or wrong.
        """
        scheme = url.partition("://")[0]
        if scheme not in _SCHEMES:
            return None
        parts = urlsplit(url)
        user, at, hosts = parts.netloc.rpartition("@")
        service, _, database = parts.path.strip("/").partition("/")
        if not (service and hosts) or not ((database.isascii() and database.isdigit()) or not database):
            raise ValueError("no service, or a database that is no number")
        options = dict(parse_qsl(parts.query))
        login = {name: options.pop(option) for option, name in _LOGIN.items() if option in options}
        server = f"{_SCHEMES[scheme]}://{user}{at}primary/{database}"
        found = f"{server}?{urlencode(options)}" if options else server
        return cls(read_hosts(hosts, port=_PORT), unquote(service), found, login)

    @property
    def shown(self) -> str:
        """The address without passwords, for errors and logs."""
        scheme = urlsplit(self.server_url).scheme
        return f"{scheme}+sentinel://{shown_hosts(self.hosts)}/{self.service}"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one Sentinel says about the service."""

    primary: Host
    epoch: int
    """The number of the failover after which it was so."""
    is_promoted: bool
    """Whether this Sentinel is in the middle of making this server the primary."""
    is_up: bool


def _newest(answers: Sequence[_Answer | None]) -> list[Host]:
    """Give the primary that each of the newest answers names, of those that see it up.

    When the new primary dies before its failover is over, the Sentinel that led it names that server from then on, also
    after the next failovers. One that is not in the middle of a failover knows better.
    """
    known = [answer for answer in answers if answer]
    epoch = max((answer.epoch for answer in known), default=0)
    newest = [answer for answer in known if answer.epoch == epoch]
    settled = [answer for answer in newest if not answer.is_promoted]
    return [answer.primary for answer in settled or newest if answer.is_up]


class _ClosedAtOnce(ConnectionPool):
    """Connections that close without a wait, in which a process that ends would leave them open."""

    def __init__(self, **options: Any) -> None:
        self._made: list[Connection] = []
        super().__init__(**options)

    def make_connection(self) -> Connection:
        connection: Connection = super().make_connection()  # type: ignore[no-untyped-call]  # redis-py does not type it
        self._made.append(connection)
        return connection

    async def disconnect(self, *_: Any, **__: Any) -> None:
        for connection in self._made:
            await connection.disconnect(nowait=True)


class Primary:
    """Finds the server of a service that takes writes now."""

    def __init__(self, address: SentinelAddress, options: dict[str, Any]) -> None:
        """Take the address, and redis-py's options of the servers: TLS of the Sentinels is as theirs."""
        self._service = address.service
        self.on_change: Callable[[], None] = lambda: None
        """Called when another server is the primary: it may know less than the one before."""
        self._last: Host | None = None
        self._asking = asyncio.Lock()
        self._finding: asyncio.Task[Host | RedisError | OSError] | None = None
        self._look: asyncio.Task[None] | None = None
        self._looked_at = -_LOOKS_EVERY
        self._hosts = shown_hosts(address.hosts)
        asking = {
            **{name: value for name, value in options.items() if name.startswith("ssl_")},
            **address.login,
            "connection_class": SSLConnection if address.server_url.startswith("rediss:") else Connection,
            # Its answers are compared, and one of them is bytes otherwise.
            "decode_responses": True,
            "socket_timeout": _ANSWER_WITHIN,
            "socket_connect_timeout": _ANSWER_WITHIN,
            "retry": Retry(NoBackoff(), 0),
        }
        self._sentinels = [
            Redis.from_pool(_ClosedAtOnce(host=host, port=port, **asking)) for host, port in address.hosts
        ]

    async def find(self) -> Host:
        """Ask all Sentinels, and believe the newest answer: one that was cut off from the others names a former primary.

        Who asks meanwhile gets the same answer.

        Raises:
            RedisConnectionError: when none of them knows a primary.
        """
        if self._finding is None or self._finding.done():
            self._finding = in_background(self._found())
        found = await asyncio.shield(self._finding)
        if isinstance(found, Exception):
            raise found
        return found

    async def _found(self) -> "Host | RedisError | OSError":
        """Find it, and give the error where there is one: it is for those who ask, and no error of a task by itself."""
        try:
            return await self._find()
        except (RedisError, OSError) as error:
            return error

    async def _find(self) -> Host:
        # One at a time, since the connections are closed after each question.
        async with self._asking:
            try:
                found = await self._ask()
            finally:
                for sentinel in self._sentinels:
                    await sentinel.connection_pool.disconnect()
        if self._last not in {None, found}:
            self.on_change()
        self._last = found
        return found

    def is_replaced(self, host: str, port: int) -> bool:
        """Whether this server was the primary and another one is now. Asks the Sentinels in the background, once a second."""
        now = time.monotonic()
        if now - self._looked_at >= _LOOKS_EVERY:
            self._looked_at = now
            self._look = in_background(self._find_again(), expected=(RedisError,))
        return self._last not in {None, (host, port)}

    async def _find_again(self) -> None:
        # Commands go on while no Sentinel answers: the primary does not need them.
        with suppress(RedisError, OSError):
            await self.find()

    async def _ask(self) -> Host:
        """Ask what redis-py asks. Its error would show objects, and does not say whether a Sentinel answered.

        Once most of them agree, the others are not waited for: their machines may be gone. When the newest answers differ,
        the one that more of them give counts. When two are given as often, the primary of before stays, so that connections
        do not go back and forth.
        """
        asked = [in_background(self._heard_of(each)) for each in self._sentinels]
        refused, answers = list[BaseException](), list[_Answer | None]()
        try:
            for each in asyncio.as_completed(asked):
                match await each:
                    case RedisError() | OSError() as error:
                        refused.append(error)
                    case answer:
                        answers.append(answer)
                found = _newest(answers)
                if agreed := next((each for each in found if 2 * found.count(each) > len(asked)), None):
                    return agreed
        finally:
            for each in asked:
                each.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        if found := _newest(answers):
            return max(found, key=lambda each: (found.count(each), each == self._last))
        if not answers:
            self._raise_refusal(refused)
        raise MasterNotFoundError(self._why(answers))

    async def _heard_of(self, sentinel: Any) -> "_Answer | RedisError | OSError | None":
        """Ask one Sentinel, and give its error where it has one."""
        try:
            return await self._said_by(sentinel)
        except (RedisError, OSError) as error:
            return error

    async def _said_by(self, sentinel: Any) -> "_Answer | None":
        """Ask one Sentinel; `None` when it does not know the service."""
        masters: Any = await sentinel.sentinel_masters()
        # During a failover, this names the new primary as soon as there is one. The other answer is ten seconds late.
        named: Any = await sentinel.sentinel_get_master_addr_by_name(self._service)
        state = masters.get(self._service)
        if not (state and named):
            return None
        is_promoted = tuple(named) != (state["ip"], state["port"])
        # A server that reports that it is a replica takes no writes, whatever this Sentinel thinks of it.
        takes_writes = state["is_master"] and state["role-reported"] == "master"
        is_up = is_promoted or (takes_writes and not state["is_sdown"] and not state["is_odown"])
        host, port = named
        return _Answer((host, int(port)), int(state["config-epoch"]), is_promoted, is_up)

    @staticmethod
    def _raise_refusal(errors: Sequence[BaseException]) -> None:
        """Raise what a Sentinel refused; one that is away says nothing."""
        for error in errors:
            if isinstance(error, AuthenticationError) or not isinstance(error, (*_AWAY, OSError)):
                raise error

    def _why(self, answers: Sequence["_Answer | None"]) -> str:
        if not answers:
            return f"None of the Sentinels {self._hosts} answers: are they running, and is this the right address?"
        if not any(answers):
            return f"The Sentinels know no service {self._service!r}: write the name that `sentinel monitor` has."
        return f"The Sentinels {self._hosts} see no primary of {self._service!r} that is up: wait for the failover, or start it."

    async def replicas(self) -> int:
        """Count the replicas that the Sentinels know, also those that are away. They forget none by themselves."""
        counted = 0
        async with self._asking:
            for sentinel in self._sentinels:
                with suppress(RedisError, OSError):
                    state: Any = await sentinel.sentinel_master(self._service)
                    counted = max(counted, int(state["num-slaves"]))
                await sentinel.connection_pool.disconnect()
        return counted


class AtPrimary(Connection):
    """A connection to the primary of the moment in which it connects."""

    def __init__(self, *, primary: Primary, **options: Any) -> None:
        self._primary = primary
        super().__init__(**options)

    async def _connect(self) -> None:
        self.host, self.port = await self._primary.find()
        await super()._connect()  # type: ignore[no-untyped-call]  # redis-py does not type it

    async def connect(self) -> None:
        """Connect, or go on with the connection, unless another server has become the primary."""
        if self.is_connected and self._primary.is_replaced(self.host, self.port):
            await self.disconnect()
        await super().connect()  # type: ignore[no-untyped-call]  # redis-py does not type it

    async def read_response(self, *args: Any, **options: Any) -> Any:
        """Read an answer. One that comes from a former primary ends the connection, so that trying again asks the Sentinels."""
        try:
            return await super().read_response(*args, **options)
        except ReadOnlyError as error:
            await self.disconnect()
            raise RedisConnectionError(f"this server is not the primary any more: {error}") from error
