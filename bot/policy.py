"""Who may decide what, where it is asked, until when. Pure, and every doubt is a no."""

import re
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, Literal, Protocol

from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest
from agent_adapter.contract.interrupt import Interrupt, Route
from bot.limits import Limits
from bot.look_alikes import resembled
from bot.people import Person
from bot.schedule import Escalation, Extension, QuietHours, Step
from bot.state import Admission, Care, Place, Terms
from bot.sticky import Sticky

_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")
_CHANNEL = re.compile(r"[CDG][A-Z0-9]{1,20}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}")

SETTINGS_VERSION = "settings-1"
"""Stands in admissions by the settings, where no policy file is."""
AGENT = "agent"
"""As the requester of an agent: whoever it names."""
RISKS = ("low", "normal", "high")
"""From the lowest."""
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

    def overlaps(self, other: "Match") -> bool:
        """Whether some agent and some tool are named by both, as far as the globs tell."""
        return all(
            any(_covers((one,), two) or _covers((two,), one) for one in ours for two in theirs)
            for ours, theirs in ((self.agents, other.agents), (self.tools, other.tools))
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
    agent_channel_may_decide: bool = False
    """Whether `channel` among the approvers means also the members of a channel that the agent chose."""
    requester: Literal["optional", "required"] = "optional"
    """Whether it has to be known for whom the agent acts, by somebody else than the agent."""
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
    mask_random: tuple[str, ...] = ()
    """Likewise, where the values are random and told apart by a fingerprint."""
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


@dataclass(frozen=True, slots=True)
class Trust:
    """For whom some agents act, as the operator says."""

    agents: str
    """A glob."""
    requester: str
    """A person, or `agent`: whoever the agent names."""


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
    limits: tuple[Limits, ...] = ()
    """How much each agent may ask; the first entry that names it holds."""
    agents: tuple[Trust, ...] = ()
    """The first entry that names an agent holds."""
    look_alikes: Literal["refuse", "warn"] = "refuse"
    """What happens with a tool whose name differs from one in the rules only to a machine."""

    @classmethod
    def of_settings(
        cls,
        approvers: Sequence[str],
        channel: str | None = None,
        *,
        requester_may_decide: bool = False,
        agent_channel_may_decide: bool = False,
    ) -> "Policy":
        """Make the policy of a deployment without a file: the agent's own channel goes before the settings'."""
        default = Rule(tuple(approvers), channel, requester_may_decide=requester_may_decide)
        wished = replace(default, channel=THREAD, agent_channel_may_decide=agent_channel_may_decide)
        return cls(default, (wished,))

    def rule_for(self, agent: str, tool: str, args: Any) -> Rule:
        """Find the rule that decides about a call."""
        matching = (rule for rule in self.rules if not rule.match.mismatch(agent, tool, args))
        return next(matching, self.default)

    def resembled_by(self, agent: str, tool: str, rule: Rule) -> str:
        """Say which name of an earlier rule this tool's name looks like, where no rule names the tool itself; else nothing.

        Args:
            agent: Who asks.
            tool: The name as the agent gives it.
            rule: The rule that decides about it.
        """
        if tool in rule.match.tools:
            return ""
        for earlier in takewhile(lambda other: other is not rule, self.rules):
            glob = resembled(tool, earlier.match.tools)
            if glob and _is_any_of(agent, earlier.match.agents):
                return f"{glob} in {earlier.name!r}"
        return ""

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

    def approvers_for(self, rule: Rule, route: Route) -> tuple[str, ...]:
        """Name who decides where a rule asks: an agent that chooses the channel does not choose its members by that."""
        is_chosen = rule.channel == THREAD and route.channel not in {None, self.default.channel}
        if not is_chosen or rule.agent_channel_may_decide:
            return rule.approvers
        return tuple(entry for entry in rule.approvers if entry != "channel")

    def requester_of(self, agent: str) -> str | None:
        """Say for whom an agent acts by the operator's word: a person, `agent`, or nobody knows."""
        return next((trust.requester for trust in self.agents if fnmatchcase(agent, trust.agents)), None)

    def admit(
        self, interrupt: Interrupt, plan_parts: PlanParts, *, vouched: Collection[str] = ()
    ) -> Admission | Refusal:
        """Say where an interrupt is asked, who may answer and until when, or why it cannot be asked.

        Args:
            interrupt: What is asked.
            plan_parts: Divides the actions of a place into messages.
            vouched: The people for whom a key of the HTTP API says that the agent acts.
        """
        met = [
            (action, self.rule_for(interrupt.agent, action.name, action.args))
            for action in interrupt.request.action_requests
        ]
        trusted = self.requester_of(interrupt.agent)
        requester = trusted if trusted and trusted != AGENT else interrupt.context.requested_by
        is_known = requester is not None and (trusted in {AGENT, requester} or requester in vouched)
        for _, rule in met:
            if rule.requester == "required" and not is_known:
                return Refusal("requester", _requester_unknown(interrupt, rule))
        if refusal := _fault(interrupt, [rule for _, rule in met], requester):
            return refusal
        asked: dict[tuple[str, str | None], list[int]] = {}
        terms = []
        mask_key = secrets.token_hex(16)
        limits = [rule.time for _, rule in met if rule.time]
        life = min([interrupt.expires_in, *limits])
        for index, (action, rule) in enumerate(met):
            place = self.place_for(rule, interrupt.route)
            refusal = self.why_not_asked(interrupt, action, rule) or _nothing_left(interrupt, index, rule)
            if refusal or place is None:
                return refusal or Refusal("no_channel", _NO_CHANNEL)
            asked.setdefault(place, []).append(index)
            terms.append(self._terms(interrupt, action, rule, life, mask_key))
        rules = [rule for _, rule in met]
        steps = _steps(rules)
        return Admission(
            **dict(terms[0]),
            own={index: own for index, own in enumerate(terms) if own != terms[0]},
            policy_version=self.version,
            requested_by=None if requester == interrupt.context.requested_by else requester,
            requester_known=is_known,
            on_timeout=_on_timeout(interrupt, rules),
            time_limit=min(limits, default=None),
            places=tuple(_places(asked, rules, terms, steps, interrupt, plan_parts)),
            steps=steps,
            extension=_extension(rules),
        )

    def why_not_asked(self, interrupt: Interrupt, action: ActionRequest, rule: Rule) -> Refusal | None:
        """Say why a call cannot be asked where its rule says, of those whom it means."""
        if self.place_for(rule, interrupt.route) is None:
            return Refusal("no_channel", _NO_CHANNEL)
        if rule.channel == THREAD and (refusal := _wrong_route(interrupt.route)):
            return refusal
        return self._misled(interrupt, action, rule)

    def terms_for(self, interrupt: Interrupt, action: ActionRequest, rule: Rule) -> Terms:
        """Give the terms on which a call would be asked now. Silence never approves an edit, so no time is given."""
        return self._terms(interrupt, action, rule, timedelta())

    def sticky_for(self, agent: str, tool: str, rule: Rule) -> Sticky | None:
        """Give for which later calls a call may be approved at once: of risk high or by several people for none."""
        if rule.sticky is None or rule.risk == "high" or rule.quorum > 1 or rule.reject_quorum > 1:
            return None
        # Later calls of the same tool would go ahead with arguments that another rule is about.
        if rule.risk != "low" or self.decides_by_arguments(agent, tool, rule):
            return rule.sticky.model_copy(update={"same": "arguments"})
        return rule.sticky

    def _misled(self, interrupt: Interrupt, action: ActionRequest, rule: Rule) -> Refusal | None:
        """Refuse what would be decided by another rule, or by other people, than its author can have meant."""
        if rule.approvers and not self.approvers_for(rule, interrupt.route):
            return Refusal("agent_channel", _AGENT_CHANNEL.format(channel=interrupt.route.channel))
        return self.look_alike(interrupt.agent, action.name, rule)

    def look_alike(self, agent: str, tool: str, rule: Rule) -> Refusal | None:
        """Refuse a tool whose name looks like one in an earlier rule, where the file does not only warn of it."""
        meant = self.resembled_by(agent, tool, rule)
        if not meant or self.look_alikes == "warn":
            return None
        return Refusal(
            "look_alike",
            f"the tool {tool!a} looks like {meant}, which does not match it, so {rule.name!r} would decide: "
            "correct the tool's name, or name it in a rule of its own; look_alikes: warn in the policy file asks "
            "with a warning on the card",
        )

    def _terms(
        self, interrupt: Interrupt, action: ActionRequest, rule: Rule, life: timedelta, mask_key: str = ""
    ) -> Terms:
        agent = interrupt.agent
        return Terms(
            approvers=self.approvers_for(rule, interrupt.route),
            requester_may_decide=rule.requester_may_decide,
            decisions=rule.decisions,
            # Likewise: later calls may have arguments that another rule is about.
            allow_always=not self.decides_by_arguments(agent, action.name, rule),
            quorum=rule.quorum,
            reject_quorum=rule.reject_quorum,
            risk=rule.risk,
            # A shorter time, of the agent or of another action of the batch, leaves people less time to object.
            by_silence=rule.approves_silently and (rule.time is None or life >= rule.time),
            mask=rule.mask,
            mask_random=rule.mask_random,
            mask_key=mask_key if rule.mask_random else "",
            modal_only=rule.modal_only,
            sticky=self.sticky_for(agent, action.name, rule),
            resembles=self.resembled_by(agent, action.name, rule),
        )


def stricter(admitted: Terms, met: Terms) -> Terms:
    """Give the terms of an edit that another rule is about: of each term the stricter one, and whom that rule names.

    Who decides has no stricter side: whoever decides about such a call decides about the edit.
    """
    return Terms(
        **{name: pick(getattr(admitted, name), getattr(met, name)) for name, pick in _STRICTER.items()}
    )


def is_same(admitted: Terms, met: Terms, joined: frozenset[str]) -> bool:
    """Whether the rule that an edit meets decides on the terms on which the call itself was asked.

    Args:
        admitted: Of the call.
        met: Of the edit.
        joined: Who may decide about the call because nobody had for a while.
    """
    alike = all(getattr(admitted, name) == getattr(met, name) for name in _STRICTER.keys() - _NOT_OF_EDITS)
    return alike and {*admitted.approvers} == {*met.approvers, *joined}


def _of_both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))


def _in_both(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(each for each in one if each in other)


_STRICTER: dict[str, Callable[[Any, Any], Any]] = {
    "approvers": lambda _, met: met,
    "requester_may_decide": lambda one, other: one and other,
    "decisions": _in_both,
    "allow_always": lambda *_: False,
    "quorum": max,
    "reject_quorum": max,
    "risk": lambda *both: max(both, key=RISKS.index),
    "by_silence": lambda *_: False,
    "mask": _of_both,
    "mask_random": _of_both,
    # Where there is none yet, nothing has a fingerprint.
    "mask_key": lambda admitted, _: admitted,
    "modal_only": _of_both,
    "sticky": lambda *_: None,
    "resembles": lambda one, other: one or other,
}
_NOT_OF_EDITS = {"approvers", "allow_always", "by_silence", "mask_key", "sticky", "resembles"}

_NO_CHANNEL = "the agent named no channel and neither does the policy: set ASSENT_CHANNEL, or a channel in the policy file"


_AGENT_CHANNEL = (
    "the agent chose the channel {channel}, and only its members would decide: leave the channel out, name people or "
    "groups as approvers, or allow it with agent_channel_may_decide: true in the rule (without a policy file: "
    "ASSENT_AGENT_CHANNEL_MAY_DECIDE=true)"
)


def _requester_unknown(interrupt: Interrupt, rule: Rule) -> str:
    named, where = (
        interrupt.context.requested_by,
        f"rule {rule.name!r} requires to know for whom the agent acts",
    )
    if named is None:
        return (
            f"{where}, and nobody is named: name the person's Slack user id in context.requested_by, "
            f"with a source that vouches for it ({SOURCES.format(agent=interrupt.agent)})"
        )
    return (
        f"{where}, and only the agent says that it acts for {named}: let a source vouch for it "
        f"({SOURCES.format(agent=interrupt.agent)})"
    )


SOURCES = (
    "a key of the HTTP API made with --requester or --may-name-requesters, or in the policy file "
    "agents: {{{agent}: {{requester: agent}}}}"
)


def _fault(interrupt: Interrupt, rules: Sequence[Rule], requester: str | None) -> Refusal | None:
    named = interrupt.context.requested_by
    if named and named != requester:
        return Refusal(
            "requester",
            f"the policy says that agent {interrupt.agent} acts for {requester}, and context.requested_by names "
            f"{named!r}: leave it out, or correct the policy",
        )
    if requester and not _PERSON.fullmatch(requester):
        reason = f"context.requested_by is {requester!r}, which is no Slack user id: nobody could be kept from approving their own request"
        return Refusal("requested_by", reason)
    if interrupt.route.thread_ts and not interrupt.route.channel:
        # Whoever began that thread could not be kept from approving.
        return Refusal("not_a_thread", "a thread needs its channel: pass channel=… beside thread_ts")
    if interrupt.on_expiry == "approve" and not all(rule.approves_silently for rule in rules):
        reason = (
            "on_expiry=approve is not what the rules say: they approve nothing by silence, or not all of it"
        )
        return Refusal("policy", reason)
    return None


def _wrong_route(route: Route) -> Refusal | None:
    """Say why nobody can be asked where an agent wants it. Direct messages to a person are for the policy to choose."""
    if route.channel and _PERSON.fullmatch(route.channel):
        reason = (
            f"the agent named the person {route.channel} in place of a channel: name a channel by its id (C…), "
            f"or let a rule of the policy ask in a direct message (channel: {route.channel})"
        )
        return Refusal("not_a_channel", reason)
    if route.channel and route.channel.startswith("D"):
        reason = (
            f"the agent named the direct message {route.channel[:80]!r} in place of a channel: name a channel by its id "
            "(C…), or let a rule of the policy ask in a direct message (channel: U…)"
        )
        return Refusal("not_a_channel", reason)
    if route.channel and not _CHANNEL.fullmatch(route.channel):
        reason = f"the agent named the channel {route.channel[:80]!r}, which is not a channel id: copy the id (C…) from the channel's details in Slack"
        return Refusal("not_a_channel", reason)
    if route.channel and route.thread_ts and not _TIMESTAMP.fullmatch(route.thread_ts):
        reason = f"the agent named the thread {route.thread_ts[:80]!r}, which is not the ts of a message: it looks like 1732104000.000100"
        return Refusal("not_a_thread", reason)
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


def is_person(text: str) -> bool:
    """Tell whether this is a person's Slack id."""
    return _PERSON.fullmatch(text) is not None


def may_decide(
    person: Person,
    matching: frozenset[str],
    terms: Terms,
    *,
    team: str,
    requested_by: str | None,
    decision: str,
    thread_author: str | None = None,
) -> Verdict:
    """Judge one person about one action, by what was fixed when it was admitted.

    Args:
        person: Who clicked, as Slack describes them.
        matching: The entries of the approver list that they match.
        terms: What judges.
        team: The workspace that the bot is installed in.
        requested_by: The person for whom the agent acts.
        decision: What they want to decide.
        thread_author: The person who began the thread that the run came from.
    """
    named = person.id in matching
    if person.is_deactivated:
        return Verdict(False, "This account is deactivated.")
    if not named and (reason := _outside(person, team)):
        return Verdict(False, f"{reason} may not decide here, unless named by their id.")
    if not matching:
        return Verdict(False, f"You are not an approver of this. {_who_may(terms)}")
    if decision != "reject" and not terms.requester_may_decide:
        if person.id == requested_by:
            return Verdict(False, "The agent acts for you here, so somebody else has to approve it.")
        if person.id == thread_author:
            return Verdict(
                False, "This comes from a thread that you began, so somebody else has to approve it."
            )
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
