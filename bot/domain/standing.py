"""Standing approvals: one decision that also approves later calls, within the limits of the policy. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from agent_adapter.contract.hitl import WireModel

LONGEST = timedelta(hours=8)
MOST_USES = 100

Same = Literal["arguments", "tool"]
Scope = Literal["run", "agent"]


class StandingTerms(WireModel):
    """Which later calls a standing approval approves, as the person who gave it chose."""

    same: Same = "arguments"
    """`arguments`: the very same call. `tool`: whatever its arguments are."""
    scope: Scope = "run"
    """`run`: in the run that asked. `agent`: in every run of that agent."""
    lasts: timedelta = timedelta(hours=1)
    uses: int = Field(10, ge=1)

    def is_within(self, other: "StandingTerms") -> bool:
        """Whether the other terms allow every call that these terms allow."""
        return (
            (self.same == "arguments" or other.same == "tool")
            and (self.scope == "run" or other.scope == "agent")
            and self.lasts <= other.lasts
            and self.uses <= other.uses
        )


class StandingLimits(StandingTerms):
    """The widest standing approval that a rule allows, and who may give it."""

    approvers: tuple[str, ...] = ()
    """Which of the people who may decide. When empty, all of them."""


class Use(WireModel):
    """A later call that a standing approval approved."""

    interrupt_id: str
    index: int
    """The index of its action."""
    requested_by: str | None = None
    call: str | None = None
    """Its arguments in one line, if they may differ from the arguments that a person approved."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """When and why a standing approval ended."""

    at: datetime
    by: str
    """The person who revoked it, or `time` or `uses` when one of these ran out."""


@dataclass(frozen=True, slots=True)
class StandingApproval:
    """A standing approval, its uses and its end."""

    terms: StandingTerms
    until: datetime
    uses: tuple[Use, ...] = ()
    """Oldest first."""
    ended: Ended | None = None

    def is_live(self, now: datetime) -> bool:
        """Whether it is still active. Only the store can be sure, because other calls may use it at the same moment."""
        return self.ended is None and now < self.until


@dataclass(frozen=True, slots=True)
class StandingMatch:
    """An action that a standing approval answers, if that is still active when the answer is recorded."""

    index: int
    fingerprint: str
    by: str
    """The person who approved."""
    name: str
    """The name of the standing approval: see `standing_name`."""
    kept: Mapping[str, Any]
    """What the record keeps of this use: the fields of a `Use`, except its time."""


def standing_name(interrupt_id: str, index: int) -> str:
    """Name the standing approval that was given with the decision about an action."""
    return f"{interrupt_id}:{index}"
