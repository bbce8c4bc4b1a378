"""For whom a request waits, and what the Home tab shows a person: one of four lists, and a page of it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_adapter.contract.interrupt import Interrupt
from agent_adapter.contract.names import is_person
from bot.domain.admission import Admission, Terms
from bot.domain.approval import Approval
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


# --- The Home tab --------------------------------------------------------------------------------------------------

Section = Literal["waiting", "asked", "decided", "standing"]
"""What waits for the person, what they asked for, what they decided, and the standing approvals that they can revoke."""
SECTIONS: tuple[Section, ...] = ("waiting", "asked", "decided", "standing")
"""The lists of every person."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a person looks at in their lists."""

    section: Section = "waiting"
    after: Spot | None = None
    """Where the page before this one ended, in the list of what waits."""
    first: int = 0
    """How many come before this page, in the other lists."""

    @property
    def is_first(self) -> bool:
        """Whether this is the first page."""
        return self.after is None and self.first == 0


@dataclass(frozen=True, slots=True)
class Row:
    """One request on a page, and which of its actions the row is about."""

    state: Approval
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HomePage:
    """One page of one list."""

    look: Look
    rows: Sequence[Row]
    further: Look | None = None
    """The next page; `None` when this is the last one."""
