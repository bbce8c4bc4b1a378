"""The log as a whole: entries go in at the end, and the signed checkpoint says how far it goes.

Each step can be repeated. A batch is created before anything else, so whoever comes next finds the same entries with the
same salts, and writes the same tiles. The checkpoint is written last, and only over the one that the batch follows. So a
process that dies leaves a batch that the next one finishes, and two processes at once do the same work.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.tlog.batch import Salted, batch_path, dump_batch, load_batch
from bot.tlog.note import Checkpoint, open_checkpoint, sign_checkpoint
from bot.tlog.storage import Storage
from bot.tlog.tiles import Edge
from bot.tlog.tree import EMPTY_ROOT

CHECKPOINT = "checkpoint"


class LogKey(Protocol):
    """The key that signs a log."""

    public: bytes

    def sign(self, data: bytes) -> bytes:
        """Return the signature."""

    def verify(self, signature: bytes, data: bytes) -> None:
        """Raise when the signature does not belong to the data."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log in a storage. Every method blocks, and raises OSError when the storage does not serve it."""

    storage: Storage
    origin: str
    """The name of the log."""
    key: LogKey

    def head(self) -> Checkpoint:
        """Return the signed checkpoint; that of an empty log where there is none.

        Raises:
            ValueError: when it is not signed by this log.
        """
        return self._head()[0]

    def append(self, entries: Sequence[bytes]) -> list[Salted]:
        """Put entries at the end of the log.

        Returns:
            The entries that went in. They are others where a process had begun to put in others and did not finish:
            then put in what is missing with another call.

        Raises:
            ValueError: when an entry is too long, or the files of the log do not fit its checkpoint.
        """
        head, note = self._head()
        batch = self._begin(head, [Salted.of(entry) for entry in entries])
        edge = Edge.read(head.size, self._file)
        if edge.root != head.root:
            raise ValueError(f"the tiles of the log {self.origin} do not fit its checkpoint")
        for path, data in edge.append([each.leaf for each in batch]).items():
            self.storage.put(path, data)
        after = Checkpoint(self.origin, edge.size, edge.root)
        self.storage.swap(CHECKPOINT, note, sign_checkpoint(after, self.key.public, self.key.sign).encode())
        return batch

    def _head(self) -> tuple[Checkpoint, bytes | None]:
        note = self.storage.read(CHECKPOINT)
        if note is None:
            return Checkpoint(self.origin, 0, EMPTY_ROOT), None
        return open_checkpoint(note.decode(), self.origin, self.key.public, self.key.verify), note

    def _begin(self, head: Checkpoint, batch: list[Salted]) -> list[Salted]:
        """Create the batch that follows a checkpoint, or return the one that another process has created."""
        path, data = batch_path(head.size), dump_batch(batch)
        if self.storage.create(path, data + _signed_by(self.key, _about(head, data))):
            return batch
        data, signature = _split(self._file(path))
        # Somebody who can write to the storage must not get entries into the log.
        self.key.verify(signature, _about(head, data))
        return load_batch(data)

    def _file(self, path: str) -> bytes:
        data = self.storage.read(path)
        if data is None:
            raise ValueError(f"the file {path} of the log {self.origin} is missing")
        return data


def _about(head: Checkpoint, batch: bytes) -> bytes:
    """Return what a signature of a batch is about: its entries, and the log that it continues."""
    return b"assent/batch/v1\n" + head.text.encode() + batch


def _signed_by(key: LogKey, data: bytes) -> bytes:
    return base64.b64encode(key.sign(data)) + b"\n"


def _split(file: bytes) -> tuple[bytes, bytes]:
    """Split a batch from its signature, which is the last line."""
    data, mark, line = file.removesuffix(b"\n").rpartition(b"\n")
    return data + mark, base64.b64decode(line)
