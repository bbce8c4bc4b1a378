"""Which weekly digests were sent, or are being sent."""

from bot.store.connected import Connected

KEPT = 10
"""How many weeks are kept: a process whose clock is some weeks behind sends none of them again."""


class SentDigests(Connected):
    """A mark for each week, set before its digest is sent. So two processes never send the same one."""

    async def is_taken(self, week: str) -> bool:
        """Whether some process has sent the digest of this week, or sends it now."""
        return bool(await self._guarded(self._redis.hexists(self.keys.digests, week)))

    async def take(self, week: str, process: str) -> bool:
        """Take the right to send it. No when another process has it. Marks of long ago are removed."""
        if not await self._guarded(self._redis.hsetnx(self.keys.digests, week, process)):
            return False
        # A week is a date, so the oldest comes first.
        weeks = sorted(await self._guarded(self._redis.hkeys(self.keys.digests)))
        if old := weeks[:-KEPT]:
            await self._guarded(self._redis.hdel(self.keys.digests, *old))
        return True

    async def give_back(self, week: str) -> None:
        """Let it be sent again, because nothing was sent."""
        await self._guarded(self._redis.hdel(self.keys.digests, week))
