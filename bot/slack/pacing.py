"""Slack's rate limits, shared by all replicas. Ask for a turn before a call, and wait if there is none."""

import math
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass

from agent_adapter.contract.keys import Keys
from agent_adapter.errors import ServerRefusesError, ServerUnreachableError
from agent_adapter.redis.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of calls in a number of milliseconds."""

    calls: int
    window: int


POSTS = Limit(1, 1_050)
"""`chat.postMessage`: one a second for each channel."""
EDITS = Limit(50, 60_300)
"""`chat.update`: fifty a minute for the workspace. The windows are a little longer than Slack's, whose clock differs."""

PUBLISHES = Limit(60, 60_300)
"""`views.publish` takes a hundred a minute; some are left for people who open their Home tab."""
READS = Limit(40, 60_300)
"""`conversations.history` and `conversations.replies` take fifty a minute each; some are left for cards that are searched."""

CALLS = Limit(1, 3_600_000)
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
        self.hold(key, limit.window / limit.calls / 1000)
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
        self._edits_closed: dict[str, float] = {}
        self._edited: dict[tuple[str, str], float] = {}

    async def turn_to_post(self, channel: str, agent: str) -> int:
        """Milliseconds to wait before a post in this channel; 0 means go, and counts."""
        return await self._turn(self._keys.pace("post", channel), POSTS, agent, urgent=True)

    async def turn_to_edit(self, agent: str, *, urgent: bool) -> int:
        """Milliseconds to wait before an edit; 0 means go, and counts. Urgent edits go before the others."""
        wait = await self._turn(self._keys.pace("edit"), EDITS, agent, urgent=urgent)
        if urgent and wait:
            self._edits_closed[agent] = time.monotonic() + wait / 1000
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

    async def turn_to_publish(self) -> int:
        """Milliseconds to wait before a Home tab is written that nobody has just pressed; 0 means go, and counts."""
        return await self._turn(self._keys.pace("publish"), PUBLISHES, "", urgent=True)

    async def may_call(self, standing: str) -> bool:
        """Whether the person who gave this standing approval may be called about it: once an hour. True counts for all replicas."""
        return not await self._given(self._keys.pace("call", standing), CALLS, "", urgent=True)

    async def turn_to_read(self, kind: str, *, urgent: bool) -> int:
        """Milliseconds to wait before a history (or a thread's replies) is read; 0 means go, and counts."""
        return await self._turn(self._keys.pace(kind), READS, "", urgent=urgent)

    def edits_closed(self, agent: str) -> int:
        """Milliseconds for which no edit of this agent gets a turn, not even an urgent one. This process knows only its own.

        Each agent has its own wait, because only agents that ask are known to wait.
        """
        left = int((self._edits_closed.get(agent, 0.0) - time.monotonic()) * 1000)
        if left <= 0:
            self._edits_closed.pop(agent, None)
        return max(0, left)

    async def hold(self, seconds: float, kind: str, channel: str = "") -> None:
        """Note that Slack asked to pause posts in a channel (`post`), edits (`edit`), or reads of one kind."""
        key = self._keys.pace(kind, channel)
        self._own.hold(key, seconds)
        with suppress(ServerUnreachableError):
            await self._take_turn(key, Limit(0, 0), pause=int(seconds * 1000) + 50)

    async def _turn(self, key: str, limit: Limit, agent: str, *, urgent: bool) -> int:
        return await self._given(key, limit, agent, urgent=urgent) if self._enabled else 0

    async def _given(self, key: str, limit: Limit, agent: str, *, urgent: bool) -> int:
        # Redis can have lost what Slack said.
        if wait := self._own.wait(key):
            return wait
        try:
            given = await self._take_turn(key, limit, agent, urgent=urgent)
        except ServerRefusesError:
            # Somebody has to change something.
            raise
        except ServerUnreachableError:
            return self._own.take(key, limit)
        return given

    async def _take_turn(
        self, key: str, limit: Limit, agent: str = "", *, urgent: bool = False, pause: int | None = None
    ) -> int:
        parts = ("held", "urgent", "waiting", "served")
        wait: int = await self._scripts(
            "take_turn",
            {"turns": key, **{part: f"{key}:{part}" for part in parts}},
            calls=limit.calls,
            window=limit.window,
            is_urgent=int(urgent),
            name=secrets.token_hex(6),
            agent=agent,
            pause=pause,
        )
        return wait


class Queue:
    """Which records have to wait, and until when. A change meanwhile changes what is drawn then, and not when."""

    def __init__(self) -> None:
        self._until: dict[str, dict[str, float]] = {}
        """By agent: the queue of one agent says nothing about the queue of another."""
        self._prune_at = 0.0

    def remaining(self, interrupt_id: str) -> int:
        """Milliseconds that this record still has to wait."""
        own = self._until.get(_agent(interrupt_id), {})
        left = own.get(interrupt_id, 0.0) - time.monotonic()
        if left <= 0:
            own.pop(interrupt_id, None)
        return max(0, int(left * 1000))

    def join(self, interrupt_id: str, wait: int) -> int:
        """Have a record wait this long, or longer in a long queue, because few get the next turn: at most a minute."""
        now = time.monotonic()
        self._prune(now)
        own = self._until.setdefault(_agent(interrupt_id), {})
        wait = min(wait * max(1, len(own) // ASKING_AT_ONCE), LONGEST_WAIT)
        own[interrupt_id] = now + wait / 1000
        return wait

    def _prune(self, now: float) -> None:
        """Forget records whose wait is over, once a second: another replica may have drawn them, and nobody waits behind them."""
        if now < self._prune_at:
            return
        kept = {agent: {id: until for id, until in own.items() if until > now}
                for agent, own in self._until.items()}  # fmt: skip
        self._until = {agent: own for agent, own in kept.items() if own}
        self._prune_at = now + _PRUNE_EVERY


def _agent(interrupt_id: str) -> str:
    return interrupt_id.partition(".")[0]
