"""Where an interrupt is asked, who may answer and until when, or why it cannot be asked: fixed once, by the rules in force. Pure."""

import re
import secrets
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest
from agent_adapter.contract.interrupt import Interrupt, Route
from agent_adapter.contract.names import is_person
from bot.domain.admission import Admission, Place, Told
from bot.domain.policy import AGENT, Policy
from bot.domain.rules import TELLS, THREAD, Rule
from bot.domain.schedule import Extension, Step
from bot.sentences import in_refusal

_CHANNEL = re.compile(r"[CDG][A-Z0-9]{1,20}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An interrupt that cannot be asked."""

    code: str
    reason: str


def admit(
    policy: Policy, interrupt: Interrupt, *, vouched: Collection[str] = (), verified: bool = False
) -> Admission | Refusal:
    """Say where an interrupt is asked, who may answer and until when, or why it cannot be asked."""
    calls = interrupt.request.action_requests
    rules = [policy.rule_for(interrupt.agent, call.name, call.args) for call in calls]
    requester, is_known = _requester(policy, interrupt, vouched)
    if refusal := why_not_taken(interrupt, rules, requester, is_known=is_known, is_verified=verified):
        return refusal
    asked: dict[tuple[str, str | None], list[int]] = {}
    for index, (call, rule) in enumerate(zip(calls, rules, strict=True)):
        place = where_asked(policy, interrupt, call, rule)
        if isinstance(place, Refusal):
            return place
        if refusal := nothing_left(interrupt, index, rule):
            return refusal
        asked.setdefault(place, []).append(index)
    mask_key = secrets.token_hex(16)
    limits = [rule.time for rule in rules if rule.time]
    life = min([interrupt.expires_in, *limits])
    steps = _steps(rules)
    return Admission(
        terms=tuple(
            policy.terms_for(interrupt, call, rule, life=life, mask_key=mask_key)
            for call, rule in zip(calls, rules, strict=True)
        ),
        policy_version=policy.version,
        requested_by=None if requester == interrupt.context.requested_by else requester,
        requester_known=is_known,
        agent_verified=verified,
        told=_told(interrupt.route, rules, requester) if requester and is_known else None,
        on_timeout=_on_timeout(interrupt, rules),
        time_limit=min(limits, default=None),
        places=tuple(_places(asked, rules, steps)),
        steps=steps,
        extension=_extension(rules),
    )


def _requester(policy: Policy, interrupt: Interrupt, vouched: Collection[str]) -> tuple[str | None, bool]:
    """Say for whom the agent acts, and whether somebody other than the agent says so."""
    trusted = policy.requester_of(interrupt.agent)
    requester = trusted if trusted and trusted != AGENT else interrupt.context.requested_by
    return requester, requester is not None and (trusted in {AGENT, requester} or requester in vouched)


def _told(route: Route, rules: Sequence[Rule], requester: str) -> Told | None:
    """Say where a requester reads the outcome: of several rules, the one that tells the least counts."""
    where = min((rule.tell_requester for rule in rules), key=TELLS.index)
    if where == "direct":
        return Told(person=requester, channel=requester)
    if where == "thread" and route.channel and route.thread_ts:
        return Told(person=requester, channel=route.channel, thread_ts=route.thread_ts)
    return None


def _on_timeout(interrupt: Interrupt, rules: Sequence[Rule]) -> Literal["reject", "raise"] | None:
    """Say what the deadline does with the whole batch: with one `raise` nothing is resumed. Terms say what silence approves."""
    if not any(rule.on_timeout for rule in rules):
        return None
    wanted = {rule.on_timeout or interrupt.on_expiry for rule in rules}
    return "raise" if "raise" in wanted else "reject"


def _places(
    asked: dict[tuple[str, str | None], list[int]],
    rules: Sequence[Rule],
    steps: Sequence[Step],
) -> Iterator[Place]:
    """Give the places where it is asked first, and then those where it is asked after a step."""
    places: list[tuple[tuple[str, str | None], list[int], int | None]]
    places = [(place, indices, None) for place, indices in asked.items()]
    for number, step in enumerate(steps):
        if step.channel:
            there = (step.channel, None)
            places.append((there, [i for i in step.actions if i not in asked.get(there, ())], number))
    for (channel, thread_ts), indices, opened_by in places:
        if not indices:
            continue
        yield Place(
            channel=channel,
            thread_ts=thread_ts,
            actions=tuple(indices),
            opened_by=opened_by,
            assign=min((time for index in indices if (time := rules[index].assign)), default=None),
        )


def _steps(rules: Sequence[Rule]) -> tuple[Step, ...]:
    """Give what happens before the deadline, in order of time, from the rule of each action."""
    found: dict[Step, list[int]] = {}
    for index, rule in enumerate(rules):
        for step in rule.steps():
            found.setdefault(step, []).append(index)
    steps = [step.model_copy(update={"actions": tuple(actions)}) for step, actions in found.items()]
    return tuple(sorted(steps, key=lambda step: step.after))


def _extension(rules: Sequence[Rule]) -> Extension | None:
    """Give the extension that all rules allow, since one batch has one deadline."""
    allowed = [rule.extend for rule in rules if rule.extend]
    if len(allowed) < len(rules):
        return None
    return Extension(by=min(each.by for each in allowed), times=min(each.times for each in allowed))


# --- Why it cannot be asked -------------------------------------------------------------------------------------------


def why_not_taken(
    interrupt: Interrupt,
    rules: Sequence[Rule],
    requester: str | None,
    *,
    is_known: bool,
    is_verified: bool,
) -> Refusal | None:
    """Say why an interrupt cannot be asked at all, whatever it asks; `None` when it can."""
    named = interrupt.context.requested_by
    for rule in rules:
        if rule.agent == "verified" and not is_verified:
            return Refusal("agent", in_refusal.agent_not_verified(rule.name, interrupt.agent))
        if rule.requester == "required" and not is_known:
            return Refusal("requester", in_refusal.requester_unknown(rule.name, named, interrupt.agent))
    if named and requester and named != requester:
        return Refusal("requester", in_refusal.other_requester(interrupt.agent, requester, named))
    if requester and not is_person(requester):
        return Refusal("requested_by", in_refusal.not_a_person(requester))
    if interrupt.route.thread_ts and not interrupt.route.channel:
        # The person who started that thread could approve their own request.
        return Refusal("not_a_thread", in_refusal.THREAD_WITHOUT_CHANNEL)
    if interrupt.on_expiry == "approve" and not all(rule.approves_silently for rule in rules):
        return Refusal("policy", in_refusal.NOT_BY_SILENCE)
    return None


def where_asked(
    policy: Policy, interrupt: Interrupt, action: ActionRequest, rule: Rule
) -> tuple[str, str | None] | Refusal:
    """Give the channel and thread where a call is asked, or say why it cannot be asked there, of those people."""
    place = policy.place_for(rule, interrupt.route)
    if place is None:
        return Refusal("no_channel", in_refusal.NO_CHANNEL)
    if rule.channel == THREAD and (refusal := _wrong_route(interrupt.route)):
        return refusal
    if rule.approvers and not policy.approvers_for(rule, interrupt.route):
        # Other people would decide than the author of the rules meant.
        return Refusal("agent_channel", in_refusal.chosen_channel(interrupt.route.channel or ""))
    return look_alike(policy, interrupt.agent, action.name, rule) or place


def look_alike(policy: Policy, agent: str, tool: str, rule: Rule) -> Refusal | None:
    """Refuse a tool whose name looks like one in an earlier rule, unless the policy only warns about that."""
    meant = policy.resembled_by(agent, tool, rule)
    if not meant or policy.look_alikes == "warn":
        return None
    return Refusal("look_alike", in_refusal.look_alike(tool, meant, rule.name))


def _wrong_route(route: Route) -> Refusal | None:
    """Say why nobody can be asked where an agent wants it. Only the policy chooses direct messages."""
    channel = route.channel or ""
    if is_person(channel):
        return Refusal("not_a_channel", in_refusal.direct_message_as_channel(f"the person {channel}"))
    if channel.startswith("D"):
        return Refusal(
            "not_a_channel", in_refusal.direct_message_as_channel(f"the direct message {channel[:80]!r}")
        )
    if channel and not _CHANNEL.fullmatch(channel):
        return Refusal("not_a_channel", in_refusal.not_a_channel(channel[:80]))
    if channel and route.thread_ts and not _TIMESTAMP.fullmatch(route.thread_ts):
        return Refusal("not_a_thread", in_refusal.not_a_thread(route.thread_ts[:80]))
    return None


def nothing_left(interrupt: Interrupt, index: int, rule: Rule) -> Refusal | None:
    """Refuse an action of which the policy offers no decision that the agent allows."""
    allowed = interrupt.request.review_configs[index].allowed_decisions
    if rule.decisions is None or set(allowed) & set(rule.decisions) & set(KNOWN_DECISIONS):
        return None
    tool = interrupt.request.action_requests[index].name
    return Refusal("policy", in_refusal.nothing_left(rule.name, rule.decisions, index, tool, allowed))
