"""Detects that the clock of the Redis host was set, by comparing it with the clock of this process. Pure."""

from dataclasses import dataclass

SLACK = 1.0
"""Seconds by which two correct clocks may differ between two readings."""


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
