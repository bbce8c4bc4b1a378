"""What went over the wire lately, both ways, for a person or a test to look at."""

import itertools
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

KEPT = 2_000

Outcome = Literal["pending", "acked", "failed", "timeout"]


@dataclass(slots=True)
class Delivery:
    """Something that was sent to the app, and what came of it."""

    id: str
    type: str
    payload: dict[str, Any]
    transport: str
    user: str | None = None
    summary: str = ""
    sent_at: float = field(default_factory=time.time)
    acked_ms: float | None = None
    outcome: Outcome = "pending"
    error: str | None = None
    retry: int = 0
    response: Any = None

    @property
    def ok(self) -> bool:
        return self.outcome == "acked"

    def ack(self) -> dict[str, Any]:
        """What the person who acted gets to see of it."""
        shown = {"ok": self.ok, "ms": self.acked_ms}
        return shown if self.ok else shown | {"error": self.error or self.outcome}

    def to_control(self) -> dict[str, Any]:
        """The delivery as the control API shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of the Web API."""

    n: int
    at: float
    method: str
    args: dict[str, Any]
    http_status: int
    ok: bool
    error: str | None = None

    def to_control(self) -> dict[str, Any]:
        """The call as the control API shows it."""
        return {name: getattr(self, name) for name in self.__slots__}


class Journal:
    """The latest deliveries and calls."""

    def __init__(self) -> None:
        self._calls: deque[ApiCall] = deque(maxlen=KEPT)
        self._deliveries: OrderedDict[str, Delivery] = OrderedDict()
        self._numbers = itertools.count(1)

    def add_call(
        self, method: str, args: dict[str, Any], http_status: int, *, ok: bool, error: str | None = None
    ) -> None:
        """Note a call of the Web API and its answer."""
        self._calls.append(ApiCall(next(self._numbers), time.time(), method, args, http_status, ok, error))

    def add_delivery(self, delivery: Delivery) -> None:
        """Note what is being sent to the app."""
        self._deliveries[delivery.id] = delivery
        if len(self._deliveries) > KEPT:
            self._deliveries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything but the numbering."""
        self._calls.clear()
        self._deliveries.clear()

    def calls(self, method: str | None = None, since: int = 0) -> Iterator[ApiCall]:
        """Calls of one method, or of all, after the one numbered `since`."""
        return (call for call in self._calls if call.n > since and method in (None, call.method))

    def delivery(self, delivery_id: str) -> Delivery | None:
        """One delivery, if it is still kept."""
        return self._deliveries.get(delivery_id)

    def deliveries(self) -> Iterator[Delivery]:
        """Deliveries, oldest first."""
        return iter(self._deliveries.values())
