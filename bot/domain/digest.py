"""What the audit trail says about a week, and which rules its history suggests. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from bot.domain.audit_entry import AuditEntry
from bot.domain.policy import SETTINGS_VERSION, Policy
from bot.domain.rules import Rule
from bot.domain.standing import StandingLimits

WEEK = timedelta(days=7)
HISTORY = timedelta(days=28)
"""How far back proposals of rules look."""
ENOUGH = 20
"""How many calls people have to decide under a rule before it is proposed to ask less."""
PROPOSED = StandingLimits(same="arguments", scope="agent", lasts=timedelta(hours=8), uses=10)
"""What is proposed: people may approve the very same call for some hours."""
_BY_PEOPLE = {"click", "form"}


def last_end(now: datetime) -> datetime:
    """Give the newest end of a week: Monday, 08:00 UTC."""
    morning = now.replace(hour=8, minute=0, second=0, microsecond=0)
    monday = morning - timedelta(days=now.weekday())
    return monday if monday <= now else monday - WEEK


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule whose calls were all approved as they were asked, often the same ones."""

    rule: Rule
    tools: tuple[str, ...]
    approved: int
    repeated: int
    """How many of these calls had been approved before with the same arguments."""
    standing: StandingLimits = PROPOSED
    """What the rule would allow."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that was asked, and the rule about it."""

    tool: str
    rule: str


@dataclass(slots=True)
class _History:
    """What people decided under one rule."""

    tools: Counter[str] = field(default_factory=Counter)
    others: int = 0
    """Decisions other than to approve the call as it was asked, and calls that nobody decided in time."""
    asked: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Digest:
    """What happened in a week, counted from the entries of the audit trail."""

    since: datetime
    until: datetime
    policy: Policy
    """The rules in force."""
    requests: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """What people decided: `approve`, `edit`, `reject`, `respond`."""
    waits: list[timedelta] = field(default_factory=list)
    """For how long each call that a person decided had been asked."""
    standing: int = 0
    """Calls that a standing approval approved."""
    silent: int = 0
    """Calls that the deadline approved."""
    expired: int = 0
    """Requests that ended before everything in them was decided."""
    late: Counter[str] = field(default_factory=Counter)
    """The tools of the calls that nobody decided in time, each with their number."""
    _histories: dict[str, _History] = field(default_factory=dict)
    _open: dict[str, dict[Any, _Call]] = field(default_factory=dict)
    """The calls of each request that nobody has decided yet, by index."""

    @property
    def decided(self) -> int:
        """How many calls people decided."""
        return self.kinds.total()

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not (self.requests or self.decided or self.standing or self.silent or self.expired)

    def add(self, entry: AuditEntry) -> None:
        """Count an entry; they come in order of time. Those from before the week count for proposals only."""
        is_of_week = self.since <= entry.at < self.until
        match entry["event"]:
            case "admitted":
                self._open[entry["id"]] = dict(enumerate(_calls(entry)))
                self.requests += is_of_week
            case "decided":
                self._remember(entry)
                if is_of_week:
                    self._count(entry)
            case "expired":
                self.expired += is_of_week
                for call in self._open.pop(entry["id"], {}).values():
                    self.late[call.tool] += is_of_week
                    if entry["policy"] == self.policy.version:
                        self._history(call.rule).others += 1
            case "withdrawn" | "refused":
                self._open.pop(entry["id"], None)

    def within(self, share: float) -> timedelta | None:
        """Give the time within which this share of the calls was decided; `None` when none was."""
        waits = sorted(self.waits)
        return waits[ceil(share * len(waits)) - 1] if waits else None

    def proposals(self) -> list[Proposal]:
        """Give the rules under which people approved every call as it was asked, the busiest first."""
        found = [
            self._proposed(rule) for rule in self.policy.rules if self.policy.version != SETTINGS_VERSION
        ]
        return sorted(filter(None, found), key=lambda proposal: -proposal.approved)

    def _count(self, entry: AuditEntry) -> None:
        how, decision = entry["how"], entry["decision"]
        if how in _BY_PEOPLE:
            self.kinds[decision] += 1
            if (waited := entry.said.get("waited")) is not None:
                self.waits.append(timedelta(milliseconds=int(waited)))
        elif how == "standing":
            self.standing += 1
        elif how == "silence" and decision == "approve":
            self.silent += 1
        elif how == "silence":
            self.late[entry["tool"]] += 1

    def _remember(self, entry: AuditEntry) -> None:
        left = self._open.get(entry["id"], {})
        left.pop(entry.said.get("index"), None)
        if not left:
            self._open.pop(entry["id"], None)
        if entry["policy"] != self.policy.version:
            return
        history = self._history(entry["rule"])
        if entry["how"] in _BY_PEOPLE and entry["decision"] == "approve":
            history.tools[entry["tool"]] += 1
            history.asked[entry["asked"]] += 1
        # Entries of version 0.1 do not say how.
        elif entry["how"] not in {"standing", ""}:
            history.others += 1

    def _history(self, rule: str) -> _History:
        return self._histories.setdefault(rule, _History())

    def _proposed(self, rule: Rule) -> Proposal | None:
        history = self._histories.get(rule.name)
        if history is None or history.others or not _may_be_proposed(rule, self.policy.rules):
            return None
        approved = history.tools.total()
        repeated = approved - len(history.asked)
        # Tools that were never called would be approved with less care, too.
        if {*rule.match.tools} != {*history.tools} or approved < ENOUGH or repeated * 2 < approved:
            return None
        return Proposal(rule, tuple(sorted(history.tools)), approved, repeated)


def _calls(entry: AuditEntry) -> Iterator[_Call]:
    for asked in entry.said.get("actions") or ():
        yield _Call(str(asked.get("tool", "")), str(asked.get("rule", "")))


def _may_be_proposed(rule: Rule, rules: Iterable[Rule]) -> bool:
    """Whether asking less may be proposed: never for a high risk, or where something is masked or kept off the card."""
    return not any(_against(rule)) and [other.name for other in rules].count(rule.name) == 1


def _against(rule: Rule) -> Iterator[object]:
    yield rule.standing
    yield rule.risk == "high"
    yield rule.confirm
    yield rule.quorum > 1 or rule.reject_quorum > 1
    yield from (rule.mask, rule.mask_random, rule.modal_only)
