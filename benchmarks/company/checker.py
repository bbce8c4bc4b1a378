"""Checks what happened in a company, from what was written down: `python benchmarks/company/checker.py FOLDER…`.

It reads the export of the audit trail (`python -m bot audit export --format jsonl`), the log of each agent, and the log of
the people: three accounts by three parties. It imports nothing of this project and asks no server. Each invariant says how
much it looked at, so that one that looked at nothing is seen.

    FOLDER/audit.jsonl       lines of docs/reference/audit.md
    FOLDER/agents/*.jsonl    asks, published, answered, ran, finished
    FOLDER/people.jsonl      card (somebody saw it), pressed (and whether Slack showed that it was accepted)
    FOLDER/events.jsonl      only to say when Slack was down
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

Line = dict[str, Any]
Slot = tuple[str, int]

CLOCK = 0.05
"""Seconds by which two clocks of one machine are read apart."""
STARVED = 5.0
"""An agent starves when its slowest wait for a card is this many times the median of all agents' slowest waits …"""
STARVED_OVER = 10.0
"""… and this many seconds over it."""
FAILED_WITHIN = 5.0
"""Seconds after a press in which the entry comes that it failed."""
RUNS = {"approve", "edit"}
DEADLINE = "expired"
"""In the place of a person, where the deadline decided."""


class Lists(dict[Any, list[Line]]):
    """Lines by what they are about; nothing is known about anything else."""

    def __missing__(self, about: Any) -> list[Line]:
        return []

    def add(self, about: Any, line: Line) -> None:
        self.setdefault(about, []).append(line)


@dataclass
class History:
    """What the three parties wrote down, sorted by what it is about."""

    agents: dict[str, list[Line]]
    """By name."""
    people: list[Line]
    audit: list[Line]
    events: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.asked: dict[str, Line] = {}
        self.published: dict[str, Line] = {}
        self.answered = Lists()
        self.ran = Lists()
        self.finished = Lists()
        self.agent_of: dict[str, str] = {}
        for name, lines in self.agents.items():
            for line in lines:
                self._sort(name, line)
        self.cards = {line["id"]: line for line in reversed(self.people) if line["what"] == "card"}
        self.pressed = Lists()
        for line in self.people:
            if line["what"] == "pressed":
                self.pressed.add((line["id"], line["index"]), line)
        self.decided = Lists()
        self.entries = Lists()
        for entry in self.audit:
            self.entries.add(entry.get("id", ""), entry)
            if entry["event"] == "decided":
                self.decided.add((entry["id"], int(entry["index"])), entry)

    def _sort(self, name: str, line: Line) -> None:
        match line["what"]:
            case "asks":
                self.asked.setdefault(line["id"], line)
                self.agent_of[line["id"]] = name
            case "published":
                self.published.setdefault(line["id"], line)
            case "answered":
                self.answered.add(line["id"], line)
            case "ran":
                self.ran.add((line["id"], line["index"]), line)
            case "finished":
                self.finished.add(line["id"], line)

    def deadline(self, interrupt_id: str) -> float:
        """Give the latest moment at which its deadline can be."""
        asked = self.asked[interrupt_id]
        stored = self.published.get(interrupt_id)
        # The store fixes the deadline between these two lines of the agent.
        return (stored or {"at": float("inf")})["at"] + asked["lasts"]

    def of(self, interrupt_id: str, event: str) -> list[Line]:
        return [entry for entry in self.entries[interrupt_id] if entry["event"] == event]


@dataclass
class Finding:
    """One invariant: how much was looked at, and what breaks it."""

    invariant: str
    looked: int
    faults: list[str]


def seconds_of(entry: Line) -> float:
    """Give when an entry was written."""
    return float(str(entry["entry"]).partition("-")[0]) / 1000


# --- The invariants ---------------------------------------------------------------------------------------------------


def nothing_lost(history: History) -> Iterator[str | None]:
    """Each question ends, each accepted click is in the audit, and each decision reaches its agent."""
    for interrupt_id in history.asked:
        yield None if history.finished[interrupt_id] else f"{interrupt_id}: asked, and never ended"
    for (interrupt_id, index), presses in history.pressed.items():
        for press in presses:
            if press["accepted"]:
                yield _why_lost(history, interrupt_id, index, press)
    for (interrupt_id, index), entries in history.decided.items():
        answers = history.answered[interrupt_id]
        wanted = entries[0]["decision"], entries[0]["by"]
        given = [(answer["decisions"][index], answer["by"][index]) for answer in answers]
        is_given = bool(given) and set(given) == {wanted}
        yield None if is_given else f"{interrupt_id}:{index}: {wanted} was decided, the agent got {given}"


def _why_lost(history: History, interrupt_id: str, index: int, press: Line) -> str | None:
    # Its person read why.
    refused = [
        entry
        for entry in history.of(interrupt_id, "click_refused")
        if entry.get("by") == press["by"] and int(entry.get("index", index)) == index
    ] + [entry for entry in history.of(interrupt_id, "click_failed") if _is_of(entry, press)]
    # A decision is stored before Slack shows the click as accepted.
    stored = [
        entry for entry in history.decided[interrupt_id, index] if seconds_of(entry) <= press["at"] + CLOCK
    ]
    # Slack shows a late click as accepted, too, and its person reads that it came too late.
    is_late = press["at"] > history.asked[interrupt_id]["at"] + history.asked[interrupt_id]["lasts"]
    if stored or refused or is_late:
        return None
    return f"{interrupt_id}:{index}: {press['by']} pressed {press['decision']}, it was accepted, and nothing came of it"


def _is_of(entry: Line, press: Line) -> bool:
    """Whether a press failed with this entry. It does not name the call."""
    is_then = press["begins"] - CLOCK <= seconds_of(entry) <= press["at"] + FAILED_WITHIN
    is_same = entry.get("by") == press["by"] and entry.get("button", press["decision"]) == press["decision"]
    return is_then and is_same


def nothing_doubled(history: History) -> Iterator[str | None]:
    """Each call is decided once and runs once, and each question is resumed once."""
    for slot, entries in history.decided.items():
        yield None if len(entries) == 1 else f"{_name(slot)}: decided {len(entries)} times"
    for slot, lines in history.ran.items():
        yield None if len(lines) == 1 else f"{_name(slot)}: ran {len(lines)} times"
    for interrupt_id in history.asked:
        resumed = len(history.of(interrupt_id, "resumed"))
        ended = sum("error" not in line for line in history.finished[interrupt_id])
        yield (
            None
            if max(resumed, ended) <= 1
            else f"{interrupt_id}: resumed {resumed} times, ended {ended} times"
        )


def nothing_late(history: History) -> Iterator[str | None]:
    """Nobody decides after the deadline, and nothing is decided or runs that had expired before it was decided."""
    for slot, entries in history.decided.items():
        interrupt_id = slot[0]
        until = history.deadline(interrupt_id) + CLOCK
        ended = [seconds_of(entry) for entry in history.of(interrupt_id, "expired")]
        for entry in entries:
            if entry["by"] != DEADLINE:
                at = seconds_of(entry)
                late = at > until or any(at > end for end in ended)
                yield (
                    f"{_name(slot)}: decided {at - until + CLOCK:.3f} s after its deadline" if late else None
                )


def nothing_runs_undecided(history: History) -> Iterator[str | None]:
    """Each call that ran had been approved by a person before."""
    for slot, lines in history.ran.items():
        approved = [
            entry for entry in history.decided[slot] if entry["decision"] in RUNS and entry["by"] != DEADLINE
        ]
        for line in lines:
            before = [entry for entry in approved if seconds_of(entry) <= line["at"] + CLOCK]
            yield None if before else f"{_name(slot)}: ran, and nobody had approved it"


def decided_as_pressed(history: History) -> Iterator[str | None]:
    """What the audit says is what that person pressed, and what ran is what was asked or typed."""
    for slot, entries in history.decided.items():
        for entry in entries:
            if entry["by"] != DEADLINE:
                given = {line["decision"] for line in history.pressed[slot] if line["by"] == entry["by"]}
                audited = entry["decision"]
                yield (
                    None
                    if audited in given
                    else f"{_name(slot)}: the audit says {entry['by']} {audited}, who pressed {given or 'nothing'}"
                )
    for slot, lines in history.ran.items():
        for line in lines:
            yield _ran_otherwise(history, slot, line)


def _ran_otherwise(history: History, slot: Slot, line: Line) -> str | None:
    interrupt_id, index = slot
    decided = history.decided[slot]
    if not decided:
        return None  # Another invariant says so.
    decision, by = decided[0]["decision"], decided[0]["by"]
    meant = [history.asked[interrupt_id]["calls"][index]["args"]] if decision == "approve" else [
        press.get("args") for press in history.pressed[slot] if press["by"] == by
    ]  # fmt: skip
    return None if line["args"] in meant else f"{_name(slot)}: ran with {line['args']}, {by} meant {meant}"


def nobody_starves(history: History) -> Iterator[str | None]:
    """The slowest wait of each agent for a card is like that of the others."""
    slowest = slowest_waits(history)
    usual = median(slowest.values()) if slowest else 0.0
    for agent, wait in slowest.items():
        starved = wait > STARVED * usual and wait > usual + STARVED_OVER
        yield f"{agent}: waited {wait:.1f} s for a card, the others {usual:.1f} s" if starved else None


def slowest_waits(history: History) -> dict[str, float]:
    """Give the longest wait of each agent for a card. A question that got none waited until its end."""
    found: dict[str, float] = {}
    for interrupt_id, agent in history.agent_of.items():
        if (wait := wait_for_card(history, interrupt_id)) is not None:
            found[agent] = max(wait, found.get(agent, 0.0))
    return found


def wait_for_card(history: History, interrupt_id: str) -> float | None:
    """Give how long a question waited for its card, or for its end; `None` when it has neither."""
    ends = [history.cards.get(interrupt_id), *history.finished[interrupt_id][:1]]
    times = [line["at"] - history.asked[interrupt_id]["at"] for line in ends if line]
    return times[0] if times else None


INVARIANTS: dict[str, Callable[[History], Iterator[str | None]]] = {
    "nothing is lost": nothing_lost,
    "nothing is doubled": nothing_doubled,
    "nothing is late": nothing_late,
    "nothing runs without a decision": nothing_runs_undecided,
    "what was pressed is what is audited and what runs": decided_as_pressed,
    "no agent starves": nobody_starves,
}


def check(history: History) -> list[Finding]:
    """Look at every invariant."""
    found = []
    for name, invariant in INVARIANTS.items():
        looks = list(invariant(history))
        found.append(Finding(name, len(looks), [fault for fault in looks if fault]))
    return found


def read_history(folder: Path) -> History:
    """Read what a run has left."""
    logs = sorted((folder / "agents").glob("*.jsonl"))
    return History(
        agents={log.stem: _lines(log) for log in logs},
        people=_lines(folder / "people.jsonl"),
        audit=_lines(folder / "audit.jsonl"),
        events=_lines(folder / "events.jsonl"),
    )


def _lines(path: Path) -> list[Line]:
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def _name(slot: Slot) -> str:
    return f"{slot[0]}:{slot[1]}"


def main() -> int:
    """Say what each invariant found in each folder; 1 when one is broken, or nothing was asked at all."""
    bad = 0
    for folder in map(Path, sys.argv[1:]):
        history = read_history(folder)
        events = Counter(entry["event"] for entry in history.audit)
        print(f"{folder}: {len(history.asked)} questions, {dict(events)}")
        for finding in check(history):
            print(
                f"  {'BROKEN' if finding.faults else 'holds':6}  {finding.invariant} ({finding.looked} looked at)"
            )
            for fault in finding.faults[:20]:
                print(f"          {fault}")
            bad += bool(finding.faults) or not finding.looked
    return int(bool(bad) or len(sys.argv) == 1)


if __name__ == "__main__":
    sys.exit(main())
