"""The right to resume a run: taken once, renewed while the run resumes, finished when it went on."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from agent_adapter.connection import end_task
from agent_adapter.contract.interrupt import Interrupt, Resume
from agent_adapter.errors import (
    AgentAdapterError,
    ClaimedError,
    ClaimLostError,
    ConsumedError,
    DecisionNotAllowedError,
    InterruptEndedError,
    InvalidRequestError,
    ServerUnreachableError,
)
from agent_adapter.records import Record, Records

logger = logging.getLogger(__name__)
_T = TypeVar("_T")

RETRY_EVERY = 1.0
"""Seconds between tries while Redis does not answer."""


class Claims:
    """Holds the claims of one process."""

    def __init__(self, records: Records, *, lease: int) -> None:
        self._records = records
        self._lease = lease
        self._unfinished: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def held(self, interrupt_id: str) -> AsyncIterator[tuple[Interrupt, Resume]]:
        """Hold the claim while the body resumes the run with the answer, and finish when it ends.

        An error in the body gives the claim back.

        Raises:
            ClaimedError, ConsumedError, UnknownInterruptError: when it cannot be taken.
            InterruptEndedError: when there is nothing to resume with.
            DecisionNotAllowedError: when what is stored does not answer what was asked.
            ClaimLostError: when it lapsed meanwhile and another process took it.
        """
        owner = self._records.new_owner()
        record, resume = await self._taken(interrupt_id, owner)
        body = asyncio.current_task()
        assert body is not None
        renewal = asyncio.create_task(self._renew(interrupt_id, owner, body))
        try:
            yield record.interrupt, resume
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and renewal.done() and not renewal.cancelled():
                body.uncancel()
                raise renewal.exception() or error from error
            await end_task(renewal)
            with contextlib.suppress(AgentAdapterError):
                if isinstance(error, AgentAdapterError):
                    # The answer itself cannot be used: whoever decided sees why nothing happens.
                    await self._records.stall(interrupt_id, str(error))
                await self._records.claim(interrupt_id, owner, 0)
            raise
        await end_task(renewal)
        await self._finish(interrupt_id, owner)

    async def close(self) -> None:
        """Stop trying to note what could not be noted yet."""
        await asyncio.gather(*map(end_task, list(self._unfinished)))

    async def _taken(self, interrupt_id: str, owner: str) -> tuple[Record, Resume]:
        try:
            record = await patiently(lambda: self._records.take(interrupt_id, owner, self._lease))
            return record, record.answer()
        except (InvalidRequestError, DecisionNotAllowedError, InterruptEndedError):
            with contextlib.suppress(AgentAdapterError):
                await self._records.claim(interrupt_id, owner, 0)
            raise

    async def _renew(self, interrupt_id: str, owner: str, body: asyncio.Task[object]) -> None:
        """Renew the claim while the body runs, and end the body when another process has the claim."""
        while True:
            await asyncio.sleep(self._lease / 3000)
            try:
                await self._records.claim(interrupt_id, owner, self._lease)
            except (ClaimedError, ConsumedError) as error:
                body.cancel()
                raise ClaimLostError(
                    f"{interrupt_id}: the claim lapsed while its run was resumed, and another process took it"
                ) from error
            except AgentAdapterError as error:
                logger.warning(
                    "claim.not_renewed", extra={"interrupt_id": interrupt_id, "reason": str(error)}
                )

    async def _finish(self, interrupt_id: str, owner: str) -> None:
        try:
            await self._records.finish(interrupt_id, owner)
        except ServerUnreachableError as error:
            # The run has gone on, so its result must not be lost; only the note of it is owed.
            logger.warning("finish.delayed", extra={"interrupt_id": interrupt_id, "reason": str(error)})
            task = asyncio.create_task(self._finish_later(interrupt_id, owner))
            self._unfinished.add(task)
            task.add_done_callback(self._unfinished.discard)

    async def _finish_later(self, interrupt_id: str, owner: str) -> None:
        try:
            await patiently(lambda: self._records.finish(interrupt_id, owner))
        except ClaimLostError as error:
            logger.error("finish.lost", extra={"interrupt_id": interrupt_id, "reason": str(error)})  # noqa: TRY400  # the sentence says all


async def patiently(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """Repeat until Redis answers: what was stored is there again when the server is."""
    while True:
        try:
            return await attempt()
        except ServerUnreachableError as error:
            logger.warning("wait.unreachable", extra={"reason": str(error)})
            await asyncio.sleep(RETRY_EVERY)
