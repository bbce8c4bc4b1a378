"""What goes into the sealed log next, and where it was taken from. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from bot.domain.audit_entry import AuditEntry

EPOCH_BEGAN = "epoch_began"
"""The event of the entry that says: from here on, `seq` counts anew, because Redis does not have what was sealed before."""
MISSING = "missing"
"""The event of the entry that says: entries that were counted were gone before they could be sealed."""
MOST_BYTES = 65_535
"""Of one entry."""
_NAMED = 1_000
"""Characters of a field that names an entry that is too long."""
_FORM = re.compile(r"(\d{1,20}) (\d{1,20}) (\d{1,20}-\d{1,20})")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the audit trail of a lane: an entry, and how far it had been counted there."""

    epoch: int = 1
    seq: int = 0
    number: str = "0-0"
    """As Redis gave it to the entry."""

    @classmethod
    def parse(cls, text: str) -> "Mark":
        """Read what `str` writes; the beginning, when it is empty.

        Raises:
            ValueError: when it is something else.
        """
        if not text:
            return cls()
        found = _FORM.fullmatch(text)
        if found is None:
            raise ValueError("the log does not say where its last entry was taken from")
        return cls(int(found[1]), int(found[2]), found[3])

    def __str__(self) -> str:
        return f"{self.epoch} {self.seq} {self.number}"

    @property
    def order(self) -> tuple[int, int]:
        """Its place by time."""
        at, _, count = self.number.partition("-")
        return int(at), int(count)


@dataclass(frozen=True, slots=True)
class Sealing:
    """An entry as it goes into the log, and where it was taken from."""

    mark: Mark
    entry: AuditEntry


def following(mark: Mark, entries: Iterable[AuditEntry]) -> Iterator[Sealing]:
    """Give what goes into the log after a mark: these entries, and what has to be said about gaps between them.

    Args:
        mark: The last entry that is sealed.
        entries: Those that Redis has after it, oldest first.
    """
    for entry in entries:
        seq = entry.said.get("seq")
        if not isinstance(seq, int):
            # Written by a version that did not count.
            mark = replace(mark, number=entry.number)
        else:
            if mark.seq and seq <= mark.seq:
                mark = began(mark, seq=max(seq - 1, 0))
                yield epoch_began(mark, entry)
            elif mark != Mark() and seq > mark.seq + 1:
                gap = {"first": mark.seq + 1, "last": seq - 1}
                mark = replace(mark, seq=seq - 1)
                yield _said(mark, entry, event=MISSING, **gap)
            mark = replace(mark, seq=seq, number=entry.number)
        yield Sealing(mark, _that_fits(_in_epoch(entry, mark)))


def began(mark: Mark, *, seq: int, number: str | None = None) -> Mark:
    """Begin the next epoch after an entry with this number and this count."""
    return Mark(mark.epoch + 1, seq, mark.number if number is None else number)


def epoch_began(mark: Mark, at: AuditEntry) -> Sealing:
    """Say that this epoch begins, at the time and in the lane of an entry."""
    return _said(mark, at, event=EPOCH_BEGAN)


def _said(mark: Mark, beside: AuditEntry, **said: Any) -> Sealing:
    # Its mark is the one before the entry beside it, so that one comes next also when sealing ends in between.
    return Sealing(mark, _in_epoch(replace(beside, said={**said, "id": ""}), mark))


def _that_fits(entry: AuditEntry) -> AuditEntry:
    """Give the entry, or what names it where it is longer than a log takes."""
    line = entry.line.encode()
    if len(line) <= MOST_BYTES:
        return entry
    kept = {name: entry[name][:_NAMED] for name in ("event", "id", "by") if entry[name]}
    counted = {name: entry.said[name] for name in ("seq", "epoch") if isinstance(entry.said.get(name), int)}
    return replace(entry, said={**kept, **counted, "too_long": len(line), "sha256": sha256(line).hexdigest()})


def _in_epoch(entry: AuditEntry, mark: Mark) -> AuditEntry:
    return replace(entry, said={**entry.said, "epoch": mark.epoch})
