"""Slack's rate limits, shared by all replicas. Ask for a turn before a call, and wait if there is none."""

import math
import time
from contextlib import suppress
from dataclasses import dataclass

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerRefusesError, ServerUnreachableError
from agent_adapter.redis.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Limit:
    """How often something may be called."""

    every: int
    """Milliseconds from one call to the next."""
    at_once: int
    """How many calls are made without a pause. The agent that had the last turn gets one less, so there is one for another agent."""


def spread(calls: int, window: int) -> Limit:
    """Allow a number of calls in a number of milliseconds: a tenth of them at once, the rest evenly."""
    at_once = max(1, calls // 10)
    # So no window has more calls, wherever it begins.
    return Limit(math.ceil(window / (calls - at_once + 1)), at_once)


POSTS = Limit(every=1_050, at_once=2)
"""`chat.postMessage`: one a second for each channel. Slack takes more in short bursts, and a burst is for another agent."""
EDITS = spread(50, 60_300)
"""`chat.update`: fifty a minute for the workspace. The windows are a little longer than Slack's, whose clock differs."""

READS = spread(40, 60_300)
"""`conversations.history` and `conversations.replies` take fifty a minute each; some are left for cards that are searched."""

CALLS = spread(1, 3_600_000)
"""Messages that call a person because of a standing approval: one an hour."""

EDIT_AGAIN = 1_000
"""Milliseconds until a message that asks something is edited again. What several people decide meanwhile is one edit."""
ASKING_AT_ONCE = 16
LONGEST_WAIT = 60_000
"""Milliseconds."""
_PRUNE_EVERY = 1.0
"""Seconds."""


class _Own:
    """When this process by itself may call again: after Slack asked for a pause, and at an even pace while no server gives turns."""

    def __init__(self) -> None:
        self._next_at: dict[str, float] = {}

    def wait(self, key: str) -> int:
        """Milliseconds until the next call."""
        return max(0, math.ceil(1000 * (self._next_at.get(key, 0.0) - time.monotonic())))

    def take(self, key: str, limit: Limit) -> int:
        """Milliseconds to wait; 0 means go, and counts."""
        if wait := self.wait(key):
            return wait
        self.hold(key, limit.every / 1000)
        return 0

    def hold(self, key: str, seconds: float) -> None:
        """Give no turn for so long."""
        now = time.monotonic()
        self._next_at = {each: at for each, at in self._next_at.items() if at > now}
        self._next_at[key] = max(self._next_at.get(key, 0.0), now + seconds)


class Pacing:
    """Gives turns. Nothing sleeps here: the caller puts its work back, and draws the newest state later.

    In a cluster, one primary keeps the turns. While it does not answer, each bot keeps its own pace.
    """

    def __init__(self, scripts: Scripts, keys: Keys, *, enabled: bool = True) -> None:
        self._scripts = scripts
        self._keys = keys
        self._enabled = enabled
        self._own = _Own()
        self._edits_closed = 0.0
        self._edited: dict[tuple[str, str], float] = {}

    async def turn_to_post(self, channel: str, agent: str) -> int:
        """Milliseconds to wait before a post in this channel; 0 means go, and counts."""
        return await self._turn(self._keys.pace("post", channel), POSTS, agent)

    async def turn_to_edit(self, agent: str, *, urgent: bool) -> int:
        """Milliseconds to wait before an edit; 0 means go, and counts. Urgent edits go before the others."""
        wait = await self._turn(self._keys.pace("edit"), EDITS, agent, urgent=urgent)
        if urgent and wait:
            self._edits_closed = time.monotonic() + wait / 1000
        return wait

    def edited_lately(self, channel: str, ts: str) -> int:
        """Milliseconds until a message may be edited again. This process knows only its own edits."""
        return max(0, int((self._edited.get((channel, ts), 0.0) - time.monotonic()) * 1000))

    def note_edit(self, channel: str, ts: str) -> None:
        """Note that a message was edited now."""
        now = time.monotonic()
        self._edited = {message: until for message, until in self._edited.items() if until > now}
        if self._enabled:
            self._edited[channel, ts] = now + EDIT_AGAIN / 1000

    async def may_call(self, standing: str) -> bool:
        """Whether the person who gave this standing approval may be called about it: once an hour. True counts for all replicas."""
        return not await self._given(self._keys.pace("call", standing), CALLS)

    async def turn_to_read(self, kind: str, *, urgent: bool) -> int:
        """Milliseconds to wait before a history (or a thread's replies) is read; 0 means go, and counts."""
        return await self._turn(self._keys.pace(kind), READS, urgent=urgent)

    def edits_closed(self) -> int:
        """Milliseconds for which no edit gets a turn, not even an urgent one, as far as this process knows."""
        return max(0, int((self._edits_closed - time.monotonic()) * 1000))

    async def hold(self, seconds: float, kind: str, channel: str = "") -> None:
        """Note that Slack asked to pause posts in a channel (`post`), edits (`edit`), or reads of one kind."""
        key = self._keys.pace(kind, channel)
        self._own.hold(key, seconds)
        limit = EDITS if kind == "edit" else POSTS if kind == "post" else READS
        with suppress(ServerUnreachableError):
            await self._take_turn(key, limit, pause=int(seconds * 1000) + 50)

    async def _turn(self, key: str, limit: Limit, agent: str = "", *, urgent: bool = True) -> int:
        return await self._given(key, limit, agent, urgent=urgent) if self._enabled else 0

    async def _given(self, key: str, limit: Limit, agent: str = "", *, urgent: bool = True) -> int:
        # Redis can have lost what Slack said.
        if wait := self._own.wait(key):
            return wait
        try:
            return await self._take_turn(key, limit, agent, urgent=urgent)
        except ServerRefusesError:
            # Somebody has to change something.
            raise
        except ServerUnreachableError:
            return self._own.take(key, limit)

    async def _take_turn(
        self, key: str, limit: Limit, agent: str = "", *, urgent: bool = False, pause: int | None = None
    ) -> int:
        wait: int = await self._scripts(
            "take_turn",
            {"turns": key, **{part: f"{key}:{part}" for part in ("urgent", "last")}},
            every=limit.every,
            ahead=(limit.at_once - 1) * limit.every,
            is_urgent=int(urgent),
            agent=agent,
            pause=pause,
        )
        return wait


class Queue:
    """Which records have to wait, and until when. A change meanwhile changes what is drawn then, and not when."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._prune_at = 0.0

    def remaining(self, interrupt_id: str) -> int:
        """Milliseconds that this record still has to wait."""
        return max(0, int((self._until.get(interrupt_id, 0.0) - time.monotonic()) * 1000))

    def join(self, interrupt_id: str, wait: int) -> int:
        """Have a record wait this long, or longer in a long queue of its agent, because few get the next turn: at most a minute."""
        now = time.monotonic()
        if now >= self._prune_at:
            # Another replica may have drawn them, and nobody waits behind them.
            self._until = {each: until for each, until in self._until.items() if until > now}
            self._prune_at = now + _PRUNE_EVERY
        agent = interrupt_id.partition(".")[0]
        beside = sum(each.startswith(f"{agent}.") for each in self._until)
        wait = min(wait * max(1, beside // ASKING_AT_ONCE), LONGEST_WAIT)
        self._until[interrupt_id] = now + wait / 1000
        return wait
