"""What of a record in Redis was really decided: a bot with a ring believes decisions and votes only if they are signed. Pure."""

from dataclasses import replace
from datetime import timedelta

from agent_adapter.contract.arguments import decode
from agent_adapter.contract.identity import action_fingerprint
from agent_adapter.contract.record import SIGNED, Fields, Recorded, moment, unix_milliseconds
from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.answer import TOLERANCE, Proof, Verifier, proven, statements_about
from agent_adapter.receipts.statement import bytes_digest
from bot.domain.approval import Approval
from bot.domain.standing import StandingApproval, StandingTerms
from bot.domain.votes import Proposal, Vote, name_of_proposal


def believed(state: Approval, card: Fields, verifier: Verifier) -> Approval:
    """Give a record without the decisions, votes and standing approvals that are not signed.

    Args:
        state: The record as it is stored.
        card: The bot's side of it.
        verifier: Which signatures count.
    """
    if not any(state.recorded) and not state.votes and not state.standing and not state.proposals:
        return state
    # How long an approval may be used says nothing about whether it was given.
    proof = proven(state.interrupt, card, verifier, body=state.body, now=0)
    votes = {
        index: tuple(filter(None, (_signed_vote(state, index, vote, card, verifier) for vote in found)))
        for index, found in state.votes.items()
    }
    return replace(
        state,
        recorded=tuple(_proven(each, index, proof) for index, each in enumerate(state.recorded)),
        unsigned=frozenset(proof.faults),
        votes={index: found for index, found in votes.items() if found},
        unsigned_votes={
            index: frozenset({vote.user for vote in found} - {vote.user for vote in votes[index]})
            for index, found in state.votes.items()
        },
        standing={
            index: approval for index, approval in state.standing.items() if _is_given(index, approval, proof)
        },
        proposals={
            index: found for index, found in state.proposals.items() if _is_itself(state, index, found)
        },
    )


def _proven(recorded: Recorded | None, index: int, proof: Proof) -> Recorded | None:
    """Give a decision with the time and the people that are signed; `None` if it is not proven."""
    if recorded is None or f"d:{index}" not in proof.fields:
        return None
    agreed_by = tuple(proof.fields.get(f"by:{index}", "").split())
    return recorded.model_copy(
        update={"decided_at": moment(proof.fields[f"at:{index}"]), "agreed_by": agreed_by}
    )


def _is_itself(state: Approval, index: int, proposal: Proposal) -> bool:
    """Whether a proposal is the one that its name says: the signed votes for it are for this name."""
    request, edited = state.interrupt.request, proposal.decision.edited_action
    call = request.action_requests[index].model_copy(update={"name": edited.name, "args": edited.args})
    fingerprint = action_fingerprint(call, request.review_configs[index])
    named = name_of_proposal(fingerprint, proposal.terms, proposal.channel)
    return (proposal.fingerprint, proposal.name) == (fingerprint, named)


def _signed_vote(state: Approval, index: int, vote: Vote, card: Fields, verifier: Verifier) -> Vote | None:
    texts = card.get(SIGNED + vote.token, "").split()
    own = (vote.user, vote.position, bytes_digest(vote.text))
    for each in statements_about(state.interrupt, index, texts, verifier, body=state.body, now=0):
        if (each.action.by, each.action.position, each.action.stored) == own:
            return replace(vote, statement=each.opened.digest)
    return None


def _is_given(index: int, approval: StandingApproval, proof: Proof) -> bool:
    """Whether a standing approval is the one that was signed with its decision, and ends in its time."""
    text = proof.fields.get(f"d:{index}")
    if text is None:
        return False
    try:
        given = StandingTerms.model_validate(decode(text).get("standing"))
    except (InvalidRequestError, ValueError):
        return False
    ends = int(proof.fields[f"at:{index}"]) + given.lasts / timedelta(milliseconds=1) + TOLERANCE
    return given == approval.terms and unix_milliseconds(approval.until) <= ends
