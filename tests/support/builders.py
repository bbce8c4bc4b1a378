"""Interrupts and records for tests: give what matters, the rest is ordinary."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_adapter.contract.hitl import ActionRequest, Decision, HITLRequest, ReviewConfig
from agent_adapter.contract.identity import action_fingerprints, interrupt_id
from agent_adapter.contract.interrupt import Context, Interrupt
from agent_adapter.contract.record import Recorded
from bot.state import Admission, ApprovalState, Place

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ALL_DECISIONS = ("approve", "edit", "reject", "respond")


def an_action(
    name: str = "send_email",
    args: Mapping[str, Any] | None = None,
    *,
    description: str | None = None,
    allowed: Sequence[str] = ALL_DECISIONS,
    schema: dict[str, Any] | None = None,
    **config: Any,
) -> tuple[ActionRequest, ReviewConfig]:
    """Build one action with its review config."""
    given = {"to": "dana@example.com"} if args is None else dict(args)
    return (
        ActionRequest(name=name, args=given, description=description),
        # Read as from an agent of any version, so that it may offer what this one has not met.
        ReviewConfig.model_validate(
            {"action_name": name, "allowed_decisions": tuple(allowed), "args_schema": schema, **config}
        ),
    )


def an_interrupt(
    *actions: tuple[ActionRequest, ReviewConfig], agent: str = "billing", run: str = "run-1", **fields: Any
) -> Interrupt:
    """Build an interrupt about these actions, one ordinary action by default."""
    requests, configs = zip(*(actions or (an_action(),)), strict=True)
    pauses = tuple(f"pause-{number}" for number in range(len(requests)))
    context = fields.pop("context", Context(requested_by="U0DANA"))
    return Interrupt(
        id=fields.pop("id", interrupt_id(agent, run, pauses)),
        agent=agent,
        request=HITLRequest(action_requests=requests, review_configs=configs),
        pauses=pauses,
        run=run,
        context=context,
        **fields,
    )


def a_decision(
    interrupt: Interrupt, index: int, decision: Decision, *, by: str = "U0ERIK", note: str | None = None
) -> Recorded:
    """Build what is stored about one decided action."""
    return Recorded(
        fingerprint=action_fingerprints(interrupt.request)[index],
        decision=decision,
        decided_by=by,
        decided_at=NOW + timedelta(minutes=5),
        note=note,
    )


def a_state(
    interrupt: Interrupt | None = None,
    *,
    decided: Mapping[int, Decision | Recorded] | None = None,
    places: Sequence[Place] | None = None,
    approvers: Sequence[str] = ("U0ERIK", "U0MIRA"),
    **fields: Any,
) -> ApprovalState:
    """Build a record: pending, admitted in one channel, with these actions decided."""
    interrupt = interrupt or an_interrupt()
    everywhere = tuple(range(len(interrupt.request.action_requests)))
    recorded = [
        given if given is None or isinstance(given, Recorded) else a_decision(interrupt, index, given)
        for index, given in ((index, (decided or {}).get(index)) for index in everywhere)
    ]
    values: dict[str, Any] = {
        "status": "pending",
        "created_at": NOW,
        "deadline": NOW + timedelta(hours=1),
        "now": NOW + timedelta(minutes=10),
        "admission": Admission(
            policy_version="1",
            approvers=tuple(approvers),
            places=tuple(places or (Place(channel="C0APPROVALS", actions=everywhere),)),
        ),
    }
    return ApprovalState(interrupt=interrupt, recorded=tuple(recorded), **{**values, **fields})
