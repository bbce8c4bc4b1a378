"""What the audit trail says about entries that somebody erased from its sealed log. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from bot.domain.audit_entry import AuditEntry

ERASED = "erased"
"""The event of the entry that says who erased others. It is about the same request, and is not erased with it."""
_RUN = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")


@dataclass(frozen=True, slots=True)
class Erasure:
    """Somebody erased entries of a log."""

    entry: AuditEntry
    place: int
    """Where the entry is in the log."""
    runs: tuple[tuple[int, int], ...]
    """The places of these entries: the first and the last of each run."""

    @classmethod
    def of(cls, entry: AuditEntry, place: int) -> Self | None:
        """Read an entry; `None` when it says something else."""
        found = [_RUN.fullmatch(text) for text in entry["places"].split(", ")]
        if entry["event"] != ERASED:
            return None
        return cls(entry, place, tuple((int(each[1]), int(each[2] or each[1])) for each in found if each))

    def covers(self, place: int) -> bool:
        """Whether the entry at this place is one of them. Nobody erases what is not there yet."""
        return place < self.place and any(first <= place <= last for first, last in self.runs)


def written_places(places: Iterable[int]) -> str:
    """Write places with runs drawn together: `3-5, 9`."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and runs[-1][1] == place - 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in runs)
