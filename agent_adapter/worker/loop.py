"""The loop of a worker: claim a run that is due, resume it, and give it back if that fails. Each framework has one file."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

from agent_adapter.asking import Asking
from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient, expect_client
from agent_adapter.contract.interrupt import Continuation, DecidedResume, Interrupt, Status
from agent_adapter.contract.record import in_order, matching_actions, milliseconds
from agent_adapter.edit_check import why_refused
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
    WrongArgumentError,
)
from agent_adapter.expected import kind_of
from agent_adapter.loops import Loop, supervise
from agent_adapter.redis.claims import patiently
from agent_adapter.redis.pool import end_task
from agent_adapter.redis.records import Record
from agent_adapter.redis.runs import Journal, OwedRun, failed_with

logger = logging.getLogger(__name__)

REASON_LENGTH = 300
"""Characters of an error that an operator can read."""
SILENT_ROUNDS = 3
"""The loop has to make progress within this many rounds."""
LEFT = "left"
"""In place of the id of an attempt, when a worker did not try."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The run waits for people; a worker will resume it."""

    interrupt_id: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The run has ended."""

    result: Any


@dataclass(frozen=True, slots=True)
class Over:
    """How a run ended. A worker passes it to `over` when it has nothing more to do for the run."""

    interrupt: Interrupt
    """The last question."""
    status: Literal["finished"] | Status
    """`finished`; or how the question ended without an answer, in which case the run is still paused."""
    result: Any = None
    """The result of a finished run."""
    reason: str | None = None
    """Why the question was withdrawn or refused."""


Notify: TypeAlias = Callable[[Over], Awaitable[None]]
"""Called at least once for each run; a second time if a worker dies right after the first call."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One decided question, with everything that a worker needs to resume its run."""

    interrupt: Interrupt
    resume: DecidedResume
    continuation: Continuation
    approvals: ApprovalClient
    journal: Journal

    @property
    def asking(self) -> Asking:
        """The options for the next question: the same as for the last one."""
        last = self.interrupt
        return {
            "channel": last.route.channel,
            "thread_ts": last.route.thread_ts,
            "context": last.context.model_copy(update={"subagent": None, "again": None}),
            "expires_in": last.expires_in,
            "on_expiry": last.on_expiry,
        }

    async def answer_to(self, own: Interrupt) -> DecidedResume:
        """Return the decisions in the order of what this agent would ask. Where an edit does not fit, people are asked again."""
        resume = in_order(self.resume, matching_actions(self.interrupt, own))
        if problem := await why_refused(resume, own, self.interrupt):
            raise await self.approvals.refuse_answer(self.resume, problem)
        return resume

    async def set_aside(self, error: Exception, tools: Sequence[str]) -> CutOffError:
        """Note that the run failed when these tools may have run, and return the error to raise.

        Redis is waited for as long as it takes: nobody else knows what has happened.
        """
        return await patiently(partial(self.journal.set_aside, failed_with(error), tools))


class Resumable(Protocol):
    """One version of one agent, in the registry of a worker."""

    over: Notify | None
    """Called when a run is over."""

    @property
    def needs(self) -> Sequence[str]:
        """The continuations that it can resume, as `Continuation.needs` writes them."""

    async def go_on(self, turn: Turn) -> Paused | Finished | None:
        """Run until the end or the next pause, and publish the question of that pause; `None` if it was resumed from there.

        A worker calls it again after a crash or an error, so it first checks how far the run has come.
        """


def registry_of(found: Any, where: str = "registry") -> list[Resumable]:
    """Return a list of agents that can be resumed, or refuse what is something else."""
    agents: list[Any] = list(found) if isinstance(found, Iterable) else [None]
    if not all(hasattr(each, "needs") and hasattr(each, "go_on") for each in agents):
        cure = "pass a list of ResumableGraph and ResumableAgent"
        raise WrongArgumentError(f"{where}: this is {kind_of(found)}: {cure}")
    return agents


class ResumeWorker:
    """Resumes the decided runs of one agent. Any number of workers may run side by side.

        worker = ResumeWorker(approvals, [ResumableGraph("billing", graph, version="1")])
        await worker.run()

    Args:
        approvals: A connected client of that agent.
        registry: The agents, each in every version that an open run may have.
        sweep: How often to look for runs.
        lease: How long other workers leave a run alone that this worker has taken.
        at_once: How many runs it resumes at the same time.
        retry_at_most: The longest pause between two attempts; the first pauses are 2, 4, 8 … seconds.

    Raises:
        InvalidRequestError: when the registry is empty, or an argument is wrong.
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
            f"{approvals.agent}: {needs}": each for each in registry_of(registry) for needs in each.needs
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
        self._warned: set[str] = set()
        self._unreadable: set[str] = set()
        """The runs whose state only another worker can read."""
        self._stopping = asyncio.Event()
        self.loop = Loop("worker", within=SILENT_ROUNDS * self._sweep)
        """Says whether the worker makes progress, for a supervisor."""

    async def run(self) -> None:
        """Resume runs until `stop` is called. Runs that are in progress then continue to their end or their next pause.

        If this call is cancelled, other workers resume the runs that are in progress.

        Raises:
            LoopBrokenError: when unexpected errors come again and again; other workers resume the runs.
        """
        try:
            await supervise(self.loop, self._take_until_stopped)
            await asyncio.gather(*self._running.values(), return_exceptions=True)
        finally:
            await asyncio.gather(*map(end_task, list(self._running.values())))

    def stop(self) -> None:
        """Take no new runs; `run` returns once the current ones have ended or paused."""
        self._stopping.set()

    async def _take_until_stopped(self, loop: Loop) -> None:
        while not self._stopping.is_set():
            try:
                await self._take()
                loop.beat()
            except AgentAdapterError as error:
                loop.hinder(str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sweep):
                    await self._stopping.wait()

    async def _take(self) -> None:
        needed, free = list(self._by_needs), self._at_once - len(self._running)
        runs, missing = await self._approvals.runs.lease(
            needed, limit=free, lease=self._lease, leave=self._unreadable
        )
        for needs in missing:
            self._warn_once(
                needs, "no agent in this worker's registry is %s: its runs are left to others", needs
            )
        for run in runs:
            if run.interrupt_id in self._running:
                # It takes longer than its lease. Its claim on the record keeps others away.
                await self._approvals.runs.give_back(run, again_in=self._lease)
                continue
            self._running[run.interrupt_id] = in_background(
                self._work(run), name=f"run of {run.interrupt_id}"
            )

    async def _work(self, run: OwedRun) -> None:
        try:
            again_in = await self._attempt(run.interrupt_id)
            await self._approvals.runs.give_back(run, again_in=again_in)
        except AgentAdapterError as error:
            # The run is due again when its lease ends.
            logger.warning("run.left", extra={"interrupt_id": run.interrupt_id, "reason": str(error)})
        finally:
            del self._running[run.interrupt_id]

    async def _attempt(self, interrupt_id: str) -> int | None:
        """Try to resume one run; return the milliseconds until the next try, `None` when it is no longer owed."""
        try:
            return await self._go_on(interrupt_id)
        except (UnreadableContinuationError, CutOffError) as error:
            if error.__cause__ and isinstance(error, CutOffError):
                logger.exception("run.set_aside", extra={"interrupt_id": interrupt_id})
            self._warn_once(interrupt_id, "%s is left to others: %s", interrupt_id, error)
            await self._approvals.runs.failed(interrupt_id, attempt=LEFT, reason=str(error))
            if isinstance(error, CutOffError):
                return self._lease
            self._unreadable.add(interrupt_id)
            return 0
        except (ClaimedError, ClaimLostError):
            return self._lease
        except (ConsumedError, UnknownInterruptError) as error:
            logger.warning("%s is owed to nobody any more: %s", interrupt_id, error)
            await self._approvals.runs.drop(interrupt_id)
            return None
        except ServerUnreachableError:
            raise
        except Exception as error:
            logger.exception("run.failed", extra={"interrupt_id": interrupt_id})
            failures = await self._approvals.runs.failed(
                interrupt_id,
                attempt=secrets.token_hex(8),
                reason=f"{type(error).__name__}: {error}"[:REASON_LENGTH],
            )
            return int(min(self._longest, 1000 * 2 ** min(failures, 30)))

    async def _go_on(self, interrupt_id: str) -> int | None:
        record = await self._approvals.record(interrupt_id)
        journal = await self._approvals.runs.journal(interrupt_id, body=record.body)
        try:
            needs = journal.continuation.needs
        except InvalidRequestError as error:
            raise UnreadableContinuationError(str(error)) from error
        resumable = self._by_needs[f"{record.interrupt.agent}: {needs}"]
        if record.ended_unanswered:
            await self._let_go(record, resumable)
            return None
        # The encrypted state is bound to this question, and a framework compares the calls with its own state, too.
        async with self._approvals.resuming(interrupt_id, interrupt=record.interrupt) as resume:
            # Read the journal again under the claim: the process that held the claim before may have added notes.
            journal = await self._approvals.runs.journal(interrupt_id, body=record.body)
            journal.check()
            turn = Turn(record.interrupt, resume, journal.continuation, self._approvals, journal)
            came_to = await resumable.go_on(turn)
            if isinstance(came_to, Finished) and resumable.over:
                await resumable.over(Over(record.interrupt, "finished", came_to.result))
        match came_to:
            case Finished():
                logger.info("run.finished", extra={"interrupt_id": interrupt_id})
            case Paused(interrupt_id=following):
                logger.info("run.paused", extra={"interrupt_id": interrupt_id, "next": following})
            case None:
                logger.warning(
                    "%s: somebody else has gone on with this run from its next question", interrupt_id
                )
        return None

    async def _let_go(self, record: Record, resumable: Resumable) -> None:
        """Drop a run whose question ended without an answer. It stays paused, and its owner may ask again."""
        ended = record.resume()
        assert ended, "it has ended"
        if resumable.over:
            await resumable.over(Over(record.interrupt, ended.status, reason=ended.reason))
        await self._approvals.runs.drop(record.interrupt.id)
        logger.warning(
            "%s was %s, so its run stays paused: nothing was resumed", record.interrupt.id, ended.status
        )

    def _warn_once(self, what: str, sentence: str, *values: object) -> None:
        if what not in self._warned:
            self._warned.add(what)
            logger.warning(sentence, *values)
