"""Connections to Redis with every time limit stated."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff, NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import AuthenticationError, MovedError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import InvalidRequestError, ServerUnsuitableError
from agent_adapter.redis.address import Address
from agent_adapter.redis.credentials import Credentials, load_provider
from agent_adapter.redis.pipelined import Pipelined
from agent_adapter.redis.places import BehindSentinels, FoundPlace, InCluster, Place, said_in
from agent_adapter.redis.server_check import NO_WRITES, code_of, explaining

try:
    import hiredis
except ImportError:
    hiredis = None  # type: ignore[assignment]  # it is an extra of redis-py

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
    """Asks which server answers before its first command, and turns what uvloop says of a lost connection into redis-py's error.

    It is made again once its generation is over. A former primary ends it: all that was sent is then sent again, to the
    server that is found anew.
    """

    def __init__(self, *, place: Place | None = None, **options: Any) -> None:
        self._place = place or Place()
        self._made_in = self._place.generation
        super().__init__(**options)

    async def connect_check_health(self, *args: Any, **options: Any) -> None:
        # The command is tried again as a whole. redis-py would also repeat the connect in each try: 36 times five seconds.
        await super().connect_check_health(*args, **{**options, "retry_socket_connect": False})

    async def connect(self) -> None:
        self._place.look()
        if self.is_connected:
            if self._made_in == self._place.generation:
                return
            await self.disconnect()
        await super().connect()  # type: ignore[no-untyped-call]  # redis-py does not type it

    async def _connect(self) -> None:
        try:
            self.host, self.port = await self._place.find()
            await super()._connect()  # type: ignore[no-untyped-call,safe-super]  # the class of the connection has it
        except (RedisError, OSError, TimeoutError):
            self._place.doubt()
            raise

    async def on_connect_check_health(self, *args: Any, **kwargs: Any) -> None:
        self._made_in = self._place.generation
        try:
            await super().on_connect_check_health(*args, **kwargs)
            await self._meet()
        except AuthenticationError as error:
            if self.credential_provider is None:
                raise
            # A new password can be known to the server before the provider has it. So it is asked again.
            raise RedisConnectionError("it refuses what the provider of credentials gave") from error

    async def _meet(self) -> None:
        """Compare the server that answers with the one of the connections before."""
        await self.send_command("INFO", check_health=False)
        try:
            answer = await self.read_response()
        except ResponseError:
            # Some users and managed servers may not ask.
            answer = ""
        self._place.meet(said_in(answer))

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
        before = await _cancellations()
        try:
            await super().send_packed_command(*args, **kwargs)
        except (RuntimeError, AttributeError) as error:
            # uvloop has a RuntimeError for an idle connection that was reset; one that is closed meanwhile has no writer.
            if isinstance(error, AttributeError) and self.is_connected:
                raise
            raise RedisConnectionError(f"the connection was lost: {error}") from error
        task = asyncio.current_task()
        if task and task.cancelling() > before:
            # `asyncio.wait_for` of Python 3.11 has lost it. Nobody will read the answer, so nobody else gets this connection.
            await self.disconnect(nowait=True)
            raise asyncio.CancelledError

    async def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*args, **options)
        except ResponseError as error:
            code, place = code_of(error), self._place
            if code in NO_WRITES:
                # A former primary has lost its replicas.
                place.doubt()
            if code not in _ELSEWHERE or not isinstance(place, FoundPlace):
                raise
            place.doubt()
            # ASK is not followed. The server that it names has some of the slot's keys, and a script would take the others
            # for keys that do not exist. A moment later, it has all of them.
            if isinstance(error, MovedError) and error.host:
                place.note((error.host, error.port))
            await self.disconnect()
            raise RedisConnectionError(f"this server is not the right one any more: {error}") from error


class _Pool(BlockingConnectionPool):
    """The connections for commands, and the one for scripts, which ends with them."""

    pipelined: Pipelined | None = None

    async def disconnect(self, *args: Any, **options: Any) -> None:
        if self.pipelined:
            await self.pipelined.close()
        await super().disconnect(*args, **options)


_ELSEWHERE = frozenset({"READONLY", "MASTERDOWN", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED"})
"""What a server answers that is not, or not yet, or not any more the one that has the namespace."""


class _Patience(Retry):
    """Retries for `REPEAT_WITHIN` seconds at most, and never after a refused password."""

    async def call_with_retry(self, do: Any, fail: Any, **options: Any) -> Any:  # type: ignore[override]  # others in 6.4
        until, failures = time.monotonic() + REPEAT_WITHIN, 0
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        while True:
            try:
                return await do()
            except self._supported_errors as error:
                if task and task.cancelling() > before:
                    # redis-py may turn a cancellation during a connect into a time-out.
                    raise asyncio.CancelledError from error
                failures += 1
                await (fail(error, failures) if options.get("with_failure_count") else fail(error))
                is_final = isinstance(error, AuthenticationError) or failures > self._retries
                if is_final or time.monotonic() >= until:
                    raise
                await asyncio.sleep(self._backoff.compute(failures))


def open_redis(
    url: str,
    *,
    namespace: str = "assent",
    connections: int = 32,
    retries: int = 5,
    keeps_bytes: bool = False,
    credentials: CredentialProvider | str | None = None,
) -> Redis:
    """Open the pool for commands. Commands are retried: every write through it is an idempotent script.

    In a Cluster, one server has the keys of the namespace. Bytes that are not UTF-8 are an error, unless it `keeps_bytes`.
    """
    return _open(
        url,
        _Pool,
        namespace,
        credentials,
        max_connections=connections,
        timeout=TURN_TIMEOUT,
        encoding_errors="backslashreplace" if keeps_bytes else "strict",
        socket_timeout=COMMAND_TIMEOUT,
        health_check_interval=30,
        # redis-py 8 retries nothing on an explicit pool without this.
        retry=_Patience(ExponentialWithJitterBackoff(base=0.05, cap=1), retries),
    )


def open_blocking_redis(
    url: str,
    *,
    block: float,
    namespace: str = "assent",
    credentials: CredentialProvider | str | None = None,
    beside: Redis | None = None,
) -> Redis:
    """Open the single connection of a loop that blocks in XREAD for `block` seconds. The loop itself retries.

    With `beside`, it goes where the connections for commands go: a former primary may be one for ten seconds more.
    """
    return _open(
        url,
        # Only this loop uses the connection, so nobody waits for a free one.
        ConnectionPool,
        namespace,
        credentials,
        max_connections=1,
        # An entry with bytes that are not UTF-8 must not stop the loop from reading the entries after it.
        encoding_errors="surrogateescape",
        # A socket time-out below BLOCK would cut every quiet wait. No time-out would hang on a dead connection.
        socket_timeout=block + COMMAND_TIMEOUT,
        retry=Retry(NoBackoff(), 0),
        place=place_of(beside) if beside else None,
    )


def _open(
    url: str,
    kind: type[ConnectionPool],
    namespace: str,
    credentials: CredentialProvider | str | None,
    *,
    place: Place | None = None,
    **options: Any,
) -> Redis:
    address = Address.of(url)
    options |= {"decode_responses": True, "socket_connect_timeout": CONNECT_TIMEOUT, "protocol": 2}
    pool = kind.from_url(address.server_url, **options)
    # One form of answers, whatever the address and the version of redis-py say.
    pool.connection_kwargs["protocol"] = 2
    if credentials and {"username", "password"} & pool.connection_kwargs.keys():
        raise InvalidRequestError(
            "the address of Redis has a user or a password, and a provider gives them, too: leave one of them out"
        )
    if credentials:
        provider = load_provider(credentials) if isinstance(credentials, str) else credentials
        pool.connection_kwargs["credential_provider"] = Credentials(provider)
    # The pool's class by then says whether the connections are encrypted.
    pool.connection_kwargs["place"] = place = place or _new_place(address, namespace, pool)
    kind_of = pool.connection_class
    pool.connection_class = type(f"Sending{kind_of.__name__}", (_Sending, kind_of), {})
    if hiredis and isinstance(pool, _Pool):
        pool.pipelined = Pipelined(pool.make_connection, place)
    return Redis.from_pool(pool)


def _new_place(address: Address, namespace: str, pool: ConnectionPool) -> Place:
    options = {name: value for name, value in pool.connection_kwargs.items() if name.startswith("ssl_")}
    if address.kind == "sentinel":
        options |= address.login
        return BehindSentinels(address.hosts, address.service, partial(pool.connection_class, **options))
    if address.kind == "cluster":
        login = ("username", "password", "credential_provider")
        options |= {name: pool.connection_kwargs[name] for name in login if name in pool.connection_kwargs}
        return InCluster(address.hosts, Keys(namespace).meta, partial(pool.connection_class, **options))
    return Place((pool.connection_kwargs.get("host", "localhost"), pool.connection_kwargs.get("port", 6379)))


def bind_to_loop(redis: Redis) -> None:
    """Let calls of this event loop queue for a connection: the pool's queue belongs to the loop in which a call first waited."""
    if isinstance(redis.connection_pool, _Pool):
        redis.connection_pool._condition = asyncio.Condition()  # noqa: SLF001  # redis-py makes it once


def pipelined(redis: Redis) -> Pipelined | None:
    """Give the connection for scripts beside these connections; `None` without hiredis, or where a program has made them."""
    return getattr(redis.connection_pool, "pipelined", None)


def place_of(redis: Redis) -> Place:
    """Give where these connections lead. It knows nothing of a client that a program has made itself."""
    found: Place = redis.connection_pool.connection_kwargs.get("place") or Place()
    return found


async def freeze_meta(redis: Redis, namespace: str, *, address: str = "", begins: bool = False) -> Keys:
    """Check the version of the data model in a namespace, and return the names of its keys.

    A bot `begins` a new namespace: it writes the version.
    """
    keys = Keys(namespace)
    with explaining(address):
        if begins:
            await redis.hsetnx(keys.meta, "schema", str(SCHEMA))
        stored: Any = await redis.hgetall(keys.meta)
    if another := another_schema(stored, namespace):
        raise ServerUnsuitableError(another)
    return keys


def another_schema(meta: Mapping[str, str], namespace: str) -> str:
    """Say why this version cannot use a namespace that another version wrote; empty when it can."""
    schema = meta.get("schema", str(SCHEMA))
    if schema == str(SCHEMA):
        return ""
    return (
        f"namespace {namespace!r} was written with schema {schema}, this version reads {SCHEMA}: run the version that "
        "wrote it, or choose another namespace"
    )


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task that reads from Redis, and wait for its end."""
    while not task.done():
        # redis-py may turn a cancellation during a connect into a time-out.
        task.cancel()
        await asyncio.wait([task], timeout=0.1)


async def _cancellations() -> int:
    """Count how often this task was cancelled so far. Raise a cancellation that has not reached it yet.

    Ctrl-C cancels a task while it runs. Such a cancellation reaches the task where it waits next, and `asyncio.wait_for`
    of Python 3.11 would lose it there. So it is raised here.
    """
    task = asyncio.current_task()
    if task is None:
        return 0
    count = task.cancelling()
    if getattr(task, "_must_cancel", False):
        await asyncio.sleep(0)
    return count
