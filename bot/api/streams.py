"""Decisions as server-sent events, one by one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from typing import Any

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.interrupt import Decided
from agent_adapter.errors import AgentAdapterError
from agent_adapter.redis.pool import end_task
from bot.api.failures import problem
from bot.api.messages import DecisionEvent
from bot.api.states import describe
from bot.api.waits import Waits

HEARTBEAT = 15.0
"""Seconds between two keep-alive lines, less than the idle limits of usual proxies."""
ENDED = "settled"
"""Id of the last event. A client that has it needs no more events."""


async def events(
    agent: ApprovalClient, interrupt_id: str, *, known: Collection[int], waits: Waits
) -> AsyncGenerator[bytes]:
    """Give an event for each decision that is not known, and one with the answer when everything has settled.

    The id of an event lists the actions that are decided by then, so that any replica can go on behind it.
    """
    given, following = set(known), agent.decisions(interrupt_id)
    upcoming = waits.start(_next(following))
    try:
        while True:
            await asyncio.wait({upcoming}, timeout=HEARTBEAT)
            if not upcoming.done():
                yield b": waiting\n\n"
                continue
            if upcoming.cancelled():
                return
            decided = upcoming.result()
            if decided is None:
                yield _event(ENDED, "settled", describe(await agent.record(interrupt_id)).dump())
                return
            if decided.index not in given:
                given.add(decided.index)
                event = DecisionEvent(index=decided.index, decision=decided.decision)
                yield _event(",".join(map(str, sorted(given))), "decision", event.dump())
            upcoming = waits.start(_next(following))
    except AgentAdapterError as error:
        # The status was sent long ago, so an event says what went wrong.
        _, failure = problem(error)
        yield _event(None, "failure", failure)
    finally:
        await end_task(upcoming)
        await _close(following)


def known_by(last_event_id: str) -> frozenset[int]:
    """Read from the last event's id which decisions the client has. An id that is not ours means none."""
    parts = last_event_id.split(",")
    return (
        frozenset(map(int, parts))
        if all(p.isascii() and p.isdigit() and len(p) < 4 for p in parts)
        else frozenset()
    )


def _event(event_id: str | None, name: str, data: Any) -> bytes:
    named = f"id: {event_id}\n" if event_id else ""
    return f"{named}event: {name}\ndata: {encode(data)}\n\n".encode()


async def _next(decided: AsyncIterator[Decided]) -> Decided | None:
    return await anext(decided, None)


async def _close(decided: Any) -> None:
    await decided.aclose()
