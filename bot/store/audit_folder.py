"""The folder that keeps old entries of the audit trail: JSON lines, one file a day, only ever appended to."""

import os
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from bot.domain.audit_entry import AuditEntry

_END = ".jsonl"


class AuditFolder:
    """Old entries of the audit trail on disk. Every method blocks, and raises OSError when the disk does not serve it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def append(self, entries: Iterable[AuditEntry]) -> None:
        """Add entries to the files of their days. When this returns, they are on disk."""
        by_day = defaultdict[str, list[AuditEntry]](list)
        for entry in entries:
            by_day[entry.day].append(entry)
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for day, of_day in by_day.items():
            _append(self._file(day), "".join(f"{entry.line}\n" for entry in of_day).encode())
        _sync(self._path)

    def days(self) -> list[str]:
        """Give the days that have a file, in order."""
        if not self._path.exists():
            return []
        return sorted(file.stem for file in self._path.glob(f"*{_END}") if _is_day(file.stem))

    def read(self, day: str, *, about: str = "") -> tuple[list[AuditEntry], list[str]]:
        """Read the entries of a day, each once, and name the lines that are not whole.

        Args:
            day: As in `days`.
            about: The request that the entries are about; all of them when empty.
        """
        path, found, torn = self._file(day), dict[tuple[str, str], AuditEntry](), list[str]()
        wanted = about.encode()
        if not path.exists():
            return [], []
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if wanted not in line or not line.strip():
                    continue
                try:
                    entry = AuditEntry.of_line(line.decode())
                except ValueError:
                    torn.append(f"{path} line {number}")
                else:
                    found[entry.lane, entry.number] = entry
        return [entry for entry in found.values() if about in {"", entry["id"]}], torn

    def forget(self, before: date) -> list[str]:
        """Delete the files of earlier days. Returns those days."""
        old = [day for day in self.days() if date.fromisoformat(day) < before]
        for day in old:
            self._file(day).unlink(missing_ok=True)
        return old

    def _file(self, day: str) -> Path:
        return self._path / f"{day}{_END}"


def _append(path: Path, text: bytes) -> None:
    # Only the owner reads it: it has names and reasons.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab+", buffering=0) as file:
        if file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
            # A process died while it wrote the last line. The entries of that line come again.
            text = b"\n" + text
        while text:
            text = text[file.write(text) :]
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Have the names of new files on disk as well."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2026-11-22")
