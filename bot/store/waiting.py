"""Which requests wait for whom, and what a person asked for and decided: sets of ids, without a look at the records."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Literal

from bot.domain.waiting import Spot
from bot.store.connected import Connected
from bot.store.paging import in_turns

Mine = Literal["asked", "decided"]
"""What a person asked for, and what they decided."""
_OPEN_FOR = timedelta(days=1).total_seconds()
"""For how long a Home tab counts as open."""


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
        reply = await self.scripts(
            "read_waiting",
            self.keys.of(),
            (),
            [self.keys.waiting(entry) for entry in entries],
            after=after.deadline if after else None,
            last=after.interrupt_id if after else None,
            limit=limit,
            agent=agent,
        )
        return sorted(Spot(int(reply[i + 1]), reply[i]) for i in range(0, len(reply), 2))[:limit]

    async def count_waiting(self, entries: Sequence[str]) -> Counter[str]:
        """Count the requests in the lists of a person by agent. Some of them may have ended.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        lists = [self.keys.waiting(entry) for entry in entries]
        reply = await self.scripts("count_waiting", self.keys.of(), (), lists)
        return Counter({agent: int(count) for agent, count in zip(reply[::2], reply[1::2], strict=True)})

    async def mine(self, what: Mine, user: str) -> list[str]:
        """List what a person asked for, or decided, the newest first.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        newest = self._redis.zrange(self.keys.mine(what, user), 0, -1, desc=True)
        return list(await self._guarded(newest))

    async def note_home(self, user: str, look: str) -> None:
        """Note that somebody opened their Home tab now, and at what they look."""
        await self._guarded(self._redis.hset(self.keys.homes, user, f"{time.time():.0f} {look}"))

    async def home_looks(self) -> dict[str, str]:
        """Say at what those look who opened their Home tab within a day. Forget the others.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        noted = (await self._guarded(self._redis.hgetall(self.keys.homes))).items()
        old = {user for user, text in noted if time.time() - float(text.partition(" ")[0]) > _OPEN_FOR}
        if old:
            await self._guarded(self._redis.hdel(self.keys.homes, *old))
        return {user: text.partition(" ")[2] for user, text in noted if user not in old}

    async def drop_stale(self, entries: Iterable[str], interrupt_ids: Iterable[str]) -> None:
        """Forget for these people, groups and channels those of the requests that have ended or are gone."""
        if ids := [*interrupt_ids]:
            lists = [self.keys.waiting(entry) for entry in entries]
            await self.scripts("drop_stale", self.keys.of(), ids, lists)

    async def relist(self, interrupt_ids: Sequence[str]) -> None:
        """Write lost entries of open requests again.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        for some in in_turns(interrupt_ids):
            await self.scripts("relist_waiting", self.keys.of(), some)
