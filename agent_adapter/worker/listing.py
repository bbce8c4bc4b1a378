"""The runs that are owed to workers, for an operator to read."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis

from agent_adapter.cipher import RECORD_KEY, Cipher
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import Fields
from agent_adapter.errors import (
    ConsumedError,
    ServerFailedError,
    UnknownInterruptError,
    UnreadableRecordError,
)
from agent_adapter.redis.address import address_of
from agent_adapter.redis.change import read_hashes
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.redis.runs import FAILURE, release
from agent_adapter.redis.scripts import AGENT_LUA, Scripts
from agent_adapter.redis.server_check import explaining
from agent_adapter.worker.loop import LEFT


async def lines(url: str, namespace: str) -> AsyncIterator[str]:
    """Yield a line for each run that is owed, the longest due first. Tabs separate its id, age, needs, and why it waits."""
    async with _opened(url, namespace) as (redis, scripts, keys):
        with explaining(scripts.address):
            listed: Any = await redis.zrange(keys.unresumed, 0, -1, withscores=True)
        for interrupt_id, due in listed:
            try:
                said = await _said(scripts, keys, interrupt_id, int(due))
            except (ServerFailedError, UnreadableRecordError) as error:
                said = ("?", "?", f"cannot be read: {error}")
            yield "\t".join((interrupt_id, *said))


async def allow_again(url: str, namespace: str, interrupt_id: str) -> str:
    """Release a run that was set aside, although the approved call may then run twice; return a sentence for the operator."""
    async with _opened(url, namespace) as (_, scripts, keys):
        came_of_it = await release(scripts, keys, interrupt_id)
    if not came_of_it:
        raise UnknownInterruptError(f"{interrupt_id}: no such run waits in namespace {namespace!r}")
    if came_of_it != "will go on":
        raise ConsumedError(f"{interrupt_id}: the run {came_of_it}, so nothing was done; look with --list")
    return f"{interrupt_id}: the run {came_of_it}"


@asynccontextmanager
async def _opened(url: str, namespace: str) -> AsyncIterator[tuple[Redis, Scripts, Keys]]:
    redis = open_redis(url, namespace=namespace, credentials=os.environ.get("ASSENT_REDIS_CREDENTIALS"))
    address = address_of(url)
    try:
        keys = await freeze_meta(redis, namespace, address=address)
        cipher = Cipher.from_environment(RECORD_KEY)
        yield redis, Scripts(redis, keys, AGENT_LUA, address=address, cipher=cipher), keys
    finally:
        await redis.aclose()


async def _said(scripts: Scripts, keys: Keys, interrupt_id: str, due: int) -> tuple[str, str, str]:
    names = keys.of(interrupt_id)
    (req, card, notes), now = await read_hashes(scripts, names, "req", "card", "run")
    if reason := notes.get("reason"):
        notes["reason"] = scripts.cipher.open(reason, record=interrupt_id, field=FAILURE)
    age = _age(now - int(card.get("settled", now)))
    return age, req.get("needs", "?"), _why(req, notes, due=due, now=now)


def _why(req: Fields, notes: Fields, *, due: int, now: int) -> str:
    """Say why nobody has gone on with a run yet. Times are in the store's milliseconds."""
    held, again = int(req.get("claim_until", 0)), due - now
    failures, reason = notes.get("failures"), notes.get("reason", "")
    holder = req.get("claim_by", "").partition(":")[0]
    if held > now:
        return f"{holder} is resuming it"
    if held:
        return (
            f"{holder} took it and did not finish: its claim lapsed {(now - held) / 1000:.0f} s ago, "
            "so what was approved may have run"
        )
    if failures and notes["failed_by"] == LEFT:
        return f"left: {reason}"
    if failures:
        when = "now" if again <= 0 else f"in {again / 1000:.0f} s"
        return f"failed {failures} times, tried again {when}: {reason}"
    if again > 0:
        return f"left to the process that waits for it, for {again / 1000:.0f} s more"
    return "no worker takes it"


def _age(milliseconds: int) -> str:
    minutes = milliseconds // 60_000
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
