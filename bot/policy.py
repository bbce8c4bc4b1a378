"""Who may decide what, where it is asked, until when. Pure, and every doubt is a no."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Literal, Protocol

from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest
from agent_adapter.contract.interrupt import Interrupt, Route
from bot.people import Person
from bot.schedule import Escalation, Extension, QuietHours, Step
from bot.state import Admission, Care, Place, Terms
from bot.sticky import Sticky

_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")

SETTINGS_VERSION = "settings-1"
"""Stands in admissions by the settings, where no policy file is."""
THREAD = "thread"
"""As a rule's channel: where the run came from, by the interrupt's own route."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An interrupt that cannot be asked."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a person may decide, and the sentence that tells them why not."""

    allowed: bool
    sentence: str = ""


def _any_arguments(_: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Match:
    """What a call has to be for a rule to decide about it. Equal ones match the same calls."""

    agents: tuple[str, ...] = ("*",)
    """Globs: `*` is anything, `?` one character."""
    tools: tuple[str, ...] = ("*",)
    schema: str = ""
    """The JSON Schema of the arguments as text; empty for any arguments."""
    fits: Callable[[Any], bool] = field(default=_any_arguments, compare=False)
    """Whether arguments are as the schema says."""

    def names(self, agent: str, tool: str) -> bool:
        """Whether this is about such calls, whatever their arguments."""
        return _is_any_of(agent, self.agents) and _is_any_of(tool, self.tools)

    def mismatch(self, agent: str, tool: str, args: Any) -> Literal["", "agent", "tool", "arguments"]:
        """Say what about a call is different; empty when it matches."""
        if not _is_any_of(agent, self.agents):
            return "agent"
        if not _is_any_of(tool, self.tools):
            return "tool"
        return "" if self.fits(args) else "arguments"

    def covers(self, other: "Match") -> bool:
        """Whether every call that the other matches is matched here, as far as the globs tell."""
        return (
            all(_covers(self.agents, glob) for glob in other.agents)
            and all(_covers(self.tools, glob) for glob in other.tools)
            and self.schema in {"", other.schema}
        )


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for the calls that it matches."""

    approvers: tuple[str, ...]
    channel: str | None = None
    """A channel, a person to ask in a direct message, or `thread`."""
    match: Match = Match()
    name: str = "default"
    """In words, for people."""
    requester_may_decide: bool = False
    decisions: tuple[str, ...] | None = None
    """Which of the agent's allowed decisions are offered; all of them when `None`."""
    time_limit: timedelta | None = None
    on_timeout: Literal["reject", "raise", "approve", "extend"] | None = None
    """What an open action becomes then; as the agent says when `None`. `extend`: after as much time again, rejected."""
    quorum: int = 1
    """How many people have to agree."""
    reject_quorum: int = 1
    risk: Literal["low", "normal", "high"] = "normal"
    mask: tuple[str, ...] = ()
    """Names of arguments that nobody is shown."""
    modal_only: tuple[str, ...] = ()
    reminders: tuple[timedelta, ...] = ()
    """After publication."""
    escalation: Escalation | None = None
    quiet_hours: QuietHours | None = None
    """When neither of them happens."""
    extend: Extension | None = None
    claim: timedelta | None = None
    """How long somebody may say that they are looking at it."""
    sticky: Sticky | None = None
    """For which later calls it may be approved at once."""
    line: int = 0
    """Where it stands in the policy file."""

    @property
    def approves_silently(self) -> bool:
        """Whether the deadline approves: only where little is at stake, and one person could have stopped it."""
        return self.on_timeout == "approve" and self.risk == "low" and self.quorum == self.reject_quorum == 1

    @property
    def time(self) -> timedelta | None:
        """All the time that people have."""
        return self.time_limit * 2 if self.time_limit and self.on_timeout == "extend" else self.time_limit

    def steps(self) -> Iterator[Step]:
        """Give what happens while nobody has decided, about no action in particular."""
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

    @property
    def is_timed(self) -> bool:
        """Whether a card shows something about its time besides the deadline."""
        return bool(self.escalation or self.extend or self.claim)

    @property
    def deciders(self) -> tuple[tuple[str, ...], ...]:
        """Name who decides, now and later."""
        return self.approvers, self.escalation.approvers if self.escalation else ()


class PlanParts(Protocol):
    """Divides the actions of a place into messages."""

    def __call__(
        self,
        interrupt: Interrupt,
        actions: Sequence[int] | None = None,
        *,
        mixed: bool = False,
        cares: Sequence[Care] = (),
        timed: bool = False,
    ) -> tuple[tuple[int, ...], ...]: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one deployment: the first that matches decides, else the default."""

    default: Rule
    rules: tuple[Rule, ...] = ()
    version: str = SETTINGS_VERSION
    """Names these very rules, in every record and decision."""

    @classmethod
    def of_settings(
        cls, approvers: Sequence[str], channel: str | None = None, *, requester_may_decide: bool = False
    ) -> "Policy":
        """Make the policy of a deployment without a file: the agent's own channel goes before the settings'."""
        default = Rule(tuple(approvers), channel, requester_may_decide=requester_may_decide)
        wished = Rule(tuple(approvers), THREAD, requester_may_decide=requester_may_decide)
        return cls(default, (wished,))

    def rule_for(self, agent: str, tool: str, args: Any) -> Rule:
        """Find the rule that decides about a call."""
        matching = (rule for rule in self.rules if not rule.match.mismatch(agent, tool, args))
        return next(matching, self.default)

    def decides_by_arguments(self, agent: str, tool: str, rule: Rule) -> bool:
        """Whether other arguments of the same tool could meet another rule than this one."""
        tried = [*takewhile(lambda other: other is not rule, self.rules), rule]
        return any(other.match.schema and other.match.names(agent, tool) for other in tried)

    def place_for(self, rule: Rule, route: Route) -> tuple[str, str | None] | None:
        """Give channel and thread where a rule asks, `None` when nobody named any."""
        if rule.channel == THREAD and route.channel:
            return route.channel, route.thread_ts
        channel = self.default.channel if rule.channel == THREAD else rule.channel
        return (channel, None) if channel and channel != THREAD else None

    def admit(self, interrupt: Interrupt, plan_parts: PlanParts) -> Admission | Refusal:
        """Say where an interrupt is asked, who may answer and until when, or why it cannot be asked."""
        met = [
            (action, self.rule_for(interrupt.agent, action.name, action.args))
            for action in interrupt.request.action_requests
        ]
        if refusal := _fault(interrupt, [rule for _, rule in met]):
            return refusal
        asked: dict[tuple[str, str | None], list[int]] = {}
        terms = []
        for index, (action, rule) in enumerate(met):
            place = self.place_for(rule, interrupt.route)
            if place is None:
                return Refusal("no_channel", _NO_CHANNEL)
            if refusal := _nothing_left(interrupt, index, rule):
                return refusal
            asked.setdefault(place, []).append(index)
            terms.append(self._terms(interrupt.agent, action, rule))
        rules = [rule for _, rule in met]
        steps = _steps(rules)
        return Admission(
            **dict(terms[0]),
            own={index: own for index, own in enumerate(terms) if own != terms[0]},
            policy_version=self.version,
            on_timeout=_on_timeout(interrupt, rules),
            time_limit=min((rule.time for rule in rules if rule.time), default=None),
            places=tuple(_places(asked, rules, terms, steps, interrupt, plan_parts)),
            steps=steps,
            extension=_extension(rules),
        )

    def sticky_for(self, agent: str, tool: str, rule: Rule) -> Sticky | None:
        """Give for which later calls a call may be approved at once: of risk high or by several people for none."""
        if rule.sticky is None or rule.risk == "high" or rule.quorum > 1 or rule.reject_quorum > 1:
            return None
        # Later calls of the same tool would go ahead with arguments that another rule is about.
        if rule.risk != "low" or self.decides_by_arguments(agent, tool, rule):
            return rule.sticky.model_copy(update={"same": "arguments"})
        return rule.sticky

    def _terms(self, agent: str, action: ActionRequest, rule: Rule) -> Terms:
        return Terms(
            approvers=rule.approvers,
            requester_may_decide=rule.requester_may_decide,
            decisions=rule.decisions,
            # Likewise: later calls may have arguments that another rule is about.
            allow_always=not self.decides_by_arguments(agent, action.name, rule),
            quorum=rule.quorum,
            reject_quorum=rule.reject_quorum,
            risk=rule.risk,
            by_silence=rule.approves_silently,
            mask=rule.mask,
            modal_only=rule.modal_only,
            sticky=self.sticky_for(agent, action.name, rule),
        )


_NO_CHANNEL = "the agent named no channel and neither does the policy: set ASSENT_CHANNEL, or a channel in the policy file"


def _fault(interrupt: Interrupt, rules: Sequence[Rule]) -> Refusal | None:
    requester = interrupt.context.requested_by
    if requester and not _PERSON.fullmatch(requester):
        reason = f"context.requested_by is {requester!r}, which is no Slack user id: nobody could be kept from approving their own request"
        return Refusal("requested_by", reason)
    if interrupt.on_expiry == "approve" and not all(rule.approves_silently for rule in rules):
        reason = (
            "on_expiry=approve is not what the rules say: they approve nothing by silence, or not all of it"
        )
        return Refusal("policy", reason)
    return None


def _nothing_left(interrupt: Interrupt, index: int, rule: Rule) -> Refusal | None:
    allowed = interrupt.request.review_configs[index].allowed_decisions
    if rule.decisions is None or set(allowed) & set(rule.decisions) & set(KNOWN_DECISIONS):
        return None
    return Refusal(
        "policy",
        f"rule {rule.name!r} offers only {', '.join(rule.decisions)} for action {index + 1} "
        f"({interrupt.request.action_requests[index].name}), and the agent allows only {', '.join(allowed)}: "
        "nothing is left to decide",
    )


def _on_timeout(interrupt: Interrupt, rules: Sequence[Rule]) -> Literal["reject", "raise"] | None:
    """Give what the rules say about all actions together: one `raise` resumes nothing, so it goes before.

    What is approved by silence is said by the terms of each action; what cannot be is rejected.
    """
    if not any(rule.on_timeout for rule in rules):
        return None
    wanted = {rule.on_timeout or interrupt.on_expiry for rule in rules}
    return "raise" if "raise" in wanted else "reject"


def _places(
    asked: dict[tuple[str, str | None], list[int]],
    rules: Sequence[Rule],
    terms: Sequence[Terms],
    steps: Sequence[Step],
    interrupt: Interrupt,
    plan_parts: PlanParts,
) -> Iterator[Place]:
    """Give the places where it is asked at once, and then those where it is asked as well after a step."""
    places: list[tuple[tuple[str, str | None], list[int], int | None]]
    places = [(place, indices, None) for place, indices in asked.items()]
    for number, step in enumerate(steps):
        if step.channel:
            there = (step.channel, None)
            places.append((there, [i for i in step.actions if i not in asked.get(there, ())], number))
    for (channel, thread_ts), indices, opened_by in places:
        if not indices:
            continue
        mixed = len({rules[index].deciders for index in indices}) > 1
        yield Place(
            channel=channel,
            thread_ts=thread_ts,
            actions=tuple(indices),
            parts=plan_parts(
                interrupt,
                indices,
                mixed=mixed,
                cares=terms,
                timed=any(rules[index].is_timed for index in indices),
            ),
            opened_by=opened_by,
            claim=min((claim for index in indices if (claim := rules[index].claim)), default=None),
        )


def _steps(rules: Sequence[Rule]) -> tuple[Step, ...]:
    """Give what happens before the deadline, by time, from the rule of each action."""
    found: dict[Step, list[int]] = {}
    for index, rule in enumerate(rules):
        for step in rule.steps():
            found.setdefault(step, []).append(index)
    steps = [step.model_copy(update={"actions": tuple(actions)}) for step, actions in found.items()]
    return tuple(sorted(steps, key=lambda step: step.after))


def _extension(rules: Sequence[Rule]) -> Extension | None:
    """Give what all rules allow: one batch has one deadline."""
    allowed = [rule.extend for rule in rules if rule.extend]
    if len(allowed) < len(rules):
        return None
    return Extension(by=min(each.by for each in allowed), times=min(each.times for each in allowed))


def _is_any_of(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _covers(globs: Sequence[str], other: str) -> bool:
    # Where a `*` takes the other glob's own wildcards, it takes whatever they stand for.
    return any(glob == other or ("?" not in glob and fnmatchcase(other, glob)) for glob in globs)


def may_decide(
    person: Person,
    matching: frozenset[str],
    terms: Terms,
    *,
    team: str,
    requested_by: str | None,
    decision: str,
) -> Verdict:
    """Judge one person about one action, by what was fixed when it was admitted.

    Args:
        person: Who clicked, as Slack describes them.
        matching: The entries of the approver list that they match.
        terms: What judges.
        team: The workspace that the bot is installed in.
        requested_by: The person for whom the agent acts.
        decision: What they want to decide.
    """
    named = person.id in matching
    if person.is_deactivated:
        return Verdict(False, "This account is deactivated.")
    if not named and (reason := _outside(person, team)):
        return Verdict(False, f"{reason} may not decide here, unless named by their id.")
    if not matching:
        return Verdict(False, f"You are not an approver of this. {_who_may(terms)}")
    if person.id == requested_by and decision != "reject" and not terms.requester_may_decide:
        return Verdict(False, "The agent acts for you here, so somebody else has to approve it.")
    if terms.decisions is not None and decision not in terms.decisions:
        offered = ", ".join(terms.decisions)
        return Verdict(False, f"The policy does not offer {decision} here, only {offered}.")
    return Verdict(True)


def _outside(person: Person, team: str) -> str:
    if person.is_bot:
        return "Bots"
    if person.is_stranger or not team or person.team_id != team:
        return "People of other workspaces"
    if person.is_guest:
        return "Guests"
    return ""


def _who_may(terms: Terms) -> str:
    names = [_mention(entry) for entry in terms.approvers]
    return f"Approvers are {', '.join(names)}."


def _mention(entry: str) -> str:
    if entry == "channel":
        return "the members of the channel where it was asked first"
    return f"<!subteam^{entry}>" if entry.startswith("S") else f"<@{entry}>"
