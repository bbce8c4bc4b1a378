"""Interrupts and records for tests: give what matters, the rest is ordinary."""

import asyncio
import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_adapter import ApprovalClient, Resume
from agent_adapter.contract.hitl import (
    ActionRequest,
    Decision,
    EditDecision,
    EditedAction,
    HITLRequest,
    ReviewConfig,
)
from agent_adapter.contract.identity import action_fingerprints, interrupt_id
from agent_adapter.contract.interrupt import Context, Interrupt
from agent_adapter.contract.record import Recorded
from bot.domain.action import Action
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import Approval
from bot.domain.standing import StandingLimits
from bot.domain.votes import Proposal, Vote, position_of
from bot.rendering.card.layout import lay_out, plan_parts
from bot.rendering.pages import measure

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


def asking(*actions: tuple[ActionRequest, ReviewConfig]) -> HITLRequest:
    """Build a batch of these actions, or of one ordinary action."""
    requests, configs = zip(*(actions or (an_action(),)), strict=True)
    return HITLRequest(action_requests=requests, review_configs=configs)


def review(
    client: ApprovalClient, *actions: tuple[ActionRequest, ReviewConfig], **options: Any
) -> asyncio.Task[Resume]:
    """Ask about these actions, or an ordinary one, as an agent that waits in the background."""
    return asyncio.create_task(client.review(asking(*actions), **options))


def an_interrupt(
    *actions: tuple[ActionRequest, ReviewConfig], agent: str = "billing", run: str = "run-1", **fields: Any
) -> Interrupt:
    """Build an interrupt about these actions, one ordinary action by default."""
    request = asking(*actions)
    pauses = tuple(f"pause-{number}" for number in range(len(request.action_requests)))
    context = fields.pop("context", Context(requested_by="U0DANA"))
    return Interrupt(
        id=fields.pop("id", interrupt_id(agent, run, pauses)),
        agent=agent,
        request=request,
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


def a_key() -> str:
    """Make a key that encrypts records, or states."""
    return base64.b64encode(os.urandom(32)).decode()


def a_resume(*decisions: Any, status: Any = "decided", **fields: Any) -> Resume:
    """Build an answer, also one as only a store gives it in which somebody has changed something."""
    records = (None,) * len(decisions)
    return Resume.model_construct(
        interrupt_id="test.1", status=status, decisions=decisions, records=records, **fields
    )


def edited(tool: str = "send_email", /, **args: Any) -> EditDecision:
    """Build an edit: the call runs with these arguments."""
    return EditDecision(edited_action=EditedAction(name=tool, args=args))


def a_vote(user: str, decision: Decision) -> Vote:
    return Vote(user, position_of(decision), decision, "1")


def a_proposal(decision: EditDecision, *, name: str = "one", by: str = "U0DANA", **fields: Any) -> Proposal:
    """Build an edit that another rule is about: two people have to agree with it, in a channel of their own."""
    given = {
        "fingerprint": f"of {name}",
        "policy": "2",
        "rule": "large",
        "terms": Terms(approvers=("U0ERIK", "U0MIRA"), quorum=2),
        "pages": 0,
        "channel": "C2",
    }
    return Proposal(**{"name": name, "decision": decision, "by": by, **given, **fields})


def an_admission(
    *,
    places: Sequence[Place] = (Place(channel="C0APPROVALS", actions=(0,)),),
    own: Mapping[int, Terms] | None = None,
    policy_version: str = "1",
    **fields: Any,
) -> Admission:
    """Build what is fixed about a record: the same terms for every action but those that have their own."""
    given = {name: fields.pop(name) for name in {*fields} & {*Terms.model_fields}}
    shared = Terms(**{"approvers": ("U0ERIK",), **given})
    count = 1 + max(index for place in places for index in place.actions)
    terms = tuple((own or {}).get(index, shared) for index in range(count))
    return Admission(policy_version=policy_version, terms=terms, places=tuple(places), **fields)


def on_terms(admission: Admission, **changed: Any) -> Admission:
    """Give the same with these terms changed, for every action."""
    terms = tuple(own.model_copy(update=changed) for own in admission.terms)
    return admission.model_copy(update={"terms": terms})


def calls_of(interrupt: Interrupt, **given: Any) -> tuple[Action, ...]:
    """Build the actions of an interrupt as they are asked, on the same terms for each."""
    terms = Terms(**{"approvers": ("U0ERIK",), **given})
    return measure(interrupt, (terms,) * len(interrupt.request.action_requests))


def a_state(
    interrupt: Interrupt | None = None,
    *,
    decided: Mapping[int, Decision | Recorded] | None = None,
    places: Sequence[Place] | None = None,
    approvers: Sequence[str] = ("U0ERIK", "U0MIRA"),
    **fields: Any,
) -> Approval:
    """Build a record: pending, admitted in one channel, with these actions decided. Terms hold for every action."""
    interrupt = interrupt or an_interrupt()
    everywhere = tuple(range(len(interrupt.request.action_requests)))
    recorded = [
        given if given is None or isinstance(given, Recorded) else a_decision(interrupt, index, given)
        for index, given in ((index, (decided or {}).get(index)) for index in everywhere)
    ]
    known = {*Terms.model_fields, *Admission.model_fields, "own"} - {"standing"}
    given = {name: fields.pop(name) for name in [*fields] if name in known}
    if isinstance(fields.get("standing"), StandingLimits):
        given["standing"] = fields.pop("standing")
    admission = fields.pop("admission", None) or an_admission(
        approvers=tuple(approvers),
        places=tuple(places or (Place(channel="C0APPROVALS", actions=everywhere),)),
        **given,
    )
    if not admission.pages:
        pages = tuple(call.pages for call in measure(interrupt, admission.terms))
        admission = admission.model_copy(update={"pages": pages})
    values: dict[str, Any] = {
        "status": "pending",
        "created_at": NOW,
        "deadline": NOW + timedelta(hours=1),
        "now": NOW + timedelta(minutes=10),
        "admission": admission,
    }
    return Approval(interrupt=interrupt, recorded=tuple(recorded), **{**values, **fields})


def asked(*actions: tuple[ActionRequest, ReviewConfig], apart: bool = False, **fields: Any) -> Approval:
    """Build the record of these actions as a bot admits it: in rows, unless they are to be `apart`, or in parts."""
    of_interrupt = {name: fields.pop(name) for name in ("context", "on_expiry") if name in fields}
    interrupt = an_interrupt(*actions, **of_interrupt)
    state = a_state(interrupt, **fields)
    admission = lay_out(interrupt, state.admission)
    if apart:
        parts = plan_parts(interrupt, measure(interrupt, admission.terms))
        places = tuple(p.model_copy(update={"rows": False, "parts": parts}) for p in admission.places)
        admission = admission.model_copy(update={"places": places})
    return replace(state, admission=admission)
