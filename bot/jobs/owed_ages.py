"""For how long the oldest owed work could have been done."""

import time
from dataclasses import dataclass, field

from bot.store.records import ApprovalStore

LOOKED_AT = 1_000
"""How many cards that are owed are watched."""


@dataclass
class OwedAges:
    """Measures the age of owed work, for the metrics.

    Work is due at a time. A deadline or a run that nobody takes stays due, and grows older. A card that cannot be drawn is
    tried again and again, each time a little later. So its age counts from when this process first saw that it was owed.
    """

    store: ApprovalStore
    _seen: dict[str, float] = field(default_factory=dict)
    """Since when each card is owed, by the monotonic clock."""

    async def look(self, at: int) -> dict[str, float]:
        """Give the seconds by kind. `at` is the server's time in milliseconds."""
        cards, now = await self.store.first_due("undrawn", limit=LOOKED_AT), time.monotonic()
        self._seen = {interrupt_id: self._seen.get(interrupt_id, now) for interrupt_id in cards}
        owed_for = now - min(self._seen.values(), default=now)
        deadlines = await self.store.first_due("due", limit=1)
        runs = await self.store.first_due("unresumed", limit=1)
        return {
            "undrawn": max(owed_for, _overdue(cards, at)),
            "due": _overdue(deadlines, at),
            "unresumed": _overdue(runs, at),
        }


def _overdue(due: dict[str, int], at: int) -> float:
    return max(0.0, (at - min(due.values(), default=at)) / 1000)
