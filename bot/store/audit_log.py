"""The files of the audit log: one of JSON lines for each day, and only ever appended to but for what is erased.

Bots with the same folder take turns. Every method blocks, and raises OSError when the disk does not serve it.
"""

import fcntl
import logging
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from math import inf
from pathlib import Path

from bot.domain.audit_chain import Chain, Verify, entry_line, entry_of, head_line, read, without_texts, write
from bot.domain.audit_entry import AuditEntry, Mark, time_of, written
from bot.runtime.bot_keys import BotKeys, problem_of_head

logger = logging.getLogger(__name__)

_HEAD, _END = b'{"head":', b"\n"
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"


@dataclass
class AuditLog:
    """The log in a folder."""

    folder: Path
    namespace: str
    signing: BotKeys | None = None
    """Signs the heads."""
    broken: list[str] = field(default_factory=list)
    """The lines that could not be read."""
    chain: Chain = field(default_factory=Chain)
    """The log up to the last head that this process has read or written."""
    _seen: tuple[str, int, int] | None = None
    """The newest file as it was then, to see whether another process has written since."""

    def days(self) -> list[str]:
        """Give the days that have a file, in order."""
        return sorted(path.stem for path in self.folder.glob(f"{_DAY}.jsonl"))

    # --- Writing ------------------------------------------------------------------------------------------------------

    def append(self, entries: Sequence[AuditEntry], mark: Mark, now: int) -> None:
        """Write entries and a head that names the last of them. When this returns, they are on disk; otherwise none counts.

        Raises:
            ValueError: when the log is not as it was written, or the key may not sign.
        """
        with self._locked():
            last, days = self._catch_up(), self.days()
            file = max([f"{time_of(now):%Y-%m-%d}", *days])
            chain, lines = replace(last), [last.last] if last.n and file not in days else []
            for text in lines:
                chain.take(text.encode(), file)
            lines += [chain.add(entry_line(each, chain.n + 1, chain.hash), file) for each in entries]
            log = last.log or f"{self.namespace}/{secrets.token_hex(4)}"
            head = {"at": written(now), "entry": mark.number, "file": file, "log": log, "seq": mark.seq}
            if self.signing:
                head["key"] = self.signing.key.kid
            sign = self.signing.sign_head if self.signing else None
            lines.append(chain.add(head_line(head, chain.n + 1, chain.hash, sign), file))
            _append(self._path(file), "".join(f"{line}\n" for line in lines).encode())
            self.chain, self._seen = chain, self._stat(file)

    def mark(self) -> Mark:
        """Return the last entry that is in the log. Raises as `append` does."""
        with self._locked():
            head = self._catch_up().head
        return Mark(head["entry"], head["seq"]) if head else Mark()

    def _catch_up(self) -> Chain:
        """Read the newest file, unless this process was the last to write it, and drop what was not finished there."""
        for day in reversed(self.days()):
            if self._stat(day) == self._seen:
                break
            size = whole = 0
            for line in _lines(self._path(day)):
                size += len(line)
                whole = size if line.startswith(_HEAD) and line.endswith(_END) else whole
            if whole < size:
                # A process died as it wrote. What has no head did not count, and comes again.
                logger.warning("audit.unfinished", extra={"day": day, "bytes": size - whole})
                os.truncate(self._path(day), whole)
            if whole:
                chain = Chain(self._verify)
                _take_all(chain, day, _lines(self._path(day)))
                if chain.is_signed and not self.signing:
                    raise ValueError("its heads are signed: set ASSENT_SIGNING_KEY, or name another folder")
                self.chain, self._seen = chain, self._stat(day)
                break
            self._path(day).unlink()
        else:
            self.chain = Chain(self._verify)
        return self.chain

    @property
    def _verify(self) -> Verify | None:
        return partial(problem_of_head, self.signing.ring, self.namespace) if self.signing else None

    def forget(self, before: date) -> list[str]:
        """Delete the files of earlier days, but not the newest. Returns those days."""
        with self._locked():
            old = [day for day in self.days()[:-1] if day < before.isoformat()]
            for day in old:
                self._path(day).unlink()
        return old

    def erase(self, wanted: Callable[[AuditEntry], set[str]]) -> int:
        """Erase texts of entries and their salts, for ever. Returns in how many lines.

        Args:
            wanted: Names the texts of an entry that go.
        """
        erased = 0
        for day in self.days():
            with self._locked():
                old = [*_lines(self._path(day))]
                new = [_without(line, wanted) for line in old]
                if new != old:
                    erased += sum(line != kept for line, kept in zip(old, new, strict=True))
                    _replace(self._path(day), b"".join(new))
        return erased

    # --- Committing ------------------------------------------------------------------------------------------------------

    def read(self, day: str, *, about: str = "") -> list[AuditEntry]:
        """Give what the file of a day says, about one request if it is named, and without what was erased."""
        found = list[AuditEntry]()
        for number, line in enumerate(_lines(self._path(day)), 1):
            # A line without its end is being written.
            if about.encode() in line and line.endswith(_END):
                try:
                    entry = entry_of(read(line.rstrip(_END)))
                    if entry and entry.order and about in {"", entry["id"]}:
                        found.append(entry)
                except ValueError as error:
                    self.broken.append(f"{self._path(day)} line {number}: {error}")
        return found

    def check(self, verify: Verify | None, against: Iterable[str] = ()) -> Chain:
        """Check every line.

        Raises:
            ValueError: naming the first line that is not as it was written.
        """
        chain = Chain(verify, set(against))
        with self._locked():
            # What is written from now on is for the next check.
            sizes = {day: self._path(day).stat().st_size for day in self.days()}
        for day, size in sizes.items():
            _take_all(chain, day, _lines(self._path(day), size), is_whole=True)
        chain.end()
        return chain

    # --- Files --------------------------------------------------------------------------------------------------------

    def _path(self, day: str) -> Path:
        return self.folder / f"{day}.jsonl"

    def _stat(self, day: str) -> tuple[str, int, int]:
        found = self._path(day).stat()
        return day, found.st_size, found.st_ino

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes from writing."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _lines(path: Path, size: float = inf) -> Iterator[bytes]:
    """Give the lines of a file with their ends, up to this size. None where it has just been deleted."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            size -= len(line)
            if size < 0:
                return
            yield line


def _take_all(chain: Chain, day: str, lines: Iterable[bytes], *, is_whole: bool = False) -> None:
    number = 1
    try:
        for line in lines:
            # A line without its end is no line.
            chain.take(line[:-1] if line.endswith(_END) else b"", day)
            number += 1
        if is_whole:
            chain.end_file(day)
    except ValueError as error:
        raise ValueError(f"{day}.jsonl line {number}: {error}") from None


def _without(text: bytes, wanted: Callable[[AuditEntry], set[str]]) -> bytes:
    line = read(text.rstrip(_END))
    entry = entry_of(line)
    return write(without_texts(line, wanted(entry))).encode() + _END if entry else text


def _append(path: Path, text: bytes) -> None:
    # Only the owner reads it: it has names and reasons.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    _sync(path.parent)


def _replace(path: Path, text: bytes) -> None:
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    _append(new, text)
    new.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Have the names of new files on disk as well."""
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
