"""The audit trail, read as one story: the last days are in Redis, older ones in a folder."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from math import inf

from redis.asyncio import Redis

from agent_adapter.contract.keys import Keys
from agent_adapter.contract.keys import Keys as Lane
from agent_adapter.errors import LockedRecordError
from agent_adapter.redis.private import RecordCipher
from agent_adapter.redis.scripts import fields_of
from agent_adapter.redis.server_check import read_info
from bot.domain.audit_entry import AuditEntry, is_text, span_of
from bot.domain.sealing import Mark
from bot.store.audit_folder import AuditFolder
from bot.store.audit_log import AuditLogs, number_of
from bot.store.connected import Connected
from bot.tlog.bucket import is_bucket
from bot.tlog.log import LogKey

IN_REDIS = timedelta(days=7)
"""For how long entries stay in Redis, where they are kept elsewhere after it."""
_SHARE = 2
"""Entries may take one part of so many of the server's memory: where that is full, nobody can decide."""
LEASE = 60_000
"""Milliseconds for which a process keeps the right to seal entries and to take them out of Redis."""
_LARGEST = f"{2**64 - 1}-{2**64 - 1}"
"""The number after which Redis gives none."""
READ_AT_ONCE = 1000
"""How many entries one command reads. Clicks wait some milliseconds meanwhile."""
FACTS = "facts"
"""The field of an entry that says what was asked or decided."""


class AuditStore(Connected):
    """Reads the audit trail. `torn` names the lines of the folder that a dying process did not finish.

    It is given a Redis that keeps bytes that are no text: nothing that somebody writes there may hide other entries.
    """

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        folder: str | None = None,
        *,
        address: str = "",
        cipher: RecordCipher | None = None,
    ) -> None:
        super().__init__(redis, keys, address=address, cipher=cipher)
        self.folder = AuditFolder(folder) if folder and not is_bucket(folder) else None
        self.logs = AuditLogs(keys.namespace, folder) if folder else None
        self.torn: list[str] = []
        self.unsealed = set[tuple[object, ...]]()
        """The identities of entries that were read, and are not in the sealed log that is there."""

    @property
    def keeps(self) -> bool:
        """Whether entries are kept outside of Redis."""
        return self.logs is not None

    @property
    def broken(self) -> list[str]:
        """The batches of the sealed logs that could not be read."""
        return self.logs.broken if self.logs else []

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
        lanes = [self.keys]
        is_sealed = await asyncio.to_thread(self._signed, lanes)
        start = max(0, int(since.timestamp() * 1000)) if since else 0
        end = until.timestamp() * 1000 if until else inf
        for day in await self._days(lanes, start, end):
            for entry in await self._of_day(day, lanes, about, is_sealed=is_sealed):
                if (not since or entry.at >= since) and (not until or entry.at < until):
                    yield entry

    async def _days(self, lanes: list[Lane], start: int, end: float) -> list[date]:
        """Give the days that have entries between two times, in milliseconds."""
        kept = await asyncio.to_thread(self.folder.days) if self.folder else []
        days = {
            day
            for day in map(date.fromisoformat, kept)
            if span_of(day)[0] <= end and span_of(day)[1] >= start
        }
        for lane in lanes:
            if self.logs:
                days |= await asyncio.to_thread(self.logs.lane(lane).days, start, end)
            days |= await self._days_in_redis(lane, start, end)
        return sorted(days)

    async def _days_in_redis(self, lane: Lane, start: float, end: float) -> set[date]:
        days = set[date]()
        # From one entry to the first one of a later day: one that names a time far away makes no days in between.
        while start <= end and start < inf:
            first = [entry async for entry in self.in_redis(lane, int(start), end, most=1)]
            if not first:
                break
            day = first[0].at.date()
            days.add(day)
            start = span_of(day)[1] + 1
        return days

    def _signed(self, lanes: Iterable[Lane]) -> bool:
        """Whether one of these lanes has a sealed log."""
        return self.logs is not None and any(self.logs.lane(lane).signed() for lane in lanes)

    async def _of_day(self, day: date, lanes: list[Lane], about: str, *, is_sealed: bool) -> list[AuditEntry]:
        # Redis first: an entry that is moved meanwhile is found twice, and never missed.
        start, end = span_of(day)
        found: dict[tuple[object, ...], AuditEntry] = {}
        for lane in lanes:
            read = self._in_redis_about(lane, about, start, end) if about else self.in_redis(lane, start, end)
            async for entry in read:
                found[entry.identity] = entry
        if self.folder:
            kept, torn = await asyncio.to_thread(self.folder.read, day.isoformat(), about=about)
            self.torn += torn
            found |= {entry.identity: entry for entry in kept}
        sealed = list[AuditEntry]()
        if self.logs:
            for lane in lanes:
                sealed += await asyncio.to_thread(self.logs.lane(lane).read, start, end, about)
        for entry in sealed:
            found.pop(entry.identity, None)
        if is_sealed:
            self.unsealed.update(found)
        return sorted([*sealed, *found.values()], key=lambda entry: entry.order)

    async def after(self, lane: Lane, number: str) -> list[AuditEntry]:
        """Give the next entries of a lane in Redis, as many as one command reads."""
        if number == _LARGEST:
            # Redis refuses to look beyond it.
            return []
        read = await self._guarded(self._redis.xrange(lane.audit, f"({number}", count=READ_AT_ONCE))
        return [self._entry(lane, number, fields) for number, fields in read]

    async def before(self, lane: Lane, number: str, *, most: int = READ_AT_ONCE) -> list[AuditEntry]:
        """Give the entries of a lane in Redis up to this one, newest first, as many as one command reads."""
        read = await self._guarded(self._redis.xrevrange(lane.audit, number, count=most))
        return [self._entry(lane, number, fields) for number, fields in read]

    async def counted(self, lane: Lane) -> int:
        """Give how many entries of a lane there ever were."""
        return int(await self._guarded(self._redis.get(lane.audit_seq)) or 0)

    async def in_redis(
        self, lane: Lane, start: int = 0, end: float = inf, *, most: int | None = None
    ) -> AsyncIterator[AuditEntry]:
        """Give the entries of a lane that are in Redis, by the milliseconds of their time."""
        first, last = str(start), _last(end)
        while True:
            count = READ_AT_ONCE if most is None else min(most, READ_AT_ONCE)
            read = await self._guarded(self._redis.xrange(lane.audit, first, last, count=count))
            for number, fields in read:
                yield self._entry(lane, number, fields)
            if len(read) < count or most is not None or read[-1][0] == _LARGEST:
                return
            first = f"({read[-1][0]}"

    async def _in_redis_about(
        self, lane: Lane, about: str, start: int, end: float
    ) -> AsyncIterator[AuditEntry]:
        """Give the entries about one request. Redis looks through the others, which would be slow to send."""
        names, first = lane.of(about), str(start)
        while first:
            next_one, *read = await self.scripts(
                "read_audit", names, first=first, last=_last(end), count=READ_AT_ONCE
            )
            for number, fields in zip(read[::2], read[1::2], strict=True):
                yield self._entry(lane, number, fields_of(fields))
            first = f"({next_one}" if next_one not in {"", _LARGEST} else ""

    def _entry(self, lane: Lane, number: str, fields: dict[str, str]) -> AuditEntry:
        """Read an entry of the stream. Facts that are encrypted with an unknown key stay as they are."""
        facts, record = fields.get(FACTS, ""), fields.get("id", "")
        if is_text(facts + record):
            with suppress(LockedRecordError):
                fields = {**fields, FACTS: self.cipher.open(facts, record=record, field=FACTS)}
        return AuditEntry.of_stream(number_of(lane), number, fields)

    async def size(self) -> int:
        """Give how many bytes the entries in Redis take, about."""
        sizes = [await self._guarded(self._redis.memory_usage(lane.audit)) for lane in [self.keys]]
        return sum(size or 0 for size in sizes)

    async def most_bytes(self) -> float:
        """Give how many bytes the entries may take, so that the server is not filled by them."""
        limit = int((await self._guarded(read_info(self._redis, "memory"))).get("maxmemory", 0))
        return limit // _SHARE or inf

    async def count(self, lane: Lane) -> int:
        """Give how many entries of a lane are in Redis."""
        return int(await self._guarded(self._redis.xlen(lane.audit)))

    async def lease(self, lane: Lane, process: str, lease: int) -> int:
        """Lease the right to take entries out of Redis.

        Returns:
            The server's milliseconds, or 0 when another process has the right. Where one replica has a folder, a replica
            without one never gets it.
        """
        return int(
            await self.scripts(
                "lease_audit",
                lane.of(),
                process=process,
                lease=lease,
                has_folder=int(self.keeps),
            )
        )

    async def note_sealed(self, lane: Lane, mark: Mark) -> None:
        """Note what is sealed of a lane. Only `doctor` reads it, to see whether all bots use the same log."""
        await self._guarded(self._redis.hset(lane.audit_move, "sealed", str(mark)))

    async def is_of_bots(self) -> bool:
        """Whether a bot has ever run in this namespace."""
        return bool(await self._guarded(self._redis.exists(self.keys.meta)))

    async def note_erased(self, number: str, about: str, *, by: str, places: str, reason: str) -> None:
        """Enter that somebody erases entries about a request from the log of a lane.

        Args:
            number: The two digits of the lane.
            about: The request.
            by: Who does.
            places: Where the entries are in this log.
            reason: Why.

        Raises:
            ServerUnreachableError, ServerFailedError: when Redis does not take it, or this user may not write it.
        """
        lanes = {number_of(lane): lane for lane in [self.keys]}
        lane = lanes.get(number, self.keys)
        await self.scripts("note_erased", lane.of(about), by=by, places=places, reason=reason)

    async def lanes_behind(self, key: LogKey) -> list[str]:
        """Name the lanes of which a bot has sealed more than the log here has: then that bot has another log.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            OSError, ValueError, InvalidSignature: when a log cannot be read.
        """
        return [number_of(lane) for lane in [self.keys] if await self._is_behind(lane, key)]

    async def _is_behind(self, lane: Lane, key: LogKey) -> bool:
        if self.logs is None:
            return False
        noted = Mark.parse(await self._guarded(self._redis.hget(lane.audit_move, "sealed")) or "")
        here = (await asyncio.to_thread(self.logs.sealed, lane, key)).mark
        return (noted.epoch, noted.order) > (here.epoch, here.order)

    async def trim(self, lane: Lane, process: str, last: str) -> bool:
        """Take the entries up to this one out of Redis. No when the right went to another process."""
        return bool(await self.scripts("trim_audit", lane.of(), process=process, last=last))

    async def has_folder_elsewhere(self) -> bool:
        """Whether a replica with a folder was there within the last days."""
        till = [
            int(await self._guarded(self._redis.hget(lane.audit_move, "folder_till")) or 0)
            for lane in [self.keys]
        ]
        return not self.keeps and max(till) > datetime.now(UTC).timestamp() * 1000


def _last(end: float) -> str:
    return "+" if end == inf else str(int(end))
