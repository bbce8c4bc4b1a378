"""The right to resume a run: taken once, renewed while the run is resumed, finished when the run has gone on.

Also the right to run a thread, which one call has while its graph runs, and what is reported of the calls that ran.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias, TypeVar

from agent_adapter import tracing
from agent_adapter.background import in_background
from agent_adapter.contract.interrupt import DecidedResume, Interrupt
from agent_adapter.contract.outcome import Outcome, Reported
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    ServerRefusesError,
    ServerUnreachableError,
    UnknownInterruptError,
)
from agent_adapter.loops import Loop
from agent_adapter.redis.acts import UnsureError
from agent_adapter.redis.pool import end_task
from agent_adapter.redis.records import Record, Records
from agent_adapter.redis.runs import failed_with
from agent_adapter.redis.server_check import NO_WRITES

logger = logging.getLogger(__name__)
_T = TypeVar("_T")
Renew: TypeAlias = Callable[[], Awaitable[object]]

RESUME = "assent.resume"
"""The span of a run that goes on with its answer."""
KNOWN_AFTER = 50
"""Milliseconds after the end of a claim until its end is certain."""
RETRY_EVERY = 1.0
"""Seconds between two tries while Redis does not answer."""
REPORT_WITHIN = 10.0
"""Seconds in which Redis has to accept a report. After that it is given up."""
REPORT_CLOSING = 2.0
"""Seconds that closing the client waits for reports that are on their way."""


class Claims:
    """The claims of one process."""

    def __init__(self, records: Records, *, lease: int) -> None:
        self._records = records
        self._lease = lease
        self._unfinished: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def held(self, interrupt_id: str) -> AsyncIterator[tuple[Interrupt, DecidedResume]]:
        """Hold the claim while the body resumes the run with the answer, and finish it when the body ends.

        An error in the body gives the claim back.
        """
        owner = self._records.new_owner()
        record, fence, resume = await self._taken(interrupt_id, owner)
        renew = partial(self._records.claim, interrupt_id, owner, self._lease, held=fence)
        lost = f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
        with tracing.span(RESUME, record.trace, interrupt_id=interrupt_id, agent=record.interrupt.agent):
            try:
                async with self._kept(interrupt_id, renew, lost):
                    own = {"claim": owner, "is_repeated": record.was_claimed_before(owner)}
                    yield record.interrupt, resume.model_copy(update=own)
            except ClaimLostError:
                raise
            except BaseException as error:
                with contextlib.suppress(AgentAdapterError):
                    # With ClaimedError, the process that runs the thread may still use this answer.
                    if isinstance(error, Exception) and not isinstance(error, ClaimedError):
                        # The card tells people why nothing happens.
                        await self._records.mark_stalled(interrupt_id, owner, why_stalled(error))
                    await self._records.claim(interrupt_id, owner, 0)
                raise
            await self._finish(interrupt_id, owner, fence)

    @asynccontextmanager
    async def running(self, thread: str) -> AsyncIterator[None]:
        """Hold the right to run a thread, given by its id, while the body runs its graph."""
        owner = self._records.new_owner()
        hold = partial(self._records.claim_thread, thread, owner, self._lease)
        await _once_known(hold)
        lost = "the right to run this thread lapsed while its graph ran, and another process took it"
        try:
            async with self._kept(f"thread {thread}", partial(hold, is_held=True), lost):
                yield
        finally:
            # If it cannot be given back, it expires by itself.
            with contextlib.suppress(AgentAdapterError):
                await self._records.leave_thread(thread, owner)

    async def close(self) -> None:
        """Stop the tasks that still try to record that a run was resumed."""
        await asyncio.gather(*map(end_task, list(self._unfinished)))

    async def _taken(self, interrupt_id: str, owner: str) -> tuple[Record, int, DecidedResume]:
        try:
            record, fence = await _once_known(partial(self._records.take, interrupt_id, owner, self._lease))
            return record, fence, record.answer()
        except (ClaimedError, ConsumedError, UnknownInterruptError, ServerUnreachableError):
            raise
        except AgentAdapterError:
            # It cannot be resumed with, so the claim is given back.
            with contextlib.suppress(AgentAdapterError):
                await self._records.claim(interrupt_id, owner, 0)
            raise

    @asynccontextmanager
    async def _kept(self, name: str, renew: Renew, lost: str) -> AsyncIterator[None]:
        """Renew the claim while the body runs, and cancel the body when the claim is lost."""
        body = asyncio.current_task()
        assert body is not None
        renewal = in_background(self._keep(name, renew, lost, body), name=f"claim of {name}")
        try:
            yield
        except asyncio.CancelledError as error:
            if renewal.done() and not renewal.cancelled():
                body.uncancel()
                raise renewal.exception() or error from error
            raise
        finally:
            await end_task(renewal)

    async def _keep(self, name: str, renew: Renew, lost: str, body: asyncio.Task[object]) -> None:
        """Renew the claim until this is cancelled. Whatever else ends it ends the body, too."""
        try:
            while True:
                await asyncio.sleep(self._lease / 3000)
                await self._renew(name, renew, lost)
        except Exception:
            body.cancel()
            raise

    async def _renew(self, name: str, renew: Renew, lost: str) -> None:
        try:
            await renew()
        except AgentAdapterError as error:
            # Where it is not known who has it, nobody else has taken it so far.
            if isinstance(error, ClaimedError | ConsumedError) and not isinstance(error, UnsureError):
                raise ClaimLostError(lost) from error
            logger.warning("claim.not_renewed", extra={"interrupt_id": name, "reason": str(error)})

    async def _finish(self, interrupt_id: str, owner: str, fence: int) -> None:
        try:
            await self._records.finish(interrupt_id, owner, fence)
        except ServerUnreachableError as error:
            # The run has gone on, so its result must not be lost. Only the record of it is written later.
            logger.warning("finish.delayed", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            later = self._finish_later(interrupt_id, owner, fence)
            in_background(later, name=f"finish of {interrupt_id}", among=self._unfinished)

    async def _finish_later(self, interrupt_id: str, owner: str, fence: int) -> None:
        try:
            await patiently(lambda: self._records.finish(interrupt_id, owner, fence))
        except (ClaimLostError, ServerRefusesError) as error:
            logger.error("finish.lost", extra={"interrupt_id": interrupt_id, "reason": str(error)})  # noqa: TRY400  # the sentence says all


def why_stalled(error: BaseException) -> str:
    """Say why a run does not go on. Of an error that is not ours, only its class: everybody in the channel reads it."""
    return str(error) if isinstance(error, AgentAdapterError) else failed_with(error)


async def _once_known(claim: Callable[[], Awaitable[_T]]) -> _T:
    """Claim something, as soon as it is known whether another process has it."""
    while True:
        try:
            return await patiently(claim, writes=True)
        except UnsureError as error:
            await asyncio.sleep((error.known_in + KNOWN_AFTER) / 1000)


async def patiently(attempt: Callable[[], Awaitable[_T]], *, writes: bool = False) -> _T:
    """Repeat a command until Redis answers. One that `writes` is given up where Redis takes no writes: somebody has to act."""
    waiting = Loop("wait", within=RETRY_EVERY)
    while True:
        try:
            answer = await attempt()
        except ServerRefusesError:
            raise
        except ServerUnreachableError as error:
            if writes and error.code in NO_WRITES:
                raise
            waiting.hinder(str(error))
            await asyncio.sleep(RETRY_EVERY)
        else:
            waiting.beat()
            return answer


class Reports:
    """Sends outcomes in the background. Make it on the loop that sends them."""

    def __init__(self, report: Callable[..., Awaitable[Reported]]) -> None:
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._sending: set[asyncio.Task[None]] = set()

    def send(self, key: str, outcome: Outcome, claim: str) -> None:
        """Send the outcome of the call with this key, and return at once. Any thread may call it."""
        try:
            self._loop.call_soon_threadsafe(self._start, key, outcome, claim)
        except RuntimeError:
            _note_lost(key, "the client was closed")

    async def close(self) -> None:
        """Give the reports that are on their way a moment, and drop the others."""
        # A report that was sent just now has not started yet.
        await asyncio.sleep(0)
        if self._sending:
            await asyncio.wait(self._sending, timeout=REPORT_CLOSING)
        for task in list(self._sending):
            _note_lost(task.get_name(), "the client was closed before Redis answered")
            await end_task(task)

    def _start(self, key: str, outcome: Outcome, claim: str) -> None:
        in_background(self._deliver(key, outcome, claim), name=key, among=self._sending)

    async def _deliver(self, key: str, outcome: Outcome, claim: str) -> None:
        interrupt_id, _, index = key.rpartition(":")
        attempt = partial(self._report, interrupt_id, int(index), outcome, claim=claim)
        try:
            async with asyncio.timeout(REPORT_WITHIN):
                await patiently(attempt, writes=True)
        except TimeoutError:
            _note_lost(key, f"Redis did not answer within {REPORT_WITHIN:.0f} seconds")
        except AgentAdapterError as error:
            _note_lost(key, str(error))


def _note_lost(key: str, reason: str) -> None:
    """Log that a card will not say what became of a call. The outcome itself may contain what nobody may read."""
    logger.warning("report.lost", extra={"key": key, "reason": reason})
