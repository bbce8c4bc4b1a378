"""One rule: which calls it matches, and what holds for them. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal

from bot.domain.schedule import Escalation, Extension, QuietHours, Step
from bot.domain.standing import StandingLimits

Tell = Literal["no", "thread", "direct"]
"""Where a requester reads the outcome: nowhere, in the thread that the run came from, or in a direct message."""
TELLS: tuple[Tell, ...] = ("no", "thread", "direct")
"""What tells the least first."""
RISKS = ("low", "normal", "high")
"""The lowest first."""
USE_WITHIN = timedelta(days=1)
"""How long after the deadline an approved call may run, if the policy says nothing."""

THREAD = "thread"
"""As a rule's channel: where the run came from, as the interrupt's route says."""


@dataclass(frozen=True, slots=True)
class Match:
    """Which calls a rule decides about. Two equal ones match the same calls."""

    agents: tuple[str, ...] = ("*",)
    """Globs: `*` is anything, `?` one character."""
    tools: tuple[str, ...] = ("*",)
    schema: str = ""
    """The JSON Schema of the arguments as text; empty for any arguments."""
    fits: Callable[[Any], bool] = field(default=lambda _: True, compare=False)
    """Whether arguments fit the schema."""

    def names(self, agent: str, tool: str) -> bool:
        """Whether this is about calls of this agent and tool, with any arguments."""
        return is_any_of(agent, self.agents) and is_any_of(tool, self.tools)

    def mismatch(self, agent: str, tool: str, args: Any) -> Literal["", "agent", "tool", "arguments"]:
        """Say what about a call is different; empty when it matches."""
        if not is_any_of(agent, self.agents):
            return "agent"
        if not is_any_of(tool, self.tools):
            return "tool"
        return "" if self.fits(args) else "arguments"

    def covers(self, other: "Match") -> bool:
        """Whether every call that the other matches is matched here, as far as the globs say."""
        return (
            all(_covers(self.agents, glob) for glob in other.agents)
            and all(_covers(self.tools, glob) for glob in other.tools)
            and self.schema in {"", other.schema}
        )

    def overlaps(self, other: "Match") -> bool:
        """Whether some agent and some tool are named by both, as far as the globs say."""
        return all(
            any(_covers((one,), two) or _covers((two,), one) for one in ours for two in theirs)
            for ours, theirs in ((self.agents, other.agents), (self.tools, other.tools))
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """How the calls that it matches are decided. What each key means stands in `bot.policy.keys`."""

    approvers: tuple[str, ...]
    channel: str | None = None
    """A channel, a person to ask in a direct message, or `thread`."""
    match: Match = Match()
    name: str = "default"
    """For people to read."""
    agent_channel_may_decide: bool = False
    requester: Literal["optional", "required"] = "optional"
    requester_may_decide: bool = False
    agent: Literal["any", "verified"] = "any"
    tell_requester: Tell = "no"
    tell_approvers: Literal["failures", "no"] = "failures"
    decisions: tuple[str, ...] | None = None
    """Which of the agent's allowed decisions are offered; all of them when `None`."""
    notify: tuple[str, ...] | None = None
    """Which of the approvers are mentioned; all of them when `None`."""
    time_limit: timedelta | None = None
    use_within: timedelta = USE_WITHIN
    on_timeout: Literal["reject", "raise", "approve", "extend"] | None = None
    """What happens to an open action then; as the agent says when `None`. `extend` waits as long again, then rejects."""
    quorum: int = 1
    reject_quorum: int = 1
    risk: Literal["low", "normal", "high"] = "normal"
    confirm: bool = False
    type: str = ""
    mask: tuple[str, ...] = ()
    mask_random: tuple[str, ...] = ()
    modal_only: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    title: str = ""
    reject_reasons: tuple[str, ...] = ()
    reminders: tuple[timedelta, ...] = ()
    escalation: Escalation | None = None
    quiet_hours: QuietHours | None = None
    extend: Extension | None = None
    assign: timedelta | None = None
    standing: StandingLimits | None = None
    line: int = 0
    """Its line in the policy file."""

    @property
    def approves_silently(self) -> bool:
        """Whether the deadline approves: only where the risk is low, and one person could have stopped it."""
        return self.on_timeout == "approve" and self.risk == "low" and self.quorum == self.reject_quorum == 1

    @property
    def time(self) -> timedelta | None:
        """All the time that people have."""
        return self.time_limit * 2 if self.time_limit and self.on_timeout == "extend" else self.time_limit

    def steps(self) -> Iterator[Step]:
        """Give what happens while nobody has decided. The actions are added later."""
        reminders = {*self.reminders, self.time_limit} if self.time != self.time_limit else {*self.reminders}
        for after in sorted(filter(None, reminders)):
            yield Step(kind="remind", after=after, quiet=self.quiet_hours)
        if then := self.escalation:
            yield Step(
                kind="escalate",
                after=then.after,
                approvers=then.approvers,
                channel=then.channel,
                quiet=self.quiet_hours,
            )


def is_any_of(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _covers(globs: Sequence[str], other: str) -> bool:
    # A `*` that matches the wildcards of the other glob also matches everything that they match.
    return any(glob == other or ("?" not in glob and fnmatchcase(other, glob)) for glob in globs)
