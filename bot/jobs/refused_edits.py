"""Edits that Slack refused for a reason that may pass: an archived channel, a bot that was removed, a refused picture."""

import time
from dataclasses import dataclass, field
from datetime import timedelta

from bot.domain.messages import Shown

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 20.0
"""Seconds until the next try. Each pause is twice as long as the one before."""
TRIED_FOR = timedelta(days=7)
"""How long after the end of its record a message is tried: as long as the record of a resumed run is kept."""


@dataclass
class RefusedEdits:
    """When this process tries them again. What a channel refuses is tried with one message, and the others there wait."""

    _tries: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By channel, or by message: the next try by the monotonic clock, and the pause before it."""

    def wait(self, shown: Shown) -> int:
        """Milliseconds until a message may be edited; with 0, it is edited now."""
        now = time.monotonic()
        held = {name: self._tries[name] for name in _names(shown) if name in self._tries}
        left = max((at - now for at, _ in held.values()), default=0.0)
        if left > 0:
            return int(left * 1000) + 1
        for name, (_, pause) in held.items():
            longer = min(2 * pause, LONGEST_PAUSE)
            self._tries[name] = now + longer, longer
        return 0

    def note(self, shown: Shown, *, by_channel: bool) -> bool:
        """Note that Slack refused an edit. False when it refused the same before."""
        name = _names(shown)[not by_channel]
        is_new = name not in self._tries
        self._tries.setdefault(name, (time.monotonic() + FIRST_PAUSE, FIRST_PAUSE))
        return is_new

    def forget(self, shown: Shown) -> None:
        """Note that Slack took an edit."""
        for name in _names(shown):
            self._tries.pop(name, None)


def _names(shown: Shown) -> tuple[str, str]:
    return shown.channel, f"{shown.channel} {shown.ts}"
