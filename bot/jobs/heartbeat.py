"""The bot says in Redis that it lives, and looks at what a failover, an operator or another program can have changed."""

import asyncio
import itertools
import logging
import time
from collections import Counter
from dataclasses import dataclass, field

from redis.asyncio import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError

from agent_adapter.errors import AgentAdapterError
from agent_adapter.loops import Loop
from agent_adapter.redis.server_check import explaining, judge_server, read_info
from bot.jobs.redis_restore import RestoreGuard
from bot.runtime.health import NOT_YET, Health
from bot.runtime.host_clock import Look, apart
from bot.runtime.offload import blaming
from bot.slack.client import SlackClient
from bot.store.durability import missing_on
from bot.store.records import ApprovalStore
from bot.store.work import WHAT

logger = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds."""
LOOK_EACH = 6
"""One of so many heartbeats also looks at the server, at the keys, and at what is owed."""
LOOKED_AT = 1_000
"""How many cards that are owed are watched."""


@dataclass
class OwedAges:
    """Measures the age of owed work, for the metrics.

    Work is due at a time. A deadline or a run that nobody takes stays due, and grows older. A card that cannot be drawn is
    tried again and again, each time a little later. So its age counts from when this process first saw that it was owed.
    """

    store: ApprovalStore
    _seen: dict[str, float] = field(default_factory=dict)
    """Since when each card is owed, by the monotonic clock."""

    async def look(self, at: int) -> dict[str, float]:
        """Give the seconds by kind. `at` is the server's time in milliseconds."""
        cards, now = await self.store.first_due("undrawn", limit=LOOKED_AT), time.monotonic()
        self._seen = {interrupt_id: self._seen.get(interrupt_id, now) for interrupt_id in cards}
        owed_for = now - min(self._seen.values(), default=now)
        deadlines = await self.store.first_due("due", limit=1)
        runs = await self.store.first_due("unresumed", limit=1)
        return {
            "undrawn": max(owed_for, _overdue(cards, at)),
            "due": _overdue(deadlines, at),
            "unresumed": _overdue(runs, at),
        }


def _overdue(due: dict[str, int], at: int) -> float:
    return max(0.0, (at - min(due.values(), default=at)) / 1000)


@dataclass
class Heartbeat:
    """Beats until it is cancelled. What it counts meanwhile is read by the metrics."""

    name: str
    """Of this process."""
    store: ApprovalStore
    redis: Redis
    guard: RestoreGuard
    slack: SlackClient
    health: Health
    every: float = EVERY
    owed: dict[str, int] = field(default_factory=dict)
    """The owed work by kind, as last counted."""
    failing: Counter[str] = field(default_factory=Counter)
    """The records that an operator has to look at, by kind."""
    ages: dict[str, float] = field(default_factory=dict)
    """For how many seconds the oldest owed work could have been done, by kind."""
    _look: Look | None = None

    def __post_init__(self) -> None:
        self._owed_ages = OwedAges(self.store)

    async def run(self, loop: Loop) -> None:
        """Beat, and say in `health` why Redis does not work."""
        # This notices a silent Redis before other loops count as stuck.
        within = loop.within / 2
        reason = ""
        for beats in itertools.count():
            loop.expect(within=2 * loop.within)
            looks, due, reason = bool(reason) or not beats % LOOK_EACH, time.monotonic() + within, ""
            try:
                async with asyncio.timeout(within):
                    at = await self.beat()
                    if looks:
                        await self._look_at_server()
                        await self._count(at)
            except TimeoutError:
                reason = await blaming(f"Redis does not answer within {within:.0f} seconds", due)
            except AgentAdapterError as error:
                is_silent = isinstance(error.__cause__, RedisTimeoutError)
                reason = await blaming(str(error)) if is_silent else str(error)
                # After a failover the address can lead to another server.
                await self.redis.connection_pool.disconnect(inuse_connections=False)
            if reason:
                self.health.fault("redis", reason)
                loop.hinder(reason)
            else:
                self.health.recover("redis")
                loop.beat()
            await asyncio.sleep(self.every)

    async def beat(self) -> int:
        """Say once that this bot lives, and compare the clocks. Gives the server's milliseconds."""
        asked = time.monotonic()
        at = (await self.guard.beat(quiet_for=self._quiet_for())).at
        look, before = Look(at, asked, time.monotonic()), self._look
        self._look = look
        self.health.warn("clock", apart(at / 1000, time.time()))
        if before and look.stepped_since(before):
            logger.warning("redis.clock_set", extra={"at": at})
            within = int((look.answered - before.asked) * 1000)
            await self.store.heartbeat(self.name, stepped_within=within, quiet_for=self._quiet_for())
        return at

    async def _look_at_server(self) -> None:
        address = self.store.scripts.address
        with explaining(address):
            info = await read_info(self.redis)
        self.health.warn("redis", "; ".join(judge_server(info, address)))
        # While no click can be confirmed, Slack shows each as failed.
        self.health.warn("durability", missing_on(info, self.store.durability))

    async def _count(self, at: int) -> None:
        self.owed = await self.store.owed()
        self.failing = Counter(dict.fromkeys(WHAT, 0))
        self.failing.update(each.kind for each in await self.store.failing())
        self.ages = await self._owed_ages.look(at)

    def _quiet_for(self) -> float | None:
        fault = self.health.slack_fault
        # A bot that starts takes over from one that stopped. It is not a fault that it has not asked Slack yet.
        return 0.0 if fault == NOT_YET else None if fault else self.slack.quiet_for
