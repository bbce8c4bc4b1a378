"""Writes the audit trail into the log, where there is a folder for it, and takes old entries out of Redis."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.audit_entry import AuditEntry, Mark
from bot.domain.errors import BotError, KeyUnfitError
from bot.rendering.blocks import header, literal
from bot.runtime.health import Health
from bot.runtime.metrics import AUDIT_DROPPED
from bot.sentences import in_audit
from bot.slack.client import SlackClient
from bot.store.audit import IN_REDIS, LEASE, READ_AT_ONCE, AuditStore
from bot.store.audit_log import AuditLog

logger = logging.getLogger(__name__)

EVERY = 60.0
"""Seconds between two looks."""
DAY = 86_400_000
"""Milliseconds."""
NEARLY = 0.8
"""The share of the limit to which too many entries are dropped, where there is no log."""
LOG, HEAD = "audit_log", "audit_head"
FULL = "audit_full"
"""The part that does not work while entries that are not in the log take too many bytes."""
UNWRITTEN = "cannot leave Redis before they are in the log: new requests wait. Correct what keeps it from being written"

MOST_BYTES = 256_000_000
"""How many bytes of Redis the entries may take, and at most half of its maxmemory."""


@dataclass
class AuditMover:
    """Keeps the audit trail in Redis to the last days and within its bytes. One process at a time does."""

    store: AuditStore
    health: Health
    process: str
    max_bytes: int
    days: int
    """For how many days entries are kept: in the log, or in Redis where there is none."""
    post: Callable[[int, str], Awaitable[None]] | None = None
    """Posts a head to the channel for it: how many lines it covers, and its text."""
    _posted: int = 0

    @property
    def _in_redis(self) -> timedelta:
        return IN_REDIS if self.store.log else timedelta(days=self.days)

    async def run(self, loop: Loop) -> None:
        """Look at the trail from time to time, until cancelled."""
        while True:
            loop.beat(within=2 * EVERY + LEASE / 1000)
            try:
                await self.tidy()
            except (AgentAdapterError, OSError) as error:
                logger.warning("audit.not_moved", extra={"reason": str(error)})
            await asyncio.sleep(EVERY)

    async def tidy(self) -> None:
        """Write what is new, and take out what is too old or too much.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            OSError: when the log cannot be read.
        """
        size = await self.store.size()
        limit = int(min(self.max_bytes, await self.store.most_bytes()))
        self.health.audit_bytes = size
        if found := await self.store.lease(self.process, LEASE):
            now, mark = found
            if self.store.log:
                mark = await self._write_new(self.store.log, now, mark)
            surplus = max(0.0, 1 - NEARLY * limit / size) if size > limit else 0.0
            await self._take_out(now, mark, surplus)
            await self._post(now)
            size = await self.store.size()
        self._limit(size, limit)

    # --- Into the log -------------------------------------------------------------------------------------------------

    async def _write_new(self, log: AuditLog, now: int, noted: Mark) -> Mark:
        """Write what is new. Returns the last entry that is in the log."""
        try:
            mark = max(noted, await asyncio.to_thread(log.mark), key=lambda each: each.order)
            mark = await self._write_after(log, now, mark)
            before = datetime.fromtimestamp(now / 1000, UTC) - timedelta(days=self.days)
            if days := await asyncio.to_thread(log.forget, before.date()):
                logger.info("audit.forgotten", extra={"days": days})
            self.health.warnings.pop(LOG, None)
        except (OSError, ValueError, KeyUnfitError) as error:
            if LOG not in self.health.warnings:
                logger.error("audit.not_written", extra={"reason": str(error)})  # noqa: TRY400  # the reason says it all
            self.health.warnings[LOG] = f"new entries cannot be written to ASSENT_AUDIT_DIR: {error}"
            mark = noted
        self.health.audit_unsealed = max(0, await self.store.counted() - mark.seq)
        return mark

    async def _write_after(self, log: AuditLog, now: int, mark: Mark) -> Mark:
        entries = await self.store.after(mark)
        # Looked for after the others were read: if it is there, Redis had not gone back.
        if not await self._is_there(mark):
            mark = await self._newest_in(log)
            entries = await self.store.after(mark)
        while entries and await self.store.lease(self.process, LEASE):
            mark = _mark_of(entries, mark)
            await asyncio.to_thread(log.append, entries, mark, now)
            # If this bot dies before this line, another bot may write the same entries into its own log, too.
            if not await self.store.note_moved(self.process, mark) or len(entries) < READ_AT_ONCE:
                break
            entries = await self.store.after(mark)
        return mark

    async def _is_there(self, mark: Mark) -> bool:
        """Whether Redis has the last entry that is in the log. Nobody takes it out while it is the last one."""
        found = await self.store.before(mark.number, most=1)
        return mark == Mark() or any(
            each.number == mark.number and each.said.get("seq", mark.seq) == mark.seq for each in found
        )

    async def _newest_in(self, log: AuditLog) -> Mark:
        """Find the newest entry in Redis that is in the log: Redis went back, and has others since."""
        known = {each.identity for day in log.days() for each in await asyncio.to_thread(log.read, day)}
        page = await self.store.before("+")
        while page:
            for entry in page:
                if entry.identity in known:
                    return _mark_of([entry], Mark())
            page = await self.store.before(f"({page[-1].number}")
        return Mark()

    async def _post(self, now: int) -> None:
        """Post the last head, once a day and after a start. One that is posted twice does no harm."""
        log, today = self.store.log, now // DAY
        if not (log and log.chain.n and self.post) or self._posted >= today:
            return
        try:
            await self.post(log.chain.n, log.chain.last)
            self._posted = today
            self.health.warnings.pop(HEAD, None)
        except BotError as error:
            self.health.warnings[HEAD] = f"the head of the audit log is not in its channel: {error}"
            logger.warning("audit.not_posted", extra={"reason": str(error)})

    # --- Out of Redis -------------------------------------------------------------------------------------------------

    async def _take_out(self, now: int, mark: Mark, surplus: float) -> None:
        oldest = now - self._in_redis // timedelta(milliseconds=1)
        too_many = -int(-surplus * await self.store.count())
        while True:
            entries = await self.store.after(Mark())
            if self.store.log:
                # The last one stays: as long as it is there, Redis has not gone back.
                entries = [entry for entry in entries if entry.order < mark.order]
            old = sum(entry.order[0] < oldest for entry in entries)
            taken = entries[: max(old, min(too_many, len(entries)))]
            if not taken or not await self.store.trim(self.process, taken[-1].number):
                return
            too_many -= len(taken)
            if not self.store.log and len(taken) > old:
                AUDIT_DROPPED.inc(len(taken) - old)
                extra = {"entries": len(taken) - old, "until": taken[-1].written_at}
                logger.error("audit.dropped_early", extra=extra)

    def _limit(self, size: int, limit: int) -> None:
        """Take no new requests while more entries are in Redis than fit, since what is not in the log stays there."""
        if self.store.log and size > limit:
            self.health.fault(FULL, f"its entries take {size} of {limit} bytes, and {UNWRITTEN}")
        else:
            self.health.recover(FULL)


def posting_to(slack: SlackClient, channel: str) -> Callable[[int, str], Awaitable[None]]:
    """Return what posts heads to a channel."""

    async def post(lines: int, head: str) -> None:
        title = in_audit.title(lines)
        blocks = [header("head", title), literal("head:line", head)]
        await slack.post_message(await slack.reach(channel), text=f"{title}.", blocks=blocks, thread_ts=None)

    return post


def _mark_of(entries: list[AuditEntry], before: Mark) -> Mark:
    """Return the last of some entries, and how far they are counted."""
    counted = [seq for entry in entries if isinstance(seq := entry.said.get("seq"), int)]
    return Mark(entries[-1].number, counted[-1] if counted else before.seq)
