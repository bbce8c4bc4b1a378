"""Sending to the app: a click once, an event again until it is acknowledged."""

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from playground.errors import ControlError
from playground.journal import Delivery, Journal
from playground.timing import Timing

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
        self.forge: dict[str, Any] = {}
        """Put over what a person's act says of itself, for a test of what the app believes."""
        self._timing = timing
        self._on_change = on_change
        self._numbers = itertools.count(1)
        self._retries: set[asyncio.Task[Any]] = set()

    async def interact(
        self,
        payload: dict[str, Any],
        *,
        kind: EnvelopeType = "interactive",
        summary: str,
        accepts_response: bool,
    ) -> Delivery:
        """Deliver what a person did. Slack never repeats it; the copy that a test asked for is answered by nobody."""
        payload = _merged(payload, self.forge)
        user = payload["user"]["id"] if "user" in payload else payload["user_id"]
        first, *others = [
            self._new(payload.get("type", "slash_command"), payload, user, summary)
            for _ in range(self._copies)
        ]
        for delivery in others:
            self._in_background(self._attempt(delivery, kind, accepts_response=accepts_response))
        await self._attempt(first, kind, accepts_response=accepts_response)
        return first

    async def again(self, delivery_id: str) -> Delivery:
        """Deliver the same bytes of what a person did once more, as somebody who recorded them could.

        Raises:
            ControlError: There is no such delivery, or it was an event.
        """
        first = self.journal.delivery(delivery_id)
        if first is None or first.user is None:
            raise ControlError(f"There is no click, form or command {delivery_id} to send again.", 404)
        delivery = self._new(first.type, first.payload, first.user, first.summary)
        kind: EnvelopeType = "slash_commands" if first.type == "slash_command" else "interactive"
        await self._attempt(delivery, kind, accepts_response=first.type != "block_actions")
        return delivery

    async def event(self, payload: dict[str, Any]) -> Delivery:
        """Deliver an event; further attempts, and the copy that a test asked for, go on by themselves."""
        kind = payload["event"]["type"]
        first, *others = [self._new(kind, payload, None, "event") for _ in range(self._copies)]
        for delivery in others:
            self._in_background(self._attempt_event(delivery, 0))
        await self._attempt_event(first, 0)
        return first

    @property
    def _copies(self) -> int:
        return 2 if self.duplicate else 1

    def fail(self, delivery: Delivery, error: str) -> None:
        """Mark what was acknowledged with an answer that Slack would not take."""
        delivery.outcome, delivery.error = "failed", error
        self._on_change(delivery)

    def reset(self) -> None:
        """Deliver as at the start, and forget what was delivered."""
        self.duplicate, self.delay, self.forge = False, 0.0, {}
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


def _merged(payload: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Put some fields over others, objects field by field."""
    found = dict(payload)
    for name, value in over.items():
        old = found.get(name)
        found[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found
