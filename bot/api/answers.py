"""What an agent gets: the state of a record, each decision as an event, and waits that end with the process."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Coroutine
from typing import Any

from agent_adapter.background import in_background
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.interrupt import Decided, Source
from agent_adapter.contract.record import dump_decision
from agent_adapter.dialects import by_name
from agent_adapter.errors import AgentAdapterError
from agent_adapter.redis.pool import end_task
from agent_adapter.redis.records import Record
from bot.api.failures import problem
from bot.api.messages import ReportedOutcome, State

HEARTBEAT = 15.0
"""Seconds between two keep-alive lines, less than the idle limits of usual proxies."""
ENDED = "settled"
"""Id of the last event. A client that has it needs no more events."""


def describe(record: Record) -> State:
    """Give the state of an interrupt, with the answer in the dialect of its pause once there is one.

    Raises:
        DecisionNotAllowedError: when what is stored does not answer what was asked.
    """
    resume, recorded, interrupt = record.resume(), record.recorded(), record.interrupt
    decisions = resume.decisions if resume else tuple(each.decision if each else None for each in recorded)
    answer = None
    if resume and None not in decisions:
        # An interrupt from the Python library has no source. Its answer has the library's own form.
        source = interrupt.source or Source(dialect="langchain", payload=interrupt.request.model_dump())
        answer = by_name(source.dialect).to_resume(decisions, source.payload)
    return State(
        id=interrupt.id,
        status=resume.status if resume else "pending",
        decisions=decisions,
        records=resume.records if resume else tuple(each.for_agent if each else None for each in recorded),
        resume=answer,
        reason=resume.reason if resume else None,
        code=resume.code if resume else None,
        notice=None if resume else record.notice,
        deadline=record.deadline,
        outcomes=tuple(
            each and ReportedOutcome(**dict(each.outcome), reported_at=each.reported_at)
            for each in record.outcomes()
        ),
        resumed_at=record.resumed_at,
        claim_lapsed_at=record.claim_lapsed_at,
    )


async def wait_within(work: Coroutine[Any, Any, object], seconds: float, ended: asyncio.Event) -> None:
    """Wait for this, at most this long, and not after the end. Its errors are raised. Its result is read elsewhere."""
    task = in_background(work, name="waiting")
    try:
        await _wait(task, seconds, ended)
        if task.done():
            task.result()
    finally:
        task.cancel()


async def _wait(task: asyncio.Task[Any], seconds: float, ended: asyncio.Event) -> None:
    ending = in_background(ended.wait(), name="ending")
    try:
        await asyncio.wait({task, ending}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ending.cancel()


async def events(
    agent: ApprovalClient, interrupt_id: str, *, known: Collection[int], ended: asyncio.Event
) -> AsyncGenerator[bytes]:
    """Give an event for each decision that is not known, and one with the answer when everything has settled.

    The id of an event lists the actions that are decided by then, so that any replica can go on behind it.
    The client asks again when `ended` is set: this process stops.
    """
    given = set(known)
    following: Any = agent.decisions(interrupt_id)
    upcoming = in_background(_next(following), name="waiting")
    try:
        while True:
            await _wait(upcoming, HEARTBEAT, ended)
            if ended.is_set():
                return
            if not upcoming.done():
                yield b": waiting\n\n"
                continue
            decided = upcoming.result()
            if decided is None:
                yield _event(ENDED, "settled", describe(await agent.record(interrupt_id)).dump())
                return
            if decided.index not in given:
                given.add(decided.index)
                event = {"index": decided.index, "decision": dump_decision(decided.decision)}
                yield _event(",".join(map(str, sorted(given))), "decision", event)
            upcoming = in_background(_next(following), name="waiting")
    except AgentAdapterError as error:
        # The status was sent long ago, so an event says what went wrong.
        _, failure = problem(error)
        yield _event(None, "failure", failure)
    finally:
        await end_task(upcoming)
        await following.aclose()


def known_by(last_event_id: str) -> frozenset[int]:
    """Read from the last event's id which decisions the client has. An id that is not ours means none."""
    is_ours = re.fullmatch("[0-9]{1,3}(,[0-9]{1,3})*", last_event_id)
    return frozenset(map(int, last_event_id.split(","))) if is_ours else frozenset()


def _event(event_id: str | None, name: str, data: Any) -> bytes:
    named = f"id: {event_id}\n" if event_id else ""
    return f"{named}event: {name}\ndata: {encode(data)}\n\n".encode()


async def _next(decided: AsyncIterator[Decided]) -> Decided | None:
    return await anext(decided, None)
