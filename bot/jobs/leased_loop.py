"""Leased work loop, used by the presenter and by deadlines: take what is due, do it, give it back."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError, ServerUnreachableError
from agent_adapter.loops import Loop, describe
from bot.domain.errors import (
    BotError,
    SlackBusyError,
    SlackUnclearError,
    StoreUnavailableError,
    WorkspaceFaultError,
)
from bot.store.records import ApprovalStore
from bot.store.work import OFTEN, WHAT, Work, WorkSet

logger = logging.getLogger(__name__)

LEASE_EVERY = 0.1
"""Seconds between two leases of work. Several changes in between are drawn once. Slack allows far fewer calls anyway."""

START_EVERY = 0.002
"""Seconds between two starts. Drawing a card blocks the event loop, and a click should wait for one card, not for sixteen."""

LEASES = 10
"""An attempt that takes longer than this many leases has failed."""
ELSEWHERE = (
    ServerUnreachableError,
    StoreUnavailableError,
    SlackBusyError,
    SlackUnclearError,
    WorkspaceFaultError,
)
"""Errors that are not the fault of the record: Redis or Slack cannot be used now."""
ELSEWHERE_RETRY = 1_000
"""Milliseconds until work is tried again after such an error."""

OURS = {"bot", "agent_adapter"}

Handler = Callable[[str], Awaitable[int | None]]
"""Does the work of one id. Returns `None` when it is done, else the milliseconds until the next attempt."""
Wait = Callable[[str], int]
"""Says, without asking Redis or Slack, for how many milliseconds nothing can be done about an id."""


class Worker:
    """Does owed work of one kind: several ids at once, each in one process at a time."""

    def __init__(
        self,
        store: ApprovalStore,
        kind: WorkSet,
        handle: Handler,
        *,
        lease: float,
        sweep: float,
        at_once: int = 16,
        wait: Wait = lambda _: 0,
    ) -> None:
        self._store = store
        self._kind = kind
        self._handle = handle
        self._lease = int(lease * 1000)
        self._sweep = sweep
        self._at_once = at_once
        self._wait = wait
        self._running: dict[str, asyncio.Task[None]] = {}
        self._starting = asyncio.Lock()
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look for work now and not at the next sweep."""
        self._wake.set()

    async def run(self, loop: Loop) -> None:
        """Work until cancelled. `drain` then finishes what is running."""
        while True:
            self._wake.clear()
            try:
                more = await self._lease_all()
                loop.beat()
            except AgentAdapterError as error:
                loop.hinder(str(error))
                more = False
            if not more:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._sweep):
                        await self._wake.wait()
            await asyncio.sleep(min(LEASE_EVERY, self._sweep))

    async def drain(self) -> None:
        """Finish the work that is leased."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _lease_all(self) -> bool:
        free = self._at_once - len(self._running)
        if free <= 0:
            # All of them wait for Slack, each for a limited time.
            await asyncio.wait(
                self._running.values(), timeout=self._sweep, return_when=asyncio.FIRST_COMPLETED
            )
            return True
        works = await self._store.lease_work(self._kind, limit=free, lease=self._lease)
        waits: dict[Work, int] = {}
        for work in works:
            if held := self._running.get(work.interrupt_id):
                # It changed again, or takes longer than its lease. The first process that is free does it.
                held.add_done_callback(lambda _: self.wake())
                await self._store.finish_work(work, again_in=0)
                continue
            if wait := self._wait(work.interrupt_id):
                waits[work] = wait
                continue
            task = in_background(self._work(work), name=f"{self._kind} {work.interrupt_id}")
            self._running[work.interrupt_id] = task
            task.add_done_callback(partial(self._forget, work.interrupt_id))
        if waits:
            await self._store.put_back(self._kind, waits)
        for wait in waits.values():
            self._wake_in(wait)
        return len(works) >= free

    def _forget(self, interrupt_id: str, _: asyncio.Task[None]) -> None:
        del self._running[interrupt_id]

    async def _work(self, work: Work) -> None:
        # Here and not between the leases: everything that is leased is then running, and `drain` finishes it.
        async with self._starting:
            await asyncio.sleep(START_EVERY)
        try:
            async with asyncio.timeout(LEASES * self._lease / 1000):
                again_in = await self._handle(work.interrupt_id)
        except ELSEWHERE as error:
            logger.warning("work.failed", extra={"interrupt_id": work.interrupt_id, "reason": str(error)})
            again_in = ELSEWHERE_RETRY
        except Exception as error:  # noqa: BLE001  # any error is about this record only, and the others go on
            await self._noted(work, self._fail(work, error))
            return
        await self._noted(work, self._finish(work, again_in))
        # The next sweep finds what is due after it, so that needs no wake-up.
        if again_in is not None and again_in < self._sweep * 1000:
            self._wake_in(again_in)

    async def _finish(self, work: Work, again_in: int | None) -> None:
        if await self._store.finish_work(work, again_in=again_in):
            await self._store.set_notice(work.interrupt_id, "")

    async def _fail(self, work: Work, error: Exception) -> None:
        reason, failures = _why(error), 1
        try:
            failures = await self._store.fail_work(work, reason=reason, first_pause=int(self._sweep * 1000))
        finally:
            # At the 1st, 2nd, 4th, 8th … time: it is tried every minute.
            if not failures & (failures - 1):
                trace = None if isinstance(error, BotError) else error
                said = {"interrupt_id": work.interrupt_id, "reason": str(error) if trace is None else ""}
                logger.error("work.broken", exc_info=trace, extra=said)
        if failures == OFTEN:
            sentence = f"{WHAT[work.kind]} ({reason}), and the bot tries again every minute: its operator has to look"
            logger.error("work.keeps_failing", extra={"interrupt_id": work.interrupt_id, "reason": sentence})
            await self._store.set_notice(work.interrupt_id, sentence)

    async def _noted(self, work: Work, note: Coroutine[None, None, None]) -> None:
        """Note in Redis what became of work. Where that fails, the work comes back when its lease ends."""
        try:
            await note
        except AgentAdapterError as error:
            said = {"interrupt_id": work.interrupt_id, "reason": str(error)}
            logger.warning("work.not_finished", extra=said)

    def _wake_in(self, milliseconds: int) -> None:
        asyncio.get_running_loop().call_later(milliseconds / 1000, self.wake)


def _why(error: BaseException) -> str:
    """Say what went wrong and where in our code, without quoting anything that an agent sent."""
    words = str(error) if isinstance(error, BotError) else describe(error)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        parts = Path(frame.filename).parts
        if found := [index for index, part in enumerate(parts) if part in OURS]:
            return f"{words} at {'/'.join(parts[found[-1] :])}:{frame.lineno}"
    return words
