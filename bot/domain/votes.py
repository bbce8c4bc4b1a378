"""What one person says about an action: a press, its ballot, the vote that is kept of it, and a proposal to run something else."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from agent_adapter.contract.arguments import digest, encode
from agent_adapter.contract.hitl import Decision, EditDecision, RespondDecision, WireModel
from agent_adapter.contract.outcome import RUNS
from bot.domain.admission import Admission, Terms


@dataclass(frozen=True, slots=True)
class Press:
    """One click, or one submitted form. What it decides is recorded once, however often it is delivered."""

    how: Literal["click", "form"] = "form"
    name: str = ""
    """The same for each delivery, over HTTP and over Socket Mode; empty where nothing tells one press from another."""
    message: str = ""
    """Channel and ts of the message that was pressed; empty for a form."""
    question: str = ""
    """What the button or form asked, by `bot.domain.approval`; empty where it carries none."""


UNNAMED = Press()
"""A press that nothing tells from another."""


class Outcome(StrEnum):
    """What became of one action's decision."""

    RECORDED = "recorded"
    COUNTED = "counted"
    """More people have to agree."""
    REPEAT = "repeat"
    """Recorded or counted already, by this very click."""
    TAKEN = "taken"
    """Somebody else decided first."""
    CLOSED = "closed"
    """The deadline has passed, or the record has ended in another way."""
    GONE = "gone"
    """It agrees with a proposal that another one has replaced."""
    DELETED = "deleted"
    """The message that was pressed is gone: its card was posted again, and is decided there."""


@dataclass(frozen=True, slots=True)
class Vote:
    """The last vote of one person on an action that needs several people."""

    user: str
    position: str
    """What it votes for: see `position_of`."""
    decision: Decision
    at: str = ""
    token: str = ""
    """The name of the click."""
    text: str = ""
    """The decision as the record keeps it."""
    statement: str = ""
    """The digest of the signed statement that says it; empty where it is not signed."""

    @property
    def name(self) -> str:
        """A name that no other vote has. It says nothing about the content of the vote."""
        return f"{self.user} {self.at}"


def position_of(decision: Decision) -> str:
    """Name what a decision says. Decisions agree when their names are equal: edits by the bytes of their arguments,
    answers by their text.
    """
    match decision:
        case EditDecision(edited_action=edited):
            return f"edit:{digest('vote', edited.name, encode(edited.args))}"
        case RespondDecision(message=message):
            return f"respond:{digest('vote', message)}"
        case _:
            return f"{decision.type}:always" if getattr(decision, "always", False) else decision.type


def kind_of(position: str) -> str:
    """Give the type of the decision that a position names, or `proposal`."""
    return position.partition(":")[0]


class Proposal(WireModel):
    """An edit that another rule decides about. It is asked together with the call, on terms of its own."""

    name: str
    """The name of the edited call and its terms. Two people who propose the same make one proposal."""
    fingerprint: str
    """The fingerprint of the edited call."""
    decision: EditDecision
    by: str
    policy: str
    """The version of the rules by which it was judged."""
    rule: str
    """The name of the rule that decides about it, for people."""
    terms: Terms
    """The stricter one of each term, of the action and of that rule."""
    pages: int
    """How many pages a person has to read before agreeing; 0 where a card would show all of it."""
    channel: str
    """The channel where that rule asks. The approver `channel` means its members."""

    @property
    def position(self) -> str:
        """The position of a vote for it."""
        return f"{PROPOSAL}{self.name}"


def name_of_proposal(fingerprint: str, terms: Terms, channel: str) -> str:
    """Name an edited call and the terms on which people agree with it."""
    # Neither the order of the terms nor one that this rule does not use changes the name in a later version. Who is notified
    # and what people are called is no part of it.
    given = terms.model_dump(mode="json", exclude_defaults=True, exclude={"named_only", "on_call"})
    return digest("proposal", fingerprint, sorted(given.items()), channel)


PROPOSAL = "proposal:"
"""The start of the position of every vote for a proposal."""


@dataclass(frozen=True, slots=True)
class Written:
    """What somebody wrote and others can agree with."""

    name: str
    """A name that nothing written before or after it has."""
    by: str
    decision: Decision
    position: str
    terms: Terms
    """The terms on which people agree with it."""
    fingerprint: str
    """What says of a reading that it was of this call."""
    pages: int | None = None
    """How many pages of the call have to be read: fixed for a proposal, `None` for a vote."""

    @property
    def is_vote(self) -> bool:
        """Whether it is decided on the terms of the call, not on its own."""
        return self.pages is None


@dataclass(frozen=True, slots=True)
class Ballot:
    """One decision on one action, and the terms for everybody who makes it."""

    decision: Decision
    position: str
    terms: Terms
    channel: str
    """The channel whose members the approver `channel` means."""
    policy: str
    """The version of the rules."""
    rule: str = ""
    """The name of the rule, for people."""
    note: str | None = None
    """What the person writes beside an approval."""
    changes: str | None = None
    """What the person wants changed, where they reject the call for that."""

    @classmethod
    def on_call(
        cls,
        admission: Admission,
        index: int,
        decision: Decision,
        *,
        note: str | None = None,
        changes: str | None = None,
    ) -> "Ballot":
        """Decide about an action, on the terms that were fixed when it was admitted."""
        terms, channel = admission.terms[index], admission.place_of(index).channel
        policy, position = admission.policy_version, position_of(decision)
        return cls(decision, position, terms, channel, policy, terms.rule, note, changes)

    @classmethod
    def on_proposal(cls, proposal: Proposal) -> "Ballot":
        """Agree with a proposal, on the terms of the proposal."""
        return cls(
            proposal.decision,
            proposal.position,
            proposal.terms,
            proposal.channel,
            proposal.policy,
            proposal.rule,
        )

    @property
    def needed(self) -> int:
        """How many people have to agree."""
        return self.terms.needed(self.decision.type)

    @property
    def is_typed(self) -> bool:
        """Whether the person types a value of the call, to let a call of high risk run."""
        return self.terms.risk == "high" and self.decision.type in RUNS

    def alike(self, votes: Iterable[Vote], user: str) -> list[Vote]:
        """Give the votes of other people for the same position."""
        return [vote for vote in votes if vote.user != user and vote.position == self.position]
