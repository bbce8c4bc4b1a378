"""Whether the clock of the Redis host was set, as seen by a process that has a clock of its own. Pure."""

from dataclasses import dataclass

SLACK = 1.0
"""Seconds by which two good clocks may differ between two looks."""


@dataclass(frozen=True, slots=True)
class Look:
    """The server's clock, read between two moments of our own."""

    at: int
    """The server's milliseconds."""
    asked: float
    answered: float
    """Seconds of our own monotonic clock."""

    def stepped_since(self, earlier: "Look") -> bool:
        """Whether the server's clock went on by more, or by less, than time did."""
        passed = (self.at - earlier.at) / 1000
        least, most = self.asked - earlier.answered, self.answered - earlier.asked
        return not least - SLACK <= passed <= most + SLACK
