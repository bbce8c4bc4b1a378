"""Records that could not be handled. Each is tried again after longer and longer pauses, and then set aside for an operator."""

import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent_adapter.cipher import Cipher
from agent_adapter.contract.record import moment
from agent_adapter.loops import describe
from agent_adapter.redis.address import address_of
from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.domain.errors import BotError
from bot.runtime.settings import Settings
from bot.store.records import ApprovalStore
from bot.store.work import Work, WorkSet

ATTEMPTS = 5
"""Failed attempts after which a record is set aside."""
OURS = {"bot", "agent_adapter"}
WHAT: dict[str, str] = {"undrawn": "its card could not be drawn", "due": "what fell due could not be done"}
"""What could not be done, by the set of work."""


@dataclass(frozen=True, slots=True)
class Failing:
    """One record that could not be handled."""

    kind: WorkSet
    interrupt_id: str
    failures: int
    since: datetime
    reason: str

    @property
    def is_set_aside(self) -> bool:
        return self.failures >= ATTEMPTS

    def __str__(self) -> str:
        return (
            f"{WHAT[self.kind]} ({self.reason}), {self.failures} attempts since {self.since:%Y-%m-%d %H:%M}"
        )


class Quarantine:
    """Keeps what failed in Redis. A record that one replica has set aside is not tried by the others."""

    def __init__(self, store: ApprovalStore) -> None:
        self._store = store

    async def failed(self, work: Work, error: Exception, *, first_pause: int) -> str:
        """Note a failed attempt.

        Args:
            work: What was attempted.
            error: Why it failed.
            first_pause: Milliseconds to the second attempt. Each pause is twice as long as the last.

        Returns:
            The sentence for the waiting agents when it is set aside now; empty while it is tried again.
        """
        reason = why(error)
        failures = await self._store.fail_work(
            work, reason=reason, first_pause=first_pause, too_many=ATTEMPTS
        )
        if failures < ATTEMPTS:
            return ""
        return f"{WHAT[work.kind]} ({reason}), and the bot has set it aside: its operator has to look"

    async def set_aside(self) -> list[Failing]:
        """List everything that was set aside, the oldest first."""
        found, _ = await self._all()
        return sorted((failing for failing in found if failing.is_set_aside), key=lambda each: each.since)

    async def foreign(self) -> list[str]:
        """Name the entries that no version of the bot writes, each by its key and its field."""
        _, foreign = await self._all()
        return foreign

    async def count(self) -> dict[str, int]:
        """Count what was set aside, by the set of work."""
        counts = dict.fromkeys(WHAT, 0)
        for failing in await self.set_aside():
            counts[failing.kind] += 1
        return counts

    async def release(self, interrupt_id: str) -> bool:
        """Have a record tried again; false when nothing about it had failed. The bot that succeeds removes the notice."""
        return await self._store.release_work(interrupt_id)

    async def _all(self) -> tuple[list[Failing], list[str]]:
        found, foreign = [], []
        for name, text in (await self._store.failing()).items():
            try:
                found.append(_read(name, text))
            except (ValueError, LookupError, OverflowError, OSError):
                foreign.append(f"{self._store.keys.failing} {name}")
        return found, foreign


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Quarantine]:
    """Connect to what was set aside, for a command."""
    address = address_of(settings.redis_url)
    async with open_redis(
        settings.redis_url,
        namespace=settings.namespace,
        retries=0,
        credentials=settings.redis_credentials,
    ) as redis:
        keys = await freeze_meta(redis, settings.namespace, address=address)
        cipher = Cipher.parse(settings.record_key)
        yield Quarantine(ApprovalStore(redis, keys, address=address, cipher=cipher))


async def release_one(settings: Settings, interrupt_id: str) -> bool:
    """Have one record tried again; false when nothing about it had failed."""
    async with opened(settings) as quarantine:
        return await quarantine.release(interrupt_id)


async def release_all(settings: Settings) -> int:
    """Have everything that was set aside tried again. Returns how many records."""
    async with opened(settings) as quarantine:
        ids = {failing.interrupt_id for failing in await quarantine.set_aside()}
        return sum([await quarantine.release(interrupt_id) for interrupt_id in ids])


def _read(name: str, text: str) -> Failing:
    kind, _, interrupt_id = name.partition(":")
    failures, since, reason = text.split(" ", 2)
    if kind not in WHAT:
        raise ValueError("this is not work of ours")
    of: WorkSet = "undrawn" if kind == "undrawn" else "due"
    return Failing(of, interrupt_id, int(failures), moment(since), reason)


def why(error: BaseException) -> str:
    """Say what went wrong and where in our code, without quoting anything that an agent sent."""
    words = str(error) if isinstance(error, BotError) else describe(error)
    ours = [
        frame for frame in traceback.extract_tb(error.__traceback__) if OURS & {*Path(frame.filename).parts}
    ]
    if not ours:
        return words
    parts = Path(ours[-1].filename).parts
    start = max(index for index, part in enumerate(parts) if part in OURS)
    return f"{words} at {'/'.join(parts[start:])}:{ours[-1].lineno}"
