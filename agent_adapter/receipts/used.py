"""What was used already: an approved call runs once, because its key is taken once in a store of the tool's own.

The key is the same as `approval_key()`. Keep the store where Assent and its agents cannot write: who can remove a key can
let a call run again.
"""

import os
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from redis import Redis
from redis.exceptions import NoPermissionError

from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import unix_milliseconds
from agent_adapter.errors import InvalidRequestError, ReceiptError, WrongArgumentError

Used: TypeAlias = Callable[[str, datetime], bool | Awaitable[bool]]
"""Takes a key, and until when it is needed. Returns whether the key was free; from then on it is taken."""

KEEP = timedelta(days=1)
"""How much longer than needed a key is kept: the clock of another tool may differ."""
WAIT = 5.0
"""Seconds that a tool waits for another one that writes to the same file."""


def use(used: Used, key: str, until: datetime) -> None:
    """Take a key."""
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
    """Refuse a key that was taken."""
    if is_free is not True:
        raise ReceiptError(
            f"{key} was used already: an approval is for one call. If the first attempt failed, ask again",
            code="used",
        )


class SqliteUsed:
    """Keeps used keys in a file, for tools on one machine. Threads and processes may share it.

    Args:
        path: The file; it is made at the first use.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def __call__(self, key: str, until: datetime) -> bool:
        """Take a key, and return whether it was free."""
        file = sqlite3.connect(self._path, timeout=WAIT, isolation_level="IMMEDIATE")
        with closing(file), file:
            file.execute(
                "CREATE TABLE IF NOT EXISTS used (key TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID"
            )
            file.execute("CREATE INDEX IF NOT EXISTS used_until ON used (until)")
            file.execute("DELETE FROM used WHERE until < ?", (unix_milliseconds(datetime.now(UTC) - KEEP),))
            sql = "INSERT INTO used (key, until) VALUES (?, ?) ON CONFLICT DO NOTHING"
            return file.execute(sql, (key, unix_milliseconds(until))).rowcount == 1


class PostgresUsed:
    """Keeps used keys in the table `assent_used` of PostgreSQL, for tools on many machines.

    With a function that returns the connection of the tool's own transaction, the key is taken exactly when that transaction
    commits: after a crash inside the tool, the call may run again, and its effect happens once.

    Args:
        connection: The address of the database, where the table is made at the first use; or a function that returns a
            connection of psycopg. Nothing is made or committed on that: make the table with `PostgresUsed.SCHEMA`.
    """

    SCHEMA = "CREATE TABLE IF NOT EXISTS assent_used (key text PRIMARY KEY, until timestamptz NOT NULL)"
    """The SQL that makes the table."""

    def __init__(self, connection: str | Callable[[], Any]) -> None:
        self._connection = connection

    def __call__(self, key: str, until: datetime) -> bool:
        """Take a key, and return whether it was free."""
        if callable(self._connection):
            return self._take(self._connection(), key, until)
        import psycopg  # noqa: PLC0415  # only where it is used

        with psycopg.connect(self._connection, autocommit=True) as connection:
            connection.execute(self.SCHEMA)
            connection.execute("DELETE FROM assent_used WHERE until < %s", (datetime.now(UTC) - KEEP,))
            return self._take(connection, key, until)

    @staticmethod
    def _take(connection: Any, key: str, until: datetime) -> bool:
        sql = "INSERT INTO assent_used (key, until) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        return bool(connection.execute(sql, (key, until)).rowcount == 1)


class RedisUsed:
    """Keeps used keys in a Redis of the tool's own. It must keep what it wrote: AOF on, and no eviction.

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
            InvalidRequestError: when Assent itself uses this database: who can write there could free the key.
        """
        for name in self._namespaces():
            raise InvalidRequestError(
                f"RedisUsed: Assent keeps its namespace {name!r} on this server, and everybody who can write there could "
                "let a call run again: give the tool a Redis of its own, or use SqliteUsed or PostgresUsed"
            )
        self._is_checked = True
        used = f"{self._namespace}:used:{key}"
        return bool(self._redis.set(used, "1", nx=True, pxat=unix_milliseconds(until + KEEP)))

    def _namespaces(self) -> Iterator[str]:
        """Find Assent in this database. Who may not look at a key cannot change it either."""
        name = os.environ.get("ASSENT_NAMESPACE") or "assent"
        with suppress(NoPermissionError):
            if self._redis.exists(Keys(name).meta):
                yield name
        with suppress(NoPermissionError):
            listed = self._redis.scan_iter(Keys("*").meta, count=10_000, _type="hash")
            for key in () if self._is_checked else listed:
                if self._redis.hexists(key, "schema"):
                    yield key.decode(errors="replace")[1:].partition("}")[0]
