"""Goes through many records, page by page, with pauses: clicks wait for a few records, not for all of them."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

from bot.store.connected import Connected

PAGE = 1000
"""How many ids, or keys, Redis gives at once."""
AT_ONCE = 100
"""How many records one script looks at."""
PAUSE = 0.05
"""Seconds between two pages."""


class Paging(Connected):
    """Gives the ids of many records."""

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


def in_turns(interrupt_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Give some ids at a time, for one script."""
    for first in range(0, len(interrupt_ids), AT_ONCE):
        yield interrupt_ids[first : first + AT_ONCE]
