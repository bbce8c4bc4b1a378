"""The policy file: rules as people write them, read with every problem, its line and its cure."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from bot.domain.errors import SettingsError
from bot.domain.person import is_on_call, schedule_of
from bot.domain.policy import AGENT, Policy, Trust
from bot.domain.rules import THREAD, Rule
from bot.policy.checks import UNKNOWN, problems_of
from bot.policy.keys import PolicyKeys, RuleKeys, adapter
from bot.policy.sentences import fault
from bot.policy.values import Fault, meant
from bot.policy.yaml_values import Document, Loc, Problem, UnreadableError, read_yaml, texts

MOST = 40
"""How many problems one message has."""


class PolicyFileError(SettingsError):
    """The policy file cannot be used; the message lists what to correct."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        self.problems = sorted(set(problems))
        lines = [f"{path}, {problem}" for problem in self.problems[:MOST]]
        more = [f"and {len(self.problems) - MOST} more"] * (len(self.problems) > MOST)
        super().__init__("\n".join([*lines, *more]))


@dataclass(frozen=True, slots=True)
class Mention:
    """A person, user group or channel that rules name."""

    id: str
    line: int = 0
    """Its line in the policy file; 0 in the settings."""
    is_place: bool = False
    """Whether it is asked there; otherwise it names an approver."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """What a policy file says."""

    policy: Policy
    mentions: tuple[Mention, ...]
    text: str = ""


def read_policy(text: str, path: str) -> PolicyFile:
    """Read a policy file.

    Raises:
        PolicyFileError: with everything that is wrong with it.
    """
    try:
        document = read_yaml(text)
    except UnreadableError as error:
        raise PolicyFileError(path, [error.problem]) from error
    found, faults = _read(document.value)
    default, rules = _rules(document, [loc for loc, _ in faults])
    problems = [Problem(document.line(loc), sentence) for loc, sentence in faults]
    problems += [*document.problems, *problems_of(rules, default), *_unknown_schedules(document)]
    if found is None or problems:
        raise PolicyFileError(path, problems)
    policy = Policy(
        default,
        rules,
        hashlib.sha256(text.encode()).hexdigest()[:12],
        tuple(found.get("limits", ())),
        tuple(Trust(glob, known["requester"]) for glob, known in found.get("agents", {}).items()),
        found.get("look_alikes", "refuse"),
        found.get("schedules", {}),
    )
    return PolicyFile(policy, tuple(_mentions(document)), text)


def _read(written: Any) -> tuple[PolicyKeys | None, list[Fault]]:
    try:
        return adapter(PolicyKeys).validate_python(written), []
    except ValidationError as error:
        return None, [fault(each) for each in error.errors(include_url=False)]


def _rules(document: Document, faulty: Collection[Loc]) -> tuple[Rule, tuple[Rule, ...]]:
    """Give the default and the rules, as far as they can be read: more may be wrong with them."""
    written = document.value if isinstance(document.value, dict) else {}
    inside = defaultdict[Loc, list[Loc]](list)
    for loc in faulty:
        inside[loc[: 2 if loc[:1] == ("rules",) else 1]].append(loc)
    default = _rule(Rule(()), written.get("default"), document, ("default",), inside["default",])
    # What approves without asking is not inherited: it is written in the very rule, or nowhere.
    inherited = replace(default, standing=None)
    rules = written.get("rules")
    return default, tuple(
        _rule(
            replace(inherited, name=f"rule {number + 1}"),
            rule,
            document,
            ("rules", number),
            inside["rules", number],
        )
        for number, rule in enumerate(rules if isinstance(rules, list) else ())
    )


def _rule(base: Rule, written: Any, document: Document, loc: Loc, faulty: Collection[Loc]) -> Rule:
    keys = written if isinstance(written, dict) else {}
    left_out = {each[len(loc)] for each in faulty if each != loc}
    given = adapter(RuleKeys).validate_python(
        {key: value for key, value in keys.items() if key not in left_out}
    )
    # Whom to notify is said of a list of approvers, so another list does not inherit it.
    inherited = replace(base, notify=None) if "approvers" in given else base
    rule = replace(inherited, **given, line=document.line(loc))
    return replace(rule, match=UNKNOWN) if loc in faulty or "match" in left_out else rule


def _mentions(document: Document) -> Iterator[Mention]:
    for loc, text in texts(document.value):
        key = next(part for part in reversed(loc) if isinstance(part, str))
        is_of_a_rule = key in {"approvers", "channel"} and "match" not in loc[2:3]
        if (is_of_a_rule or loc[0] == "agents") and text not in {"channel", THREAD, AGENT}:
            yield Mention(text, document.line(loc), is_place=key == "channel")


def _unknown_schedules(document: Document) -> Iterator[Problem]:
    if not isinstance(document.value, dict):
        return
    schedules = document.value.get("schedules")
    known = [*schedules] if isinstance(schedules, dict) else []
    for named in _mentions(document):
        if is_on_call(named.id) and schedule_of(named.id) not in known:
            cure = meant(schedule_of(named.id), known, "describe it under schedules")
            yield Problem(named.line, f"{named.id}: there is no such schedule: {cure}")
