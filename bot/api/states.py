"""The state of a record, as its agent gets it."""

from collections.abc import Sequence
from typing import Any

from agent_adapter.contract.hitl import Decision
from agent_adapter.contract.interrupt import Interrupt, Source
from agent_adapter.contract.outcome import Reported
from agent_adapter.dialects import by_name
from agent_adapter.redis.records import Record
from bot.api.messages import ReportedOutcome, State


def describe(record: Record) -> State:
    """Give the state of an interrupt, with the answer in the dialect of its pause once there is one.

    Raises:
        DecisionNotAllowedError: when what is stored does not answer what was asked.
    """
    resume = record.resume()
    recorded = record.recorded()
    decisions = resume.decisions if resume else tuple(each.decision if each else None for each in recorded)
    return State(
        id=record.interrupt.id,
        status=resume.status if resume else "pending",
        decisions=decisions,
        records=resume.records if resume else tuple(each.for_agent if each else None for each in recorded),
        resume=_written(record.interrupt, decisions) if resume and None not in decisions else None,
        reason=resume.reason if resume else None,
        code=resume.code if resume else None,
        notice=None if resume else record.notice,
        deadline=record.deadline,
        outcomes=tuple(each and _outcome(each) for each in record.outcomes()),
        resumed_at=record.resumed_at,
        claim_lapsed_at=record.claim_lapsed_at,
    )


def _outcome(reported: Reported) -> ReportedOutcome:
    return ReportedOutcome(**dict(reported.outcome), reported_at=reported.reported_at)


def _written(interrupt: Interrupt, decisions: Sequence[Decision | None]) -> Any:
    # An interrupt from the Python library has no source. Its answer has the library's own form.
    source = interrupt.source or Source(dialect="langchain", payload=interrupt.request.model_dump())
    return by_name(source.dialect).to_resume(decisions, source.payload)
