"""What a person reads: how many were caught, what differs from the list, and what nobody noticed."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutations.listing import Listed
from mutations.matching import Match
from mutations.mutation import Mutation
from mutations.running import Result

MISSED = {"survived", "uncovered"}


@dataclass(frozen=True)
class Outcome:
    """A listed mutation, found again, and what became of it now."""

    match: Match
    result: Result | None

    @property
    def listed(self) -> Listed:
        """What the list says."""
        return self.match.listed

    @property
    def verdict(self) -> str:
        """What became of it now: as in `Result`, or `gone`, or `not run`."""
        if not self.match.mutation:
            return "gone"
        return self.result.verdict if self.result else "not run"

    @property
    def is_lost(self) -> bool:
        """Tell whether a test noticed it when the list was made, and none does now."""
        return self.listed.verdict == "caught" and self.verdict in MISSED

    @property
    def is_open(self) -> bool:
        """Tell whether it survives without a reason."""
        return self.verdict in MISSED and not self.listed.reason


def report(outcomes: Sequence[Outcome], root: Path) -> str:
    """Write the table, and below it whatever a person should look at."""
    sections = [
        table(outcomes),
        _section("Caught before, not any more", [one for one in outcomes if one.is_lost], root),
        _section("Survives", [one for one in outcomes if one.is_open and not one.is_lost], root),
        _section("Survives, for a known reason", [o for o in outcomes if _is_known(o)], root),
        found_in_other_words([outcome.match for outcome in outcomes]),
    ]
    return "\n\n".join(filter(None, sections))


def _is_known(outcome: Outcome) -> bool:
    return outcome.verdict in MISSED and not outcome.is_open


def table(outcomes: Sequence[Outcome]) -> str:
    """Count the verdicts in each area."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        counts[outcome.listed.area][outcome.verdict] += 1
    counts["all"] = sum(counts.values(), Counter())
    verdicts = ["caught", "timed out", "survived", "uncovered", "gone", "not run"]
    rows = [["", *verdicts], *([area, *(str(counts[area][each]) for each in verdicts)] for area in counts)]
    return "\n".join(row[0].ljust(12) + "".join(cell.rjust(11) for cell in row[1:]) for row in rows)


def found_in_other_words(matches: Sequence[Match]) -> str:
    """Show what has got another text, to be looked at, and what is gone."""
    alike = [match for match in matches if match.how == "alike" and match.mutation]
    lines = [f"Found again in other words: {len(alike)}"] if alike else []
    for match in alike:
        lines += ["", f"  was {match.listed.name}", f"  now {match.mutation and match.mutation.name}"]
    gone = [match.listed.name for match in matches if match.how == "gone"]
    if gone:
        lines += ["", f"Gone: {len(gone)}. Choose others in their place, and take these out of the list.", ""]
        lines += [f"  {name}" for name in gone]
    return "\n".join(lines)


def _section(title: str, outcomes: Sequence[Outcome], root: Path) -> str:
    if not outcomes:
        return ""
    return "\n".join([f"{title}: {len(outcomes)}", *(line for one in outcomes for line in _about(one, root))])


def _about(outcome: Outcome, root: Path) -> Iterator[str]:
    mutation = outcome.match.mutation
    assert mutation
    yield ""
    yield f"  {mutation.file}:{mutation.line} {outcome.verdict}"
    yield f"  {mutation.name}"
    if outcome.listed.reason:
        yield f"  reason: {outcome.listed.reason}"
    yield from (f"    {line}" for line in diff(mutation, (root / mutation.file).read_text(encoding="utf-8")))


def diff(mutation: Mutation, source: str) -> list[str]:
    """Show the lines that a mutation changes, before and after."""
    lines = difflib.unified_diff(source.splitlines(), mutation.applied(source).splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
