"""What the bot signs about a decision. Pure."""

from agent_adapter.contract.hitl import ApproveDecision, Decision, EditDecision
from agent_adapter.contract.identity import slots
from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.record import EXPIRED
from agent_adapter.receipts.statement import (
    ActionStatement,
    Requester,
    arguments_digest,
    bytes_digest,
    pause_of,
)
from bot.domain.approval import Approval
from bot.domain.standing import StandingMatch
from bot.domain.transitions import Cast, Silent, counted
from bot.domain.votes import position_of

OPERATOR = "operator"
"""Who vouches for a requester: the policy file, or a key of the HTTP API, which an operator gave out."""


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


def requester_of(state: Approval) -> Requester | None:
    """Say for whom the agent acts, and who vouches for that."""
    if not state.requested_by:
        return None
    vouched_by = OPERATOR if state.admission.requester_known else ""
    return Requester(user=state.requested_by, vouched_by=vouched_by)
