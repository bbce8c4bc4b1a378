"""Why an interrupt cannot be asked as its agent wants it, by the rules in force. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_adapter.contract.hitl import KNOWN_DECISIONS, ActionRequest
from agent_adapter.contract.interrupt import Interrupt, Route
from bot.domain.person import is_person
from bot.domain.policy import Policy
from bot.domain.rules import THREAD, Rule
from bot.sentences import in_refusal

_CHANNEL = re.compile(r"[CDG][A-Z0-9]{1,20}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}\.[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An interrupt that cannot be asked."""

    code: str
    reason: str


def why_not_taken(
    interrupt: Interrupt,
    rules: Sequence[Rule],
    requester: str | None,
    *,
    is_known: bool,
    is_verified: bool,
) -> Refusal | None:
    """Say why an interrupt cannot be asked at all, whatever it asks; `None` when it can.

    Args:
        interrupt: What is asked.
        rules: Of each action.
        requester: For whom the agent acts.
        is_known: Whether somebody else than the agent says so.
        is_verified: Whether it is known that this agent asks.
    """
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
