"""One connection for many scripts at once: each is written as it comes, and the answers come in the same order.

It only makes the ordinary case fast. It tries nothing again and explains nothing: what it does not answer is sent again by the
pool, which finds the server anew and knows what an error means. That is right because every script is idempotent.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

from redis.asyncio import SSLConnection, UnixDomainSocketConnection
from redis.credentials import UsernamePasswordCredentialProvider
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from agent_adapter.background import in_background
from agent_adapter.redis.places import Place

try:
    import hiredis
except ImportError:
    hiredis = None  # type: ignore[assignment]  # it is an extra of redis-py

ANSWERS_WITHIN = 1.0
"""Seconds without any answer after which a connection counts as dead, while something waits for one."""
_NOT_YET = object()
_LOST = RedisConnectionError("the connection was lost")


class Pipelined:
    """The connection for scripts beside a pool."""

    def __init__(self, make: Callable[[], Any], place: Place) -> None:
        """Take what makes a connection of the pool, for its settings, and the place that it leads to."""
        self._make = make
        self._place = place
        self._made_in = 0
        self._line: _Line | None = None
        self._opening: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the next command goes over it."""
        return self._line is not None and not self._line.is_closing

    def send(self, *command: str | float) -> asyncio.Future[Any] | None:
        """Send a command. The result is its answer, or an exception: then the pool has to send it again.

        Returns:
            `None` while there is no connection. One is opened meanwhile, and nobody waits for it.
        """
        if self._line and (self._line.is_closing or self._made_in != self._place.generation):
            self.close()
        if self._line is None:
            self._opening = self._opening or in_background(self._open())
            return None
        self._place.look()
        return self._line.send(command)

    def close(self) -> None:
        """Close the connection. What waits for an answer there is for the pool."""
        if self._opening:
            self._opening.cancel()
        if self._line:
            self._line.close()
        self._line = self._opening = None

    async def _open(self) -> None:
        settings = self._make()
        # The pool meets the same error, and says what it means.
        with suppress(RedisError, OSError, hiredis.HiredisError):
            async with asyncio.timeout(settings.socket_connect_timeout):
                self._line = await self._introduced(settings)
        self._opening = None

    async def _introduced(self, settings: Any) -> "_Line":
        self._made_in = self._place.generation
        line, at = await self._connected(settings)
        try:
            for command in await _greeting(settings):
                await line.ask(*command)
            # Some users and managed servers may not ask.
            with suppress(hiredis.ReplyError, UnicodeDecodeError):
                info = await line.ask("INFO")
            self._place.meet(info, at)
        except BaseException:
            line.close()
            raise
        return line

    async def _connected(self, settings: Any) -> tuple["_Line", str]:
        loop = asyncio.get_running_loop()
        make = partial(_Line, settings.encoder.encoding, settings.encoder.encoding_errors)
        if isinstance(settings, UnixDomainSocketConnection):
            return (await loop.create_unix_connection(make, settings.path))[1], settings.path
        host, port = await self._place.find()
        tls = settings.ssl_context.get() if isinstance(settings, SSLConnection) else None
        try:
            return (await loop.create_connection(make, host, port, ssl=tls))[1], f"{host}:{port}"
        except OSError:
            self._place.doubt()
            raise


async def _greeting(settings: Any) -> list[tuple[str | int, ...]]:
    """Say what a connection sends first: who it is, its name, and which database."""
    provider = settings.credential_provider
    if not provider and (settings.username or settings.password):
        provider = UsernamePasswordCredentialProvider(settings.username, settings.password)
    greeting: list[tuple[str | int, ...]] = []
    if provider:
        greeting.append(("AUTH", *await provider.get_credentials_async()))
    if settings.client_name:
        greeting.append(("CLIENT", "SETNAME", settings.client_name))
    if settings.db:
        greeting.append(("SELECT", settings.db))
    return greeting


class _Line(asyncio.Protocol):
    """An open connection, and who waits for its answers."""

    def __init__(self, encoding: str, errors: str) -> None:
        self._reader = hiredis.Reader(encoding=encoding, errors=errors, notEnoughData=_NOT_YET)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._answered = 0
        self._watch: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def send(self, command: tuple[str | float, ...]) -> asyncio.Future[Any]:
        self._transport.write(hiredis.pack_command(command))  # type: ignore[arg-type]  # it types one argument only
        answer = self._loop.create_future()
        self._waiting.append(answer)
        self._watch = self._watch or self._loop.call_later(ANSWERS_WITHIN, self._look, self._answered)
        return answer

    async def ask(self, *command: str | int) -> Any:
        answer = await self.send(command)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while self._waiting:
            answer: Any
            try:
                answer = self._reader.gets()
            except UnicodeDecodeError as error:
                answer = error
            if answer is _NOT_YET:
                return
            self._answered += 1
            waiting = self._waiting.popleft()
            # Nobody waits for an answer any more whose caller was cancelled.
            if not waiting.done():
                waiting.set_result(answer)
            # A server that refuses may not be the right one any more.
            if isinstance(answer, hiredis.ReplyError) and not str(answer).startswith("NOSCRIPT"):
                self.close()

    def connection_lost(self, _: Exception | None) -> None:
        if self._watch:
            self._watch.cancel()
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(_LOST)

    def close(self) -> None:
        self._transport.abort()

    def _look(self, answered: int) -> None:
        """End a connection over which nothing has come since the last look, though something is waited for."""
        self._watch = None
        if self._waiting and answered == self._answered:
            self.close()
        elif self._waiting:
            self._watch = self._loop.call_later(ANSWERS_WITHIN, self._look, self._answered)
