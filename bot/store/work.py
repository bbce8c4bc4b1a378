"""Owed work: cards to draw, and records for which something falls due."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from bot.store.connected import Connected

WorkSet = Literal["undrawn", "due"]
OwedSet = Literal["undrawn", "due", "unresumed"]
_LATEST = 2**53
_FAILED = re.compile(r"([1-9][0-9]*) ([0-9]+) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of owed work, leased for a while."""

    kind: WorkSet
    interrupt_id: str
    lease: str


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

    async def end_leases(self, kind: WorkSet, *, lease: int) -> None:
        """Make all work due now that is leased for up to so many milliseconds.

        After a failover, nobody may know of such a lease, because its answer can be lost with the connection. Where somebody
        does, the work is done twice, and the second time finds nothing to do.
        """
        at = await self._now()
        leased: Sequence[tuple[str, float]] = await self._guarded(
            self._redis.zrange(self.keys.of()[kind], f"({at}", at + lease, byscore=True, withscores=True)
        )
        await self._settle(kind, [part for name, due in leased for part in (name, f"{due:.0f}", 0)])

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

    async def fail_work(self, work: Work, *, reason: str, first_pause: int, too_many: int) -> int:
        """Count a failed attempt at work, and have it tried again after twice as long as the last time.

        After too many attempts nobody tries it, until something new happens to the record or an operator releases it.

        Returns:
            How many attempts have failed, or 0 when another process has leased it since.
        """
        before, since, _ = await self._failures(work.kind, work.interrupt_id)
        failures = before + 1
        again_in = first_pause * 2**before if failures < too_many else None
        given = [work.interrupt_id, work.lease, again_in]
        moved, _ = await self._settle(work.kind, given, said=f"{failures} {since} {reason}")
        return failures if moved else 0

    async def release_work(self, interrupt_id: str) -> bool:
        """Have failed work about a record tried again. False when nothing had failed.

        Its entry stays, with a count of 0: a bot that succeeds removes it, and then the notice in the record, which an
        operator may not write.
        """
        is_released = False
        for kind in get_args(WorkSet):
            failures, _, reason = await self._failures(kind, interrupt_id)
            if failures:
                at, is_released = await self._now(), True
                await self._together(
                    ("ZADD", self.keys.of()[kind], at, interrupt_id),
                    ("HSET", self.keys.failing, f"{kind}:{interrupt_id}", f"0 {at} {reason}"),
                    ("PUBLISH", self.keys.channel("wake"), interrupt_id),
                )
        return is_released

    async def _failures(self, kind: str, interrupt_id: str) -> tuple[int, int, str]:
        """Give how often work has failed, since when in milliseconds, and why."""
        (stored,) = await self._together(("HGET", self.keys.failing, f"{kind}:{interrupt_id}"))
        found = _FAILED.fullmatch(_shown(stored or b""))
        return (int(found[1]), int(found[2]), found[3]) if found else (0, await self._now(), "")

    async def failing(self) -> dict[str, str]:
        """Give the failing work, as it is stored. Bytes that are not text are shown as hex digits."""
        (found,) = await self._together(("HGETALL", self.keys.failing))
        return {_shown(name): _shown(text) for name, text in (found or {}).items()}

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
