"""One small fault: where it is, what it changes, and what it is called however the file moves."""

from dataclasses import dataclass
from itertools import count
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Mutation:
    """A fault that can be put into one file."""

    file: str
    where: str
    """The function around it, as `Class.method`; empty at the top of a file."""
    kind: str
    text: str
    """What is changed, without its layout."""
    ordinal: int
    """Which of those that are the same so far, counted from 0."""
    line: int
    last_line: int
    start: int
    end: int
    becomes: str
    """The source that stands between `start` and `end` afterwards."""

    @property
    def name(self) -> str:
        """What it is called: stays when lines, folders or layout change."""
        return name_of(self.file, self.where, self.kind, self.text, self.ordinal)

    @property
    def place(self) -> str:
        """Its name with its file, since two files may be called the same."""
        return f"{self.file}: {self.name}"

    def applied(self, source: str) -> str:
        """Give the file with the fault in it."""
        return source[: self.start] + self.becomes + source[self.end :]


def name_of(file: str, where: str, kind: str, text: str, ordinal: int) -> str:
    """Name a fault: `decisions Deciding.claim | number | f(1) | 0`."""
    return f"{f'{PurePosixPath(file).stem} {where}'.strip()} | {kind} | {text} | {ordinal}"


@dataclass(frozen=True)
class Found:
    """A fault as a language finds it, before those that look the same are counted."""

    where: str
    kind: str
    text: str
    start: int
    end: int
    becomes: str


def numbered(file: str, source: str, found: list[Found]) -> list[Mutation]:
    """Count those that look the same, and say on which lines each stands."""
    seen: dict[tuple[str, str, str], count[int]] = {}
    return [
        Mutation(
            file=file, where=each.where, kind=each.kind, text=each.text,
            ordinal=next(seen.setdefault((each.where, each.kind, each.text), count())),
            line=source.count("\n", 0, each.start) + 1, last_line=source.count("\n", 0, each.end) + 1,
            start=each.start, end=each.end, becomes=each.becomes,
        )
        for each in sorted(found, key=lambda one: (one.start, one.end, one.kind))
    ]  # fmt: skip
