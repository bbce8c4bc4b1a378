"""The policy file: rules as people write them, read with every problem, its line and its cure."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, get_args

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import KNOWN_DECISIONS
from bot.errors import SettingsError
from bot.policy import AGENT, RISKS, THREAD, Match, Policy, Rule, Trust
from bot.policy_limits import read_limits
from bot.policy_schema import read_schema
from bot.policy_time import read_duration, read_extend, read_quiet_hours, read_reminders, time_problems
from bot.policy_yaml import Document, MappingNode, Node, Problem, SequenceNode, suggestion
from bot.rendering.arguments import key_text
from bot.schedule import Escalation
from bot.sticky import LONGEST, MOST_USES, Same, Scope, Sticky

_CHANNEL = re.compile(r"[CGD][A-Z0-9]{2,20}")
_PERSON = re.compile(r"[UW][A-Z0-9]{2,20}")
_APPROVER = re.compile(r"[UWS][A-Z0-9]{2,20}|channel")
_AGENT_GLOB = re.compile(r"[a-z0-9*?-]+")
LOOK_ALIKES = ("refuse", "warn")
_MOST_PEOPLE = 20


class PolicyFileError(SettingsError):
    """The policy file cannot be used; the message lists what to mend."""

    def __init__(self, path: str, problems: list[Problem]) -> None:
        self.problems = sorted(set(problems))
        super().__init__("\n".join(f"{path}, {problem}" for problem in self.problems))


@dataclass(frozen=True, slots=True)
class Mention:
    """A person, user group or channel that rules name."""

    id: str
    line: int = 0
    """Where it stands in the policy file; 0 in the settings."""
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
    reader = _Reader()
    policy = reader.policy(text)
    if policy is None or reader.document.problems:
        raise PolicyFileError(path, reader.document.problems)
    return PolicyFile(policy, tuple(reader.mentions), text)


class _Reader:
    """Reads rules; a key is one entry of `_gives` and one method."""

    def __init__(self) -> None:
        self.document = Document()
        self.mentions: list[Mention] = []
        self._matched: list[Rule] = []
        self._gives: dict[str, Callable[[Node], Any]] = {
            "channel": self._channel,
            "approvers": self._approvers,
            "agent_channel_may_decide": self._yes_or_no,
            "requester": partial(self._one_of, ("optional", "required")),
            "requester_may_decide": self._yes_or_no,
            "decisions": self._decisions,
            "time_limit": partial(read_duration, self.document),
            "on_timeout": self._on_timeout,
            "quorum": self._people,
            "reject_quorum": self._people,
            "risk": self._risk,
            "mask": self._names,
            "mask_random": self._names,
            "modal_only": self._names,
            "reminders": partial(read_reminders, self.document),
            "escalation": self._escalation,
            "quiet_hours": partial(read_quiet_hours, self.document),
            "extend": partial(read_extend, self.document),
            "claim": partial(read_duration, self.document),
            "sticky": self._sticky,
        }

    def policy(self, text: str) -> Policy | None:
        root = self.document.read(text)
        if root is None:
            if not self.document.problems:
                self.document.problems.append(
                    Problem(1, "this file is empty: it needs a default, at the least")
                )
            return None
        found = self.document.keys(root, ("rules", "default", "limits", "agents", "look_alikes"), "a policy")
        default = self._default(root, found.get("default"))
        rules = [
            self._rule(node, number, default) for number, node in enumerate(self._list(found.get("rules")), 1)
        ]
        for rule in (*rules, default):
            self._check_rule(rule, default)
        version = hashlib.sha256(text.encode()).hexdigest()[:12]
        read_agents = partial(self._globs, is_agent=True)
        limits = read_limits(self.document, found["limits"], read_agents) if "limits" in found else ()
        look_alikes = self._one_of(LOOK_ALIKES, found["look_alikes"]) if "look_alikes" in found else None
        agents = self._agents(found["agents"]) if "agents" in found else ()
        return Policy(default, tuple(rules), version, limits, agents, **_said({"look_alikes": look_alikes}))

    def _agents(self, node: Node) -> tuple[Trust, ...]:
        if not isinstance(node, MappingNode):
            self.document.wrong(
                node, "agents takes names and what is known of each, as in billing: {requester: agent}"
            )
            return ()
        return tuple(
            Trust(glob, requester)
            for key, glob, value in self.document.pairs(node)
            if (requester := self._trusted(key, glob, value))
        )

    def _trusted(self, key: Node, glob: str, node: Node) -> str | None:
        if not _AGENT_GLOB.fullmatch(glob):
            self.document.wrong(
                key, f"{glob!r} does not name an agent: they have small letters, digits and hyphens"
            )
        found = self.document.keys(node, ("requester",), "an agent")
        if "requester" not in found:
            self.document.wrong(
                node, f"{glob} has no requester: write agent, to believe whom it names, or a user id (U…)"
            )
            return None
        text = self._text(found["requester"], "requester")
        if text and text != AGENT and not _PERSON.fullmatch(text):
            self.document.wrong(
                found["requester"],
                f"{text!r} is neither the word agent, to believe whom it names, nor a user id (U…)",
            )
            return None
        if text and text != AGENT:
            self.mentions.append(Mention(text, node.line))
        return text

    def _default(self, root: Node, node: Node | None) -> Rule:
        given = self._given(node, self._gives, "the default") if node else {}
        for name, cure in (
            ("approvers", "name who decides where no rule says it, as in approvers: [U0123ABCD]"),
            ("channel", "name where to ask, as in channel: C0123ABCD"),
        ):
            if name not in given:
                at, whose = (node, "the default has") if node else (root, "a default is required, with")
                self.document.wrong(at, f"{whose} {'no ' if node else ''}{name}: {cure}")
        return Rule(**{"approvers": (), **_said(given)}, line=node.line if node else 0)

    def _rule(self, node: Node, number: int, default: Rule) -> Rule:
        readers = {"name": self._name, "match": self._match, **self._gives}
        given = self._given(node, readers, "a rule")
        # What approves without asking is not inherited: it stands in the very rule, or nowhere.
        inherited = replace(default, sticky=None)
        rule = replace(inherited, **{"name": f"rule {number}", **_said(given)}, line=node.line)
        if isinstance(node, MappingNode) and given.get("match", rule.match) is not None:
            self._check_reach(rule)
            self._matched.append(rule)
        return rule

    def _given(self, node: Node, readers: Mapping[str, Callable[[Node], Any]], what: str) -> dict[str, Any]:
        found = self.document.keys(node, readers, what)
        return {name: readers[name](value) for name, value in found.items()}

    def _check_reach(self, rule: Rule) -> None:
        if earlier := next((earlier for earlier in self._matched if earlier.match.covers(rule.match)), None):
            self._problem(
                rule.line,
                f"{rule.name!r} is never reached: {earlier.name!r} in line {earlier.line} matches all that it "
                "matches: put the narrower rule first, or take it out",
            )

    def _check_rule(self, rule: Rule, default: Rule) -> None:
        if rule.channel and _PERSON.fullmatch(rule.channel) and "channel" in rule.approvers:
            self._problem(
                rule.line, f"{rule.name!r} asks in a direct message, which has no members: name the approvers"
            )
        elif rule.channel == THREAD and "channel" in rule.approvers and not rule.agent_channel_may_decide:
            self._problem(
                rule.line,
                f"{rule.name!r} asks where the agent says, and lets the members of that channel decide, so the agent "
                "chooses who decides: name people or groups, or write agent_channel_may_decide: true",
            )
        self._check_quorum(rule)
        if rule.on_timeout == "approve" and rule.risk != "low":
            self._problem(
                rule.line,
                f"{rule.name!r} approves by silence, which only risk: low allows: write reject or raise",
            )
        elif rule.on_timeout == "approve" and not rule.approves_silently:
            self._problem(
                rule.line,
                f"{rule.name!r} approves by silence what takes several people: write reject or raise",
            )
        elif rule.on_timeout == "approve" and rule.decisions and "reject" not in rule.decisions:
            self._problem(
                rule.line,
                f"{rule.name!r} approves by silence, and decisions does not offer reject, so nobody could object: add it",
            )
        elif rule.on_timeout == "approve" and rule.time_limit is None:
            self._problem(
                rule.line,
                f"{rule.name!r} approves by silence and says no time, so an agent could say a minute: give it a time_limit",
            )
        if twice := sorted({*rule.mask} & {*rule.mask_random}):
            self._problem(
                rule.line,
                f"{rule.name!r} has {', '.join(map(key_text, twice))} in mask and in mask_random: keep it in one of the lists",
            )
        if twice := sorted({*rule.mask, *rule.mask_random} & {*rule.modal_only}):
            self._problem(
                rule.line,
                f"{rule.name!r} masks {', '.join(map(key_text, twice))} and shows it in a modal, too: keep it in one of the lists",
            )

        for sentence in (*time_problems(rule, default), *_sticky_problems(rule)):
            self._problem(rule.line, f"{rule.name!r} {sentence}")

    def _check_quorum(self, rule: Rule) -> None:
        people = len(rule.approvers)
        if not all(_PERSON.fullmatch(approver) for approver in rule.approvers):
            # How many are in a group or a channel is known only when they are asked.
            return
        for name, needed in (("quorum", rule.quorum), ("reject_quorum", rule.reject_quorum)):
            if people and needed > people:
                self._problem(
                    rule.line,
                    f"{rule.name!r} has {name} {needed}, and only {people} may decide: name more, or lower it",
                )

    def _problem(self, line: int, sentence: str) -> None:
        self.document.problems.append(Problem(line, sentence))

    # --- What a rule matches ------------------------------------------------------------------------------------------

    def _match(self, node: Node) -> Match | None:
        known = len(self.document.problems)
        match = self._match_of(node)
        # What a rule with a fault in its match would take from others is not known.
        return match if len(self.document.problems) == known else None

    def _match_of(self, node: Node) -> Match | None:
        found = self.document.keys(node, ("agent", "tool", "args"), "match")
        agents = self._globs(found["agent"], is_agent=True) if "agent" in found else ("*",)
        tools = self._globs(found["tool"], is_agent=False) if "tool" in found else ("*",)
        if "args" not in found:
            return Match(agents, tools)
        read = read_schema(self.document, found["args"])
        return Match(agents, tools, encode(read[0]), read[1]) if read else None

    def _globs(self, node: Node, *, is_agent: bool) -> tuple[str, ...]:
        globs = []
        for entry, text in self._texts(node, "tool and agent take a name, or a list of names"):
            if not text or text != text.strip():
                self.document.wrong(entry, f"{text!r} is no name: take the spaces off, write * for any")
            elif "[" in text or "]" in text:
                self.document.wrong(
                    entry, f"{text!r}: brackets have no meaning here: write * for any characters, ? for one"
                )
            elif is_agent and not _AGENT_GLOB.fullmatch(text):
                self.document.wrong(
                    entry, f"{text!r} names no agent: they have small letters, digits and hyphens"
                )
            else:
                globs.append(text)
        return tuple(globs)

    # --- What a rule gives --------------------------------------------------------------------------------------------

    def _name(self, node: Node) -> str | None:
        return self._text(node, "name")

    def _channel(self, node: Node) -> str | None:
        text = self._text(node, "channel")
        if text is None or text == THREAD:
            return text
        if not (_CHANNEL.fullmatch(text) or _PERSON.fullmatch(text)):
            self.document.wrong(
                node,
                f"{text!r} is neither a channel id (C…), a user id (U…, to ask in a direct message) nor thread",
            )
            return None
        self.mentions.append(Mention(text, node.line, is_place=True))
        return text

    def _approvers(self, node: Node) -> tuple[str, ...]:
        named: list[str] = []
        for entry, text in self._texts(node, "approvers takes a list, as in [U0123ABCD, S0123ABCD]"):
            if not _APPROVER.fullmatch(text):
                cure = "copy it from the profile or the group in Slack"
                self.document.wrong(
                    entry,
                    f"{text!r} is neither a user id (U…), a user group id (S…) nor the word channel: {cure}",
                )
            elif text in named:
                self.document.wrong(entry, f"{text} stands twice: take one out")
            else:
                named.append(text)
                if text != "channel":
                    self.mentions.append(Mention(text, entry.line))
        if isinstance(node, SequenceNode) and not node.items:
            self.document.wrong(node, "approvers is empty, so nobody could decide: name somebody")
        return tuple(named)

    def _yes_or_no(self, node: Node) -> bool | None:
        value = self.document.value(node)
        if not isinstance(value, bool):
            self.document.wrong(node, "write true or false")
            return None
        return value

    def _decisions(self, node: Node) -> tuple[str, ...]:
        offered = []
        for entry, text in self._texts(node, f"decisions takes a list of {', '.join(KNOWN_DECISIONS)}"):
            if text not in KNOWN_DECISIONS:
                self.document.wrong(entry, f"{text!r} is no decision: {suggestion(text, KNOWN_DECISIONS)}")
            else:
                offered.append(text)
        if isinstance(node, SequenceNode) and not node.items:
            self.document.wrong(
                node, "decisions is empty, so nothing could be decided: leave it out for all of them"
            )
        return tuple(dict.fromkeys(offered))

    def _on_timeout(self, node: Node) -> str | None:
        text = self._text(node, "on_timeout")
        if text is not None and text not in {"reject", "raise", "approve", "extend"}:
            self.document.wrong(
                node, f"{text!r} is none of reject, raise, extend, and approve with risk: low"
            )
            return None
        return text

    def _people(self, node: Node) -> int | None:
        value = self.document.value(node)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_PEOPLE:
            self.document.wrong(node, f"{value!r} is no number of people: write 1 to {_MOST_PEOPLE}")
            return None
        return value

    def _risk(self, node: Node) -> str | None:
        text = self._text(node, "risk")
        if text is not None and text not in RISKS:
            self.document.wrong(node, f"{text!r} is no risk: {suggestion(text, RISKS)}")
            return None
        return text

    def _names(self, node: Node) -> tuple[str, ...]:
        entries = node.items if isinstance(node, SequenceNode) else (node,)
        named = (self._exact_key(e) if isinstance(e, MappingNode) else self._key(e) for e in entries)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def _key(self, entry: Node) -> str | None:
        name = self.document.value(entry)
        if not isinstance(name, str):
            said = "mask, mask_random and modal_only take a list of argument names"
            self.document.wrong(entry, f"{said}; write quotes around a text that looks like something else")
        elif not name or not set(name).isdisjoint("*?."):
            self.document.wrong(
                entry,
                f"{name!r}: write the name alone: it is meant at any depth, and has no wildcards; "
                f"if an argument has this very name, write {{exactly: {name!r}}}",
            )
        else:
            return name
        return None

    def _exact_key(self, entry: Node) -> str | None:
        found = self.document.keys(entry, ("exactly",), "a name")
        name = self.document.value(found["exactly"]) if "exactly" in found else None
        if isinstance(name, str):
            return name
        self.document.wrong(entry, "write {exactly: the name}, with quotes around what looks like a number")
        return None

    def _escalation(self, node: Node) -> Escalation | None:
        known = len(self.document.problems)
        found = self.document.keys(node, ("after", "approvers", "channel"), "escalation")
        after = read_duration(self.document, found["after"]) if "after" in found else None
        approvers = self._approvers(found["approvers"]) if "approvers" in found else ()
        channel = self._channel(found["channel"]) if "channel" in found else None
        if isinstance(node, MappingNode) and "after" not in found:
            self.document.wrong(
                node, "escalation has no after: write how long to wait first, as in after: 1h"
            )
        if isinstance(node, MappingNode) and not {"approvers", "channel"} & found.keys():
            self.document.wrong(
                node, "escalation names neither approvers nor channel: say who is asked then, or where"
            )
        if "channel" in approvers:
            self.document.wrong(
                found["approvers"],
                "escalation: name people or groups, not channel: it means others in each place",
            )
        if channel == THREAD:
            self.document.wrong(
                found["channel"],
                "escalation: name a channel or a person: the thread is where it was asked first",
            )
        if len(self.document.problems) > known or after is None:
            return None
        return Escalation(after=after, approvers=approvers, channel=channel)

    def _sticky(self, node: Node) -> Sticky | None:
        known = len(self.document.problems)
        readers: dict[str, Callable[[Node], Any]] = {
            "approvers": self._approvers,
            "same": partial(self._one_of, get_args(Same)),
            "scope": partial(self._one_of, get_args(Scope)),
            "lasts": self._lasts,
            "uses": self._uses,
        }
        given = self._given(node, readers, "sticky")
        if len(self.document.problems) > known or not isinstance(node, MappingNode):
            return None
        return Sticky(**_said(given))

    def _lasts(self, node: Node) -> timedelta | None:
        lasts = read_duration(self.document, node)
        if lasts and lasts > LONGEST:
            self.document.wrong(node, "sticky approvals last 8h at most")
            return None
        return lasts

    def _uses(self, node: Node) -> int | None:
        value = self.document.value(node)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_USES:
            self.document.wrong(node, f"{value!r} is no number of uses: write 1 to {MOST_USES}")
            return None
        return value

    def _one_of(self, words: Sequence[str], node: Node) -> str | None:
        value = self.document.value(node)
        if value in words:
            return str(value)
        self.document.wrong(node, f"{value!r}: write {' or '.join(words)}")
        return None

    # --- Texts and lists ----------------------------------------------------------------------------------------------

    def _text(self, node: Node, what: str) -> str | None:
        value = self.document.value(node)
        if isinstance(value, str) and value:
            return value
        self.document.wrong(
            node, f"{what} takes a text; write quotes around one that looks like something else"
        )
        return None

    def _texts(self, node: Node, what: str) -> list[tuple[Node, str]]:
        """Give the entries of a list of texts; a single text is a list of one."""
        texts: list[tuple[Node, str]] = []
        for entry in node.items if isinstance(node, SequenceNode) else (node,):
            value = self.document.value(entry)
            if isinstance(value, str):
                texts.append((entry, value))
            else:
                self.document.wrong(
                    entry, f"{what}; write quotes around a text that looks like something else"
                )
        return texts

    def _list(self, node: Node | None) -> list[Node]:
        if node is None:
            return []
        if not isinstance(node, SequenceNode):
            self.document.wrong(node, "rules takes a list: each rule begins with a hyphen")
            return []
        return list(node.items)


def _sticky_problems(rule: Rule) -> Iterator[str]:
    """Say what keeps later calls from being approved as a rule wants it."""
    if rule.sticky is None:
        return
    if rule.risk == "high":
        yield "has risk: high, where nothing is approved for later calls: take sticky out"
    elif rule.quorum > 1 or rule.reject_quorum > 1:
        yield "takes several people, so none of them can approve later calls: take sticky out"
    elif rule.sticky.same == "tool" and rule.risk != "low":
        yield "approves later calls whatever their arguments are, which only risk: low allows: write same: arguments"


def _said(given: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what could not be read: it is noted as a problem."""
    return {name: value for name, value in given.items() if value is not None}
