"""Takes old entries of the audit trail out of Redis: those that are sealed, or into a folder where there is one."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography.exceptions import InvalidSignature

from agent_adapter.contract.keys import Keys as Lane
from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.audit_entry import AuditEntry
from bot.jobs.sealer import Sealer
from bot.runtime.health import Health
from bot.runtime.metrics import AUDIT_DROPPED
from bot.store.audit import IN_REDIS, LEASE, READ_AT_ONCE, AuditStore

logger = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two looks."""
NEARLY = 0.8
"""The share of the limit from which on a warning says so."""
WARNING = "audit"
FULL = "audit_full"
"""The part that does not work while entries that are not sealed take too many bytes."""
UNSEALED = "cannot leave Redis before they are sealed: new requests wait. Correct what keeps the log from being written"


@dataclass
class AuditMover:
    """Keeps the audit trail in Redis to the last days and within its bytes."""

    store: AuditStore
    health: Health
    process: str
    max_bytes: int
    days: int
    """For how many days entries are kept: outside of Redis, or in it where nothing else keeps them."""
    sealer: Sealer | None = None
    """Seals the entries, where the bot has a key for it. Then only what is sealed leaves Redis."""
    of: str = ""
    """What the names of its warnings end with, where a bot serves two namespaces."""

    @property
    def _in_redis(self) -> timedelta:
        return IN_REDIS if self.store.keeps else timedelta(days=self.days)

    async def run(self, loop: Loop) -> None:
        """Look at the trail from time to time, until cancelled."""
        while True:
            loop.beat(within=2 * EVERY + LEASE / 1000)
            try:
                await self.tidy()
            except (AgentAdapterError, OSError, ValueError, InvalidSignature) as error:
                logger.warning("audit.not_moved", extra={"reason": str(error)})
            await asyncio.sleep(EVERY)

    async def tidy(self) -> None:
        """Move or drop what is too old, and what is too much.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            OSError, ValueError, InvalidSignature: when a sealed log cannot be read.
        """
        size = await self.store.size()
        limit = int(min(self.max_bytes, await self.store.most_bytes()))
        self.health.audit_bytes[self.of] = size
        self._warn(size, limit)
        self._limit(size, limit)
        surplus = max(0.0, 1 - NEARLY * limit / size) if size > limit else 0.0
        for lane in [self.store.keys]:
            if now := await self.store.lease(lane, self.process, LEASE):
                await self._tidy_lane(lane, now - self._in_redis // timedelta(milliseconds=1), surplus)
                await self._forget(lane, now)

    async def _tidy_lane(self, lane: Lane, oldest: int, surplus: float) -> None:
        too_many = -int(-surplus * await self.store.count(lane))
        sealed = await self.sealer.mark(lane) if self.sealer else None
        while True:
            entries = [entry async for entry in self.store.in_redis(lane, most=READ_AT_ONCE)]
            if sealed:
                # The last one stays: as long as it is there, Redis has not gone back.
                entries = [entry for entry in entries if entry.order[:2] < sealed.order]
            old = sum(entry.order[0] < oldest for entry in entries)
            taken = entries[: max(old, min(too_many, len(entries)))]
            if not taken or not await self._take(lane, taken, early=len(taken) - old, is_full=surplus > 0):
                return
            too_many -= len(taken)

    async def _take(self, lane: Lane, entries: Sequence[AuditEntry], *, early: int, is_full: bool) -> bool:
        """Take entries out of Redis, once they are on disk where there is a folder. No when that is not possible now."""
        folder, lost = self.store.folder, early
        if self.sealer:
            lost = 0
        elif folder:
            try:
                await asyncio.to_thread(folder.append, entries)
                lost = 0
            except OSError as error:
                logger.error("audit.not_moved", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
                self.health.warnings[WARNING + self.of] = (
                    f"old entries cannot be written to ASSENT_AUDIT_DIR: {error}"
                )
                if not is_full:
                    return False
                lost = len(entries)
        if not await self.store.trim(lane, self.process, entries[-1].number):
            return False
        if lost > 0:
            AUDIT_DROPPED.inc(lost)
            logger.error("audit.dropped_early", extra={"entries": lost, "until": entries[-1].written_at})
        return True

    def _limit(self, size: int, limit: int) -> None:
        """Take no new requests while more entries are in Redis than fit, since what is not sealed stays there."""
        if self.sealer and size > limit:
            self.health.fault(FULL + self.of, f"its entries take {size} of {limit} bytes, and {UNSEALED}")
        else:
            self.health.recover(FULL + self.of)

    def _warn(self, size: int, limit: int) -> None:
        if size < NEARLY * limit:
            self.health.warnings.pop(WARNING + self.of, None)
        elif WARNING + self.of not in self.health.warnings:
            self.health.warnings[WARNING + self.of] = (
                f"its entries in Redis take {size} of {limit} bytes (ASSENT_AUDIT_MAX_BYTES, and at most half of its "
                f"maxmemory): soon the oldest are {'moved' if self.store.keeps else 'dropped'} before "
                f"{self._in_redis.days} days are over"
            )
            logger.warning("audit.nearly_full", extra={"bytes": size, "limit": limit})

    async def _forget(self, lane: Lane, now: int) -> None:
        before = datetime.fromtimestamp(now / 1000, UTC) - timedelta(days=self.days)
        try:
            await asyncio.to_thread(self._forget_before, lane, before)
        except OSError as error:
            logger.error("audit.not_forgotten", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
            self.health.warnings[WARNING + self.of] = (
                f"old days cannot be deleted from ASSENT_AUDIT_DIR: {error}"
            )

    def _forget_before(self, lane: Lane, before: datetime) -> None:
        if self.store.folder and (days := self.store.folder.forget(before.date())):
            logger.info("audit.forgotten", extra={"days": days})
        if self.store.logs and (count := self.store.logs.lane(lane).forget(int(before.timestamp() * 1000))):
            logger.info("audit.forgotten", extra={"entries": count})
