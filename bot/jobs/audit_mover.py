"""Takes old entries of the audit trail out of Redis, into a folder where there is one."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agent_adapter.contract.keys import Lane
from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.audit_entry import AuditEntry
from bot.runtime.health import Health
from bot.runtime.metrics import AUDIT_DROPPED
from bot.store.audit import IN_REDIS, READ_AT_ONCE, AuditStore

logger = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two looks."""
LEASE = 300_000
"""Milliseconds for which a process keeps the right to move entries."""
NEARLY = 0.8
"""The share of the limit from which on a warning says so."""
WARNING = "audit"


@dataclass
class AuditMover:
    """Keeps the audit trail in Redis to the last days and within its bytes."""

    store: AuditStore
    health: Health
    process: str
    max_bytes: int
    days: int
    """For how many days the folder keeps entries."""

    async def run(self, loop: Loop) -> None:
        """Look at the trail from time to time, until cancelled."""
        while True:
            loop.beat(within=2 * EVERY + LEASE / 1000)
            try:
                await self.tidy()
            except AgentAdapterError as error:
                logger.warning("audit.not_moved", extra={"reason": str(error)})
            await asyncio.sleep(EVERY)

    async def tidy(self) -> None:
        """Move or drop what is too old, and what is too much.

        Raises:
            ServerUnreachableError: when Redis does not answer.
        """
        size = await self.store.size()
        self.health.audit_bytes = size
        self._warn(size)
        surplus = max(0.0, 1 - NEARLY * self.max_bytes / size) if size > self.max_bytes else 0.0
        for lane in self.store.keys.all_lanes():
            if now := await self.store.lease(lane, self.process, LEASE):
                await self._tidy_lane(lane, now - int(IN_REDIS.total_seconds() * 1000), surplus)
                await self._forget(now)

    async def _tidy_lane(self, lane: Lane, oldest: int, surplus: float) -> None:
        too_many = -int(-surplus * await self.store.count(lane))
        while True:
            entries = [entry async for entry in self.store.in_redis(lane, most=READ_AT_ONCE)]
            old = sum(entry.order[0] < oldest for entry in entries)
            taken = entries[: max(old, min(too_many, len(entries)))]
            if not taken or not await self._take(lane, taken, early=len(taken) - old, is_full=surplus > 0):
                return
            too_many -= len(taken)

    async def _take(self, lane: Lane, entries: Sequence[AuditEntry], *, early: int, is_full: bool) -> bool:
        """Take entries out of Redis, once they are on disk where there is a folder. No when that is not possible now."""
        folder, lost = self.store.folder, early
        if folder:
            try:
                await asyncio.to_thread(folder.append, entries)
                lost = 0
            except OSError as error:
                logger.error("audit.not_moved", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
                self.health.warnings[WARNING] = f"old entries cannot be written to ASSENT_AUDIT_DIR: {error}"
                if not is_full:
                    return False
                lost = len(entries)
        if not await self.store.trim(lane, self.process, entries[-1].number):
            return False
        if lost > 0:
            AUDIT_DROPPED.inc(lost)
            logger.error("audit.dropped_early", extra={"entries": lost, "until": entries[-1].written_at})
        return True

    def _warn(self, size: int) -> None:
        if size < NEARLY * self.max_bytes:
            self.health.warnings.pop(WARNING, None)
        elif WARNING not in self.health.warnings:
            self.health.warnings[WARNING] = (
                f"its entries in Redis take {size} of {self.max_bytes} bytes (ASSENT_AUDIT_MAX_BYTES): soon the oldest "
                f"are {'moved to the folder' if self.store.folder else 'dropped'} before seven days are over"
            )
            logger.warning("audit.nearly_full", extra={"bytes": size, "limit": self.max_bytes})

    async def _forget(self, now: int) -> None:
        if folder := self.store.folder:
            before = (datetime.fromtimestamp(now / 1000, UTC) - timedelta(days=self.days)).date()
            try:
                old = await asyncio.to_thread(folder.forget, before)
            except OSError as error:
                logger.error("audit.not_forgotten", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
                self.health.warnings[WARNING] = f"old days cannot be deleted from ASSENT_AUDIT_DIR: {error}"
            else:
                if old:
                    logger.info("audit.forgotten", extra={"days": old})
