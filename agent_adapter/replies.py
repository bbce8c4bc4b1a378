"""One reading loop per process, which wakes whoever waits for an interrupt.

Streams only wake. A wake-up may tell the answer of a record that was decided, which is final, and spares a look at it; all else is
read from the records, and every record is looked at again on start, after a lost connection and every `reconcile_every`
seconds.
"""

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent_adapter.connection import Scripts, end_task, entries_of
from agent_adapter.contract.keys import Lane
from agent_adapter.errors import AgentAdapterError, ServerUnreachableError

logger = logging.getLogger(__name__)

FIRST_LOOK = 5.0
"""Seconds after the first wait until a missing bot is told."""
IDS_PER_LOOK = 500
BOT_SILENT_AFTER = 30_000
"""Milliseconds without a heartbeat after which no bot runs."""


Woken = asyncio.Future[str]
"""Done once a record may have changed, with its answer where the wake-up told it."""


class Replies:
    """Wakes waiters by interrupt id."""

    def __init__(
        self,
        redis: Redis,
        scripts: Scripts,
        lane: Lane,
        *,
        process: str,
        namespace: str,
        grace: int,
        block: float,
        reconcile_every: float,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._lane = lane
        self._process = process
        self._namespace = namespace
        self._grace = grace
        self._block = block
        self._every = reconcile_every
        self._waiting: dict[str, tuple[Woken, ...]] = {}
        # The stream is this process's own, so its beginning is before the first publish.
        self._cursor = "0-0"
        self._followed: Counter[str] = Counter()
        self._tasks: list[asyncio.Task[None]] = []
        self._starting = asyncio.Lock()
        self._is_closed = False

    async def start(self) -> None:
        """Make this process known and start the loops. Before it, nobody could wake this process.

        Raises:
            AgentAdapterError: when the client was closed.
            ServerUnreachableError: when Redis does not answer.
        """
        async with self._starting:
            if self._is_closed:
                raise AgentAdapterError(
                    "this client was closed: make another one with `ApprovalClient.from_url`"
                )
            if not self._tasks:
                await self._attend([])
                self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._reconcile())]

    def watch(self, interrupt_id: str) -> "Watch":
        """Watch one interrupt, until `leave`."""
        return Watch(self, interrupt_id)

    @contextlib.contextmanager
    def following(self, interrupt_id: str) -> Iterator["Watch"]:
        """Watch one interrupt, and look at it at every interval too: for whoever wants each decision as it comes."""
        watch = self.watch(interrupt_id)
        self._followed[interrupt_id] += 1
        try:
            yield watch
        finally:
            watch.leave()
            self._followed[interrupt_id] -= 1
            self._followed += Counter()

    async def close(self) -> None:
        """Stop the loops, for good."""
        self._is_closed = True
        await asyncio.gather(*map(end_task, self._tasks))
        self._tasks = []
        for interrupt_id in list(self._waiting):
            for future in self._waiting.pop(interrupt_id):
                if not future.done():
                    future.set_exception(_closed(interrupt_id))

    def enter(self, interrupt_id: str) -> Woken:
        """Give a future that is done once this interrupt may have changed.

        Raises:
            AgentAdapterError: when the client was closed.
        """
        if self._is_closed:
            raise _closed(interrupt_id)
        future: Woken = asyncio.get_running_loop().create_future()
        self._waiting[interrupt_id] = (*self._waiting.get(interrupt_id, ()), future)
        return future

    def leave(self, interrupt_id: str, woken: Woken) -> None:
        """Wake this one no more."""
        woken.cancel()
        others = tuple(future for future in self._waiting.pop(interrupt_id, ()) if future is not woken)
        if others:
            self._waiting[interrupt_id] = others

    def wake(self, interrupt_id: str, told: str = "") -> None:
        """Let whoever waits for this interrupt look at its record, or at the answer that was told."""
        for future in self._waiting.pop(interrupt_id, ()):
            if not future.done():
                future.set_result(told)

    async def _read(self) -> None:
        stream, failures = self._lane.replies(self._process), 0
        while True:
            try:
                answer = await self._redis.xread({stream: self._cursor}, block=int(self._block * 1000))
            except (RedisError, OSError) as error:
                failures += 1
                logger.warning("replies.disconnected", extra={"reason": str(error), "failures": failures})
                await asyncio.sleep(_backoff(failures))
                continue
            if failures:
                failures = 0
                # What was written meanwhile may be below the cursor after a failover.
                for interrupt_id in list(self._waiting):
                    self.wake(interrupt_id)
            for entry, fields in entries_of(answer):
                self._cursor = entry
                self.wake(fields["id"], fields.get("answer", ""))
            # Those who were woken ask for their record first; this loop asks again while Redis answers them.
            await asyncio.sleep(0)

    async def _reconcile(self) -> None:
        delay = min(FIRST_LOOK, self._every)
        while True:
            await asyncio.sleep(delay)
            delay = self._every
            try:
                await self._look()
            except ServerUnreachableError as error:
                logger.warning("replies.unreachable", extra={"reason": str(error)})

    async def _look(self) -> None:
        ids = list(self._waiting)
        # `attend` tells what has ended; what comes one by one is looked at by whoever follows it.
        for interrupt_id in self._followed:
            self.wake(interrupt_id)
        silent = 0
        for start in range(0, max(len(ids), 1), IDS_PER_LOOK):
            silent = await self._attend(ids[start : start + IDS_PER_LOOK])
        if ids and not 0 <= silent < BOT_SILENT_AFTER:
            logger.warning(
                "no bot runs in namespace %r: %d interrupts wait until one starts, or until they expire",
                self._namespace,
                len(ids),
            )

    async def _attend(self, ids: Sequence[str]) -> int:
        silent, *changed = await self._scripts(
            "attend",
            [self._lane.replies(self._process), self._lane.bots],
            [self._lifetime, self._grace, self._lane.prefix, self._unread, *ids],
        )
        for interrupt_id in changed:
            self.wake(interrupt_id)
        return int(silent)

    @property
    def _unread(self) -> str:
        """Where the replies begin that were not read yet."""
        at, _, number = self._cursor.partition("-")
        return f"{at}-{int(number) + 1}"

    @property
    def _lifetime(self) -> int:
        return int(max(3 * self._every, 10.0) * 1000)


class Watch:
    """One waiter's view of one interrupt: armed before the record is read, awaited after."""

    __slots__ = ("_id", "_replies", "woken")

    def __init__(self, replies: Replies, interrupt_id: str) -> None:
        self._replies = replies
        self._id = interrupt_id
        self.woken = replies.enter(interrupt_id)
        """A future, since a coroutine around it would cost each waiter memory."""

    def arm(self) -> None:
        """Be woken by what changes from now on.

        Raises:
            AgentAdapterError: when the client was closed meanwhile.
        """
        if self.woken.done():
            self.woken = self._replies.enter(self._id)

    def leave(self) -> None:
        """Stop watching."""
        self._replies.leave(self._id, self.woken)


def _closed(interrupt_id: str) -> AgentAdapterError:
    return AgentAdapterError(f"{interrupt_id}: the client was closed while it waited")


def _backoff(failures: int) -> float:
    longest: float = min(2.0, 0.05 * 2 ** min(failures, 6))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311  # spreads load, no secret
