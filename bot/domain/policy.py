"""The rules of one deployment: which one decides about a call, whom it asks, and on what terms. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Literal

from agent_adapter.contract.hitl import ActionRequest
from agent_adapter.contract.interrupt import Interrupt, Route
from bot.domain.admission import Terms
from bot.domain.person import Schedule
from bot.domain.rules import THREAD, Match, Rule, is_any_of
from bot.domain.standing import StandingLimits
from bot.text.look_alikes import resembled

SETTINGS_VERSION = "settings-1"
"""The version of the policy that the settings make, where there is no policy file."""
AGENT = "agent"
"""As the requester of an agent: the person that the agent names."""
_AS_THE_RULE_SAYS = Terms.model_fields.keys() & Rule.__slots__
"""The terms that a rule has under the same name."""
What = Literal["pending", "per_minute", "bytes"]
"""Which limit an agent would break."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of each agent that these globs name. `None` means no limit."""

    agents: tuple[str, ...] = ("*",)
    pending: int = 100
    """Interrupts that are open at the same time. An agent that asks in a loop must not bury the questions of people."""
    per_minute: int | None = None
    """Interrupts per minute. After a quiet minute all of them can come at once; then they are spread evenly."""
    bytes: int | None = None
    """Bytes of all open interrupts together, as they are stored."""


def limits_for(limits: Sequence[Limits], agent: str) -> Limits:
    """Give the limits of an agent: the first entry that names it."""
    named = (each for each in limits if any(fnmatchcase(agent, glob) for glob in each.agents))
    return next(named, Limits())


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one deployment. The first that matches decides, or else the default."""

    default: Rule
    rules: tuple[Rule, ...] = ()
    version: str = SETTINGS_VERSION
    """Names exactly these rules, in every record and decision."""
    limits: tuple[Limits, ...] = ()
    """How much each agent may ask. The first entry that names the agent counts."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """For whom agents act, by globs: a person, or `agent` for the one that the agent names. The first that matches counts."""
    look_alikes: Literal["refuse", "warn"] = "refuse"
    """What happens with a tool whose name looks the same as another name in the rules."""
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    """Who is on call, by the name that approver lists use."""

    @classmethod
    def of_settings(
        cls,
        approvers: Sequence[str],
        channel: str | None = None,
        *,
        requester_may_decide: bool = False,
        agent_channel_may_decide: bool = False,
    ) -> "Policy":
        """Make the policy of a deployment without a file. The agent's channel goes before the one of the settings."""
        default = Rule(tuple(approvers), channel, requester_may_decide=requester_may_decide)
        wished = replace(default, channel=THREAD, agent_channel_may_decide=agent_channel_may_decide)
        return cls(default, (wished,))

    @property
    def reachable(self) -> list[Rule]:
        """The rules, and the default unless a rule matches every call."""
        covers_all = any(rule.match.covers(self.default.match) for rule in self.rules)
        return [*self.rules, *([] if covers_all else [self.default])]

    def rule_for(self, agent: str, tool: str, args: Any) -> Rule:
        """Find the rule that decides about a call."""
        matching = (rule for rule in self.rules if not rule.match.mismatch(agent, tool, args))
        return next(matching, self.default)

    def resembled_by(self, agent: str, tool: str, rule: Rule) -> str:
        """Say which name in an earlier rule this tool's name looks like.

        Empty where the rule that decides names the tool itself.
        """
        if tool in rule.match.tools:
            return ""
        for earlier in takewhile(lambda other: other is not rule, self.rules):
            glob = resembled(tool, earlier.match.tools)
            if glob and is_any_of(agent, earlier.match.agents):
                return f"{glob} in {earlier.name!r}"
        return ""

    def matched_by(self, tool: str, rule: Rule) -> str:
        """Give the glob by which a rule is about a tool. Empty where it names the tool, and where no rule tells tools apart."""
        if tool in rule.match.tools or all(each.match.tools == Match().tools for each in self.rules):
            return ""
        return next((glob for glob in rule.match.tools if is_any_of(tool, [glob])), "")

    def decides_by_arguments(self, agent: str, tool: str, rule: Rule) -> bool:
        """Whether other arguments of the same tool could meet another rule than this one."""
        tried = [*takewhile(lambda other: other is not rule, self.rules), rule]
        return any(other.match.schema and other.match.names(agent, tool) for other in tried)

    def place_for(self, rule: Rule, route: Route) -> tuple[str, str | None] | None:
        """Give the channel and thread where a rule asks; `None` where nobody named a channel."""
        if rule.channel == THREAD and route.channel:
            return route.channel, route.thread_ts
        channel = self.default.channel if rule.channel == THREAD else rule.channel
        return (channel, None) if channel and channel != THREAD else None

    def approvers_for(self, rule: Rule, route: Route) -> tuple[str, ...]:
        """Name who decides where a rule asks. An agent that chooses a channel does not choose approvers by that."""
        is_chosen = rule.channel == THREAD and route.channel not in {None, self.default.channel}
        if not is_chosen or rule.agent_channel_may_decide:
            return rule.approvers
        return tuple(entry for entry in rule.approvers if entry != "channel")

    def requester_of(self, agent: str) -> str | None:
        """Say for whom an agent acts, as the policy says: a person, `agent`, or `None` where it says nothing."""
        return next((person for glob, person in self.agents.items() if fnmatchcase(agent, glob)), None)

    def standing_for(self, agent: str, tool: str, rule: Rule) -> StandingLimits | None:
        """Limit the standing approvals for a call. There are none with high risk, or where several people decide."""
        if rule.standing is None or rule.risk == "high" or rule.quorum > 1 or rule.reject_quorum > 1:
            return None
        # Later calls of the same tool could run with arguments that another rule is about.
        if rule.risk != "low" or self.decides_by_arguments(agent, tool, rule):
            return rule.standing.model_copy(update={"same": "arguments"})
        return rule.standing

    def terms_for(
        self,
        interrupt: Interrupt,
        action: ActionRequest,
        rule: Rule,
        *,
        life: timedelta = timedelta(),
        mask_key: str = "",
    ) -> Terms:
        """Give the terms on which a call is decided, as it was asked or as it was edited."""
        agent, approvers = interrupt.agent, self.approvers_for(rule, interrupt.route)
        notify = approvers if rule.notify is None else rule.notify
        judged: dict[str, Any] = {
            "approvers": approvers,
            "named_only": {entry: "" for entry in approvers if entry not in (*notify, "channel")},
            # Later calls could have arguments that another rule is about.
            "allow_always": not self.decides_by_arguments(agent, action.name, rule),
            "type": rule.type if rule.risk == "high" else "",
            # A shorter time, of the agent or of another action of the batch, leaves people less time to object.
            "by_silence": rule.approves_silently and (rule.time is None or life >= rule.time),
            # Without it, a masked value could be guessed from what the buttons carry.
            "mask_key": mask_key if rule.mask or rule.mask_random else "",
            "tell_approvers": rule.tell_approvers == "failures",
            "standing": self.standing_for(agent, action.name, rule),
            "resembles": self.resembled_by(agent, action.name, rule),
            "matched": self.matched_by(action.name, rule),
            "rule": rule.name,
        }
        return Terms(**({name: getattr(rule, name) for name in _AS_THE_RULE_SAYS} | judged))
