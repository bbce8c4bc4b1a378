"""Background loops: an unexpected error is logged and counted, and the loop starts again; after a few errors it stops."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Never

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError, LoopBrokenError

logger = logging.getLogger(__name__)

FEW = 5
"""A loop stops after this many unexpected errors within `FORGOTTEN_AFTER` seconds."""
FORGOTTEN_AFTER = 300.0
FIRST_PAUSE = 0.5
"""Seconds until a loop starts again; each pause is twice as long as the one before."""
SHORTEST_PATIENCE = 5.0
"""Seconds without progress that are always allowed, because the machine may be busy."""


class Loop:
    """The state of one loop, for supervisors: whether it makes progress, and what stops it."""

    def __init__(self, name: str, *, within: float) -> None:
        self.name = name
        self.within = max(within, SHORTEST_PATIENCE)
        self.failures = 0
        """Unexpected errors since the process started."""
        self.hindrance = ""
        """Why its last round failed; empty when it succeeded."""
        self._due = time.monotonic() + self.within
        self._failed: Counter[str] = Counter()
        """How often in a row, by the reason."""

    def beat(self, *, within: float = 0.0) -> None:
        """Note that a round succeeded."""
        self.hindrance = ""
        self.expect(within)
        if self._failed:
            logger.info("loop.goes_on: %s", self.name, extra={"failures": self._failed.total()})
            self._failed.clear()

    def hinder(self, reason: str) -> None:
        """Note that a round failed, for a known reason. The log says it at the 1st, 2nd, 4th, 8th … time in a row."""
        self._failed[reason] += 1
        if (failures := self._failed[reason]).bit_count() == 1:
            # An agent that sets up no logging prints the message alone, so it has the reason.
            logger.warning("loop.hindered: %s: %s", self.name, reason, extra={"failures": failures})
        self.hindrance = reason
        self.expect()

    def expect(self, within: float = 0.0) -> None:
        """Expect the next sign of progress in due time from now."""
        self._due = time.monotonic() + max(within, self.within)

    @property
    def overdue(self) -> float:
        """Seconds by which the next sign of progress is late."""
        return max(0.0, time.monotonic() - self._due)

    @property
    def trouble(self) -> str:
        """What is wrong with the loop; empty when nothing is."""
        if self.overdue:
            return f"no progress for {self.within + self.overdue:.0f} seconds"
        return self.hindrance


Work = Callable[[Loop], Awaitable[None]]
"""The body of a loop: runs until it is cancelled, and notes its progress on the `Loop`."""


class Loops:
    """The loops of one process, or of one client."""

    def __init__(self) -> None:
        self._known: dict[str, Loop] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._broken: BaseException | None = None
        self._is_broken = asyncio.Event()
        self._others: list[Callable[[], Iterable[Loop]]] = []

    def __iter__(self) -> Iterator[Loop]:
        yield from self._known.values()
        for others in self._others:
            yield from others()

    def include(self, others: Callable[[], Iterable[Loop]]) -> None:
        """Include loops that are kept elsewhere."""
        self._others.append(others)

    def start(
        self, name: str, work: Work, *, within: float, fatal: tuple[type[Exception], ...] = ()
    ) -> asyncio.Task[None]:
        """Run a loop as a task. The task ends when it is cancelled, or with a fatal error.

        It shows its progress at least once in `within` seconds.
        """
        loop = self._known[name] = Loop(name, within=within)
        expected: tuple[type[Exception], ...] = (AgentAdapterError, *fatal)
        task = in_background(supervise(loop, work, fatal=fatal), name=f"loop {name}", expected=expected)
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, loop))
        return task

    async def until_broken(self) -> Never:
        """Wait while every loop runs, including loops that start later, and raise the error of one that stopped."""
        await self._is_broken.wait()
        assert self._broken
        raise self._broken

    def _end(self, loop: Loop, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._known.get(loop.name) is loop:
            del self._known[loop.name]
        if not task.cancelled() and (error := task.exception()):
            self._broken = error
            self._is_broken.set()


async def supervise(loop: Loop, work: Work, *, fatal: tuple[type[Exception], ...] = ()) -> None:
    """Run a loop, and start it again after every unexpected error, unless it fails `FEW` times in a short time."""
    failed: deque[float] = deque(maxlen=FEW)
    while True:
        try:
            await work(loop)
        except fatal:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The cancellation was meant for something inside the loop, not for the loop.
            reason: BaseException = error
        except Exception as error:  # noqa: BLE001  # the loop has to survive any error
            reason = error
        else:
            return
        loop.failures += 1
        failed.append(time.monotonic())
        recent = sum(failed[-1] - at < FORGOTTEN_AFTER for at in failed)
        logger.error("loop.failed", exc_info=reason, extra={"loop": loop.name, "failures": recent})
        if recent == FEW:
            raise LoopBrokenError(
                f"the loop {loop.name!r} failed {FEW} times in a row, at last with {describe(reason)}: "
                "the log says where; please report it"
            ) from reason
        loop.expect()
        loop.hindrance = f"failed and starts again: {describe(reason)}"
        await asyncio.sleep(FIRST_PAUSE * 2 ** (recent - 1))


def describe(error: BaseException) -> str:
    """Name an unexpected error. Its text is shown only for our own errors: other texts may quote what an agent sent."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, AgentAdapterError) else name
