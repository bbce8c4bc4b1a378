"""For whom a request waits: the entries under which a person finds it again. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent_adapter.contract.interrupt import Interrupt
from bot.domain.admission import Admission, Terms
from bot.domain.person import is_person
from bot.domain.schedule import Step
from bot.domain.votes import Proposal


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a list of requests that is ordered by deadline."""

    deadline: int
    """In milliseconds."""
    interrupt_id: str


def circle_of(admission: Admission) -> str:
    """Name everybody who may decide something of a request: people, groups and channels, joined by commas."""
    return _circle(
        entry
        for index, terms in enumerate(admission.terms)
        for entry in _entries(terms, admission.place_of(index).channel)
    )


def circle_of_proposal(proposal: Proposal) -> str:
    """Name those who may decide a proposal."""
    return _circle(_entries(proposal.terms, proposal.channel))


def circle_of_steps(admission: Admission, steps: Iterable[Step]) -> str:
    """Name those who may decide from these steps on; empty when that is nobody else."""
    return _circle(
        _entry(approver, admission.place_of(index).channel)
        for step in steps
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


def _circle(entries: Iterable[str]) -> str:
    return ",".join(sorted({*entries}))
