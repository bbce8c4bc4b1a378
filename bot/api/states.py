"""A record, as it is told to its agent."""

from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.hitl import Decision
from agent_adapter.contract.interrupt import DecisionRecord, Interrupt, Source
from agent_adapter.contract.record import load_recorded, moment
from agent_adapter.dialects import answering
from agent_adapter.records import Record
from bot.api.messages import State


def tell(record: Record) -> State:
    """Say how an interrupt stands, with the answer in the dialect of its pause once there is one.

    Raises:
        DecisionNotAllowedError: when what is stored does not answer what was asked.
    """
    resume = record.resume()
    decisions, records = (resume.decisions, resume.records) if resume else _so_far(record)
    return State(
        id=record.interrupt.id,
        status=resume.status if resume else "pending",
        decisions=decisions,
        records=records,
        resume=_written(record.interrupt, decisions) if resume and None not in decisions else None,
        reason=resume.reason if resume else None,
        code=resume.code if resume else None,
        notice=None if resume else record.notice,
        deadline=moment(record.card.get("deadline", record.req["deadline"])),
        resumed_at=moment(record.req["resumed"]) if record.is_resumed else None,
        claim_lapsed_at=record.claim_lapsed_at,
    )


def _so_far(record: Record) -> tuple[tuple[Decision | None, ...], tuple[DecisionRecord | None, ...]]:
    found = [
        load_recorded(record.card, index) for index in range(len(record.interrupt.request.action_requests))
    ]
    return (
        tuple(each.decision if each else None for each in found),
        tuple(each.told if each else None for each in found),
    )


def _written(interrupt: Interrupt, decisions: Sequence[Decision | None]) -> Any:
    # What was published by the Python library has no source; it is answered in the library's own form.
    source = interrupt.source or Source(dialect="langchain", payload=interrupt.request.model_dump())
    return answering(source.dialect).to_resume(decisions, source.payload)
