"""Owed work: cards to draw, and records for which something falls due. What agents note in their inboxes, and which bots live."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, get_args

from agent_adapter.contract.names import is_agent_name
from agent_adapter.contract.trace import TRACEPARENT, TraceContext
from agent_adapter.redis.scripts import Value
from bot.store.connected import Connected

WorkSet = Literal["undrawn", "due"]
OwedSet = Literal["undrawn", "due", "unresumed"]
_LATEST = 2**53
_FAILED = re.compile(r"([1-9][0-9]{0,8}) ([0-9]{1,14}) (.*)", re.DOTALL | re.ASCII)
TAKE_AT_ONCE = 100
"""How many notes of an inbox one script takes. Meanwhile Redis does nothing else."""
PAGE = 1000
"""How many ids, or keys, Redis gives at once."""
AT_ONCE = 100
"""How many records one script looks at."""
PAUSE = 0.05
"""Seconds between two pages."""
LONGEST_PAUSE = 60_000
"""Milliseconds."""
OFTEN = 5
"""Failed attempts after which an operator has to look."""
WHAT: dict[str, str] = {"undrawn": "its card could not be drawn", "due": "what fell due could not be done"}
"""What could not be done, by the set of work."""


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of owed work, leased for a while."""

    kind: WorkSet
    interrupt_id: str
    lease: str


@dataclass(frozen=True, slots=True)
class Failing:
    """Work about one record that could not be done."""

    kind: str
    interrupt_id: str
    failures: int
    since: datetime
    reason: str

    def __str__(self) -> str:
        return (
            f"{WHAT[self.kind]} ({self.reason}), {self.failures} attempts since {self.since:%Y-%m-%d %H:%M}"
        )


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat of this process, and what Redis says."""

    at: int
    """The server's milliseconds."""
    epoch: int
    """How many heartbeats all bots have sent. The number only grows."""
    server: str
    """Which run of which server answers, and of which history; empty where it does not say it."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was in an inbox."""

    notes: int
    refused: int
    """How many of them no client of ours writes, or are about a record that is not the agent's, or is gone."""
    waits: tuple[tuple[int, TraceContext | None], ...] = field(default=(), compare=False)
    """For each decided run that an agent took for the first time: how many milliseconds after its decision, and its trace."""

    @property
    def has_more(self) -> bool:
        """Whether more may be in the inbox."""
        return self.notes >= TAKE_AT_ONCE


class WorkLeases(Connected):
    """Leases owed work, to one process at a time; reads inboxes, gives the ids of many records, and notes that a bot lives."""

    async def queue_drawing(self, interrupt_id: str) -> None:
        """Have the card of a record drawn."""
        await self._settle("undrawn", [interrupt_id, None, 0])

    async def lease_work(self, kind: WorkSet, *, limit: int, lease: int) -> list[Work]:
        """Take up to `limit` due ids for `lease` milliseconds."""
        taken: Sequence[str] = await self.scripts(
            "lease_work", {"owed": self.keys.of()[kind]}, limit=limit, lease=lease
        )
        return [Work(kind, taken[i], taken[i + 1]) for i in range(0, len(taken), 2)]

    async def finish_work(self, work: Work, *, again_in: int | None = None) -> bool:
        """Give work back: it is done, or has to be done again after so many milliseconds.

        Returns:
            Whether earlier attempts at it had failed.
        """
        _, recovered = await self._settle(work.kind, [work.interrupt_id, work.lease, again_in], said="-")
        return bool(recovered)

    async def put_back(self, kind: WorkSet, waits: Mapping[Work, int]) -> None:
        """Give work back. Each piece is done after so many milliseconds."""
        await self._settle(
            kind, [part for work, wait in waits.items() for part in (work.interrupt_id, work.lease, wait)]
        )

    async def fail_work(self, work: Work, *, reason: str, first_pause: int) -> int:
        """Count a failed attempt at work, and have it tried again after twice as long as the last time: at most a minute.

        Returns:
            How many attempts have failed, or 0 when another process has leased it since.
        """
        (stored,) = await self._together(("HGET", self.keys.failing, f"{work.kind}:{work.interrupt_id}"))
        found = _FAILED.fullmatch(_shown(stored or b""))
        before, since = (int(found[1]), found[2]) if found else (0, await self._now())
        again_in = min(first_pause * 2 ** min(before, 20), LONGEST_PAUSE)
        given = [work.interrupt_id, work.lease, again_in]
        moved, _ = await self._settle(work.kind, given, said=f"{before + 1} {since} {reason}")
        return before + 1 if moved else 0

    async def failing(self) -> list[Failing]:
        """List the work that has failed several times, that which fails longest first. Bytes that are not text are shown as hex digits."""
        (stored,) = await self._together(("HGETALL", self.keys.failing))
        found = []
        for name, text in (stored or {}).items():
            kind, _, interrupt_id = _shown(name).partition(":")
            read = _FAILED.fullmatch(_shown(text))
            if kind in WHAT and read and int(read[1]) >= OFTEN:
                since = datetime.fromtimestamp(int(read[2]) / 1000, UTC)
                found.append(Failing(kind, interrupt_id, int(read[1]), since, read[3]))
        return sorted(found, key=lambda each: each.since)

    async def _settle(
        self, kind: WorkSet, given: Sequence[str | int | None], *, said: str | None = None
    ) -> list[int]:
        names = {"owed": self.keys.of()[kind], "failing": self.keys.failing}
        words = ["" if word is None else word for word in given]
        answer: list[int] = await self.scripts("finish_work", names, words, said=said)
        return answer

    async def owed(self) -> dict[str, int]:
        """Count the owed work by kind."""
        counts = await self._together(*(("ZCARD", self.keys.of()[kind]) for kind in get_args(OwedSet)))
        return {kind: count or 0 for kind, count in zip(get_args(OwedSet), counts, strict=True)}

    async def first_due(self, kind: OwedSet, *, limit: int) -> dict[str, int]:
        """Give the work that comes due first: ids, and the server's milliseconds when each comes due."""
        entries: Sequence[tuple[str, float]] = await self._guarded(
            self._redis.zrange(self.keys.of()[kind], 0, limit - 1, withscores=True)
        )
        # A score can be infinite, where something else wrote it.
        return {interrupt_id: int(max(0, min(due, _LATEST))) for interrupt_id, due in entries}

    # --- Inboxes ------------------------------------------------------------------------------------------------------

    async def take_inbox(self, agent: str) -> Taken:
        """Do what follows from the oldest notes of an agent, and delete them."""
        notes, refused, waits = await self.scripts(
            "take_inbox", self.keys.of(agent), agent=agent, limit=TAKE_AT_ONCE
        )
        return Taken(
            notes, refused, tuple((wait, TraceContext.read({TRACEPARENT: parent})) for wait, parent in waits)
        )

    async def full_inboxes(self, told_of: Collection[str]) -> list[str]:
        """Name the agents that have something in their inbox: of the known ones, then of those that we were told of."""
        (known,) = await self._together(("ZRANGE", self.keys.inboxes, 0, -1))
        names = [*dict.fromkeys((*(each.decode(errors="replace") for each in known or ()), *told_of))]
        full = await self._together(*(("EXISTS", self.keys.inbox(name)) for name in names))
        return [name for name, is_full in zip(names, full, strict=True) if is_full]

    async def find_inboxes(self) -> list[str]:
        """Name the agents that have something in their inbox, known or not. This looks at all keys."""
        pages = self._named(self.keys.inbox(""), "stream")
        return [name async for names in pages for name in names if is_agent_name(name)]

    # --- Many records -------------------------------------------------------------------------------------------------

    async def open_ids(self) -> AsyncIterator[Sequence[str]]:
        """Give the ids of all open records, and of others for which something falls due."""
        first = 0
        while found := await self._guarded(self._redis.zrange(self.keys.due, first, first + PAGE - 1)):
            yield found
            first += PAGE
            await asyncio.sleep(PAUSE)

    async def all_ids(self) -> AsyncIterator[Sequence[str]]:
        """Give the ids of all records that bots know, some of them twice. This looks at all keys."""
        async for found in self._named(self.keys.card(""), "hash"):
            yield found

    async def _named(self, before: str, kind: str) -> AsyncIterator[list[str]]:
        """Give what follows in the names of all keys that begin so."""
        cursor = 0
        while True:
            cursor, keys = await self._guarded(
                self._redis.scan(cursor, match=f"{before}*", count=PAGE, _type=kind)
            )
            yield [key.removeprefix(before) for key in keys]
            if not int(cursor):
                return
            await asyncio.sleep(PAUSE)

    # --- Heartbeats ---------------------------------------------------------------------------------------------------

    async def heartbeat(
        self, process: str, *, alive: bool = True, stepped_within: int = 0, quiet_for: float | None = 0.0
    ) -> Beat:
        """Note that this bot is alive, or that it has ended.

        Args:
            process: The name of this process.
            alive: False when it has ended.
            stepped_within: When the process saw that the server's clock was set: within how many milliseconds before now.
                Otherwise 0.
            quiet_for: Seconds since Slack last carried out one of its calls; `None` when Slack cannot be used, or when this
                process takes no clicks.
        """
        given: dict[str, Value] = {
            "process": process,
            "is_alive": int(alive),
            "stepped_within": stepped_within,
            "quiet_for": None if quiet_for is None else int(quiet_for * 1000),
        }
        at, epoch, server = await self.scripts("bot_heartbeat", self.keys.of(), **given)
        return Beat(at, epoch, server)


def in_turns(interrupt_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Give some ids at a time, for one script."""
    for first in range(0, len(interrupt_ids), AT_ONCE):
        yield interrupt_ids[first : first + AT_ONCE]


def _shown(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")
