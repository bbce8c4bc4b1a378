"""What cannot be meant, though each key of the policy file is right by itself."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter

from agent_adapter.contract.hitl import KNOWN_DECISIONS
from agent_adapter.contract.names import is_person
from bot.domain.policy import Policy
from bot.domain.rules import RISKS, THREAD, Match, Rule
from bot.policy.yaml_values import Problem
from bot.text.literal import key_text

UNKNOWN = Match((), ())
"""Of a rule whose match cannot be read: what it would take from others is not known."""


def problems_of(rules: Sequence[Rule], default: Rule) -> Iterator[Problem]:
    """Look at each rule by itself, and after those before it."""
    first = dict[str, Rule]()
    for rule in (*rules, default):
        if (other := first.setdefault(rule.name, rule)) is not rule:
            yield Problem(rule.line, f"{rule.name!r} is a name in line {other.line}, too: change one of them")
        for sentence in (
            *_about_places_and_people(rule),
            *_about_silence(rule),
            *_about_arguments(rule, default),
            *_about_times(rule, default),
            *_about_later_calls(rule),
        ):
            yield Problem(rule.line, f"{rule.name!r} {sentence}")
    for rule, earlier in _covered(rules):
        yield Problem(
            rule.line,
            f"{rule.name!r} is never reached: {earlier.name!r} in line {earlier.line} matches all that it "
            "matches: put the narrower rule first, or take it out",
        )


def _covered(rules: Sequence[Rule]) -> Iterator[tuple[Rule, Rule]]:
    """Give the rules that are never reached, each with the first that matches all that it matches."""
    before = defaultdict[tuple[str, str, str], list[tuple[int, Rule]]](list)
    for number, rule in enumerate(rules):
        match = rule.match
        if match == UNKNOWN:
            continue
        tool = match.tools[0]
        starts = [tool[:end] for end in range(len(tool) + 1)]
        near = [
            before[key] for key in product({match.agents[0], ""}, starts, {match.schema, ""}) if key in before
        ]
        found = (next((each for each in bucket if each[1].match.covers(match)), None) for bucket in near)
        if first := min(filter(None, found), key=itemgetter(0), default=None):
            yield rule, first[1]
        agent = match.agents[0] if len(match.agents) == 1 else ""
        for start in {*map(_start, match.tools)}:
            before[agent if _start(agent) == agent else "", start, match.schema].append((number, rule))


def _start(glob: str) -> str:
    return re.split("[*?]", glob, maxsplit=1)[0]


def _about_places_and_people(rule: Rule) -> Iterator[str]:
    by_channel = "channel" in rule.approvers
    if by_channel and is_person(rule.channel or ""):
        yield "asks in a direct message, which has no members: name the approvers"
    elif by_channel and rule.channel == THREAD and not rule.agent_channel_may_decide:
        yield (
            "asks where the agent says, and lets the members of that channel decide, so the agent "
            "chooses who decides: name people or groups, or write agent_channel_may_decide: true"
        )
    if others := {*(rule.notify or ())} - {*rule.approvers}:
        yield f"notifies {listed(others)}, which is not among its approvers: add it there, or take it out of notify"
    people = len(rule.approvers)
    # How many are in a group or a channel is known only when they are asked.
    if not people or not all(map(is_person, rule.approvers)):
        return
    for name, needed in (("quorum", rule.quorum), ("reject_quorum", rule.reject_quorum)):
        if needed > people:
            yield f"has {name} {needed}, and only {people} may decide: name more, or lower it"


def _about_silence(rule: Rule) -> Iterator[str]:
    if rule.on_timeout != "approve":
        return
    if rule.risk != "low":
        yield "approves by silence, which only risk: low allows: write reject or raise"
    elif not rule.approves_silently:
        yield "approves by silence what takes several people: write reject or raise"
    elif rule.decisions and "reject" not in rule.decisions:
        yield "approves by silence, and decisions does not offer reject, so nobody could object: add it"
    elif rule.time_limit is None:
        yield "approves by silence and says no time, so an agent could say a minute: give it a time_limit"


def _about_arguments(rule: Rule, default: Rule) -> Iterator[str]:
    if twice := {*rule.mask} & {*rule.mask_random}:
        yield f"has {listed(twice)} in mask and in mask_random: keep it in one of the lists"
    if twice := {*rule.mask, *rule.mask_random} & {*rule.modal_only}:
        yield f"masks {listed(twice)} and shows it in a modal, too: keep it in one of the lists"
    if not rule.type:
        return
    if rule.risk != "high" and rule is not default and rule.type != default.type:
        yield "says what is typed, which only risk: high asks for: write risk: high, or take type out"
    if rule.type in {*rule.mask, *rule.mask_random, *rule.modal_only}:
        yield f"has {key_text(rule.type)} in type, and does not show it on the card: type another argument"


def _about_times(rule: Rule, default: Rule) -> Iterator[str]:
    """What a rule only has from the default may come to nothing."""
    if rule.on_timeout == "extend" and rule.time_limit is None:
        yield "extends a time limit that it does not have: give it a time_limit"
    own = {
        name
        for name in ("reminders", "escalation")
        if rule is default or getattr(rule, name) != getattr(default, name)
    }
    if "reminders" in own and rule.time and any(after >= rule.time for after in rule.reminders):
        yield "reminds when its time is up: make the reminders earlier, or the time_limit longer"
    if not rule.escalation or "escalation" not in own:
        return
    if rule.time and rule.escalation.after >= rule.time:
        yield "escalates when its time is up: make it earlier, or the time_limit longer"
    if rule.escalation.channel and rule.escalation.channel == rule.channel:
        yield "escalates to where it is asked first: leave the channel out, or name another"


def _about_later_calls(rule: Rule) -> Iterator[str]:
    if rule.standing is None:
        return
    if rule.risk == "high":
        yield "has risk: high, where nothing is approved for later calls: take standing out"
    elif rule.quorum > 1 or rule.reject_quorum > 1:
        yield "takes several people, so none of them can approve later calls: take standing out"
    elif rule.standing.same == "tool" and rule.risk != "low":
        yield "approves later calls whatever their arguments are, which only risk: low allows: write same: arguments"


def listed(names: set[str]) -> str:
    """Name arguments in a sentence."""
    return ", ".join(map(key_text, sorted(names)))


# --- Rules past which calls fall to a weaker one, and by which one tap approves any sum ---------------------------------

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
