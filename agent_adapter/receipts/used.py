"""What was used already: an approved call runs once, because its key is taken once in a store of the tool's own.

The key is the same as `approval_key()`. Keep the store where Assent and its agents cannot write: who can remove a key can
let a call run again.
"""

import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from redis import ConnectionPool, Redis
from redis.exceptions import NoPermissionError

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import InvalidRequestError, ReceiptError, WrongArgumentError

Used: TypeAlias = Callable[[str, datetime], bool | Awaitable[bool]]
"""Takes a key, and until when it is needed. Returns whether the key was free; from then on it is taken."""

KEEP = timedelta(days=1)
"""How much longer than needed a key is kept: the clock of another tool may differ."""
WAIT = 5.0
"""Seconds that a tool waits for another one that writes to the same file."""


def use(used: Used, key: str, until: datetime) -> None:
    """Take a key.

    Raises:
        ReceiptError: when it is taken already (`used`).
        WrongArgumentError: when the store is asynchronous.
    """
    taken = used(key, until)
    if isinstance(taken, Awaitable):
        close = getattr(taken, "close", None)
        if close:
            close()
        raise WrongArgumentError(
            "used: this store is asynchronous: await it yourself, or pass one that is not"
        )
    expect_free(key, is_free=taken)


def expect_free(key: str, *, is_free: bool) -> None:
    """Refuse a key that was taken.

    Raises:
        ReceiptError: with the code `used`.
    """
    if is_free is not True:
        raise ReceiptError(
            f"{key} was used already: an approval is for one call. If the first attempt failed, ask again",
            code="used",
        )


class _Closing:
    """A store is closed at the end of its `with` block, or by `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what is open."""
        raise NotImplementedError


class SqliteUsed(_Closing):
    """Keeps used keys in a file, for tools on one machine. Threads and processes may share it.

    Args:
        path: The file; it is made at the first use.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._open: tuple[int, sqlite3.Connection] | None = None

    def __call__(self, key: str, until: datetime) -> bool:
        """Take a key, and return whether it was free."""
        with self._lock:
            connection = self._connection()
            with connection:
                connection.execute(
                    "DELETE FROM used WHERE until < ?", (_milliseconds(datetime.now(UTC) - KEEP),)
                )
                taken = connection.execute(
                    "INSERT INTO used (key, until) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (key, _milliseconds(until)),
                )
            return taken.rowcount == 1

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._lock:
            if self._open:
                self._open[1].close()
            self._open = None

    def _connection(self) -> sqlite3.Connection:
        # SQLite's connections do not survive a fork.
        if self._open is None or self._open[0] != os.getpid():
            made = sqlite3.connect(self._path, timeout=WAIT, check_same_thread=False)
            made.execute("PRAGMA journal_mode=WAL")
            # What was taken stays taken when the machine loses power.
            made.execute("PRAGMA synchronous=FULL")
            made.execute(
                "CREATE TABLE IF NOT EXISTS used (key TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID"
            )
            made.execute("CREATE INDEX IF NOT EXISTS used_until ON used (until)")
            self._open = os.getpid(), made
        return self._open[1]


class PostgresUsed(_Closing):
    """Keeps used keys in a table of PostgreSQL, for tools on many machines.

    With a function that returns the connection of the tool's own transaction, the key is taken exactly when that transaction
    commits: after a crash inside the tool, the call may run again, and its effect happens once.

    Args:
        connection: The address of the database, or a function that returns a connection of psycopg. Nothing is committed on
            a connection that a function returned.
        table: The name of the table; with an address, it is made at the first use.
    """

    def __init__(self, connection: str | Callable[[], Any], *, table: str = "assent_used") -> None:
        if not all(part.isidentifier() and part.isascii() for part in table.split(".")):
            raise InvalidRequestError(f"table: {table!r} is not a name: use letters, digits and underscores")
        self._table = table
        self._given = connection
        self._own: Any = None
        self._lock = threading.Lock()

    def __call__(self, key: str, until: datetime) -> bool:
        """Take a key, and return whether it was free."""
        if not isinstance(self._given, str):
            return self._take(self._given(), key, until)
        with self._lock:
            return self._take(self._connected(self._given), key, until)

    def close(self) -> None:
        """Close the connection, if it is not the tool's own. The next use opens another one."""
        with self._lock:
            if self._own is not None:
                self._own.close()

    @property
    def schema(self) -> str:
        """The SQL that makes the table."""
        return f"CREATE TABLE IF NOT EXISTS {self._table} (key text PRIMARY KEY, until timestamptz NOT NULL)"

    def _take(self, connection: Any, key: str, until: datetime) -> bool:
        sql = f"INSERT INTO {self._table} (key, until) VALUES (%s, %s) ON CONFLICT DO NOTHING"  # noqa: S608  # a checked name
        return bool(connection.execute(sql, (key, until)).rowcount == 1)

    def _connected(self, address: str) -> Any:
        if self._own is None or self._own.closed:
            import psycopg  # noqa: PLC0415  # only where it is used

            self._own = psycopg.connect(address, autocommit=True)
            self._own.execute(self.schema)
            old = f"DELETE FROM {self._table} WHERE until < %s"  # noqa: S608  # as above
            self._own.execute(old, (datetime.now(UTC) - KEEP,))
        return self._own


class RedisUsed(_Closing):
    """Keeps used keys in a Redis of the tool's own. It must keep what it wrote: AOF on, and no eviction.

    The first use looks through the keys of the server for a namespace of Assent, in every database. A user without the rights
    to `info` and `scan` finds only the namespace of this process.

    Args:
        url: The address of the server.
        namespace: The prefix of the keys.
    """

    def __init__(self, url: str, namespace: str) -> None:
        self._redis = Redis.from_url(url)
        self._namespace = namespace
        self._is_checked = False

    def __call__(self, key: str, until: datetime) -> bool:
        """Take a key, and return whether it was free.

        Raises:
            InvalidRequestError: when Assent itself uses this server: who can write there could free the key.
        """
        if not self._is_checked:
            self._refuse_assents_own()
            self._is_checked = True
        name = f"{self._namespace}:used:{key}"
        return bool(self._redis.set(name, "1", nx=True, pxat=_milliseconds(until + KEEP)))

    def close(self) -> None:
        """Close the connections. The next use opens another one."""
        self._redis.close()

    def _refuse_assents_own(self) -> None:
        for name in self._namespaces():
            raise InvalidRequestError(
                f"RedisUsed: Assent keeps its namespace {name!r} on this server, and everybody who can write there could "
                "let a call run again: give the tool a Redis of its own, or use SqliteUsed or PostgresUsed"
            )

    def _namespaces(self) -> Iterator[str]:
        """Find Assent on this server. Who may not look at a key cannot change it either."""
        for name in (self._namespace, os.environ.get("ASSENT_NAMESPACE") or "assent"):
            with suppress(NoPermissionError):
                if self._redis.exists(Keys(name).meta):
                    yield name
        pool = self._redis.connection_pool
        with suppress(NoPermissionError):
            # Who can write to one database of a server can write to the others.
            for database in self._redis.info("keyspace"):
                options = pool.connection_kwargs | {"db": int(database.removeprefix("db"))}
                with Redis.from_pool(ConnectionPool(pool.connection_class, **options)) as redis:
                    for key in redis.scan_iter(Keys("*").meta, count=10_000, _type="hash"):
                        if redis.hexists(key, "schema"):
                            yield key.decode()[1:].partition("}")[0]


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
