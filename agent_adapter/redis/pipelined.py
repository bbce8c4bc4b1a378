"""One connection for many scripts at once. What it does not answer, the pool sends again.

A script that ran and whose answer was lost runs twice. What it decides is decided once; an entry of the audit trail about a click
that stored nothing may be there twice.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from redis.credentials import UsernamePasswordCredentialProvider
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from agent_adapter.background import in_background
from agent_adapter.redis.places import Place, said_in

try:
    import hiredis
except ImportError:
    hiredis = None  # type: ignore[assignment]  # it is an extra of redis-py

ANSWERS_WITHIN = 1.0
"""Seconds between two looks: a connection counts as dead when at both of them, the same command waits for its answer."""
_OF_THE_COMMAND = ("NOSCRIPT", "NOPERM", "ERR")
"""How refusals begin that say nothing about the server. After others, it may not be the right one any more."""
_NOT_YET = object()


class Pipelined:
    """The connection for scripts beside a pool."""

    def __init__(self, make: Callable[[], Any], place: Place) -> None:
        """Take what makes a connection of the pool, for its settings, and the place that it leads to."""
        self._make, self._place = make, place
        self._made_in = 0
        self._line: _Line | None = None
        self._opening: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the next command goes over it."""
        line = self._line
        return (
            line is not None and not line.transport.is_closing() and self._made_in == self._place.generation
        )

    def send(self, *command: str | float) -> asyncio.Future[Any] | None:
        """Send a command. The result is its answer, or an exception: then the pool has to send it again.

        Returns:
            `None` while there is no connection. The call then opens one in the background.
        """
        self._place.look()
        if self._line and self.is_open:
            return self._line.send(*command)
        if self._opening is None or self._opening.done():
            self._drop()
            self._opening = in_background(self._open())
        return None

    async def close(self) -> None:
        """Close the connection. What waits for an answer there is for the pool."""
        self._drop()
        if opening := self._opening:
            opening.cancel()
            await asyncio.wait([opening])

    def _drop(self) -> None:
        if self._line:
            self._line.transport.abort()
        self._line = None

    async def _open(self) -> None:
        settings, line = self._make(), None
        self._made_in = self._place.generation
        try:
            async with asyncio.timeout(settings.socket_connect_timeout):
                line = await self._connected(settings)
                self._place.meet(said_in(await line.introduced(settings)))
            self._line = line
        except (RedisError, OSError, RuntimeError, hiredis.HiredisError):
            # The pool meets the same error, and says what it means. uvloop has a RuntimeError for a lost connection.
            self._place.doubt()
        finally:
            if line and self._line is not line:
                line.transport.abort()

    async def _connected(self, settings: Any) -> "_Line":
        loop = asyncio.get_running_loop()
        if path := getattr(settings, "path", ""):
            return (await loop.create_unix_connection(_Line, path))[1]
        tls = getattr(settings, "ssl_context", None)
        return (await loop.create_connection(_Line, *await self._place.find(), ssl=tls and tls.get()))[1]


class _Line(asyncio.Protocol):
    """An open connection, and who waits for its answers."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._reader: Any = hiredis.Reader(encoding="utf-8", notEnoughData=_NOT_YET)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self.loop = asyncio.get_running_loop()
        self._look(None)

    async def introduced(self, settings: Any) -> object:
        """Say who connects, and to which database, as redis-py does, and give the answer to INFO."""
        known = settings.username, settings.password
        login = settings.credential_provider or UsernamePasswordCredentialProvider(*known)
        for words, values in (
            (["AUTH"], await login.get_credentials_async()),
            (["CLIENT", "SETNAME"], [settings.client_name]),
            (["SELECT"], [settings.db]),
        ):
            if any(values) and isinstance(refused := await self.send(*words, *values), Exception):
                raise refused
        info = await self.send("INFO")
        if isinstance(info, RedisError):
            raise info
        return info

    def send(self, *command: str | float) -> asyncio.Future[Any]:
        self.transport.write(hiredis.pack_command(command))  # type: ignore[arg-type]  # it types one argument only
        answer = self.loop.create_future()
        self._waiting.append(answer)
        return answer

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while self._waiting:
            try:
                answer = self._reader.gets()
            except UnicodeDecodeError as error:
                answer = error
            if answer is _NOT_YET:
                return
            waiting = self._waiting.popleft()
            # Nobody waits any more where a caller was cancelled.
            if not waiting.done():
                waiting.set_result(answer)
            if isinstance(answer, hiredis.ReplyError) and not str(answer).startswith(_OF_THE_COMMAND):
                self.transport.abort()

    def connection_lost(self, _: Exception | None) -> None:
        self._watch.cancel()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(RedisConnectionError("the connection was lost"))

    def _look(self, oldest: asyncio.Future[Any] | None) -> None:
        """Close it if the one that has waited longest is still the same."""
        if oldest and self._waiting and self._waiting[0] is oldest:
            self.transport.abort()
        else:
            oldest = self._waiting[0] if self._waiting else None
            self._watch = self.loop.call_later(ANSWERS_WITHIN, self._look, oldest)
