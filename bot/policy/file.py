"""The policy file: rules as people write them, read with every problem, its line and its cure."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from bot.domain.errors import SettingsError
from bot.domain.person import is_on_call, schedule_of
from bot.domain.policy import AGENT, Policy
from bot.domain.rules import THREAD, Rule
from bot.policy.checks import UNKNOWN, problems_of
from bot.policy.keys import PolicyKeys, RuleKeys, adapter, json_schema
from bot.policy.values import Fault, meant, shown
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
    """Read a policy file, or raise PolicyFileError with everything that is wrong with it."""
    try:
        document = read_yaml(text)
    except UnreadableError as error:
        raise PolicyFileError(path, [error.problem]) from error
    found: PolicyKeys | None = None
    faults: list[Fault] = []
    try:
        found = adapter(PolicyKeys).validate_python(document.value)
    except ValidationError as error:
        faults = [(each["loc"], _sentence(each)) for each in error.errors(include_url=False)]
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
        {glob: known["requester"] for glob, known in found.get("agents", {}).items()},
        found.get("look_alikes", "refuse"),
        found.get("schedules", {}),
    )
    return PolicyFile(policy, tuple(_mentions(document)), text)


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


# --- What pydantic finds wrong, in sentences with the cure ---------------------------------------------------------------

_EXAMPLES = {
    "default": "{channel: C0123ABCD, approvers: [U0123ABCD]}",
    "channel": "C0123ABCD",
    "approvers": "[U0123ABCD]",
    "after": "1h",
    "by": "30m",
    "from": "22:00",
    "to": "07:00",
    "zone": "Europe/Berlin",
    "requester": "agent, to believe whom it names",
}
_ENTRIES = {"rules": "a rule", "limits": "an entry of limits", "agents": "an agent"}


def _sentence(error: ErrorDetails) -> str:
    """Say what pydantic finds wrong, and what to write."""
    loc, value = error["loc"], error["input"]
    key = str(loc[-1]) if loc else ""
    match error["type"]:
        case "extra_forbidden":
            known = _known(loc[:-1])
            return f"{_what(loc[:-1])} has no {key!r}: {meant(key, known, f'there are {_listed(known)}')}"
        case "missing":
            return f"{_what(loc[:-1])} has no {key}: add it, as in {key}: {_EXAMPLES[key]}"
        case "dict_type":
            return f"{_what(loc)} has keys and values ({_listed(_known(loc))}), not {shown(value)}"
        case "list_type":
            return f"{key} takes a list: each entry begins with a hyphen"
        case "bool_type":
            return f"{key} takes true or false, not {shown(value)}"
        case "literal_error":
            return f"{shown(value)} is not known here: write {error['ctx']['expected']}"
        case "empty" | "full":
            return f"{key} {error['msg']}"
        case _:
            return str(error.get("ctx", {}).get("error", error["msg"]))


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "a name and what is known of it"


def _what(loc: Loc) -> str:
    match loc:
        case ():
            return "a policy"
        case ("default",):
            return "the default"
        case (str(key), _) if key in _ENTRIES:
            return _ENTRIES[key]
    return str(loc[-1])


def _known(loc: Loc) -> list[str]:
    """Give the keys that there are at a place."""
    places = [json_schema()]
    for part in loc:
        places = [inner for place in places for inner in _inside(place, part)]
    return [key for place in places for key in place.get("properties", {})]


def _inside(place: dict[str, Any], part: str | int) -> Iterator[dict[str, Any]]:
    keys = place.get("properties", {})
    named = keys.get(part)
    others = (place.get("items"), *place.get("patternProperties", {}).values())
    for inner in filter(None, (named, *others)):
        for each in inner.get("anyOf", [inner]):
            yield json_schema()["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
