"""Owed work: cards to draw, and records for which something falls due."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from bot.store.connected import Connected

WorkSet = Literal["undrawn", "due"]
OwedSet = Literal["undrawn", "due", "unresumed"]
_LATEST = 2**53
_FAILED = re.compile(r"([1-9][0-9]{0,8}) ([0-9]{1,14}) (.*)", re.DOTALL | re.ASCII)
LONGEST_PAUSE = 3_600_000
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


class WorkLeases(Connected):
    """Leases owed work, to one process at a time."""

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
        """Count a failed attempt at work, and have it tried again after twice as long as the last time: at most an hour.

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


def _shown(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")
