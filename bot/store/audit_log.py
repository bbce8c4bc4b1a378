"""The audit trail in sealed logs, one for each lane. Every method blocks, and raises OSError when the storage does not serve it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from math import inf
from typing import Self

from agent_adapter.contract.keys import Keys as Lane
from bot.domain.audit_entry import AuditEntry, span_of, time_of
from bot.domain.erasure import ERASED
from bot.domain.sealing import Mark, Sealing
from bot.tlog.batch import SAID, Salted, dump_batch, load_batch
from bot.tlog.bucket import Bucket, is_bucket
from bot.tlog.log import CHECKPOINT, Log, LogKey
from bot.tlog.note import Checkpoint, size_in
from bot.tlog.storage import Folder, Storage

FOLDER = "log"
"""Where the logs of the lanes are, below the folder of the audit trail."""


def number_of(_: Lane) -> str:
    """Return the two digits of a lane."""
    return "00"


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries that went into a log together."""

    path: str
    entries: Sequence[Salted]
    signature: bytes

    @property
    def times(self) -> list[int]:
        """The milliseconds of its entries, in order."""
        return [Mark.parse(each.mark).order[0] for each in self.entries]

    @property
    def ended(self) -> tuple[int, int]:
        """The epoch and the milliseconds of its last entry."""
        mark = Mark.parse(self.entries[-1].mark if self.entries else "")
        return mark.epoch, mark.order[0]

    @property
    def said(self) -> Iterator[AuditEntry]:
        """What it says, without what was erased."""
        return (AuditEntry.of_line(each.entry.decode()) for each in self.entries if each.entry is not None)


@dataclass
class LaneLog:
    """The log of one lane, for whoever reads it."""

    storage: Storage
    broken: list[str] = field(default_factory=list)
    """What could not be read."""
    _ended: dict[str, tuple[int, int]] = field(default_factory=dict)
    """When the batches that were read ended. A batch stays what it is."""
    _forgotten: int = 0
    """How many of the oldest batches were erased."""

    def batches(self) -> list[str]:
        """Name the batches, oldest first."""
        return self.storage.names(SAID)

    def signed(self) -> list[str]:
        """Name the batches that its checkpoint covers, oldest first. Whether it is signed is for `verify` to say."""
        size = size_in(self.storage.read(CHECKPOINT))
        return [name for name in self.batches() if name.isdecimal() and int(name) < size]

    def days(self, start: int = 0, end: float = inf) -> set[date]:
        """Give the days that have entries between two times, in milliseconds."""
        days = set[date]()
        for epoch in self._epochs():
            place, beginning = 0, float(start)
            while (place := self._place(epoch, beginning, place)) < len(epoch):
                times = [at for at in self._load(epoch[place]).times if at >= beginning]
                if times and times[0] > end:
                    break
                if times:
                    days.add(day := time_of(times[0]).date())
                    beginning = span_of(day)[1] + 1
                else:
                    place += 1
        return days

    def read(self, start: int, end: float, about: str = "") -> list[AuditEntry]:
        """Give the entries between two times, in milliseconds, and about one request if it is named."""
        wanted, found = about.encode(), list[AuditEntry]()
        for batch in self._between(start, end):
            named = (each for each in batch.entries if each.entry is not None and wanted in each.entry)
            entries = Batch(batch.path, [*named], b"").said
            found += [
                entry for entry in entries if start <= entry.order[0] <= end and about in {"", entry["id"]}
            ]
        return found

    def sealed_since(self, number: str) -> set[tuple[int, str]]:
        """Give the count and the number of each sealed entry, from this number on and some before it."""
        first = Mark(number=number).order
        found = set[tuple[int, str]]()
        for name in reversed(self.batches()):
            marks = [Mark.parse(each.mark) for each in self._load(name).entries]
            found |= {(mark.seq, mark.number) for mark in marks}
            if marks and marks[0].order < first:
                break
        return found

    def forget(self, before: int) -> int:
        """Erase the batches that ended before a time, in milliseconds. Returns how many entries were erased."""
        erased = 0
        for name in self.batches()[self._forgotten :]:
            if self._ends(name)[1] >= before:
                break
            erased += self._erase_in(name, lambda _: True)
            self._forgotten += 1
        return erased

    def places(self, about: str) -> list[int]:
        """Give where the entries about one request are in the log, without what says who erased others of them."""
        return [
            int(name) + place
            for name in self.batches()
            for place, each in enumerate(self._load(name).entries)
            if each.entry is not None and _is_about(AuditEntry.of_line(each.entry.decode()), about)
        ]

    def erase(self, about: str) -> int:
        """Erase the entries that `places` names. The tree stays as it is. Returns how many entries were erased."""
        return sum(
            self._erase_in(name, lambda entry: _is_about(entry, about))
            for name in self.batches()
            if any(_is_about(entry, about) for entry in self._load(name).said)
        )

    def _erase_in(self, name: str, wanted: Callable[[AuditEntry], bool]) -> int:
        path = f"{SAID}/{name}"
        while data := self.storage.read(path):
            entries, signature = load_batch(data)
            kept = [
                each.erased if each.entry and wanted(AuditEntry.of_line(each.entry.decode())) else each
                for each in entries
            ]
            erased = sum(new is not old for new, old in zip(kept, entries, strict=True))
            # Somebody else may erase other entries of it at the same time.
            if not erased or self.storage.swap(path, data, dump_batch(kept, signature)):
                return erased
        return 0

    def _between(self, start: int, end: float) -> Iterator[Batch]:
        for epoch in self._epochs():
            for name in epoch[self._place(epoch, start) :]:
                batch = self._load(name)
                if min(batch.times, default=0) > end:
                    break
                yield batch

    def _epochs(self) -> Iterator[list[str]]:
        """Give the names of the batches of each epoch. Times go on within one, and may go back with the next."""
        names = self.signed()
        while names:
            epoch = self._ends(names[0])[0]
            is_last = self._ends(names[-1])[0] == epoch
            count = (
                len(names) if is_last else bisect_right(names, epoch, key=lambda name: self._ends(name)[0])
            )
            yield names[:count]
            names = names[count:]

    def _place(self, epoch: list[str], start: float, low: int = 0) -> int:
        """Find the first batch of an epoch that ended at a time or later."""
        return bisect_left(epoch, start, low, key=lambda name: self._ends(name)[1])

    def _ends(self, name: str) -> tuple[int, int]:
        if name not in self._ended:
            self._ended[name] = self._load(name).ended
        return self._ended[name]

    def _load(self, name: str) -> Batch:
        path = f"{SAID}/{name}"
        data = self.storage.read(path)
        try:
            batch = Batch(path, *load_batch(data or b""))
        except ValueError as error:
            sentence = f"{path}: {error}"
            if sentence not in self.broken:
                self.broken.append(sentence)
            return Batch(path, [], b"")
        return batch


@dataclass(frozen=True, slots=True)
class Sealed:
    """The log of one lane up to a checkpoint, for the bot that goes on with it."""

    log: Log
    head: Checkpoint

    @classmethod
    def read(cls, log: Log) -> Self:
        """Read its signed checkpoint.

        Raises:
            ValueError, InvalidSignature: when it is not signed by the log.
        """
        return cls(log, log.head())

    @property
    def mark(self) -> Mark:
        """The last entry that is sealed."""
        return Mark.parse(self.head.mark)

    def append(self, sealings: Iterable[Sealing]) -> Self:
        """Put entries into the log, unless it has gone on meanwhile. Returns the log as it is then.

        Raises:
            ValueError: when the files of the log do not fit its checkpoint.
        """
        entries = list(sealings)
        lines, marks = [each.entry.line.encode() for each in entries], [str(each.mark) for each in entries]
        self.log.append(lines, marks, after=self.head)
        return self.read(self.log)


class AuditLogs:
    """The logs of all lanes of a namespace.

    Args:
        namespace: Of the keys in Redis.
        place: The folder of the audit trail, or the bucket.
    """

    def __init__(self, namespace: str, place: str) -> None:
        self._namespace = namespace
        self._place = place
        self._lanes: dict[str, LaneLog] = {}

    @property
    def broken(self) -> list[str]:
        """The batches that could not be read."""
        return [sentence for lane in self._lanes.values() for sentence in lane.broken]

    def lane(self, lane: Lane) -> LaneLog:
        """Return the log of a lane, to read it."""
        return self._lane(number_of(lane))

    def _lane(self, number: str) -> LaneLog:
        if number not in self._lanes:
            self._lanes[number] = LaneLog(self.beside.below(number))
        return self._lanes[number]

    def log(self, lane: Lane, key: LogKey) -> Log:
        """Return the log of a lane, with the keys that count."""
        return self.numbered(number_of(lane), key)

    def numbered(self, number: str, key: LogKey) -> Log:
        """Return the log of a lane, by its two digits."""
        return Log(self._lane(number).storage, f"assent/{self._namespace}/{number}", key)

    def sealed(self, lane: Lane, key: LogKey) -> Sealed:
        """Return the log of a lane, to seal it. Raises as `Sealed.read` does."""
        return Sealed.read(self.log(lane, key))

    def present(self) -> dict[str, LaneLog]:
        """Return the logs that are there, by the two digits of their lane."""
        return {name: self._lane(name) for name in self.beside.names("") if name.isdecimal()}

    @cached_property
    def beside(self) -> Storage:
        """Where files about all logs are."""
        root = Bucket.open(self._place) if is_bucket(self._place) else Folder(self._place)
        return root.below(FOLDER)


def _is_about(entry: AuditEntry, record: str) -> bool:
    return entry["id"] == record and entry["event"] != ERASED
