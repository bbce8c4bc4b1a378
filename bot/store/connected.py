"""The scripts, called for one record, and the change that one of them writes."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias, TypeVar, cast

from redis.asyncio import Redis
from redis.client import NEVER_DECODE
from redis.exceptions import ResponseError

from agent_adapter.cipher import Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import milliseconds, unix_milliseconds
from agent_adapter.errors import ServerFailedError, ServerUnreachableError
from agent_adapter.redis import change as shared
from agent_adapter.redis.change import Answer, Word, Words, run, same, written
from agent_adapter.redis.pool import pipelined
from agent_adapter.redis.scripts import Private, Scripts, Sent, Value, answered, words_before
from bot.domain.errors import StoreUnavailableError
from bot.domain.seal import Seal
from bot.domain.transitions import Change, Entry, Line, Stamp, Text
from bot.runtime.bot_keys import BotKeys
from bot.runtime.offload import blaming
from bot.store.durability import LOCAL, Confirming, Durability
from bot.store.sealed import is_fact, sealed_deadline, sealed_fact

WITHIN = 1.0
"""Seconds that Redis may take while a person waits."""
MOST_REFUSED = 100_000
"""Calls to remember: some 20 MB. The one that was added first is forgotten first."""
FACTS = "facts"
"""The field of an entry of the audit trail that says what was asked or decided."""
Record: TypeAlias = tuple[Sequence[str], Sequence[str], int]
"""A record as scripts give it: the fields of the agent's side and of the card, and the milliseconds of the server."""
_T = TypeVar("_T")


def flat(fields: Mapping[str, Sent]) -> list[Sent]:
    """Write fields as scripts take them: name, value, name, value, …"""
    return [part for field in fields.items() for part in field]


class Refused:
    """Remembers which calls somebody refused. If Redis loses a refusal, nothing approves that call."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], bool] = {}

    def add(self, interrupt_id: str, index: int, *, is_final: bool) -> None:
        """Remember that somebody did not approve an action, and whether that ended it."""
        self._calls[interrupt_id, index] = is_final or self.is_final(interrupt_id, index)
        if len(self._calls) > MOST_REFUSED:
            del self._calls[next(iter(self._calls))]

    def has(self, interrupt_id: str, index: int) -> bool:
        """Whether somebody did not approve an action."""
        return (interrupt_id, index) in self._calls

    def is_final(self, interrupt_id: str, index: int) -> bool:
        """Whether an action was not approved for good."""
        return self._calls.get((interrupt_id, index), False)


class Connected:
    """The base of the store's classes: the scripts, and the names of keys."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        *,
        address: str = "",
        signing: BotKeys | None = None,
        cipher: Cipher | None = None,
        durability: Durability = LOCAL,
    ) -> None:
        self.keys = keys
        self.signing = signing
        """Signs what people decide; `None` without a signing key."""
        self._redis = redis
        self._address = address
        self.scripts = Scripts(
            redis, keys, "bot.store.lua", address=address, cipher=cipher, pipelined=pipelined(redis)
        )
        self.durability = durability
        self._extra = durability.extra
        """Seconds that a write may take longer where it has to be confirmed."""
        self.confirming = Confirming(redis, keys, durability)
        is_local = durability.mode == "local"
        self.durable = self.scripts if is_local else self.scripts.written_by(self.confirming.write)
        """The same scripts for what a person reads as stored. Each raises NotConfirmedError when that is not certain."""
        self.cipher = self.scripts.cipher
        """Encrypts what agents and people write."""
        self.refused = Refused()
        """The calls that somebody refused through this process."""

    def _mark(self, interrupt_id: str, field: str, text: str) -> str:
        """Give the mark of what a bot writes into a field of a card; empty without a seal."""
        return sealed_fact(self.seal, interrupt_id, field, text) if self.seal else ""

    @property
    def seal(self) -> Seal | None:
        """With which seal the bot marks what it keeps, and checks what it reads back; `None` without a key."""
        return self.signing.seal if self.signing else None

    async def confirm(self) -> None:
        """Wait until what was just read is as durable as what a person reads as stored.

        Raises:
            NotConfirmedError, StoreUnavailableError: when that is not certain in time.
        """
        if self.durability.mode != "local":
            await self._in_time(self._guarded(self.confirming.ask()), WITHIN + self._extra)

    async def _swap(
        self,
        key: str,
        read: Mapping[str, str],
        fields: Mapping[str, Word],
        *,
        looks: Sequence[Words] = (),
        kept: int | None = None,
    ) -> Answer:
        """Change fields of a hash if those that were read still say the same, and `looks` hold. An empty text is a missing field."""
        gone = [name for name, text in fields.items() if text == ""]
        commands: list[Words] = written(key, {name: text for name, text in fields.items() if text != ""})
        commands += [("HDEL", key, *gone)] if gone else []
        commands += [("PEXPIRE", key, kept)] if kept else []
        same_as = [(same(text or None), "HGET", key, name) for name, text in read.items()]
        return await run(self.scripts, self.keys.of(), shared.Change((*same_as, *looks), commands))

    async def _together(self, *commands: tuple[Sent, ...]) -> list[Any]:
        """Send commands at once, and give their answers as bytes. It is `None` where a key has another type."""

        async def sent() -> list[Any]:
            async with self._redis.pipeline(transaction=False) as sending:
                for command in commands:
                    sending.execute_command(*command, **{NEVER_DECODE: True})
                answers = await sending.execute(raise_on_error=False)
            for each in answers:
                if isinstance(each, Exception) and not str(each).startswith("WRONGTYPE"):
                    raise each
            return [None if isinstance(each, ResponseError) else each for each in answers]

        found: list[Any] = await self._guarded(sent())
        return found

    async def _now(self) -> int:
        """Give the server's milliseconds."""
        seconds, microseconds = await self._guarded(self._redis.time())
        return int(1000 * seconds + microseconds // 1000)

    async def _in_time(self, call: Awaitable[_T], within: float) -> _T:
        due = time.monotonic() + max(0.0, within)
        try:
            async with asyncio.timeout(within):
                return await call
        except (TimeoutError, ServerUnreachableError) as error:
            raise StoreUnavailableError(await blaming("Redis did not answer in time", due)) from error

    async def _guarded(self, call: object) -> Any:
        try:
            # redis-py types commands as sync or async.
            return await answered(cast("Awaitable[Any]", call), self._redis, self._address)
        except UnicodeDecodeError as error:
            raise ServerFailedError("what is stored in Redis is not UTF-8 text") from error

    # --- Changes ------------------------------------------------------------------------------------------------------

    async def write(
        self,
        interrupt_id: str,
        version: str,
        waiting: str,
        change: Change,
        *,
        within: float = WITHIN,
        is_told: bool = False,
        kept: timedelta | None = None,
    ) -> Record | None:
        """Write a change about a card of this version, which waits for these circles; as `commit`. Gives what the script answers.

        With `ANYTHING` for the version, only what the audit trail says is written, and how long an ended record is `kept`.
        """
        scripts = self.durable if is_told else self.scripts
        given: dict[str, Value] = {
            "seen": version,
            "version": secrets.token_hex(8),
            "till": unix_milliseconds(change.until) if change.until else None,
            "drawn": int(change.is_drawn),
            "looked": unix_milliseconds(change.due) if isinstance(change.due, datetime) else change.due,
            "wakes": "w:" if change.ends or change.is_said else "f:" if change.wakes else None,
            "runs": int(change.runs) if change.ends else None,
            "circles": waiting if change.ends else change.listed,
            "deadline": unix_milliseconds(change.deadline) if change.deadline else None,
            "kept": milliseconds(kept) if kept else None,
        }
        writing = scripts("commit", self.keys.of(interrupt_id), self._words(interrupt_id, change), **given)
        record: Record | None = (
            await self._in_time(writing, within + self._extra) if is_told else await writing
        )
        return record

    def _words(self, interrupt_id: str, change: Change) -> list[Sent]:
        """Write the lists that the script takes, each after the number of its words."""
        lists: Sequence[Sequence[Sent]] = (
            flat(change.judged),
            self._sealed(interrupt_id, change.fields),
            change.removed,
            change.mine,
            flat(change.given),
            change.ended,
            *map(_entry, change.entries),
        )
        words: list[Sent] = []
        for each in lists:
            words.append(len(each))
            words += each
        return words

    def _sealed(self, interrupt_id: str, fields: Mapping[str, Text]) -> list[str]:
        words: list[str] = []
        # The seal of an admission covers all of it.
        seal = None if "seal" in fields else self.seal
        for name, text in fields.items():
            words += (name, _value(name, text))
            if seal and name == "deadline":
                extended, deadline = (int(str(fields[each])) for each in ("extended", "deadline"))
                words += ("seal:deadline", f"= {sealed_deadline(seal, interrupt_id, extended, deadline)}")
            elif seal and is_fact(name):
                words += (f"seal:{name}", f"= {self._mark(interrupt_id, name, str(text))}")
        return words


def _entry(entry: Entry) -> list[str]:
    words: list[str] = [entry.event]
    for name, said in entry.said.items():
        words += (name, Private(f"= {said}", FACTS, words=1) if name == FACTS else _written(said))
    return words


def _value(name: str, text: Text) -> str:
    """Write a field. What quotes an agent or a person is private, after some words that are for everybody to read."""
    before = words_before(name)
    if before is None:
        return _written(text)
    # The time of a stamp is one of those words.
    is_stamped = isinstance(text.text if isinstance(text, Line) else text, Stamp)
    return Private(_written(text), name, words=before + (not is_stamped))


def _written(text: Text) -> str:
    if isinstance(text, str):
        return f"= {text}"
    return f"@{text.later}{text.rest}" if isinstance(text, Stamp) else f"+{_written(text.text)}"
