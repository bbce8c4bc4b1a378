"""Seals the audit trail: what Redis has of it goes into a log that nobody can rewrite unnoticed."""

import asyncio
import logging
import time
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature

from agent_adapter.contract.keys import Keys as Lane
from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from bot.domain.audit_entry import AuditEntry
from bot.domain.sealing import Mark, Sealing, began, epoch_began, following
from bot.runtime.health import Health
from bot.store.audit import LEASE, READ_AT_ONCE, AuditStore
from bot.store.audit_log import AuditLogs, number_of
from bot.tlog.log import LogKey

logger = logging.getLogger(__name__)

LOOK_EVERY = 5.0
"""Seconds between two looks."""
SEAL_EVERY = 60.0
"""Seconds until new entries are sealed."""
ENOUGH = 1_000
"""So many new entries are sealed at once."""
WARNING = "audit_log"


@dataclass
class Sealer:
    """Puts the entries of each lane into its log, in order. Two at once do no harm."""

    store: AuditStore
    logs: AuditLogs
    key: LogKey
    health: Health
    process: str
    of: str = ""
    """What the names of its warnings end with, where a bot serves two namespaces."""
    _marks: dict[str, Mark] = field(default_factory=dict)
    """The last entry that is sealed in each lane that this process seals."""
    _sealed_at: dict[str, float] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)
    """Why a lane cannot be sealed."""

    async def run(self, loop: Loop) -> None:
        """Look at each lane from time to time, until cancelled."""
        while True:
            loop.beat(within=2 * LOOK_EVERY + LEASE / 1000)
            for lane in [self.store.keys]:
                await self.look(lane)
            await asyncio.sleep(LOOK_EVERY)

    async def look(self, lane: Lane) -> None:
        """Seal what is new in a lane, if it is time and no other process does."""
        name, trouble = number_of(lane), ""
        try:
            if not await self.store.lease(lane, self.process, LEASE):
                self._marks.pop(name, None)
                self.health.audit_unsealed.pop(name + self.of, None)
            else:
                if self._is_time(name, await self.store.counted(lane)):
                    await self.seal(lane)
                self.health.audit_unsealed[name + self.of] = (
                    await self.store.counted(lane) - self._marks[name].seq
                )
        except AgentAdapterError as error:
            logger.warning("audit.not_sealed", extra={"lane": name, "reason": str(error)})
        except (OSError, ValueError, InvalidSignature) as error:
            trouble = str(error) or "a signature is not from a key of the log"
            self.health.audit_unsealed[name + self.of] = await self._not_sealed(lane)
        self._tell(name, trouble)

    def _tell(self, name: str, trouble: str) -> None:
        """Say that a lane cannot be sealed, or can be again."""
        if trouble and self._troubles.get(name) != trouble:
            logger.error("audit.not_sealed", extra={"lane": name, "reason": trouble})
        self._troubles[name] = trouble
        found = next(filter(None, self._troubles.values()), "")
        if found:
            self.health.warnings[WARNING + self.of] = (
                f"new entries of the audit trail cannot be sealed: {found}"
            )
        else:
            self.health.warnings.pop(WARNING + self.of, None)

    async def seal(self, lane: Lane) -> Mark:
        """Seal everything that is new in a lane.

        Returns:
            The last entry that is sealed. It and older ones may leave Redis.

        Raises:
            ServerUnreachableError: when Redis does not answer.
            OSError: when the storage does not serve the log.
            ValueError, InvalidSignature: when the log is not as its key has signed it.
        """
        # From the signed checkpoint, and never from what Redis says.
        sealed = await asyncio.to_thread(self.logs.sealed, lane, self.key)
        while sealings := await self._next(lane, sealed.mark):
            sealed = await asyncio.to_thread(sealed.append, sealings)
            if len(sealings) < READ_AT_ONCE:
                break
        await self.store.note_sealed(lane, sealed.mark)
        name = number_of(lane)
        self._marks[name], self._sealed_at[name] = sealed.mark, time.monotonic()
        return sealed.mark

    async def mark(self, lane: Lane) -> Mark:
        """Return the last entry of a lane that is sealed. Raises as `seal` does."""
        return (await asyncio.to_thread(self.logs.sealed, lane, self.key)).mark

    async def _next(self, lane: Lane, mark: Mark) -> list[Sealing]:
        # The last sealed entry is looked for after the others were read: if it is there, Redis had not gone back.
        found = await self.store.after(lane, mark.number)
        if await self._is_there(lane, mark):
            return [*following(mark, found)]
        mark = await self._go_back(lane, mark)
        found = await self.store.after(lane, mark.number)
        return [epoch_began(mark, found[0]), *following(mark, found)] if found else []

    async def _is_there(self, lane: Lane, mark: Mark) -> bool:
        """Whether Redis still has the last entry that is sealed. Nobody takes it out while it is the last one."""
        if mark.number == Mark().number:
            return True
        newest = next(iter(await self.store.before(lane, mark.number, most=1)), None)
        return (
            newest is not None
            and newest.number == mark.number
            and newest.said.get("seq", mark.seq) == mark.seq
        )

    async def _go_back(self, lane: Lane, mark: Mark) -> Mark:
        """Find the last entry in Redis that is sealed. A new epoch begins after it."""
        beginning = began(mark, seq=0, number=Mark().number)
        if not (first := await self.store.after(lane, beginning.number)):
            return beginning
        sealed = await asyncio.to_thread(self.logs.lane(lane).sealed_since, first[0].number)
        page = await self.store.before(lane, "+")
        while page:
            for entry in page:
                if (seq := _counted(entry), entry.number) in sealed:
                    return began(mark, seq=seq, number=entry.number)
            page = await self.store.before(lane, f"({page[-1].number}")
        return beginning

    def _is_time(self, name: str, counted: int) -> bool:
        mark = self._marks.get(name)
        return (
            mark is None
            or not 0 <= counted - mark.seq < ENOUGH
            or time.monotonic() - self._sealed_at[name] >= SEAL_EVERY
        )

    async def _not_sealed(self, lane: Lane) -> int:
        """Count the entries that are not sealed, as far as that is known."""
        mark = self._marks.get(number_of(lane))
        try:
            return await self.store.counted(lane) - mark.seq if mark else await self.store.count(lane)
        except AgentAdapterError:
            return 0


def _counted(entry: AuditEntry) -> int:
    seq = entry.said.get("seq")
    return seq if isinstance(seq, int) else 0
