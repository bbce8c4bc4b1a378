"""The loop of a worker: claim a run that is due, go on with it, give back what could not be done."""

import asyncio
import logging
import secrets
from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.connection import end_task
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    CutOffError,
    InvalidRequestError,
    ServerUnreachableError,
    UnknownInterruptError,
    UnreadableContinuationError,
)
from agent_adapter.loops import Loop, supervise
from agent_adapter.records import Record, milliseconds
from agent_adapter.resumables import Finished, GoneOn, Over, Paused, Resumable, Turn
from agent_adapter.runs import Journal, OwedRun

logger = logging.getLogger(__name__)

REASON_TOLD = 300
"""Characters of an error that an operator is told."""
SILENT_ROUNDS = 3
"""Rounds within which it has to make progress."""
LEFT = "left"
"""Stands for the attempt where a worker did not try."""


class ResumeWorker:
    """Goes on with the decided runs of one agent. Any number may work side by side.

    Args:
        approvals: A client of that agent, connected.
        registry: The agents, each in every version that runs may still have.
        sweep: How often to look for runs.
        lease: How long a run that this worker has taken is left alone by others before they ask whether it is still held.
        at_once: How many runs it goes on with at the same time.
        retry_at_most: The longest pause between two attempts; the first are 2, 4, 8 … seconds apart.
    """

    def __init__(
        self,
        approvals: ApprovalClient,
        registry: Iterable[Resumable],
        *,
        sweep: timedelta = timedelta(seconds=1),
        lease: timedelta = timedelta(seconds=30),
        at_once: int = 8,
        retry_at_most: timedelta = timedelta(hours=1),
    ) -> None:
        expect_client(approvals)
        self._approvals = approvals
        self._by_needs = {
            f"{approvals.agent}: {needs}": resumable for resumable in registry for needs in resumable.needs
        }
        if not self._by_needs:
            raise InvalidRequestError(
                "the registry is empty: give the worker at least one agent to go on with"
            )
        self._sweep = sweep.total_seconds()
        self._lease = milliseconds(lease)
        self._at_once = at_once
        self._longest = milliseconds(retry_at_most)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._told: set[str] = set()
        self._stopping = asyncio.Event()
        self.loop = Loop("worker", within=SILENT_ROUNDS * self._sweep)
        """Whether the worker makes progress, for a supervisor that checks it."""

    async def run(self) -> None:
        """Work until `stop`; what is running then comes to its end or its next pause first. Cancelled, it is left to others.

        Raises:
            LoopBrokenError: when an error that nobody expected comes again and again. What is running is left to others.
        """
        try:
            await supervise(self.loop, self._take_until_stopped)
            await asyncio.gather(*self._running.values(), return_exceptions=True)
        finally:
            await asyncio.gather(*map(end_task, list(self._running.values())))

    def stop(self) -> None:
        """Take nothing new."""
        self._stopping.set()

    async def _take_until_stopped(self, loop: Loop) -> None:
        while not self._stopping.is_set():
            try:
                await self._take()
                loop.beat()
            except AgentAdapterError as error:
                loop.hinder(str(error))
                logger.warning("worker.unreachable", extra={"reason": str(error)})
            await self._rest()

    async def _take(self) -> None:
        free = self._at_once - len(self._running)
        if free <= 0:
            return
        runs, missing = await self._approvals.runs.claim(list(self._by_needs), limit=free, lease=self._lease)
        for needs in missing:
            if needs.startswith(f"{self._approvals.agent}: "):
                self._tell_once(
                    needs, "no agent in this worker's registry is %s: its runs are left to others", needs
                )
        for run in runs:
            if run.interrupt_id in self._running:
                # It takes longer than its lease. The claim on the record is what holds it.
                await self._approvals.runs.give_back(run, again_in=self._lease)
                continue
            task = in_background(self._work(run), name=f"run of {run.interrupt_id}")
            self._running[run.interrupt_id] = task
            task.add_done_callback(partial(self._forget, run.interrupt_id))

    def _forget(self, interrupt_id: str, _: asyncio.Task[None]) -> None:
        del self._running[interrupt_id]

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._sweep):
                await self._stopping.wait()
        except TimeoutError:
            return

    async def _work(self, run: OwedRun) -> None:
        try:
            again_in = await self._attempt(run.interrupt_id)
            if again_in is not None:
                await self._approvals.runs.give_back(run, again_in=again_in)
        except AgentAdapterError as error:
            # The lease brings it back.
            logger.warning("run.left", extra={"interrupt_id": run.interrupt_id, "reason": str(error)})

    async def _attempt(self, interrupt_id: str) -> int | None:
        """Go on with one run; give milliseconds until somebody looks again, `None` when it is owed no more."""
        try:
            return await self._go_on(interrupt_id)
        except (UnreadableContinuationError, CutOffError) as error:
            if error.__cause__ and isinstance(error, CutOffError):
                logger.exception("run.set_aside", extra={"interrupt_id": interrupt_id})
            self._tell_once(interrupt_id, "%s is left to others: %s", interrupt_id, error)
            await self._approvals.runs.failed(interrupt_id, attempt=LEFT, reason=str(error))
            return self._lease
        except (ClaimedError, ClaimLostError):
            return self._lease
        except (ConsumedError, UnknownInterruptError) as error:
            logger.warning("%s is owed to nobody any more: %s", interrupt_id, error)
            await self._approvals.runs.let_go(interrupt_id)
            return None
        except ServerUnreachableError:
            raise
        except Exception as error:
            logger.exception("run.failed", extra={"interrupt_id": interrupt_id})
            failures = await self._approvals.runs.failed(
                interrupt_id,
                attempt=secrets.token_hex(8),
                reason=f"{type(error).__name__}: {error}"[:REASON_TOLD],
            )
            return int(min(self._longest, 1000 * 2 ** min(failures, 30)))

    async def _go_on(self, interrupt_id: str) -> int | None:
        record = await self._approvals.record(interrupt_id)
        journal = await self._approvals.runs.journal(interrupt_id)
        resumable = self._resumable(record, journal)
        if record.ended_unanswered:
            await self._let_go(record, resumable)
            return None
        async with self._approvals.resuming(interrupt_id) as resume:
            # Read anew: whoever held the claim before has written down how far they came.
            journal = await self._approvals.runs.journal(interrupt_id)
            journal.check()
            turn = Turn(record.interrupt, resume, journal.continuation, self._approvals, journal)
            came_to = await resumable.go_on(turn)
            if isinstance(came_to, Finished) and resumable.over:
                await resumable.over(Over(record.interrupt, "finished", came_to.result))
        _log(interrupt_id, came_to)
        return None

    def _resumable(self, record: Record, journal: Journal) -> Resumable:
        try:
            continuation = journal.continuation
        except InvalidRequestError as error:
            raise UnreadableContinuationError(str(error)) from error
        return self._by_needs[f"{record.interrupt.agent}: {continuation.needs}"]

    async def _let_go(self, record: Record, resumable: Resumable) -> None:
        """Resume nothing: the run stays paused where it is, and its owner may ask again."""
        ended = record.resume()
        assert ended, "it has ended"
        if resumable.over:
            await resumable.over(Over(record.interrupt, ended.status, reason=ended.reason))
        await self._approvals.runs.let_go(record.interrupt.id)
        logger.warning(
            "%s was %s, so its run stays paused: nothing was resumed", record.interrupt.id, ended.status
        )

    def _tell_once(self, what: str, sentence: str, *values: object) -> None:
        if what not in self._told:
            self._told.add(what)
            logger.warning(sentence, *values)


def _log(interrupt_id: str, came_to: Paused | Finished | GoneOn) -> None:
    match came_to:
        case Finished():
            logger.info("run.finished", extra={"interrupt_id": interrupt_id})
        case Paused(interrupt_id=following):
            logger.info("run.paused", extra={"interrupt_id": interrupt_id, "next": following})
        case GoneOn():
            logger.warning("%s: somebody else has gone on with this run from its next question", interrupt_id)
