"""The right to resume a run: taken once, renewed while the run is resumed, finished when the run has gone on.

Also the right to run a thread, which one call has while its graph runs.
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
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    ServerRefusesError,
    ServerUnreachableError,
    UnknownInterruptError,
)
from agent_adapter.loops import Loop, supervise
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
                    own = {"claim": owner, "is_repeated": record.was_claimed}
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
        try:
            await supervise(
                Loop("claim", within=self._lease / 1000),
                partial(self._renew, name, renew, lost),
                fatal=(ClaimLostError,),
            )
        except AgentAdapterError:
            body.cancel()
            raise

    async def _renew(self, name: str, renew: Renew, lost: str, _: Loop) -> None:
        while True:
            await asyncio.sleep(self._lease / 3000)
            try:
                await renew()
            except UnsureError as error:
                # Nobody else has taken it, as far as is known.
                logger.warning("claim.not_renewed", extra={"interrupt_id": name, "reason": str(error)})
            except (ClaimedError, ConsumedError) as error:
                raise ClaimLostError(lost) from error
            except AgentAdapterError as error:
                logger.warning("claim.not_renewed", extra={"interrupt_id": name, "reason": str(error)})

    async def _finish(self, interrupt_id: str, owner: str, fence: int) -> None:
        try:
            await self._records.finish(interrupt_id, owner, fence)
        except ServerUnreachableError as error:
            # The run has gone on, so its result must not be lost. Only the record of it is written later.
            logger.warning("finish.delayed", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            task = in_background(
                self._finish_later(interrupt_id, owner, fence), name=f"finish of {interrupt_id}"
            )
            self._unfinished.add(task)
            task.add_done_callback(self._unfinished.discard)

    async def _finish_later(self, interrupt_id: str, owner: str, fence: int) -> None:
        try:
            await patiently(lambda: self._records.finish(interrupt_id, owner, fence))
        except (ClaimLostError, ServerRefusesError) as error:
            logger.error("finish.lost", extra={"interrupt_id": interrupt_id, "reason": str(error)})  # noqa: TRY400  # the sentence says all


def why_stalled(error: Exception) -> str:
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
    """Repeat a command until Redis answers.

    Args:
        attempt: The command.
        writes: Whether to stop at once when Redis answers but accepts no writes, because somebody has to act first.
    """
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
