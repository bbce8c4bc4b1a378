"""Which requests wait for whom, and what a person asked for and decided: sets of ids, without a look at the records."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from bot.domain.waiting import Spot
from bot.store.connected import Connected

Mine = Literal["asked", "decided"]
"""What a person asked for, and what they decided."""


class Waiting(Connected):
    """Reads the sets, and takes out what has ended. `commit` keeps them."""

    async def waiting(self, entries: Sequence[str], *, after: Spot | None = None, limit: int) -> list[Spot]:
        """Merge what waits for a person, the oldest deadline first. A request may have ended: look at its record.

        Args:
            entries: The person, their groups and their channels.
            after: Where the list before this one ended.
            limit: How many requests.
        """
        found, of, start = dict[str, Spot](), Counter[str](), 0
        lists = dict(await self._lists(entries))
        first, names = after.deadline if after else "-inf", [*lists]
        while names:
            ways = ("+inf", "WITHSCORES", "LIMIT", start, limit)
            pages = await self._together(*(("ZRANGEBYSCORE", name, first, *ways) for name in names))
            read = {name: _spots(page or []) for name, page in zip(names, pages, strict=True)}
            for name, spots in read.items():
                if not spots and start == 0 and after is None and lists[name]:
                    await self._forget_circle(name, lists[name])
                new = {spot.interrupt_id: spot for spot in spots if after is None or spot > after}
                of[name] += len(new)
                found = new | found
            names = [name for name, spots in read.items() if len(spots) == limit and of[name] < limit]
            start += limit
        return sorted(found.values())[:limit]

    async def _lists(self, entries: Sequence[str]) -> list[tuple[str, str]]:
        """Name the lists of people, groups and channels: their own, and those of circles with the entry whose circle it is."""
        circles = await self._together(*(("SMEMBERS", self._circles(entry)) for entry in entries))
        of_circles = {
            self.keys.waiting(circle.decode()): entry
            for entry, found in zip(entries, circles, strict=True)
            for circle in sorted(found or ())
        }
        return [*((self.keys.waiting(entry), "") for entry in entries), *of_circles.items()]

    async def _forget_circle(self, name: str, entry: str) -> None:
        """Forget a circle without a list. If something waits for it by now, it is kept."""
        circles, circle = self._circles(entry), name.removeprefix(self.keys.waiting(""))
        _, is_back = await self._together(("SREM", circles, circle), ("EXISTS", name))
        if is_back:
            await self._together(("SADD", circles, circle))

    def _circles(self, entry: str) -> str:
        return f"{self.keys.prefix}circles:{entry}"

    async def mine(self, what: Mine, user: str) -> list[str]:
        """List what a person asked for, or decided, the newest first."""
        newest = self._redis.zrange(self.keys.mine(what, user), 0, -1, desc=True)
        return list(await self._guarded(newest))

    async def drop_stale(self, entries: Sequence[str], interrupt_ids: Sequence[str]) -> None:
        """Forget for these people, groups and channels those of the requests that have ended or are gone."""
        read = await self._together(
            *(("HGET", self.keys.card(each), "status") for each in interrupt_ids),
            *(("EXISTS", self.keys.req(each)) for each in interrupt_ids),
        )
        halves = zip(interrupt_ids, read, read[len(interrupt_ids) :], strict=False)
        found = [
            each for each, status, is_there in halves if status not in {None, b"pending"} or not is_there
        ]
        if found:
            await self._together(*(("ZREM", name, *found) for name, _ in await self._lists(entries)))


def _spots(page: Sequence[Any]) -> list[Spot]:
    """Read ids and deadlines: in pairs, or in turn as older servers give them."""
    pairs = page if page and isinstance(page[0], list) else zip(page[::2], page[1::2], strict=True)
    return [Spot(int(float(deadline)), name.decode()) for name, deadline in pairs]
