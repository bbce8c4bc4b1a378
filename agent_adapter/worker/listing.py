"""What is owed to workers, for an operator to read."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from agent_adapter.connection import Scripts, address_of, freeze_meta, open_redis
from agent_adapter.continuation import Seal
from agent_adapter.contract.keys import Keys, Lane
from agent_adapter.runs import Owed, Runs
from agent_adapter.worker.loop import LEFT


async def lines(url: str, namespace: str) -> AsyncIterator[str]:
    """Give a line for each run that is owed: id, age, what it needs, and why it is left.

    Raises:
        ServerUnreachableError: when Redis does not answer.
    """
    async with _opened(url, namespace) as (keys, runs_of):
        for lane in keys.all_lanes():
            async for owed in runs_of(lane).owed():
                yield "\t".join((owed.interrupt_id, _age(owed), owed.req.get("needs", "?"), why(owed)))


async def allow_again(url: str, namespace: str, interrupt_id: str) -> bool:
    """Let a run that was cut off go on, though what was approved may run twice; false when there is no such record.

    Raises:
        ServerUnreachableError: when Redis does not answer.
    """
    async with _opened(url, namespace) as (keys, runs_of):
        return await runs_of(keys.lane_for(interrupt_id)).let_again(interrupt_id)


@asynccontextmanager
async def _opened(url: str, namespace: str) -> AsyncIterator[tuple[Keys, Callable[[Lane], Runs]]]:
    redis, address = open_redis(url), address_of(url)
    try:
        keys = await freeze_meta(redis, namespace, address=address)
        scripts = Scripts(redis, keys, "agent_adapter.scripts", address=address)
        yield keys, lambda lane: Runs(redis, scripts, lane, Seal())
    finally:
        await redis.aclose()


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
        return f"failed {failures} times, tried again {_in(again)}: {reason}"
    if again > 0:
        return f"left to whoever waits for it, for {again / 1000:.0f} s more"
    return "no worker takes it"


def _lapsed(owed: Owed) -> str:
    """Say that whoever went on with the run has not finished; empty when nobody has begun, or gave it back."""
    until = int(owed.req.get("claim_until", 0))
    if not until or until > owed.now:
        return ""
    who = owed.req["claim_by"].partition(":")[0]
    return (
        f"{who} took it and did not finish: its claim lapsed {(owed.now - until) / 1000:.0f} s ago, "
        "so what was approved may have run"
    )


def _in(milliseconds: int) -> str:
    return "now" if milliseconds <= 0 else f"in {milliseconds / 1000:.0f} s"


def _age(owed: Owed) -> str:
    minutes = (owed.now - int(owed.card.get("settled", owed.now))) // 60_000
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"
