"""Where an interrupt is asked, who may answer and until when: fixed once, by the rules in force. Pure."""

import secrets
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from agent_adapter.contract.interrupt import Interrupt, Route
from bot.domain.admission import Admission, Place, Told
from bot.domain.policy import AGENT, Policy
from bot.domain.refusal import Refusal, nothing_left, where_asked, why_not_taken
from bot.domain.rules import TELLS, Rule
from bot.domain.schedule import Extension, Step


def admit(
    policy: Policy, interrupt: Interrupt, *, vouched: Collection[str] = (), verified: bool = False
) -> Admission | Refusal:
    """Say where an interrupt is asked, who may answer and until when, or why it cannot be asked.

    Args:
        policy: The rules in force.
        interrupt: What is asked.
        vouched: The people for whom a key of the HTTP API says that the agent acts.
        verified: Whether it is known that this agent asks.
    """
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
    """Say where a requester reads the outcome: of several rules, the one that tells the least counts.

    The agent alone names nobody who is told, so no agent can have the bot write to somebody of its choice.
    """
    where = min((rule.tell_requester for rule in rules), key=TELLS.index)
    if where == "direct":
        return Told(person=requester, channel=requester)
    if where == "thread" and route.channel and route.thread_ts:
        return Told(person=requester, channel=route.channel, thread_ts=route.thread_ts)
    return None


def _on_timeout(interrupt: Interrupt, rules: Sequence[Rule]) -> Literal["reject", "raise"] | None:
    """Say what the deadline does with the whole batch: with one `raise` nothing is resumed, so `raise` wins.

    The terms of each action say whether silence approves it. The deadline rejects the others.
    """
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
