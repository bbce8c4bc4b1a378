"""The Lua scripts: each is named by its effect, and takes its keys and arguments by name.

A script starts with `local req, card = unpack(KEYS)` and `local id, reason = unpack(ARGV)`. Callers use these names, so the
order of keys and arguments is written in one place only.
"""

import copy
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, TypeAlias

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, ResponseError

from agent_adapter.cipher import MARK, Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import UnreadableRecordError
from agent_adapter.redis.pipelined import Pipelined
from agent_adapter.redis.private import Private, is_private
from agent_adapter.redis.server_check import answered

AGENT_LUA = "agent_adapter.redis.lua"
PRELUDE = "prelude"
SHARED_SCRIPTS = ("read", "is_plain", "finish_work", "change")
"""Scripts that the agent's side and the bot share."""

READ_ONLY = frozenset({"read", "is_plain"})
"""Scripts that write nothing. So a user may run them on keys that it may only read, from Redis 7.0 on."""

Sent: TypeAlias = str | int | float
Value: TypeAlias = Sent | None
Send: TypeAlias = Callable[..., Awaitable[Any]]
"""Sends the words of one command and gives its answer."""
_NAMES = re.compile(r"^local ([\w\s,]+?) = unpack\((KEYS|ARGV)\b", re.MULTILINE)
_DEFINED = re.compile(r"^local (?:function (\w+)|([\w, ]+) =)", re.MULTILINE)


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
        """Put keys and arguments into the script's order. An argument that is `None` is written as `""`.

        Args:
            names: Keys and arguments that `given` does not have.
            given: Keys and arguments by name. A key that is `None` is left out.
            more: Arguments after the named ones.
            more_keys: Keys after the named ones.

        Raises:
            TypeError: when the script has no key or argument of such a name.
        """
        if not given.keys() <= self._names:
            raise TypeError(f"{self.verb} takes {self.keys} and {self.args}, not {[*given]}")
        keys = [given[name] if name in given else names[name] for name in self.keys]
        args = [given[name] if name in given else names[name] for name in self.args]
        return (
            [str(key) for key in (*keys, *more_keys) if key is not None],
            [*("" if arg is None else arg for arg in args), *more],
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
    """Read a script, with the paragraphs of the prelude that it uses."""
    own = _read(package, verb)
    names = {of: tuple(re.findall(r"\w+", listed)) for listed, of in _NAMES.findall(own)}
    return Script(verb, _with_prelude(own), names.get("KEYS", ()), names.get("ARGV", ()))


def _with_prelude(own: str) -> str:
    """Put the paragraphs of the prelude that a script uses before it. Lua builds each function at every call."""
    text, used = own, _words(own)
    # A paragraph uses only what is defined before it.
    for paragraph, defined, words in reversed(_prelude()):
        if defined & used:
            text, used = f"{paragraph}\n\n{text}", used | words
    return text


@cache
def _prelude() -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """Read each paragraph of the prelude, the names that it defines, and all of its words."""
    return [
        (paragraph, _defined(paragraph), _words(paragraph))
        for paragraph in _read(AGENT_LUA, PRELUDE).split("\n\n")
    ]


def _defined(lua: str) -> frozenset[str]:
    return frozenset(name for names in _DEFINED.findall(lua) for name in re.findall(r"\w+", " ".join(names)))


def _words(lua: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", re.sub("--.*", "", lua)))


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
        self._redis = redis
        self._keys = keys
        self.address = address
        found = [read_script(package, verb) for verb in _verbs(package)]
        found += [read_script(AGENT_LUA, verb) for verb in SHARED_SCRIPTS]
        self._scripts = {script.verb: script for script in found}
        self._knows_read_only = True
        """Whether this server has EVALSHA_RO: Redis 6.2 does not, nor users that may read only some keys."""
        self.write: Send | None = None
        """Sends what writes something, in place of the pool."""
        self.pipelined = pipelined
        """Sends them over one connection, until something is wrong with it."""

    def written_by(self, write: Send) -> "Scripts":
        """Return the same scripts, where `write` sends those that write something."""
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
        """Run one script and return its answer. Arguments are as in `Script.call`.

        Raises:
            ServerUnreachableError: after the retries of the pool.
            ServerRefusesError: when something else has overwritten a key that the script needs.
            UnreadableRecordError: when the answer is not UTF-8 text.
        """
        script = self._scripts[verb]
        keys, values = script.call(names, given, more, more_keys)
        args = await self._closed(values, names)
        if self.pipelined and (
            sent := self.pipelined.send(self._word(script), script.sha, len(keys), *keys, *args)
        ):
            answer = await sent
            if not isinstance(answer, Exception):
                return answer
        return await self._run(script, keys, args)

    async def _closed(self, values: Sequence[Sent], names: Mapping[str, str]) -> Sequence[Sent]:
        """Encrypt what is private. What belongs to a question that was asked without encryption stays readable to its agent."""
        if not self._encrypts:
            return values
        of_record = any(isinstance(value, Private) and value and is_private(value.field) for value in values)
        is_plain = of_record and await self._is_plain(names["id"])
        return [
            self._encrypted(value, names)
            if isinstance(value, Private) and not (is_plain and is_private(value.field))
            else value
            for value in values
        ]

    async def _is_plain(self, interrupt_id: str) -> bool:
        return bool(await self("is_plain", self._keys.of(interrupt_id), mark=MARK))

    def _encrypted(self, value: Private, names: Mapping[str, str]) -> str:
        *words, text = value.split(" ", value.words)
        closed = self.cipher.close(text, record=value.record or names["id"], field=value.field)
        return " ".join((*words, closed))

    async def _run(self, script: Script, keys: Sequence[str], args: Sequence[Sent]) -> Any:
        call = self._evaluate(script, len(keys), *keys, *args)
        try:
            return await answered(call, self._redis, self._keys, self.address)
        except UnicodeDecodeError as error:
            raise UnreadableRecordError(f"{keys[0]}: the stored value is not UTF-8 text") from error

    def _word(self, script: Script) -> str:
        return "EVALSHA_RO" if self._knows_read_only and script.verb in READ_ONLY else "EVALSHA"

    async def _evaluate(self, script: Script, count: int, *keys_and_args: Sent) -> Any:
        if self.write and script.verb not in READ_ONLY:
            # Whole, because what waits for more than the answer has no time to send it twice.
            return await self.write("EVAL", script.text, count, *keys_and_args)
        send: Send = self._redis.execute_command
        word = self._word(script)
        try:
            return await send(word, script.sha, count, *keys_and_args)
        except NoScriptError:
            # One request loads and runs it. redis-py itself sends two, and a server may restart in between.
            return await send(word.replace("SHA", ""), script.text, count, *keys_and_args)
        except ResponseError as error:
            if word == "EVALSHA" or "unknown command" not in str(error):
                raise
            self._knows_read_only = False
            return await self._evaluate(script, count, *keys_and_args)


async def read_hashes(
    scripts: Scripts, keys: Keys, interrupt_id: str
) -> tuple[dict[str, str], dict[str, str], int]:
    """Read both halves of a record and the server's milliseconds, at one moment.

    Raises:
        ServerUnreachableError: when Redis does not answer.
    """
    # One script costs half as much as a transaction of three commands.
    req, card, now = await scripts("read", keys.of(interrupt_id))
    return fields_of(req), fields_of(card), now


def fields_of(flat: Sequence[str]) -> dict[str, str]:
    """Read a hash as a script returns it: name, value, name, value, …"""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _verbs(package: str) -> list[str]:
    names = sorted(entry.name for entry in resources.files(package).iterdir())
    found = [name.removesuffix(".lua") for name in names if name.endswith(".lua")]
    return [verb for verb in found if verb != PRELUDE]


def _read(package: str, verb: str) -> str:
    return resources.files(package).joinpath(f"{verb}.lua").read_text(encoding="utf-8")
