"""Owed work: cards to draw, and records for which something falls due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from redis.client import NEVER_DECODE

from bot.store.connected import Connected

WorkSet = Literal["undrawn", "due"]
OwedSet = Literal["undrawn", "due", "unresumed"]
_LATEST = 2**53


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
        await self.scripts("queue_drawing", self._of(interrupt_id))

    async def lease_work(self, kind: WorkSet, *, limit: int, lease: int) -> list[Work]:
        """Take up to `limit` due ids for `lease` milliseconds."""
        taken: Sequence[str] = await self.scripts("lease_work", self._owed(kind), limit=limit, lease=lease)
        return [Work(kind, taken[i], taken[i + 1]) for i in range(0, len(taken), 2)]

    async def end_leases(self, kind: WorkSet, *, lease: int) -> None:
        """Make all work due now that is leased for up to so many milliseconds.

        After a failover, nobody may know of such a lease, because its answer can be lost with the connection. Where somebody
        does, the work is done twice, and the second time finds nothing to do.
        """
        await self.scripts("end_leases", {"owed": self.keys.of()[kind]}, lease=lease)

    async def finish_work(self, work: Work, *, again_in: int | None = None) -> bool:
        """Give work back: it is done, or has to be done again after so many milliseconds.

        Returns:
            Whether earlier attempts at it had failed.
        """
        recovered = await self.scripts(
            "finish_work",
            self._owed(work.kind),
            [work.interrupt_id, work.lease, again_in],
            succeeded=1,
        )
        return bool(recovered)

    async def fail_work(self, work: Work, *, reason: str, first_pause: int, too_many: int) -> int:
        """Count a failed attempt at work. Returns how many have failed, or 0 when another process has leased it since."""
        return int(
            await self.scripts(
                "fail_work",
                self._owed(work.kind) | {"id": work.interrupt_id},
                lease=work.lease,
                first_pause=first_pause,
                too_many=too_many,
                reason=reason,
            )
        )

    async def failing(self) -> dict[str, str]:
        """Give the failing work, as it is stored. Bytes that are not text are shown as hex digits."""
        found = await self._guarded(
            self._redis.execute_command("HGETALL", self.keys.failing, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]  # redis-py does not type it
        )
        return {_shown(name): _shown(text) for name, text in found.items()}

    async def release_work(self, interrupt_id: str) -> bool:
        """Have failed work about a record tried again. False when nothing had failed."""
        return bool(await self.scripts("release_work", self._of(interrupt_id)))

    async def put_back(self, kind: WorkSet, waits: Mapping[Work, int]) -> None:
        """Give work back. Each piece is done after so many milliseconds."""
        given = [part for work, wait in waits.items() for part in (work.interrupt_id, work.lease, wait)]
        await self.scripts("finish_work", self._owed(kind), given, succeeded=0)

    async def owed(self) -> dict[str, int]:
        """Count the owed work by kind."""
        owed = {"undrawn": self.keys.undrawn, "due": self.keys.due, "unresumed": self.keys.unresumed}
        return {kind: int(await self._guarded(self._redis.zcard(key))) for kind, key in owed.items()}

    async def first_due(self, kind: OwedSet, *, limit: int) -> dict[str, int]:
        """Give the work that comes due first: ids, and the server's milliseconds when each comes due."""
        entries: Sequence[tuple[str, float]] = await self._guarded(
            self._redis.zrange(self.keys.of()[kind], 0, limit - 1, withscores=True)
        )
        # A score can be infinite, where something else wrote it.
        return {interrupt_id: int(max(0, min(due, _LATEST))) for interrupt_id, due in entries}

    def _owed(self, kind: WorkSet) -> dict[str, str]:
        return {"owed": self.keys.of()[kind], "failing": self.keys.failing}


def _shown(stored: bytes) -> str:
    return stored.decode(errors="backslashreplace")


def set_of(name: str) -> WorkSet:
    """Read the name of a set of work."""
    return "undrawn" if name == "undrawn" else "due"
