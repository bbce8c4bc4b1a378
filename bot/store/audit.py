"""The audit trail, read as one story: the last days are in Redis, and everything in the files of a log, where there is one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import ceil, inf
from pathlib import Path

from redis.asyncio import Redis

from agent_adapter.cipher import Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import LockedRecordError
from agent_adapter.redis.server_check import read_info
from bot.domain.audit_entry import AuditEntry, Mark
from bot.domain.transitions import ANYTHING, Change, Entry
from bot.runtime.bot_keys import BotKeys
from bot.store.audit_log import AuditLog
from bot.store.connected import FACTS, Connected

IN_REDIS = timedelta(days=7)
"""For how long entries stay in Redis, where they are kept elsewhere after it."""
_SHARE = 2
"""Entries may take one part of so many of the server's memory: where that is full, nobody can decide."""
LEASE = 60_000
"""Milliseconds for which a process keeps the right to write entries to its log and to take them out of Redis."""
_LARGEST = f"{2**64 - 1}-{2**64 - 1}"
"""The number after which Redis gives none."""
READ_AT_ONCE = 1000
"""How many entries one command reads. Clicks wait some milliseconds meanwhile."""


class AuditStore(Connected):
    """Reads the audit trail.

    Its Redis client reads bytes that are not UTF-8 as their codes, so a damaged entry cannot hide the others.
    """

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        folder: str | None = None,
        *,
        signing: BotKeys | None = None,
        address: str = "",
        cipher: Cipher | None = None,
    ) -> None:
        super().__init__(redis, keys, address=address, cipher=cipher)
        self.log = AuditLog(Path(folder), keys.namespace, signing) if folder else None

    @property
    def broken(self) -> list[str]:
        """The lines of the log that could not be read."""
        return self.log.broken if self.log else []

    async def entries(
        self, since: datetime | None = None, until: datetime | None = None, *, about: str = ""
    ) -> AsyncIterator[AuditEntry]:
        """Give the entries of a time, oldest first, each once.

        Args:
            since: The earliest time.
            until: The time before which they are.
            about: The request that they are about; all of them when empty.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            OSError: when the folder cannot be read.
        """
        start = max(0, int(since.timestamp() * 1000)) if since else 0
        end = until.timestamp() * 1000 if until else inf
        told = set[tuple[object, ...]]()
        # Redis first: an entry that leaves it meanwhile is found twice, and never missed.
        read = (entry async for entry in self.in_redis(start, end) if about in {"", entry["id"]})
        newer = await anext(read, None)
        async for entry in self._in_log(since, about):
            while newer and newer.order < entry.order:
                told.add(newer.identity)
                yield newer
                newer = await anext(read, None)
            if newer and newer.identity == entry.identity:
                newer = await anext(read, None)
            if start <= entry.order[0] < end and entry.identity not in told:
                yield entry
        while newer:
            yield newer
            newer = await anext(read, None)

    async def _in_log(self, since: datetime | None, about: str) -> AsyncIterator[AuditEntry]:
        days = await asyncio.to_thread(self.log.days) if self.log else []
        for day in days:
            # An entry is never in the file of an earlier day.
            if self.log and (not since or day >= f"{since.astimezone(UTC):%Y-%m-%d}"):
                found = await asyncio.to_thread(self.log.read, day, about=about)
                for entry in sorted(found, key=lambda entry: entry.order):
                    yield entry

    async def after(self, mark: Mark) -> list[AuditEntry]:
        """Give the next entries in Redis, as many as one command reads."""
        if mark.number == _LARGEST:
            # Redis refuses to look beyond it.
            return []
        read = await self._guarded(self._redis.xrange(self.keys.audit, f"({mark.number}", count=READ_AT_ONCE))
        return [self._entry(number, fields) for number, fields in read]

    async def before(self, number: str, *, most: int = READ_AT_ONCE) -> list[AuditEntry]:
        """Give the entries in Redis up to this one, newest first, as many as one command reads."""
        read = await self._guarded(self._redis.xrevrange(self.keys.audit, number, count=most))
        return [self._entry(number, fields) for number, fields in read]

    async def counted(self) -> int:
        """Give how many entries there ever were."""
        return int(await self._guarded(self._redis.get(self.keys.audit_seq)) or 0)

    async def in_redis(self, start: int = 0, end: float = inf) -> AsyncIterator[AuditEntry]:
        """Give the entries that are in Redis, from a time on and before another one, both in milliseconds."""
        first, last = str(start), "+" if end == inf else f"({ceil(end)}-0"
        while True:
            read = await self._guarded(self._redis.xrange(self.keys.audit, first, last, count=READ_AT_ONCE))
            for number, fields in read:
                yield self._entry(number, fields)
            if len(read) < READ_AT_ONCE or read[-1][0] == _LARGEST:
                return
            first = f"({read[-1][0]}"

    def _entry(self, number: str, fields: dict[str, str]) -> AuditEntry:
        """Read an entry of the stream. Facts that are encrypted with an unknown key stay as they are."""
        facts, record = fields.get(FACTS, ""), fields.get("id", "")
        with suppress(LockedRecordError):
            fields = {**fields, FACTS: self.cipher.open(facts, record=record, field=FACTS)}
        return AuditEntry.of_stream(number, fields)

    async def size(self) -> int:
        """Give how many bytes the entries in Redis take, about."""
        return await self._guarded(self._redis.memory_usage(self.keys.audit)) or 0

    async def most_bytes(self) -> float:
        """Give how many bytes the entries may take, so that the server is not filled by them."""
        limit = int((await self._guarded(read_info(self._redis, "memory"))).get("maxmemory", 0))
        return limit // _SHARE or inf

    async def count(self) -> int:
        """Give how many entries are in Redis."""
        return int(await self._guarded(self._redis.xlen(self.keys.audit)))

    async def lease(self, process: str, lease: int) -> tuple[int, Mark] | None:
        """Lease the right to write entries to the log, and to take them out of Redis.

        Returns:
            The server's milliseconds, and the last entry that is in the log of some bot; `None` when another process has the
            right.
        """
        name, fields = self.keys.audit_move, ("owner", "till", "moved")
        (seconds, microseconds), read = await self._together(("TIME",), ("HMGET", name, *fields))
        at = 1000 * int(seconds) + int(microseconds) // 1000
        owner, till, moved = ((text or b"").decode() for text in read or [None] * len(fields))
        if owner not in {"", process} and at < int(till) <= at + lease:
            return None
        taken = {"owner": process, "till": str(at + lease)}
        answer = await self._swap(name, {"owner": owner, "till": till}, taken)
        return (at, Mark.parse(moved)) if answer.ran else None

    async def note_moved(self, process: str, mark: Mark) -> bool:
        """Note the last entry that is in the log. No when the right went to another process."""
        return (await self._swap(self.keys.audit_move, {"owner": process}, {"moved": str(mark)})).ran

    async def trim(self, process: str, last: str) -> bool:
        """Take the entries up to this one out of Redis. No when the right went to another process."""
        is_mine = bool(await self._guarded(self._redis.hget(self.keys.audit_move, "owner")) == process)
        if is_mine:
            milliseconds, _, count = last.partition("-")
            following = f"{milliseconds}-{int(count) + 1}"
            await self._guarded(self._redis.xtrim(self.keys.audit, minid=following, approximate=False))
        return is_mine

    async def is_of_bots(self) -> bool:
        """Whether a bot has ever run in this namespace."""
        return bool(await self._guarded(self._redis.exists(self.keys.meta)))

    async def note_erased(self, about: str, *, by: str, reason: str) -> None:
        """Enter that somebody erases entries about a request, or about a person where it is empty.

        Raises:
            ServerUnreachableError, ServerFailedError: when Redis does not take it, or this user may not write it.
        """
        said = {"by": by} | ({"reason": reason} if reason else {})
        await self.write(about, ANYTHING, "", Change({}, entries=[Entry("erased", said)], is_drawn=False))
