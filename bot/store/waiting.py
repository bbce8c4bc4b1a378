"""Which requests wait for whom, and what a person asked for and decided: sets of ids, without a look at the records."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from agent_adapter.contract.keys import Lane
from bot.domain.waiting import Spot
from bot.store.connected import Connected

Mine = Literal["asked", "decided"]
"""What a person asked for, and what they decided."""


class Waiting(Connected):
    """Reads the sets, and repairs them. The scripts that change a record keep them."""

    async def waiting(
        self, entries: Sequence[str], *, agent: str = "", after: Spot | None = None, limit: int
    ) -> list[Spot]:
        """Merge what waits for a person, the oldest deadline first. A request may have ended: look at its record.

        Args:
            entries: The person, their groups and their channels.
            agent: Only requests of this agent; of all agents when empty.
            after: Where the list before this one ended.
            limit: How many requests.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: list[Spot] = []
        for lane in self.keys.all_lanes():
            reply = await self.scripts(
                "read_waiting",
                lane.of(),
                (),
                [lane.waiting(entry) for entry in entries],
                after=after.deadline if after else None,
                last=after.interrupt_id if after else None,
                limit=limit,
                agent=agent,
            )
            found += [Spot(int(reply[i + 1]), reply[i]) for i in range(0, len(reply), 2)]
        return sorted(found)[:limit]

    async def count_waiting(self, entries: Sequence[str]) -> Counter[str]:
        """Count the requests in the lists of a person by agent. Some of them may have ended.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found = Counter[str]()
        for lane in self.keys.all_lanes():
            keys = [lane.waiting(entry) for entry in entries]
            reply = await self.scripts("count_waiting", lane.of(), (), keys)
            found.update({agent: int(count) for agent, count in zip(reply[::2], reply[1::2], strict=True)})
        return found

    async def mine(self, what: Mine, user: str) -> list[str]:
        """List what a person asked for, or decided, the newest first.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        return [interrupt_id for _, interrupt_id in await self.dated(what, user)]

    async def dated(self, what: Mine, user: str) -> list[tuple[float, str]]:
        """List the same, each with when it was.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        found: list[tuple[float, str]] = []
        for lane in self.keys.all_lanes():
            newest = self._redis.zrange(lane.mine(what, user), 0, -1, desc=True, withscores=True)
            found += [(at, interrupt_id) for interrupt_id, at in await self._guarded(newest)]
        return sorted(found, reverse=True)

    async def drop_stale(self, entries: Iterable[str], interrupt_ids: Iterable[str]) -> None:
        """Forget for these people, groups and channels those of the requests that have ended or are gone."""
        by_lane: dict[Lane, list[str]] = {}
        for interrupt_id in interrupt_ids:
            by_lane.setdefault(self.keys.lane_for(interrupt_id), []).append(interrupt_id)
        named = [*entries]
        for lane, ids in by_lane.items():
            await self.scripts("drop_stale", lane.of(), ids, [lane.waiting(entry) for entry in named])

    async def relist(self, lane: Lane, *, first: int, limit: int) -> int:
        """Write lost entries of some of the open requests again, and say how many were looked at.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        return int(await self.scripts("relist_waiting", lane.of(), first=first, limit=limit))
