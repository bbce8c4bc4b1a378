"""The waits of this process, by the interrupt that they wait for."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

from agent_adapter.errors import AgentAdapterError, LoopBrokenError

Woken = asyncio.Future[str]
"""Done once a record may have changed, with its status if the wake-up has one."""


class Waits:
    """Wakes the waits of this process. Who reads what has changed is up to the subclass."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Watch]] = {}
        self._followed: Counter[str] = Counter()
        self.is_closed = False
        self._broken = ""
        """Why no wait is woken until the loops start again; empty while they run."""

    async def start(self) -> None:
        """Begin to wake waits, if nothing does so yet."""

    async def close(self) -> None:
        """End every wait with an error."""
        self.is_closed = True
        self._fail(_closed)

    def check_open(self) -> None:
        """Refuse to go on when the client was closed."""
        if self.is_closed:
            raise AgentAdapterError(
                "this client was closed: open it again with `async with`, or make another one"
            )

    def watch(self, interrupt_id: str) -> "Watch":
        """Watch one interrupt, until `leave`."""
        return Watch(self, interrupt_id)

    @contextlib.contextmanager
    def following(self, interrupt_id: str) -> Iterator["Watch"]:
        """Watch one interrupt, and read it at every interval too, for a caller that wants each decision."""
        watch = self.watch(interrupt_id)
        self._followed[interrupt_id] += 1
        try:
            yield watch
        finally:
            watch.leave()
            self._followed[interrupt_id] -= 1
            self._followed += Counter()

    def _broken_wait(self, interrupt_id: str) -> AgentAdapterError:
        return LoopBrokenError(f"{interrupt_id}: this wait was given up, wait again: {self._broken}")

    def _fail(self, error_of: Callable[[str], AgentAdapterError]) -> None:
        for interrupt_id in list(self._waiting):
            for watch in self._out(interrupt_id):
                if not watch.woken.done():
                    watch.woken.set_exception(error_of(interrupt_id))
                    # Python would warn about an error that nobody reads.
                    watch.woken.exception()

    def _out(self, interrupt_id: str) -> "list[Watch]":
        """Take all waits for an interrupt out of the table."""
        return self._waiting.pop(interrupt_id, [])

    def enter(self, interrupt_id: str, watch: "Watch") -> Woken:
        """Return a future that is done once this interrupt may have changed."""
        if self.is_closed:
            raise _closed(interrupt_id)
        if self._broken:
            raise self._broken_wait(interrupt_id)
        self._waiting.setdefault(interrupt_id, []).append(watch)
        return asyncio.get_running_loop().create_future()

    def leave(self, interrupt_id: str, watch: "Watch") -> None:
        """Stop waking this wait."""
        watch.woken.cancel()
        if others := [each for each in self._out(interrupt_id) if each is not watch]:
            self._waiting[interrupt_id] = others

    def wake(self, interrupt_id: str, status: str = "") -> None:
        """Wake the waits for this interrupt."""
        for watch in self._out(interrupt_id):
            if not watch.woken.done():
                watch.woken.set_result(status)


class Watch:
    """One wait for one interrupt: armed before the record is read, awaited afterwards."""

    __slots__ = ("_id", "_waits", "told", "woken")

    def __init__(self, waits: Waits, interrupt_id: str) -> None:
        self._waits = waits
        self._id = interrupt_id
        self.woken = waits.enter(interrupt_id, self)
        """A future, because a coroutine around it would cost memory in each wait."""
        # An empty tuple costs nothing; an empty set costs each wait 0.2 KB.
        self.told: tuple[str, ...] = ()
        """Faults of the record that the log has named."""

    def arm(self) -> None:
        """Wait for changes from now on."""
        if self.woken.done():
            # A future that was cancelled is still to be woken.
            self.leave()
            self.woken = self._waits.enter(self._id, self)

    def leave(self) -> None:
        """Stop watching."""
        self._waits.leave(self._id, self)


def _closed(interrupt_id: str) -> AgentAdapterError:
    return AgentAdapterError(f"{interrupt_id}: the client was closed while it waited")
