"""Outcomes on their way to their record. The run that reports them never waits, and never fails because of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from agent_adapter.background import in_background
from agent_adapter.contract.outcome import Outcome, Reported
from agent_adapter.errors import AgentAdapterError
from agent_adapter.redis.claims import patiently
from agent_adapter.redis.pool import end_task

logger = logging.getLogger(__name__)

WITHIN = 10.0
"""Seconds in which Redis has to accept a report. After that it is given up."""
CLOSING = 2.0
"""Seconds that closing the client waits for reports that are on their way."""


class Reports:
    """Sends outcomes in the background. Make it on the loop that sends them."""

    def __init__(self, report: Callable[..., Awaitable[Reported]]) -> None:
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._sending: set[asyncio.Task[None]] = set()

    def send(self, key: str, outcome: Outcome, claim: str) -> None:
        """Send an outcome and return at once. Any thread may call it.

        Args:
            key: The idempotency key of the call.
            outcome: What became of it.
            claim: The owner name of the claim under which it ran.
        """
        try:
            self._loop.call_soon_threadsafe(self._start, key, outcome, claim)
        except RuntimeError:
            _note_lost(key, "the client was closed")

    async def close(self) -> None:
        """Give the reports that are on their way a moment, and drop the others."""
        # A report that was sent just now has not started yet.
        await asyncio.sleep(0)
        if self._sending:
            await asyncio.wait(self._sending, timeout=CLOSING)
        for task in list(self._sending):
            _note_lost(task.get_name(), "the client was closed before Redis answered")
            await end_task(task)

    def _start(self, key: str, outcome: Outcome, claim: str) -> None:
        task = in_background(self._deliver(key, outcome, claim), name=key)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, key: str, outcome: Outcome, claim: str) -> None:
        interrupt_id, _, index = key.rpartition(":")
        attempt = partial(self._report, interrupt_id, int(index), outcome, claim=claim)
        try:
            async with asyncio.timeout(WITHIN):
                await patiently(attempt, writes=True)
        except TimeoutError:
            _note_lost(key, f"Redis did not answer within {WITHIN:.0f} seconds")
        except AgentAdapterError as error:
            _note_lost(key, str(error))


def _note_lost(key: str, reason: str) -> None:
    """Log that a card will not say what became of a call. The outcome itself may contain what nobody may read."""
    logger.warning("report.lost", extra={"key": key, "reason": reason})
