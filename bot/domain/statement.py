"""What the bot signs about a decision. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_adapter.contract.hitl import ApproveDecision, Decision, EditDecision
from agent_adapter.contract.identity import slots
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import EXPIRED, unix_milliseconds
from agent_adapter.receipts.statement import (
    ActionStatement,
    Requester,
    Statement,
    arguments_digest,
    bytes_digest,
    pause_of,
    run_of,
)
from bot.domain.approval import Approval
from bot.domain.standing import StandingMatch
from bot.domain.transitions import Cast, Silent, counted
from bot.domain.votes import position_of

OPERATOR = "operator"
"""Who vouches for a requester: the policy file, or a key of the HTTP API, which an operator gave out."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who signs: what all statements of a bot have in common."""

    kid: str
    """The name of its key."""
    namespace: str
    team: str
    """The id of its Slack workspace."""


def statement_of(
    state: Approval,
    issuer: Issuer,
    actions: Sequence[ActionStatement],
    *,
    at: datetime,
    asked: str = "",
    policy: str,
    use_within: timedelta,
) -> Statement:
    """Give the statement about one click, or about what decides in the place of one.

    Args:
        state: The record as it was judged.
        issuer: Who signs.
        actions: What is decided about each action.
        at: When it was decided, by the clock of the bot.
        asked: What the message or form asked that was pressed, by `bot.domain.question`; empty where none was.
        policy: The version of the rules that judged it.
        use_within: How long after the deadline an approved call may run.
    """
    interrupt, deadline = state.interrupt, unix_milliseconds(state.deadline)
    return Statement(
        kid=issuer.kid,
        ns=issuer.namespace,
        team=issuer.team,
        rec=interrupt.id,
        run=run_of(interrupt.run),
        aud=interrupt.agent,
        body=bytes_digest(state.body),
        policy=policy,
        requester=_requester(state),
        message=asked,
        at=unix_milliseconds(at),
        deadline=deadline,
        use_by=deadline + use_within // timedelta(milliseconds=1),
        silence=state.on_expiry,
        actions=tuple(actions),
    )


def said_by_person(state: Approval, given: Cast) -> list[ActionStatement]:
    """Give what one person decides about each action.

    Args:
        state: The record as it was judged.
        given: What they decide.
    """
    return [
        _said(
            state.interrupt,
            index,
            ballot.decision,
            given.texts[index],
            position=ballot.position,
            by=given.user,
            how="typed" if ballot.is_typed else given.press.how,
            quorum=ballot.needed,
            rule=ballot.rule,
            counts=tuple(vote.statement for vote in counted(state, given, index) if vote.statement),
        )
        for index, ballot in given.ballots.items()
    ]


def said_by_silence(state: Approval, index: int, silent: Silent) -> ActionStatement:
    """Give what the deadline decides about an action."""
    rule = state.admission.terms[index].rule
    return _said(
        state.interrupt, index, silent.decision, silent.text, by=EXPIRED, how=f"silence:{rule}", rule=rule
    )


def said_by_standing(state: Approval, matched: StandingMatch, text: str) -> ActionStatement:
    """Give what a standing approval decides about an action."""
    return _said(
        state.interrupt,
        matched.index,
        ApproveDecision(),
        text,
        by=matched.by,
        how=f"standing:{matched.name}",
        rule=state.admission.terms[matched.index].rule,
    )


def _said(
    interrupt: Interrupt,
    index: int,
    decision: Decision,
    text: str,
    *,
    by: str,
    how: str,
    rule: str,
    position: str = "",
    quorum: int = 1,
    counts: tuple[str, ...] = (),
) -> ActionStatement:
    call = interrupt.request.action_requests[index]
    asked = arguments_digest(call.args)
    return ActionStatement(
        i=index,
        pause=pause_of(*slots(interrupt.pauses)[index]),
        tool=call.name,
        asked=asked,
        runs=_runs(decision, asked),
        stored=bytes_digest(text),
        kind=decision.type,
        position=position or position_of(decision),
        by=by,
        how=how,
        quorum=quorum,
        rule=rule,
        counts=counts,
    )


def _runs(decision: Decision, asked: str) -> str | None:
    match decision:
        case ApproveDecision():
            return asked
        case EditDecision(edited_action=edited):
            return arguments_digest(edited.args)
        case _:
            return None


def _requester(state: Approval) -> Requester | None:
    if not state.requested_by:
        return None
    vouched_by = OPERATOR if state.admission.requester_known else ""
    return Requester(user=state.requested_by, vouched_by=vouched_by)
