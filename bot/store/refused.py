"""The calls that people did not approve, as this process knows without asking Redis."""

MOST = 100_000
"""Calls to remember: some 20 MB. The one that was added first is forgotten first."""


class Refused:
    """Remembers which calls somebody refused. If Redis loses a refusal, nothing approves that call."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], bool] = {}

    def add(self, interrupt_id: str, index: int, *, is_final: bool) -> None:
        """Remember that somebody did not approve an action, and whether that ended it."""
        self._calls[interrupt_id, index] = is_final or self.is_final(interrupt_id, index)
        if len(self._calls) > MOST:
            del self._calls[next(iter(self._calls))]

    def has(self, interrupt_id: str, index: int) -> bool:
        """Whether somebody did not approve an action."""
        return (interrupt_id, index) in self._calls

    def is_final(self, interrupt_id: str, index: int) -> bool:
        """Whether an action was not approved for good."""
        return self._calls.get((interrupt_id, index), False)
