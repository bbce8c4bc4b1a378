"""The runs that are owed to workers, for an operator to read."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
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
from agent_adapter.redis.pool import freeze_meta, open_redis
from agent_adapter.redis.runs import FAILURE, release
from agent_adapter.redis.scripts import AGENT_LUA, Scripts, fields_of, read_hashes
from agent_adapter.redis.server_check import explaining
from agent_adapter.worker.loop import LEFT


@dataclass(frozen=True, slots=True)
class Owed:
    """A run that is owed to workers. Times are in the store's milliseconds."""

    interrupt_id: str
    req: Fields = field(default_factory=dict)
    card: Fields = field(default_factory=dict)
    notes: Fields = field(default_factory=dict)
    due: int = 0
    now: int = 0
    unreadable: str = ""
    """Why it cannot be read; empty if it can."""


async def lines(url: str, namespace: str) -> AsyncIterator[str]:
    """Yield a line for each run that is owed: its id, age, needs, and why nobody has resumed it. Tabs separate them."""
    async for each in owed_runs(url, namespace):
        yield "\t".join((each.interrupt_id, _age(each), each.req.get("needs", "?"), why(each)))


async def owed_runs(url: str, namespace: str) -> AsyncIterator[Owed]:
    """Yield every run that is owed; the run that has been due for longest comes first."""
    async with _opened(url, namespace) as (redis, scripts, keys):
        with explaining(scripts.address):
            listed: Any = await redis.zrange(keys.unresumed, 0, -1, withscores=True)
        for interrupt_id, due in listed:
            yield await _owed(scripts, keys, interrupt_id, int(due))


async def allow_again(url: str, namespace: str, which: str) -> str:
    """Release a run that was set aside, although the approved call may then run twice.

    Args:
        url: The address of Redis.
        namespace: The same as in the client.
        which: The id of the question, or the id and the number of the failure as `--list` shows it: `billing.5a0c…#1`.

    Returns:
        A sentence for the operator.
    """
    interrupt_id, _, failure = which.partition("#")
    async with _opened(url, namespace) as (_, scripts, keys):
        came_of_it = await release(scripts, keys, interrupt_id, failure)
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


async def _owed(scripts: Scripts, keys: Keys, interrupt_id: str, due: int) -> Owed:
    names = keys.of(interrupt_id)
    try:
        req, card, now = await read_hashes(scripts, keys, interrupt_id)
        _, flat, _ = await scripts("read", names, card=names["run"])
        notes = fields_of(flat)
        if reason := notes.get("reason"):
            notes["reason"] = scripts.cipher.open(reason, record=interrupt_id, field=FAILURE)
    except (ServerFailedError, UnreadableRecordError) as error:
        return Owed(interrupt_id, due=due, unreadable=str(error))
    return Owed(interrupt_id, req, card, notes, due, now)


def why(owed: Owed) -> str:
    """Say why nobody has gone on with a run yet."""
    if owed.unreadable:
        return f"cannot be read: {owed.unreadable}"
    held, again = int(owed.req.get("claim_until", 0)) - owed.now, owed.due - owed.now
    failures, reason = owed.notes.get("failures"), owed.notes.get("reason", "")
    if held > 0:
        return f"{owed.req['claim_by'].partition(':')[0]} is resuming it"
    if lapsed := _lapsed(owed):
        return lapsed
    if failures and owed.notes["failed_by"] == LEFT:
        return f"left: {reason}"
    if failures:
        when = "now" if again <= 0 else f"in {again / 1000:.0f} s"
        return f"failed {failures} times, tried again {when}: {reason}"
    if again > 0:
        return f"left to the process that waits for it, for {again / 1000:.0f} s more"
    return "no worker takes it"


def _lapsed(owed: Owed) -> str:
    """Say which process took the run and did not finish; empty when no process has, or when it gave the run back."""
    until = int(owed.req.get("claim_until", 0))
    if not until or until > owed.now:
        return ""
    who = owed.req["claim_by"].partition(":")[0]
    return (
        f"{who} took it and did not finish: its claim lapsed {(owed.now - until) / 1000:.0f} s ago, "
        "so what was approved may have run"
    )


def _age(owed: Owed) -> str:
    minutes = (owed.now - int(owed.card.get("settled", owed.now))) // 60_000
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
