"""One person's decision on one action, and the terms that it is judged by."""

from collections.abc import Iterable
from dataclasses import dataclass

from agent_adapter.contract.hitl import Decision
from agent_adapter.contract.outcome import RUNS
from bot.domain.admission import Terms
from bot.domain.approval import Approval
from bot.domain.votes import Proposal, Vote, position_of


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
    def on_call(cls, state: Approval, index: int, decision: Decision) -> "Ballot":
        """Decide about an action, on the terms that were fixed when it was admitted."""
        admission, channel = state.admission, state.place_of(index).channel
        terms, version = admission.terms[index], admission.policy_version
        return cls(decision, position_of(decision), terms, channel, version, terms.rule)

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
