"""Rules past which calls fall to a weaker one, and by which one tap approves any sum. Pure."""

import re
from collections.abc import Iterator
from dataclasses import replace

from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.domain.policy import Policy
from bot.domain.rules import RISKS, THREAD, Rule
from bot.policy.checks import listed
from bot.policy.yaml_values import Problem
from bot.text.literal import key_text

_KEY, _FILLED = re.compile(r'"([^"]*)":'), re.compile("{([^{}]+)}")
_SUM = re.compile("amount|price|total", re.IGNORECASE)


def without_ring(policy: Policy) -> str:
    """Say which rules refuse everything where the bot has no ring, because they need verified agents. Empty when there is none."""
    named = [repr(rule.name) for rule in (*policy.rules, policy.default) if rule.agent == "verified"]
    if not named:
        return ""
    which = "rule" if len(named) == 1 else "rules"
    return (
        f"ASSENT_RING is not set, and a bot without a ring verifies nobody. So nothing is asked under `agent: verified` "
        f"({which} {', '.join(named)}): give the bot a ring with the keys of its agents"
    )


def gaps(policy: Policy) -> Iterator[Problem]:
    """Name each rule with `args` that is stricter than the rule to which calls fall that its `args` do not match."""
    for number, rule in enumerate(policy.rules):
        if rule.match.schema and (weaker := [*_weaker_places(policy, number)]):
            yield Problem(
                rule.line,
                f"{rule.name!r} decides only where its args match. A call that leaves an argument out, or writes a "
                f"number as text, meets a weaker rule: {', or '.join(weaker)}. Safer: describe the harmless calls with "
                "args, in a rule before it, and give the strict rule no args",
            )


def unconfirmed(policy: Policy) -> Iterator[Problem]:
    """Suggest a question for each rule that names a sum, and by which one tap approves a sum of any size."""
    for rule in (*policy.rules, policy.default):
        keys = _KEY.findall(rule.match.schema)
        named = [*rule.headline, rule.type, *_FILLED.findall(rule.title), *keys]
        is_one_tap = "approve" in (rule.decisions or KNOWN_DECISIONS) and rule.quorum == 1
        is_any = rule.risk != "high" and not rule.confirm and not {"maximum", "exclusiveMaximum"} & {*keys}
        if is_one_tap and is_any and (name := next(filter(_SUM.search, named), "")):
            what = f"one tap approves any {key_text(name)} by {rule.name!r}"
            yield Problem(rule.line, f"{what}: with `confirm: true`, Slack asks once more")


def _weaker_places(policy: Policy, number: int) -> Iterator[str]:
    rule = policy.rules[number]
    for other in _falls_to(policy, number):
        if terms := "; ".join(_weaker(rule, other)):
            place = "the default" if other is policy.default else f"{other.name!r} in line {other.line}"
            yield f"{place} ({terms})"


def _falls_to(policy: Policy, number: int) -> Iterator[Rule]:
    """Give the later rules that take calls of the same tools whatever their arguments are."""
    any_arguments = replace(policy.rules[number].match, schema="")
    for other in policy.rules[number + 1 :]:
        if not other.match.schema and other.match.overlaps(any_arguments):
            yield other
            if other.match.covers(any_arguments):
                return
    yield policy.default


def _weaker(rule: Rule, other: Rule) -> Iterator[str]:
    """Say in which terms the other rule is weaker."""
    yield from _weaker_in_deciding(rule, other)
    if shown := {*rule.mask, *rule.mask_random} - {*other.mask, *other.mask_random}:
        yield f"{listed(shown)} not masked"
    if on_card := {*rule.modal_only} - {*other.modal_only, *other.mask, *other.mask_random}:
        yield f"{listed(on_card)} not kept off the card"
    # Other people are not weaker where they decide on stricter terms.
    others = [approver for approver in _approvers(other) if approver not in _approvers(rule)]
    if others and not any(_weaker_in_deciding(other, rule)):
        yield f"approvers {', '.join(others)}, not named here"


def _weaker_in_deciding(rule: Rule, other: Rule) -> Iterator[str]:
    if other.quorum < rule.quorum:
        yield f"quorum {other.quorum}, not {rule.quorum}"
    if RISKS.index(other.risk) < RISKS.index(rule.risk):
        yield f"risk {other.risk}, not {rule.risk}"
    if rule.confirm and not other.confirm and other.risk != "high":
        yield "no question before it is approved"
    if rule.agent == "verified" != other.agent:
        yield "any agent, not only a verified one"
    if rule.requester == "required" != other.requester:
        yield "requester optional, not required"
    if other.requester_may_decide and not rule.requester_may_decide:
        yield "the requester may approve"
    if other.approves_silently and not rule.approves_silently:
        yield "silence approves"


def _approvers(rule: Rule) -> list[str]:
    where = "the thread's channel" if rule.channel == THREAD else rule.channel
    return [f"the members of {where}" if entry == "channel" else entry for entry in rule.approvers]
