"""The Lua scripts: each is named by its effect, and takes its keys and arguments by name.

A script starts with `local req, card = unpack(KEYS)` and `local id, reason = unpack(ARGV)`. Callers use these names, so the
order of keys and arguments is written in one place only.

What agents and people write is encrypted here, if there is a key, and nothing else knows of it: scripts move these texts, and
neither read nor compare them but with what they were read as.
"""

import asyncio
import copy
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, Self, TypeAlias, TypeVar

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError, ResponseError

from agent_adapter.cipher import MARK, Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import AgentAdapterError, UnreadableRecordError
from agent_adapter.redis.pipelined import Pipelined
from agent_adapter.redis.server_check import explained

AGENT_LUA = "agent_adapter.redis.lua"
PRELUDE = "prelude"
SHARED_SCRIPTS = ("finish_work", "change")
"""Scripts that the agent's side and the bot share."""

Sent: TypeAlias = str | int | float
Value: TypeAlias = Sent | None
Send: TypeAlias = Callable[..., Awaitable[Any]]
"""Sends the words of one command and gives its answer."""
_T = TypeVar("_T")
_NAMES = re.compile(r"^local ([\w\s,]+?) = unpack\((KEYS|ARGV)\b", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """One script, as read from its file."""

    verb: str
    text: str
    keys: tuple[str, ...]
    args: tuple[str, ...]

    def call(
        self,
        names: Mapping[str, str],
        given: Mapping[str, Value],
        more: Iterable[Sent] = (),
        more_keys: Iterable[str] = (),
    ) -> tuple[list[str], list[Sent]]:
        """Put keys and arguments into the script's order: those of `given`, else of `names`; `more` come after them.

        A key that is `None` is left out, an argument that is `None` is written as `""`.
        """
        if not given.keys() <= self._names:
            raise TypeError(f"{self.verb} takes {self.keys} and {self.args}, not {[*given]}")
        keys = [given[name] if name in given else names[name] for name in self.keys]
        args = [given[name] if name in given else names[name] for name in self.args]
        return (
            [*map(str, filter(None, (*keys, *more_keys)))],
            ["" if arg is None else arg for arg in (*args, *more)],
        )

    @cached_property
    def sha(self) -> str:
        """Its name in Redis."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset((*self.keys, *self.args))


@cache
def read_script(package: str, verb: str) -> Script:
    """Read a script, with the prelude before it."""
    own = _read(package, verb)
    names = {of: tuple(re.findall(r"\w+", listed)) for listed, of in _NAMES.findall(own)}
    text = f"{_read(AGENT_LUA, PRELUDE)}\n{own}"
    return Script(verb, text, names.get("KEYS", ()), names.get("ARGV", ()))


_WORDS_BEFORE = {
    "body": 0, "withdraw": 0, "stalled": 0, "reason": 0, "d": 0, "sticky_grant": 0,
    "outcome": 1, "sticky_uses": 1, "proposal": 4, "vote": 3,
}  # fmt: skip
"""The fields of a record that hold such a text, and how many words stand before it."""
_OF_LINES = {"sticky_uses"}
"""The fields that hold one text in each line."""


class Private(str):
    """An argument of a script that agents or people wrote, or that quotes them. Without a key it is sent as it is."""

    __slots__ = ("field", "record", "words")
    field: str
    record: str
    words: int

    def __new__(cls, text: str, field: str, *, record: str = "", words: int = 0) -> Self:
        """Mark a text that is kept in this field, of this record if it is not the script's own.

        So many words at its beginning stay as they are, because scripts read them.
        """
        made = super().__new__(cls, text)
        made.field, made.record, made.words = field, record, words
        return made


def opened(cipher: Cipher, record: str, fields: Mapping[str, str]) -> dict[str, str]:
    """Decrypt a hash of a record.

    A text that is not encrypted is read as well: it is from before there was a key.
    """
    return {
        name: _opened(cipher, record, name, text) if MARK in text else text for name, text in fields.items()
    }


def _opened(cipher: Cipher, record: str, name: str, text: str) -> str:
    kind = name.partition(":")[0]
    if kind not in _WORDS_BEFORE:
        return text
    found = []
    for line in text.split("\n") if kind in _OF_LINES else [text]:
        *words, said = line.split(" ", _WORDS_BEFORE[kind])
        found.append(" ".join((*words, cipher.open(said, record=record, field=name))))
    return "\n".join(found)


def words_before(field: str) -> int | None:
    """Count the words before what is private in a field, which everybody can read. `None` where nothing is private."""
    return _WORDS_BEFORE.get(field.partition(":")[0])


class Scripts:
    """The scripts of one side, agent or bot, by name."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        package: str,
        *,
        address: str = "",
        cipher: Cipher | None = None,
        pipelined: Pipelined | None = None,
    ) -> None:
        self.cipher = cipher or Cipher()
        """Encrypts what agents and people write."""
        self._encrypts = bool(self.cipher)
        self._place: tuple[asyncio.AbstractEventLoop, int] | None = None
        self._redis = redis
        self._keys = keys
        self.address = address
        found = [read_script(package, verb) for verb in _verbs(package)]
        found += [read_script(AGENT_LUA, verb) for verb in SHARED_SCRIPTS]
        self._scripts = {script.verb: script for script in found}
        self.write: Send | None = None
        """Sends each script, in place of the pool."""
        self.pipelined = pipelined
        """Sends them over one connection, until something is wrong with it."""

    def written_by(self, write: Send) -> "Scripts":
        """Return the same scripts, sent by `write`."""
        scripts = copy.copy(self)
        scripts.write, scripts.pipelined = write, None
        return scripts

    async def __call__(
        self,
        verb: str,
        names: Mapping[str, str],
        more: Iterable[Sent] = (),
        more_keys: Iterable[str] = (),
        /,
        **given: Value,
    ) -> Any:
        """Run one script and return its answer. Arguments are as in `Script.call`."""
        self.check_loop()
        script = self._scripts[verb]
        keys, values = script.call(names, given, more, more_keys)
        if self._encrypts:
            values = [self._encrypted(each, names) if isinstance(each, Private) else each for each in values]
        line = self.pipelined
        if line and (sent := line.send("EVALSHA", script.sha, len(keys), *keys, *values)):
            answer = await sent
            if not isinstance(answer, Exception):
                return answer
        try:
            return await answered(
                self._evaluate(script, len(keys), *keys, *values), self._redis, self.address
            )
        except UnicodeDecodeError as error:
            raise UnreadableRecordError(
                f"{names.get('id', verb)}: the stored value is not UTF-8 text"
            ) from error

    def check_loop(self) -> None:
        """Refuse to go on in another event loop or process than that of the first call, whose connections these are."""
        place = asyncio.get_running_loop(), os.getpid()
        self._place = self._place or place
        if place != self._place:
            raise AgentAdapterError(
                "this client was opened in another event loop or process: open one with `async with` inside each "
                "asyncio.run, and after each fork; with a SyncApprovalClient, let it run the coroutine: "
                "approvals.run(run(…, approvals=approvals.client))"
            )

    def _encrypted(self, value: Private, names: Mapping[str, str]) -> str:
        *words, text = value.split(" ", value.words)
        closed = self.cipher.close(text, record=value.record or names["id"], field=value.field)
        return " ".join((*words, closed))

    async def _evaluate(self, script: Script, count: int, *keys_and_args: Sent) -> Any:
        if self.write:
            # Whole, because what waits for more than the answer has no time to send it twice.
            return await self.write("EVAL", script.text, count, *keys_and_args)
        send: Send = self._redis.execute_command
        try:
            return await send("EVALSHA", script.sha, count, *keys_and_args)
        except NoScriptError:
            # One request loads and runs it. redis-py itself sends two, and a server may restart in between.
            return await send("EVAL", script.text, count, *keys_and_args)


async def answered(call: Awaitable[_T], redis: Redis, address: str) -> _T:
    """Await the answer to a command."""
    try:
        return await call
    except (RedisError, OSError) as error:
        if isinstance(error, ResponseError):
            # After a failover the address may lead to another server, but open connections lead to the old one.
            await redis.connection_pool.disconnect(inuse_connections=False)
        raise explained(address, error) from error


def fields_of(flat: Sequence[str] | None, record: str) -> dict[str, str]:
    """Read a hash of a record as a script returns it: name, value, name, value, …; `None` where its key has another type."""
    if flat is None:
        raise UnreadableRecordError(f"{record} cannot be read: a key of it has another type (WRONGTYPE)")
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _verbs(package: str) -> list[str]:
    names = sorted(entry.name for entry in resources.files(package).iterdir())
    found = [name.removesuffix(".lua") for name in names if name.endswith(".lua")]
    return [verb for verb in found if verb != PRELUDE]


def _read(package: str, verb: str) -> str:
    return resources.files(package).joinpath(f"{verb}.lua").read_text(encoding="utf-8")
