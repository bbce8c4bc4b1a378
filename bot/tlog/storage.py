"""Where the files of a log are: a folder, or a bucket."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class Storage(Protocol):
    """Files by their path. Every method blocks, and raises OSError when it is not served."""

    def read(self, path: str) -> bytes | None:
        """Return a file, `None` when there is none."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file whole, in place of what may be there."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a file whole, unless there is one. Returns whether it was written."""

    def names(self, folder: str) -> list[str]:
        """Give the names of the files and folders in a folder, in order."""

    def below(self, folder: str) -> "Storage":
        """Return the files in a folder of it."""

    def swap(self, path: str, before: bytes | None, after: bytes) -> bool:
        """Write a file whole, if it is still as it was read. Returns whether it was written."""


class Folder:
    """Files on a disk that all bots share. When a method returns, they are on the disk."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def below(self, folder: str) -> "Folder":
        """Return the files in a folder of it."""
        return Folder(self._path / folder)

    def read(self, path: str) -> bytes | None:
        """Return a file, `None` when there is none."""
        try:
            return (self._path / path).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, path: str, data: bytes) -> None:
        """Write a file whole, in place of what may be there."""
        target = self._path / path
        with _written_beside(target, data) as file:
            file.replace(target)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file whole, unless there is one. Returns whether it was written."""
        target = self._path / path
        with _written_beside(target, data) as file:
            try:
                # A rename would replace the file of another process.
                target.hardlink_to(file)
            except FileExistsError:
                return False
            return True

    def names(self, folder: str) -> list[str]:
        """Give the names of the files and folders in a folder, in order."""
        try:
            files = (self._path / folder).iterdir()
            return sorted(file.name for file in files if not file.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def swap(self, path: str, before: bytes | None, after: bytes) -> bool:
        """Write a file whole, if it is still as it was read. Returns whether it was written."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._path / ".lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.read(path) != before:
                return False
            self.put(path, after)
            return True


@contextmanager
def _written_beside(target: Path, data: bytes) -> Iterator[Path]:
    """Write a file beside its target, so that nobody ever reads half of it. What the body leaves is deleted."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with file.open("xb") as new:
            os.fchmod(new.fileno(), 0o600)
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
        yield file
    finally:
        file.unlink(missing_ok=True)
        _sync(target.parent)


def _sync(folder: Path) -> None:
    """Have the names of new files on disk as well."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
