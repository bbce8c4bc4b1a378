"""What a day of the company looked like: a page of Markdown, and charts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.charts import Band, bars, lines
from benchmarks.company.agent import Leg
from benchmarks.company.checker import (
    INVARIANTS,
    Finding,
    History,
    check,
    read_history,
    seconds_of,
    slowest_waits,
    wait_for_card,
)
from benchmarks.company.notes import read_notes

BUCKETS = 60
"""Points of a chart over the day."""
LIMITED = 429
"""The status of a call that Slack's limits refused."""
Line = dict[str, Any]


@dataclass(frozen=True)
class Played:
    """A leg, with what was written in it."""

    folder: Path

    @cached_property
    def history(self) -> History:
        return read_history(self.folder)

    @cached_property
    def leg(self) -> Leg:
        return Leg.read(self.folder)

    def minute(self, at: float) -> float:
        """Give the minute of the day at a time."""
        return self.leg.begins + (at - self.leg.started) / 60

    @cached_property
    def asked(self) -> list[float]:
        return [self.minute(line["at"]) for line in self.history.asked.values()]

    @cached_property
    def decided(self) -> list[float]:
        return [self.minute(seconds_of(entries[0])) for entries in self.history.decided.values()]

    @cached_property
    def card_waits(self) -> list[tuple[float, float]]:
        """Minute of each question, and the seconds until its card."""
        history = self.history
        waits = {each: wait_for_card(history, each) for each in history.cards if each in history.asked}
        return [
            (self.minute(history.asked[each]["at"]), wait) for each, wait in waits.items() if wait is not None
        ]

    @cached_property
    def agent_waits(self) -> list[tuple[float, float]]:
        """Minute of each accepted click that ended a question, and the milliseconds until its agent had the answer."""
        found = []
        for interrupt_id, answers in self.history.answered.items():
            pressed = [
                line
                for (each, _), lines in self.history.pressed.items()
                if each == interrupt_id
                for line in lines
                if line["accepted"] and line["decision"] != "edit" and line["begins"] <= answers[0]["at"]
            ]
            if pressed and answers[0]["status"] == "decided":
                begins = max(line["begins"] for line in pressed)
                found.append((self.minute(begins), 1000 * (answers[0]["at"] - begins)))
        return found

    @cached_property
    def picture_waits(self) -> list[tuple[float, float]]:
        """Minute of the last decision about each question, and the seconds until its card showed it."""
        settled = {line["id"]: line["at"] for line in self.history.people if line["what"] == "settled"}
        last: dict[str, float] = {}
        for (interrupt_id, _), entries in self.history.decided.items():
            last[interrupt_id] = max(seconds_of(entries[0]), last.get(interrupt_id, 0.0))
        return [(self.minute(at), settled[each] - at) for each, at in last.items() if each in settled]

    def bands(self) -> list[Band]:
        """Give what went wrong, and when."""
        found, down, hurt = [], 0.0, {}
        for line in self.history.events:
            match line["what"]:
                case "slack_down":
                    down = line["at"]
                case "slack_up":
                    found.append(Band(self.minute(down), self.minute(line["at"]), "Slack down"))
                case "killed":
                    hurt[line["name"]] = line["at"]
                case "started_again":
                    name = (
                        line["name"].partition("-")[0] if line["name"].startswith("redis") else line["name"]
                    )
                    found.append(
                        Band(self.minute(hurt[line["name"]]), self.minute(line["at"]), f"{name} killed")
                    )
        return found

    def used(self) -> dict[str, tuple[float, float]]:
        """Give seconds of processor time, and most MiB, of each process."""
        cpu: dict[str, float] = defaultdict(float)
        before: dict[str, float] = {}
        memory: dict[str, float] = defaultdict(float)
        for line in read_notes(self.folder / "machine.jsonl"):
            for name, used in line["processes"].items():
                # After a restart, a process has used less than before.
                cpu[name] += max(0.0, used["cpu"] - before.get(name, 0.0))
                before[name] = used["cpu"]
                memory[name] = max(memory[name], used["rss"] / (1 << 20))
        return {name: (cpu[name], memory[name]) for name in cpu}


def write_report(folder: Path, legs: Sequence[Path]) -> None:
    """Write `report.md` and its charts into the folder."""
    played = [Played(leg) for leg in legs]
    for name, chart in charts(played).items():
        (folder / f"{name}.svg").write_text(chart)
    (folder / "report.md").write_text(page(played))


def charts(legs: Sequence[Played]) -> dict[str, str]:
    """Draw the day."""
    minutes = legs[0].leg.day.minutes
    bands = [band for leg in legs for band in leg.bands()]

    def over_day(values: Iterable[tuple[float, float]], of: Callable[[Sequence[float]], float]) -> list[Any]:
        return in_buckets(values, minutes / BUCKETS, of)

    def counted(name: str) -> list[Any]:
        # A minute in which nothing happens counts, too.
        ticks = [(minutes * number / BUCKETS, 0.0) for number in range(BUCKETS)]
        moments = [(minute, 1.0) for leg in legs for minute in getattr(leg, name)]
        return over_day([*ticks, *moments], lambda ones: sum(ones) * BUCKETS / minutes)

    waits = [each for leg in legs for each in leg.card_waits]
    pictures = [each for leg in legs for each in leg.picture_waits]
    answers = [each for leg in legs for each in leg.agent_waits]
    slowest: dict[str, float] = {}
    for leg in legs:
        for agent, wait in slowest_waits(leg.history).items():
            slowest[agent] = max(wait, slowest.get(agent, 0.0))
    return {
        "day": lines(
            "What is asked and decided", "minute", "a minute",
            {"questions": counted("asked"), "decisions": counted("decided")}, bands=bands, ends=(0.0, minutes),
        ),
        "cards": lines(
            "From the question to its card", "minute", "seconds",
            {"median": over_day(waits, median), "slowest": over_day(waits, max)}, bands=bands, ends=(0.0, minutes),
        ),
        "pictures": lines(
            "From the decision to the card that says it", "minute", "seconds",
            {"median": over_day(pictures, median), "slowest": over_day(pictures, max)}, bands=bands, ends=(0.0, minutes),
        ),
        "answers": lines(
            "From the click to the agent", "minute", "ms",
            {"median": over_day(answers, median), "slowest": over_day(answers, max)}, bands=bands, ends=(0.0, minutes),
        ),
        "agents": bars("The slowest card of each agent", "seconds", slowest),
    }  # fmt: skip


def in_buckets(
    values: Iterable[tuple[float, float]], width: float, of: Callable[[Sequence[float]], float]
) -> list[tuple[float, float]]:
    """Gather values by time, and give one figure for each stretch that has any."""
    found: dict[int, list[float]] = defaultdict(list)
    for at, value in values:
        found[int(at / width)].append(value)
    return [((number + 0.5) * width, of(found[number])) for number in sorted(found)]


def page(legs: Sequence[Played]) -> str:
    """Say in words and tables what happened."""
    findings = [check(leg.history) for leg in legs]
    return "\n".join([*_invariants(findings), "", *_figures(legs), "", *_processes(legs), ""])


def _invariants(findings: Sequence[Sequence[Finding]]) -> list[str]:
    found = ["| Invariant | Looked at | Broken |", "| --- | --- | --- |"]
    for number, name in enumerate(INVARIANTS):
        looked = sum(each[number].looked for each in findings)
        faults = [fault for each in findings for fault in each[number].faults]
        found.append(f"| {name} | {looked:,} | {len(faults) or 'no'} |")
        found += [f"| | | {fault} |" for fault in faults[:20]]
    return found


def _figures(legs: Sequence[Played]) -> list[str]:
    histories = [leg.history for leg in legs]
    asked = sum(len(each.asked) for each in histories)
    pressed = [line for each in histories for lines_ in each.pressed.values() for line in lines_]
    events = [line for each in histories for line in each.events]
    kills = sum(line["what"] == "killed" for line in events)
    calls = [line for leg in legs for line in read_notes(leg.folder / "calls.jsonl")]
    waits = [wait for leg in legs for _, wait in leg.card_waits]
    answers = [wait for leg in legs for _, wait in leg.agent_waits]
    audit = sum(line["bytes"] for line in events if line["what"] == "audit")
    rows = {
        "questions": f"{asked:,}",
        "calls decided": f"{sum(len(each.decided) for each in histories):,}",
        "clicks and forms": f"{len(pressed):,}, of which Slack showed {sum(not line['accepted'] for line in pressed)} as failed",
        "questions that expired": f"{sum(entry['event'] == 'expired' for each in histories for entry in each.audit):,}",
        "audit trail in Redis, bytes a question": f"{audit / asked:,.0f}" if audit else "not weighed",
        "processes killed": f"{kills}",
        "question to card, seconds": _spread(waits),
        "click to agent, ms": _spread(answers),
        "decision to its card, seconds": _spread([wait for leg in legs for _, wait in leg.picture_waits]),
        "calls to Slack": f"{len(calls):,}, of which its limits refused {sum(line['status'] == LIMITED for line in calls)}",
    }
    return ["| Figure | Value |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows.items())]


def _spread(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "too few"
    return f"median {median(values):.3g}, p99 {quantiles(values, n=100)[98]:.3g}, slowest {max(values):.3g}"


def _processes(legs: Sequence[Played]) -> list[str]:
    sums: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for leg in legs:
        for name, used in leg.used().items():
            kind = name.partition("-")[0] if name.startswith(("bot", "slack")) else "agents"
            sums[kind].append(used)
    rows = [
        f"| {kind} | {len(used) // len(legs)} | {sum(cpu for cpu, _ in used):.0f} | {max(rss for _, rss in used):.0f} |"
        for kind, used in sums.items()
    ]
    return [
        "| Processes | How many | Processor seconds, all | Most MiB of one |",
        "| --- | --- | --- | --- |",
        *rows,
    ]
