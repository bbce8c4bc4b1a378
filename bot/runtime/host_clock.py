"""Compares the clock of the Redis host with the clocks of this process: was it set, and is it right? Pure."""

from dataclasses import dataclass

SLACK = 1.0
"""Seconds by which two correct clocks may differ between two readings."""
APART = 5.0
"""Seconds by which the clocks of two machines may differ."""


@dataclass(frozen=True, slots=True)
class Look:
    """The server's clock, read between two times of our own clock."""

    at: int
    """The server's milliseconds."""
    asked: float
    answered: float
    """Seconds of our own monotonic clock."""

    def stepped_since(self, earlier: "Look") -> bool:
        """Whether the server's clock advanced by more or less time than really passed."""
        passed = (self.at - earlier.at) / 1000
        least, most = self.asked - earlier.answered, self.answered - earlier.asked
        return not least - SLACK <= passed <= most + SLACK


def apart(at: float, now: float) -> str:
    """Say that a clock of the Redis host differs from ours, both in seconds since 1970; empty when it hardly does."""
    if abs(at - now) <= APART:
        return ""
    which = "ahead of" if at > now else "behind"
    what = f"the clock of Redis is {abs(at - now):.0f} seconds {which} this machine's, and all deadlines are by it"
    return f"{what}: let NTP keep both clocks"
