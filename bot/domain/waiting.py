"""For whom a request waits: the entries under which a person finds it again. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent_adapter.contract.interrupt import Interrupt
from bot.domain.admission import Admission, Terms
from bot.domain.approval import Approval
from bot.domain.person import is_person
from bot.domain.schedule import Step
from bot.domain.votes import Proposal


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a list of requests that is ordered by deadline."""

    deadline: int
    """In milliseconds."""
    interrupt_id: str


def entries_of(admission: Admission) -> tuple[str, ...]:
    """Name the people, the groups and the channels that may decide something of a request."""
    return _merged(
        entry
        for index, terms in enumerate(admission.terms)
        for entry in _entries(terms, admission.place_of(index).channel)
    )


def entries_now(state: Approval) -> tuple[str, ...]:
    """Name them for a request that was admitted before, together with those who decide proposals."""
    proposed = (entry for proposal in state.proposals.values() for entry in entries_of_proposal(proposal))
    return _merged([*entries_of(state.admission), *proposed])


def entries_of_proposal(proposal: Proposal) -> tuple[str, ...]:
    """Name those who may decide a proposal."""
    return _merged(_entries(proposal.terms, proposal.channel))


def entries_of_step(admission: Admission, step: Step) -> tuple[str, ...]:
    """Name those who may decide from this step on."""
    return _merged(
        _entry(approver, admission.place_of(index).channel)
        for index in step.actions
        for approver in step.approvers
    )


def requester_of(interrupt: Interrupt, admission: Admission) -> str:
    """Give the person who asked for it; empty where nobody says so, or where the agent names no person of Slack."""
    found = admission.requested_by or interrupt.context.requested_by or ""
    return found if is_person(found) else ""


def _entries(terms: Terms, channel: str) -> Iterable[str]:
    return (_entry(approver, channel) for approver in terms.approvers)


def _entry(approver: str, channel: str) -> str:
    return channel if approver == "channel" else approver


def _merged(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries))
