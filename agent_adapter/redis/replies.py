"""One reading loop per process, which wakes the waits for an interrupt.

A stream entry is only a wake-up; what was decided is read from the records. Every record is also read at the start, after a
lost connection and every `reconcile_every` seconds.
"""

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent_adapter.background import in_background
from agent_adapter.contract.keys import Keys
from agent_adapter.errors import (
    AgentAdapterError,
    LoopBrokenError,
    ServerRefusesError,
    ServerUnreachableError,
    UnreadableRecordError,
)
from agent_adapter.loops import Loop, Loops
from agent_adapter.redis.change import WHATEVER, Change, Words, run, wake
from agent_adapter.redis.pool import COMMAND_TIMEOUT, end_task
from agent_adapter.redis.scripts import Scripts
from agent_adapter.redis.server_check import explained

logger = logging.getLogger(__name__)

FIRST_LOOK = 5.0
"""Seconds after the first wait until the log says that no bot runs."""
IDS_PER_LOOK = 500
SILENT_ROUNDS = 3
"""A loop has to make progress within this many rounds."""
BOT_SILENT_AFTER = 30_000
"""Milliseconds without a heartbeat after which no bot runs."""


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

    def check_loop(self) -> None:
        """Refuse to go on elsewhere than where the client was opened."""

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

    __slots__ = ("_id", "_waits", "woken")

    def __init__(self, waits: Waits, interrupt_id: str) -> None:
        self._waits = waits
        self._id = interrupt_id
        self.woken = waits.enter(interrupt_id, self)
        """A future, because a coroutine around it would cost memory in each wait."""

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


class Replies(Waits):
    """Wakes the waits with what this process reads in Redis."""

    def __init__(
        self,
        redis: Redis,
        scripts: Scripts,
        keys: Keys,
        *,
        process: str,
        namespace: str,
        loops: Loops,
        grace: int,
        block: float,
        reconcile_every: float,
    ) -> None:
        super().__init__()
        self._redis = redis
        self._scripts = scripts
        self._keys = keys
        self._process = process
        self._namespace = namespace
        self._loops = loops
        self._grace = grace
        self._block = block
        self._every = reconcile_every
        # Only this process reads the stream, so the stream starts before the first publish.
        self._cursor = "0-0"
        self._tasks: list[asyncio.Task[None]] = []
        self._starting = asyncio.Lock()
        # From now on, the scripts belong to this loop.
        scripts.check_loop()

    async def start(self) -> None:
        """Register this process in Redis and start the loops. Before that, nobody can wake this process."""
        async with self._starting:
            self.check_open()
            if not self._tasks:
                await self._attend([])
                self.check_open()
                self._broken = ""
                self._tasks = [
                    self._loops.start("replies", self._read, within=SILENT_ROUNDS * self._block),
                    self._loops.start("reconciling", self._reconcile, within=SILENT_ROUNDS * self._every),
                ]
                for task in self._tasks:
                    task.add_done_callback(self._give_up)

    def check_loop(self) -> None:
        """Refuse to go on in another event loop or process than the one that the client was opened in."""
        self._scripts.check_loop()

    async def close(self) -> None:
        """Stop the loops for good."""
        await super().close()
        await asyncio.gather(*map(end_task, self._tasks))
        self._tasks = []

    def _give_up(self, ended: asyncio.Task[None]) -> None:
        """End every wait with an error, because a loop has stopped; the next wait starts the loops again."""
        error = None if ended.cancelled() else ended.exception()
        if error is None:
            return
        self._broken = str(error)
        for task in self._tasks:
            if not task.done():
                in_background(end_task(task))
        self._tasks = []
        self._fail(self._broken_wait)

    async def _read(self, loop: Loop) -> None:
        stream, failures = self._keys.replies(self._process), 0
        while True:
            try:
                # After a lost connection, an answer has to come at once: the records are read then.
                answer = await self._next(stream, 0.001 if failures else self._block)
            except (RedisError, OSError) as error:
                failures += 1
                said = explained(self._scripts.address, error)
                loop.hinder(str(said))
                self._end_refused(said)
                await asyncio.sleep(_backoff(failures))
                continue
            loop.beat()
            if failures:
                failures = 0
                self._wake_all()
            for entry, fields in answer[0][1] if answer else ():
                self._cursor = entry
                self.wake(fields["id"], fields.get("status", ""))
            # The woken waits send their commands first; this loop then reads again while Redis answers them.
            await asyncio.sleep(0)

    async def _next(self, stream: str, block: float) -> Any:
        async with asyncio.timeout(block + COMMAND_TIMEOUT):
            return await self._redis.xread({stream: self._cursor}, block=int(1000 * block))

    def leave_server(self) -> None:
        """Read every record, and read wake-ups from the server that answers now.

        The former one may let the loop wait without an answer.
        """
        self._wake_all()
        in_background(self._redis.connection_pool.disconnect())

    def _wake_all(self) -> None:
        # After a failover, entries that were written meanwhile may be below the cursor.
        for interrupt_id in list(self._waiting):
            self.wake(interrupt_id)

    async def _reconcile(self, loop: Loop) -> None:
        delay = min(FIRST_LOOK, self._every)
        while True:
            await asyncio.sleep(delay)
            delay = self._every
            try:
                await self._look()
                loop.beat()
            except ServerUnreachableError as error:
                loop.hinder(str(error))
                self._end_refused(error)
                # This connection may still lead to the old server after a failover.
                await self._redis.connection_pool.disconnect()

    def _end_refused(self, error: AgentAdapterError) -> None:
        """End every wait when Redis refuses this process until somebody changes something."""
        if isinstance(error, ServerRefusesError):
            self._fail(
                lambda interrupt_id: ServerRefusesError(f"{interrupt_id}: this wait was given up: {error}")
            )

    async def _look(self) -> None:
        ids = list(self._waiting)
        # Below, only what has ended is woken.
        for interrupt_id in self._followed:
            self.wake(interrupt_id)
        silent = 0
        for start in range(0, max(len(ids), 1), IDS_PER_LOOK):
            silent = await self._attend(ids[start : start + IDS_PER_LOOK])
        if ids and not 0 <= silent < BOT_SILENT_AFTER:
            logger.warning(
                "no bot runs in namespace %r, or Redis takes no writes from it: "
                "start one with this Redis and ASSENT_NAMESPACE=%s; until then nobody is asked (questions that wait: %d)",
                self._namespace,
                self._namespace,
                len(ids),
            )

    async def _attend(self, ids: Sequence[str]) -> int:
        """Say that this process lives, wake the waits for records that have ended, and return how long no bot was seen."""
        names = self._keys.of(self._process)
        stream, inbox = names["replies"], names["inbox"]
        looks: list[Words] = [(WHATEVER, "EXISTS", key) for key in (stream, inbox)]
        looks.append((WHATEVER, "ZREVRANGE", names["bots"], 0, 0, "WITHSCORES"))
        for each in ids:
            looks.append((WHATEVER, "HMGET", self._keys.card(each), "status", "deadline"))
            looks.append((WHATEVER, "HGET", self._keys.req(each), "deadline"))
        lives = ("PEXPIRE", stream, int(max(3 * self._every, 10.0) * 1000))
        try:
            answer = await run(self._scripts, names, Change(looks, [lives]))
        except UnreadableRecordError:
            # One of them has bytes that are no text. Each is read then, and its own waiters get the error.
            for each in ids:
                self.wake(each)
            return 0
        is_known, has_notes, bots, *records = answer.found
        more: list[Words] = [] if is_known else [("XADD", stream, "*", "id", ""), lives]
        if has_notes:
            # No bot has looked into it yet.
            more.append(wake(names))
        if more:
            await run(self._scripts, names, Change(commands=more))
        for interrupt_id, card, asked in zip(ids, records[::2], records[1::2], strict=True):
            if self._has_ended(card, asked, answer.now):
                self.wake(interrupt_id)
        return max(0, answer.now - int(float(bots[1]))) if bots else -1

    def _has_ended(self, card: Sequence[str | None] | None, asked: str | None, now: int) -> bool:
        """Whether a record has to be read. One that cannot be read has, so that its waiters get the error."""
        status, deadline = card or ("unreadable", None)
        if (status or "pending") != "pending" or not asked:
            return True
        last = deadline or asked
        return not last.isdigit() or now > int(last) + self._grace


def _backoff(failures: int) -> float:
    longest: float = min(2.0, 0.05 * 2 ** min(failures, 6))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311  # spreads load, no secret
