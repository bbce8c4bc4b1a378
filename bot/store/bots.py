"""The heartbeats of the bots."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_adapter.redis.agreed import note_kept, note_settled
from agent_adapter.redis.scripts import Value
from bot.store.connected import Connected, in_each


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat of this process, and what Redis knew before it. Times are the server's milliseconds."""

    others: frozenset[str]
    """The names of the other bots that are alive."""
    at: int
    epochs: tuple[int, ...]
    """By lane, how many heartbeats all bots have sent. The number only grows."""
    before: int
    """The previous heartbeat of this process; 0 when there was none."""


SEEN_WITHIN = 30.0
"""Seconds since its last heartbeat for which a bot counts as alive."""


class Bots(Connected):
    """Keeps which bots are alive, and since when."""

    async def heartbeat(
        self, process: str, *, alive: bool = True, stepped_within: int = 0, quiet_for: float | None = 0.0
    ) -> Beat:
        """Note in every lane that this bot is alive, or that it has ended.

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
        beats = await in_each(
            self.keys.all_lanes(), lambda lane: self.scripts("bot_heartbeat", lane.of(), **given)
        )
        return Beat(
            others=frozenset(name for alive, *_ in beats for name in alive) - {process},
            at=max(at for _, at, *_ in beats),
            epochs=tuple(epoch for *_, epoch, _ in beats),
            before=min(int(before or 0) for *_, before in beats),
        )

    async def alive(self) -> frozenset[str]:
        """Name the bots that are alive."""
        seconds, _ = await self._guarded(self._redis.time())
        found = [
            beat
            for lane in self.keys.all_lanes()
            for beat in await self._guarded(self._redis.zrange(lane.bots, 0, -1, withscores=True))
        ]
        return frozenset(name for name, at in found if at / 1000 > seconds - SEEN_WITHIN)

    async def begin_journal(self) -> None:
        """Look whether a failover can have happened just before this process started.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        if self.scripts.journal.kept:
            await self._guarded(self.scripts.agree_with_bots(begins=True))
        else:
            # Another bot may still have to tell that it lost a rejection.
            self.scripts.journal.begin((), is_settled=not await self.alive())

    async def note_kept(self) -> None:
        """Tell agents for how long to keep what they write: a failover may have lost it.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        await self._guarded(note_kept(self._redis, self.keys, self.scripts.journal.kept))

    async def note_settled(self, servers: Sequence[str]) -> None:
        """Note that nothing is written again any more on these servers.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        await self._guarded(note_settled(self._redis, self.keys, servers))

    async def lived_until(self) -> float:
        """Give the time of the last event that Redis knows, in unix seconds; 0 when it knows none."""
        ends = [0.0]
        for lane in self.keys.all_lanes():
            beats = await self._guarded(self._redis.zrange(lane.bots, -1, -1, withscores=True))
            entries = await self._guarded(self._redis.xrevrange(lane.audit, count=1))
            # The last heartbeat of a bot comes first: an older agent writes audit entries while no bot runs.
            ends.append(
                beats[0][1] / 1000
                if beats
                else int(entries[0][0].partition("-")[0]) / 1000
                if entries
                else 0.0
            )
        return max(ends)
