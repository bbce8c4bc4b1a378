"""Records as they were last read, up to so many bytes: the cards that people look at now."""

from collections.abc import Iterator

from bot.state import ApprovalState

REMEMBERED_BYTES = 48 << 20
"""Of memory, as far as can be told from what is stored."""
_EACH = 12_000
"""Bytes of an ordinary record beside its text and values, with what was found out about it."""
_VALUE = 90
"""Bytes of a value in memory: an empty list takes 56, and 8 in the one that holds it."""


class Memory:
    """Forgets what was read longest ago when it holds too much."""

    def __init__(self, most: int = REMEMBERED_BYTES) -> None:
        self._most = most
        self._states: dict[str, ApprovalState] = {}
        self.bytes = 0

    def get(self, interrupt_id: str) -> ApprovalState | None:
        """Give a record; `None` when it is not remembered."""
        return self._states.get(interrupt_id)

    def put(self, state: ApprovalState) -> None:
        """Remember a record in place of what was read of it before."""
        self._forget(state.id)
        self._states[state.id] = state
        self.bytes += weight(state)
        while self.bytes > self._most and len(self._states) > 1:
            self._forget(next(iter(self._states)))

    def __iter__(self) -> Iterator[ApprovalState]:
        return iter(self._states.values())

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()
        self.bytes = 0

    def _forget(self, interrupt_id: str) -> None:
        if known := self._states.pop(interrupt_id, None):
            self.bytes -= weight(known)


def weight(state: ApprovalState) -> int:
    """Say about how many bytes of memory a record takes."""
    body = state.body
    values = body.count(",") + body.count("[") + body.count("{")
    # Decisions hold arguments, too.
    return _EACH + 2 * len(body) + _VALUE * values + 8 * (state.size - len(body))
