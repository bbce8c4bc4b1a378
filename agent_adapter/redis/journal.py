"""What this process has written lately, to write it again after a failover.

A replica that becomes the primary may lack what the former primary accepted last. Each process calls again those of its scripts
that change nothing when their change is there.
"""

import asyncio
import logging
import math
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, Self, TypeAlias

from agent_adapter.errors import (
    InvalidRequestError,
    ServerFailedError,
    ServerUnreachableError,
    UnreadableRecordError,
)

logger = logging.getLogger(__name__)

Sent: TypeAlias = str | int | float

VARIABLE = "ASSENT_REASSERT_SECONDS"
MOST_SECONDS = 600.0
MOST_BYTES = 32 << 20
"""Estimated bytes that all kept writes take together. The oldest ones go first."""
COMES_WITHIN = 20.0
"""Seconds in which another process has to write again what a write of this one builds on."""
SETTLES = 10.0
"""Seconds after a lost connection in which others may still write again. Until then nothing counts as lost, and no claim is new."""
KNOWN = 32
"""How many servers are remembered."""
AT_ONCE = 8
"""How many records are written again at the same time: people and agents use the same connections."""
UNREPLICATED = 20.0
"""Seconds before another server took over, in which it may lack what the former one accepted. Without `kept`, nothing says it."""
SLACKNESS = 2.0
"""Seconds by which the loss of a connection is noticed later than what was lost was written."""
AGAIN_EVERY, AGAIN_AT_MOST = 0.25, 2.0
"""Seconds until a write that has to wait for others is tried again, at first and in the end."""
_EACH = 400
"""Bytes of a kept write without its keys and arguments."""


class Script(Protocol):
    """What has to be known of a script."""

    @property
    def verb(self) -> str: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def args(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Again:
    """How a script is called again."""

    kept_for: frozenset[str]
    """The answers after which there is something to keep. Without any, its caller says what to keep."""
    waits_for: frozenset[str]
    """The answers that mean that something it builds on is not there yet."""
    without: frozenset[str] = frozenset()
    """Keys and arguments that it is called without."""
    varying: frozenset[str] = frozenset()
    """Arguments in which a call can differ from an earlier one that it replaces."""


def _again(kept_for: str, waits_for: str, *, without: str = "", varying: str = "") -> Again:
    return Again(*(frozenset(words.split()) for words in (kept_for, waits_for, without, varying)))


AGAIN: Mapping[str, Again] = {
    "restore_request": _again("", ""),
    "add_waiter": _again("noted", "unknown"),
    "admit": _again("admitted", "unknown"),
    "propose": _again("", "closed"),
    "record_decision": _again("", "closed gone early", without="delivery newest owner pressed"),
    "restore_resumed": _again("", "unknown"),
    "save_part": _again("drawn", ""),
    "mark_missed": _again("noted", "unknown"),
    "mark_read": _again("marked", "unknown", varying="pages mark"),
    "extend": _again("extended", "closed"),
    # An answer can be lost, and then the person presses again.
    "end_standing": _again("ended known", "unknown"),
    "settle": _again("", "unknown behind", without="known"),
    "withdraw": _again("asked", "unknown"),
    "restore_claim": _again("", "unknown", varying="lease fence"),
    # An answer can be lost, and then the pool has repeated the call.
    "finish_resume": _again("finished repeat", "unknown"),
    "report_outcome": _again("reported", "unknown changed lost"),
}
"""The scripts that make a promise to a person or to an agent, and the one that ends a lease, for which others would wait."""


@dataclass(frozen=True, slots=True)
class Write:
    """One call of a script that changed something."""

    script: Script
    keys: tuple[str, ...]
    args: tuple[Sent, ...]
    at: float
    """When, by the monotonic clock."""

    @property
    def record(self) -> str:
        """The id of its record, with which its first key ends."""
        return _record_of(self.keys)

    @property
    def size(self) -> int:
        """Estimated bytes."""
        words = [*self.keys, *(arg for arg in self.args if isinstance(arg, str))]
        return _EACH + sum(len(word.encode(errors="surrogateescape")) for word in words)

    def called_again(self) -> tuple[Sent, ...]:
        """Give its arguments for now: a script that judges by time takes how long ago it was called first."""
        if "age" not in self.script.args:
            return self.args
        place = self.script.args.index("age")
        age = max(1, int((time.monotonic() - self.at) * 1000))
        return (*self.args[:place], age, *self.args[place + 1 :])

    def waits(self, answer: Sequence[str]) -> bool:
        """Whether this answer means that the write has to wait for those of other processes."""
        return not AGAIN[self.script.verb].waits_for.isdisjoint(answer)


DECIDE = frozenset({"record_decision", "propose", "settle"})
"""The scripts that decide what becomes of an action."""

Run: TypeAlias = Callable[[Any, Sequence[str], Sequence[Sent]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Outage:
    """When it was doubted first, and last, whether the same server answers, by the monotonic clock. Meanwhile, nothing is written."""

    began: float
    ended: float

    @classmethod
    def at(cls, moment: float) -> Self:
        """Give one that took no time."""
        return cls(moment, moment)

    @property
    def lasted(self) -> float:
        """Seconds between the two."""
        return 0.0 if self.began == self.ended else self.ended - self.began


@dataclass
class Journal:
    """The writes of this process, oldest first."""

    kept: float = 0.0
    """For how many seconds a write is kept: longer than it takes to replace a primary. With 0, none is."""
    most_bytes: int = MOST_BYTES
    bytes: int = 0
    follows_bots: bool = False
    """Whether the bots of the namespace say how long `kept` is."""
    is_owed: bool = False
    """Whether nothing has been written again since the last outage."""
    servers: tuple[str, ...] = ()
    """The identities of the servers that this process knows, newest last; none where servers do not say it."""
    on_outage: Callable[[], None] = lambda: None
    """Called when something has to be written again."""
    outages: int = 0
    """How often something had to be written again."""
    _waiting: frozenset[str] = frozenset()
    """The records about which a write waits for those of others."""
    _outage: Outage = field(default_factory=lambda: Outage.at(time.monotonic()))
    _before: Outage | None = None
    """The value before an outage that is not certain."""
    _noted_at: float = -math.inf
    """When an outage was last noted."""
    _writes: dict[tuple[object, ...], Write] = field(default_factory=dict)

    @property
    def notices_within(self) -> float:
        """Seconds in which this process has to notice that a server is gone, before others call anything lost."""
        return SETTLES / 3 if self.kept else math.inf

    @classmethod
    def of(cls, kept: timedelta | None) -> Self:
        """Make the journal that a caller asks for; with `None`, the one that `ASSENT_REASSERT_SECONDS` asks for.

        Without either, the bots of the namespace say it.

        Raises:
            InvalidRequestError: when it is not a number of seconds from 0 to 600.
        """
        if kept is not None:
            return cls(_checked(str(kept.total_seconds()), where="reassert"))
        if given := os.environ.get(VARIABLE):
            return cls(_checked(given, where=VARIABLE))
        return cls(follows_bots=True)

    def begin(self, servers: Sequence[str], *, is_settled: bool) -> None:
        """Begin to work with these servers.

        Args:
            servers: Their identities; none where they do not say it.
            is_settled: Whether no failover can have happened just before. A process that starts does not know it by itself.
        """
        self.meet(servers)
        self._outage, self._before = Outage.at(-math.inf if is_settled else time.monotonic()), None

    def note_outage(self, *, is_certain: bool = True) -> None:
        """Note that what answers next may be a new primary.

        Args:
            is_certain: Whether a new server answers. Otherwise a connection was lost, and a wait that goes on already is not
                made longer, because connections can be lost again and again.
        """
        now = time.monotonic()
        goes_on, self._noted_at = now - self._noted_at <= SETTLES, now
        outage = Outage(self._outage.began if goes_on else now, now)
        if is_certain:
            self._outage, self._before = outage, None
        elif not self.is_doubted:
            self._outage, self._before = outage, self._outage
        if not self.kept:
            return
        self.outages += 1
        self.owe()

    def owe(self) -> None:
        """Have everything written again: a call was answered by a server that was replaced meanwhile."""
        self.is_owed = True
        self.on_outage()

    def note_same(self) -> None:
        """Note that the server that answers is the one from before: only the connection was lost."""
        self._noted_at = -math.inf
        if self._before is not None:
            self._outage, self._before = self._before, None

    def meet(self, servers: Sequence[str]) -> bool:
        """Note which servers answer, and say whether one of them is new."""
        new = [server for server in servers if server not in self.servers]
        self.servers = (*self.servers, *new)[-max(KNOWN, 2 * len(servers)) :]
        return bool(new)

    @property
    def is_unsettled(self) -> bool:
        """Whether what Redis does not know may still be written again, by this process or by another."""
        return self.settles_in > 0

    @property
    def is_doubted(self) -> bool:
        """Whether another server may have taken over just now, also where nothing is written again."""
        return self.lost_for < SETTLES

    @property
    def is_looked_into(self) -> bool:
        """Whether a bot may still find that a failover has lost something. It first waits for what others write again."""
        return self.looked_into_for > 0

    @property
    def looked_into_for(self) -> float:
        """Seconds in which a bot may still find that."""
        return max(0.0, SETTLES + (COMES_WITHIN if self.kept else 0) - self.lost_for)

    @property
    def settles_in(self) -> float:
        """Seconds in which what Redis does not know may still be written again."""
        return max(0.0, SETTLES - self.lost_for) if self.kept else 0.0

    def may_have_lost(self, age: float) -> bool:
        """Whether Redis may have lost something that was written so many seconds ago, because of the last outage."""
        unknown_for = self._outage.lasted + (self.kept or UNREPLICATED)
        return -SLACKNESS <= age - self.lost_for < unknown_for

    @property
    def lost_for(self) -> float:
        """Seconds since the last doubt whether the same server answers."""
        return time.monotonic() - self._outage.ended

    def note(self, script: Script, keys: Sequence[str], args: Sequence[Sent], answer: Any) -> None:
        """Keep a call, unless it changed nothing, or its loss would break no promise."""
        again = AGAIN.get(script.verb)
        if again and self.kept and not again.kept_for.isdisjoint(_words(answer)):
            self.keep(script, keys, args)

    def keep(self, script: Script, keys: Sequence[str], args: Sequence[Sent]) -> None:
        """Keep a call. The same one again is as new as its last time."""
        again = AGAIN[script.verb]
        without = again.without
        named = [key for name, key in zip(script.keys, keys, strict=False) if name not in without]
        values = ["" if name in without else arg for name, arg in zip(script.args, args, strict=False)]
        write = Write(
            script,
            (*named, *keys[len(script.keys) :]),
            (*values, *args[len(script.args) :]),
            time.monotonic(),
        )
        same = [arg for name, arg in zip(script.args, write.args, strict=False) if name not in again.varying]
        name = (script.verb, write.keys, *same, *write.args[len(script.args) :])
        self._drop(name)
        self._writes[name] = write
        self.bytes += write.size
        self._forget()

    def forget(self, script: Script, keys: Sequence[str], owner: str) -> None:
        """Keep no call of this script any more that this owner made about this record."""
        record = _record_of(keys)
        for name, write in list(self._writes.items()):
            if (write.script.verb, write.record) == (script.verb, record) and owner in write.args:
                self._drop(name)

    def owes(self, record: str) -> bool:
        """Whether something about a record is still to be written again by this process."""
        return self.is_owed or record in self._waiting

    async def catch_up(self, run: Run, keys: Sequence[str], *, decides: bool) -> None:
        """Before a call, write its record again if the last outage was not followed by that yet, or not with success.

        Otherwise a later, contrary decision would be taken for the first one.

        Args:
            run: Calls a script.
            keys: Of the call.
            decides: Whether the call decides something. Then a decision that waits for others' votes comes first.

        Raises:
            ServerUnreachableError: when Redis does not answer, or an earlier decision is not written again yet.
        """
        record = _record_of(keys)
        if self.owes(record):
            self._forget()
            waiting = await self._called(
                run, [write for write in self._writes.values() if write.record == record]
            )
            if decides and self.is_unsettled and any(write.script.verb in DECIDE for write in waiting):
                raise ServerUnreachableError(
                    f"{record}: an earlier decision is being written again after a failover"
                )

    async def write_again(self, run: Run, *, within: float) -> list[Write]:
        """Call everything again, in order, until all that it builds on is there.

        Returns:
            The writes for which that never came.

        Raises:
            ServerUnreachableError: when Redis does not answer. Repeat it then.
        """
        self._forget()
        left, until, outage = list(self._writes.values()), time.monotonic() + within, self.outages
        pause, turns = AGAIN_EVERY, asyncio.Semaphore(AT_ONCE)

        async def called(group: Iterable[Write]) -> list[Write]:
            async with turns:
                return await self._called(run, group)

        while True:
            groups = await asyncio.gather(*map(called, _by_record(left)))
            left = [write for group in groups for write in group]
            self._waiting = frozenset(write.record for write in left)
            if self.outages != outage:
                # Another server, which may lack everything again.
                return []
            self.is_owed = False
            if not left or time.monotonic() >= until:
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, AGAIN_AT_MOST)
        self._waiting = frozenset()
        for write in left:
            logger.error("write.lost", extra={"script": write.script.verb, "interrupt_id": write.record})
        return left

    async def _called(self, run: Run, writes: Iterable[Write]) -> list[Write]:
        """Call the writes of one record again. Returns those that have to wait."""
        waiting = []
        for write in writes:
            try:
                answer = await run(write.script, write.keys, write.called_again())
            except (ServerFailedError, UnreadableRecordError):
                # Something else has overwritten this record. The others can be written.
                waiting.append(write)
                continue
            if "taken" in _words(answer):
                logger.error("write.contradicted", extra={"interrupt_id": write.record})
            if write.waits(_words(answer)):
                waiting.append(write)
        return waiting

    def _forget(self) -> None:
        now = time.monotonic()
        while self._writes:
            name, oldest = next(iter(self._writes.items()))
            if now - oldest.at <= self.kept and self.bytes <= self.most_bytes:
                return
            self._drop(name)

    def _drop(self, name: tuple[object, ...]) -> None:
        if known := self._writes.pop(name, None):
            self.bytes -= known.size


def _checked(given: str, *, where: str) -> float:
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MOST_SECONDS:
        raise InvalidRequestError(
            f"{where}: {given!r} is not a number from 0 to 600: write seconds, as in 120"
        )
    return seconds


def _record_of(keys: Sequence[str]) -> str:
    return keys[0].rpartition(":")[2]


def _by_record(writes: Iterable[Write]) -> Iterable[list[Write]]:
    """Sort writes by record: those of one record are called in their order, and no record waits for another one."""
    groups: dict[str, list[Write]] = {}
    for write in writes:
        groups.setdefault(write.record, []).append(write)
    return groups.values()


def _words(answer: Any) -> tuple[str, ...]:
    """Give the words of a script's answer: its outcomes."""
    listed = answer if isinstance(answer, list) else [answer]
    return tuple(word for word in listed if isinstance(word, str))
