"""Sending to the app: a click once, an event again until it is acknowledged."""

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bot.playground.journal import Delivery, Journal
from bot.playground.timing import Timing

EnvelopeType = Literal["interactive", "slash_commands", "events_api"]


@dataclass(frozen=True, slots=True)
class Envelope:
    """One attempt to deliver something."""

    id: str
    type: EnvelopeType
    payload: dict[str, Any]
    accepts_response: bool
    retry: int = 0
    retry_reason: str = ""


class Refused(Exception):  # noqa: N818 - an answer of the app, not a fault of the stand-in
    """The app did not acknowledge.

    Args:
        error: What the person who looks at the delivery reads.
        reason: The name that Slack gives it when it tries again.
        final: Whether the app asked not to be tried again.
    """

    def __init__(self, error: str, reason: str = "http_error", *, final: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.reason = reason
        self.final = final


class Transport(Protocol):
    """A way to the app."""

    name: str

    async def send(self, envelope: Envelope) -> Any:
        """Deliver and wait for the acknowledgement.

        Returns:
            The app's answer in it, if any.

        Raises:
            Refused: The app did not acknowledge.
            TimeoutError: It did not answer at all.
        """


class Outbox:
    """Everything that goes to the app."""

    def __init__(
        self, transport: Transport, journal: Journal, timing: Timing, on_change: Callable[[Delivery], None]
    ) -> None:
        self.transport = transport
        self.journal = journal
        self.duplicate = False
        self.delay = 0.0
        self._timing = timing
        self._on_change = on_change
        self._numbers = itertools.count(1)
        self._retries: set[asyncio.Task[None]] = set()

    async def interact(
        self,
        payload: dict[str, Any],
        *,
        kind: EnvelopeType = "interactive",
        summary: str,
        accepts_response: bool,
    ) -> Delivery:
        """Deliver what a person did. Slack never repeats it."""
        user = payload["user"]["id"] if "user" in payload else payload["user_id"]
        delivery = self._new(payload.get("type", "slash_command"), payload, user, summary)
        await self._attempt(delivery, kind, accepts_response=accepts_response)
        return delivery

    async def event(self, payload: dict[str, Any]) -> Delivery:
        """Deliver an event; further attempts, and the copy that a test asked for, go on by themselves."""
        copies = 2 if self.duplicate else 1
        first, *others = [self._new(payload["event"]["type"], payload, None, "event") for _ in range(copies)]
        for delivery in others:
            self._in_background(self._attempt_event(delivery, 0))
        await self._attempt_event(first, 0)
        return first

    def fail(self, delivery: Delivery, error: str) -> None:
        """Mark what was acknowledged with an answer that Slack would not take."""
        delivery.outcome, delivery.error = "failed", error
        self._on_change(delivery)

    def reset(self) -> None:
        """Deliver as at the start, and forget what was delivered."""
        self.duplicate, self.delay = False, 0.0
        self.journal.clear()
        for task in self._retries:
            task.cancel()

    async def close(self) -> None:
        """Give up what would have been tried again."""
        for task in self._retries:
            task.cancel()
        await asyncio.gather(*self._retries, return_exceptions=True)

    def _new(
        self, kind: str, payload: dict[str, Any], user: str | None, summary: str, retry: int = 0
    ) -> Delivery:
        delivery_id = f"delivery-{next(self._numbers)}"
        return Delivery(delivery_id, kind, payload, self.transport.name, user, summary, retry=retry)

    async def _attempt_event(self, delivery: Delivery, attempt: int, reason: str = "") -> None:
        refused = await self._attempt(delivery, "events_api", accepts_response=False, reason=reason)
        if refused and not refused.final and attempt < len(self._timing.retries):
            self._in_background(self._retry_event(delivery, attempt, refused.reason))

    async def _retry_event(self, delivery: Delivery, attempt: int, reason: str) -> None:
        await asyncio.sleep(self._timing.retries[attempt])
        again = self._new(delivery.type, delivery.payload, None, delivery.summary, retry=attempt + 1)
        await self._attempt_event(again, attempt + 1, reason)

    async def _attempt(
        self, delivery: Delivery, kind: EnvelopeType, *, accepts_response: bool, reason: str = ""
    ) -> Refused | None:
        self.journal.add_delivery(delivery)
        self._on_change(delivery)
        envelope = Envelope(delivery.id, kind, delivery.payload, accepts_response, delivery.retry, reason)
        if self.delay:
            await asyncio.sleep(self.delay)
        started = time.perf_counter()
        refused: Refused | None = None
        try:
            async with asyncio.timeout(self._timing.acknowledge):
                delivery.response = await self.transport.send(envelope)
            delivery.outcome = "acked"
        except TimeoutError:
            refused = Refused(
                f"no acknowledgement within {self._timing.acknowledge:g} seconds", "http_timeout"
            )
            delivery.outcome = "timeout"
        except Refused as error:
            refused = error
            delivery.outcome = "failed"
        if refused:
            delivery.error = refused.error
        delivery.acked_ms = round((time.perf_counter() - started) * 1000, 3) if delivery.ok else None
        self._on_change(delivery)
        return refused

    def _in_background(self, attempt: Any) -> None:
        task = asyncio.get_running_loop().create_task(attempt)
        self._retries.add(task)
        task.add_done_callback(self._retries.discard)
