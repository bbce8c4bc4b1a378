"""Loops that go on: an error that nobody expected is logged and counted, the loop starts again, and gives up after a few."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Never

from agent_adapter.background import in_background
from agent_adapter.errors import AgentAdapterError, LoopBrokenError

logger = logging.getLogger(__name__)

FEW = 5
"""Unexpected errors within `FORGOTTEN_AFTER` seconds after which a loop gives up."""
FORGOTTEN_AFTER = 300.0
FIRST_PAUSE = 0.5
"""Seconds until a loop starts again; each pause is twice as long as the one before."""
SHORTEST_PATIENCE = 5.0
"""Seconds without progress that are always allowed: a busy machine is no fault of a loop."""


class Loop:
    """One loop as others see it: whether it makes progress, and what hinders it."""

    def __init__(self, name: str, *, within: float) -> None:
        self.name = name
        self.within = max(within, SHORTEST_PATIENCE)
        self.failures = 0
        """Unexpected errors since the process began."""
        self.hindrance = ""
        """Why its last round came to nothing; empty when it came to its end."""
        self._due = time.monotonic() + self.within

    def beat(self, *, within: float = 0.0) -> None:
        """Note that a round came to its end.

        Args:
            within: Seconds that the next one may take, where that is longer than usual.
        """
        self.hindrance = ""
        self._expect(within)

    def hinder(self, reason: str) -> None:
        """Note that a round came to nothing, for a reason that is known."""
        self.hindrance = reason
        self._expect()

    def _expect(self, within: float = 0.0) -> None:
        self._due = time.monotonic() + max(within, self.within)

    @property
    def overdue(self) -> float:
        """Seconds by which the next sign of progress is late."""
        return max(0.0, time.monotonic() - self._due)

    @property
    def trouble(self) -> str:
        """What is wrong with it; empty while nothing is."""
        if self.overdue:
            return f"no progress for {self.within + self.overdue:.0f} seconds"
        return self.hindrance


Work = Callable[[Loop], Awaitable[None]]
"""A loop's body: runs until cancelled, and notes its progress."""


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
        """Show these, too, which somebody else keeps."""
        self._others.append(others)

    def start(
        self, name: str, work: Work, *, within: float, fatal: tuple[type[Exception], ...] = ()
    ) -> asyncio.Task[None]:
        """Run a loop as a task, which ends when it is cancelled, or with the error that it cannot go on after.

        Args:
            name: What it is called in the log and in the reasons of `/readyz`.
            work: The loop.
            within: Seconds between two signs of progress.
            fatal: Errors after which starting again is of no use.
        """
        loop = self._known[name] = Loop(name, within=within)
        task = in_background(supervise(loop, work, fatal=fatal), name=f"loop {name}")
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, loop))
        return task

    async def until_broken(self) -> Never:
        """Wait for as long as every loop goes on, also those that start meanwhile.

        Raises:
            LoopBrokenError: when one was given up.
            Exception: one of those that are fatal for their loop.
        """
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
    """Run a loop, again after every unexpected error.

    Raises:
        LoopBrokenError: when it failed a few times in a short while.
    """
    failed: deque[float] = deque(maxlen=FEW)
    while True:
        try:
            await work(loop)
        except fatal:
            raise
        except asyncio.CancelledError as error:
            if _is_wanted():
                raise
            # A cancellation that was meant for something else, and came out of it.
            reason: BaseException = error
        except Exception as error:  # noqa: BLE001  # whatever it is, the loop has to go on
            reason = error
        else:
            return
        loop.failures += 1
        failed.append(time.monotonic())
        recent = sum(failed[-1] - at < FORGOTTEN_AFTER for at in failed)
        logger.error("loop.failed", exc_info=reason, extra={"loop": loop.name, "failures": recent})
        if recent == FEW:
            raise LoopBrokenError(
                f"the loop {loop.name!r} failed {FEW} times in a row, at last with {told(reason)}: "
                "the log says where; please report it"
            ) from reason
        loop.hinder(f"failed and starts again: {told(reason)}")
        await asyncio.sleep(FIRST_PAUSE * 2 ** (recent - 1))


def _is_wanted() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def told(error: BaseException) -> str:
    """Name an unexpected error. Its words are told only where they are ours: others may quote what an agent sent."""
    name = type(error).__name__
    return f"{name}: {error}" if isinstance(error, AgentAdapterError) else name
