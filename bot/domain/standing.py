"""Sticky approvals: one decision that holds for later calls, as wide as the policy lets it be. Pure."""

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


class Grant(WireModel):
    """For which later calls an approval holds, as whoever gave it chose."""

    same: Same = "arguments"
    """`arguments`: the very same call. `tool`: whatever its arguments are."""
    scope: Scope = "run"
    """`run`: in the run that asked. `agent`: in every run of that agent."""
    lasts: timedelta = timedelta(hours=1)
    uses: int = Field(10, ge=1)

    def is_within(self, other: "Grant") -> bool:
        """Whether the other one holds for all that this one holds for."""
        return (
            (self.same == "arguments" or other.same == "tool")
            and (self.scope == "run" or other.scope == "agent")
            and self.lasts <= other.lasts
            and self.uses <= other.uses
        )


class Sticky(Grant):
    """The widest approval that may be given for later calls, and by whom."""

    approvers: tuple[str, ...] = ()
    """Who of those who may decide; all of them when empty."""


class Use(WireModel):
    """A later call that ran without asking."""

    interrupt_id: str
    index: int
    """Of its action."""
    requested_by: str | None = None
    call: str | None = None
    """Its arguments in one line, where they may be others than those that were approved."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """Since when an approval holds for no more calls, and why."""

    at: datetime
    by: str
    """Who revoked it; `time` or `uses` when that is over."""


@dataclass(frozen=True, slots=True)
class StickyApproval:
    """An approval that was given for later calls, and what became of it."""

    grant: Grant
    until: datetime
    uses: tuple[Use, ...] = ()
    """Oldest first."""
    ended: Ended | None = None

    def is_live(self, now: datetime) -> bool:
        """Whether it still holds. Only the store knows in the end: others use it at the same moment."""
        return self.ended is None and now < self.until


@dataclass(frozen=True, slots=True)
class Covered:
    """An action that needs no asking, if what covers it still holds when this is recorded."""

    index: int
    fingerprint: str
    by: str
    """The person who approved."""
    name: str
    """Of what covers it: see `sticky_name`."""
    kept: Mapping[str, Any]
    """Beside the earlier decision: the fields of a `Use`, but its time."""


def sticky_name(interrupt_id: str, index: int) -> str:
    """Name the approval that was given with the decision of an action."""
    return f"{interrupt_id}:{index}"
