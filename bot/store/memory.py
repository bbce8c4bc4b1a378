"""A cache of the records that were read last, up to a number of bytes: the cards that people look at now."""

from collections.abc import Iterator

from bot.domain.approval import Published

REMEMBERED_BYTES = 48 << 20
"""Bytes of memory, estimated from what is stored."""
_EACH = 12_000
"""Bytes of an ordinary record without its text and values, but with what was computed from it."""
_VALUE = 90
"""Bytes of a value in memory: an empty list takes 56, and 8 in the one that holds it."""


class Memory:
    """Forgets the record that was read longest ago when it holds too many bytes."""

    def __init__(self, most: int = REMEMBERED_BYTES) -> None:
        self._most = most
        self._states: dict[str, Published] = {}
        self.bytes = 0

    def get(self, interrupt_id: str) -> Published | None:
        """Give a record; `None` when it is not remembered."""
        return self._states.get(interrupt_id)

    def put(self, state: Published) -> None:
        """Remember a record, and forget its earlier version."""
        self._forget(state.id)
        self._states[state.id] = state
        self.bytes += weight(state)
        while self.bytes > self._most and len(self._states) > 1:
            self._forget(next(iter(self._states)))

    def __iter__(self) -> Iterator[Published]:
        return iter(self._states.values())

    def clear(self) -> None:
        """Forget everything."""
        self._states.clear()
        self.bytes = 0

    def _forget(self, interrupt_id: str) -> None:
        if known := self._states.pop(interrupt_id, None):
            self.bytes -= weight(known)


def weight(state: Published) -> int:
    """Estimate how many bytes of memory a record takes."""
    body = state.body
    values = body.count(",") + body.count("[") + body.count("{")
    # Decisions contain arguments as well.
    return _EACH + 2 * len(body) + _VALUE * values + 8 * (state.size - len(body))
