"""The loop that both presenter and clock are: claim what is due, do it, give it back."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from agent_adapter.contract.keys import Lane
from agent_adapter.errors import AgentAdapterError
from bot.store import ApprovalStore, Work, WorkSet

logger = logging.getLogger(__name__)

CLAIM_AT_MOST = 0.1
"""Seconds between two claims: what changes meanwhile is drawn once. Slack takes far fewer calls than this allows."""

START_EVERY = 0.002
"""Seconds between two starts: a picture holds the loop for as long, and a click waits for one of them, not for sixteen."""

Handler = Callable[[str], Awaitable[int | None]]
"""Does the work of one id; `None` when it is done, else in how many milliseconds to come again."""
Wait = Callable[[str], int]
"""Tells, without asking anybody, for how many milliseconds nothing can be done about an id."""


class Worker:
    """Does owed work of one kind, several at once, each id by one process at a time."""

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
        self._lanes = deque(store.keys.all_lanes())
        self._handle = handle
        self._lease = int(lease * 1000)
        self._sweep = sweep
        self._at_once = at_once
        self._wait = wait
        self._running: dict[str, asyncio.Task[None]] = {}
        self._starting = asyncio.Lock()
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look now rather than at the next sweep."""
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled. What is running then is finished by `drain`."""
        while True:
            self._wake.clear()
            try:
                more = await self._claim_all()
            except AgentAdapterError as error:
                logger.warning("work.unreachable", extra={"kind": self._kind, "reason": str(error)})
                more = False
            if not more:
                await self._rest()
            await asyncio.sleep(min(CLAIM_AT_MOST, self._sweep))

    async def drain(self) -> None:
        """Finish what is held."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _claim_all(self) -> bool:
        free = self._at_once - len(self._running)
        if free <= 0:
            await asyncio.wait(self._running.values(), return_when=asyncio.FIRST_COMPLETED)
            return True
        claimed = 0
        # Each lane is first in its turn, or a busy one would leave no place for the others.
        self._lanes.rotate(-1)
        for lane in self._lanes:
            claimed += await self._claim(lane, free - claimed)
        return claimed >= free

    async def _claim(self, lane: Lane, free: int) -> int:
        works = await self._store.claim_work(self._kind, lane, limit=free, lease=self._lease)
        waits: dict[Work, int] = {}
        for work in works:
            if held := self._running.get(work.interrupt_id):
                # It changed again, or takes longer than its lease: whoever is free first does it, here or elsewhere.
                held.add_done_callback(lambda _: self.wake())
                await self._store.finish_work(work, again_in=0)
                continue
            if wait := self._wait(work.interrupt_id):
                waits[work] = wait
                continue
            task = asyncio.create_task(self._work(work))
            self._running[work.interrupt_id] = task
            task.add_done_callback(partial(self._forget, work.interrupt_id))
        if waits:
            await self._store.put_back(self._kind, lane, waits)
        for wait in waits.values():
            self._wake_in(wait)
        return len(works)

    def _forget(self, interrupt_id: str, _: asyncio.Task[None]) -> None:
        del self._running[interrupt_id]

    async def _work(self, work: Work) -> None:
        # Here rather than between the claims, so that whatever is claimed is running, and is finished by `drain`.
        async with self._starting:
            await asyncio.sleep(START_EVERY)
        try:
            again_in = await self._handle(work.interrupt_id)
        except AgentAdapterError as error:
            logger.warning("work.failed", extra={"interrupt_id": work.interrupt_id, "reason": str(error)})
            again_in = 1_000
        except Exception:
            # The lease brings it back; the others go on.
            logger.exception("work.broken", extra={"interrupt_id": work.interrupt_id})
            return
        try:
            await self._store.finish_work(work, again_in=again_in)
        except AgentAdapterError as error:
            logger.warning(
                "work.not_finished", extra={"interrupt_id": work.interrupt_id, "reason": str(error)}
            )
        # What is due later than the next sweep needs no wake-up of its own.
        if again_in is not None and again_in < self._sweep * 1000:
            self._wake_in(again_in)

    def _wake_in(self, milliseconds: int) -> None:
        asyncio.get_running_loop().call_later(milliseconds / 1000, self.wake)

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._sweep):
                await self._wake.wait()
        except TimeoutError:
            return
