"""Decisions as server-sent events, one by one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection
from typing import Any

from agent_adapter.connection import end_task
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.interrupt import Decided
from agent_adapter.errors import AgentAdapterError
from bot.api.agents import Agent
from bot.api.failures import problem
from bot.api.messages import DecisionEvent
from bot.api.states import tell
from bot.api.waits import Waits

HEARTBEAT = 15.0
"""Seconds between two signs of life, below the idle limits of usual proxies."""
ENDED = "settled"
"""Id of the last event: who has it needs no more."""


async def events(
    agent: Agent, interrupt_id: str, *, known: Collection[int], waits: Waits
) -> AsyncGenerator[bytes]:
    """Give an event for each decision that is not known, and one with the answer when everything has settled.

    The id of an event lists the actions that are decided by then, so that any replica can go on behind it.
    """
    given, following = set(known), agent.client.decisions(interrupt_id)
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
                yield _event(ENDED, "settled", tell(await agent.records.load(interrupt_id)).dump())
                return
            if decided.index not in given:
                given.add(decided.index)
                told = DecisionEvent(index=decided.index, decision=decided.decision)
                yield _event(",".join(map(str, sorted(given))), "decision", told.dump())
            upcoming = waits.start(_next(following))
    except AgentAdapterError as error:
        # The status was sent long ago, so the stream itself says what went wrong.
        _, told_problem = problem(error)
        yield _event(None, "failure", told_problem)
    finally:
        await end_task(upcoming)
        await _close(following)


def known_by(last_event_id: str) -> frozenset[int]:
    """Read which decisions the last event told about. What is none of our ids knows nothing."""
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
