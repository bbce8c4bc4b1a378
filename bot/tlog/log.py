"""The log as a whole: entries go in at the end, and the signed checkpoint says how far it goes.

Each step can be repeated. A batch is created before anything else, so whoever comes next finds the same entries with the
same salts, and writes the same tiles. The checkpoint is written last, and only over the one that the batch follows. So a
process that dies leaves a batch that the next one finishes, and two processes at once do the same work.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidSignature

from bot.tlog.batch import Salted, about_batch, batch_path, dump_batch, load_batch
from bot.tlog.note import Checkpoint, Verify, open_checkpoint, sign_checkpoint
from bot.tlog.storage import Storage
from bot.tlog.tiles import Edge
from bot.tlog.tree import EMPTY_ROOT

CHECKPOINT = "checkpoint"


class LogKey(Protocol):
    """The key that signs a log, and those that signed it before."""

    @property
    def public(self) -> bytes:
        """Its own public key."""

    def sign(self, data: bytes) -> bytes:
        """Return the signature."""

    @property
    def trusted(self) -> Mapping[bytes, Verify]:
        """Every public key whose checkpoints count, its own among them, with what checks its signatures."""


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

    def append(
        self, entries: Sequence[bytes], marks: Sequence[str] = (), *, after: Checkpoint | None = None
    ) -> list[Salted]:
        """Put entries at the end of the log.

        Args:
            entries: At least one.
            marks: Where each was taken from. The checkpoint says that of the last one.
            after: The checkpoint that the entries follow. When the log has gone on since, nothing goes in.

        Returns:
            The entries that went in. They are others where a process had begun to put in others and did not finish:
            then put in what is missing with another call.

        Raises:
            ValueError: when an entry is too long, or the files of the log do not fit its checkpoint.
        """
        head, note = self._head()
        if after not in {None, head}:
            return []
        marked = zip(entries, marks or [""] * len(entries), strict=True)
        batch = self._begin(head, [Salted.of(entry, mark) for entry, mark in marked])
        edge = Edge.read(head.size, self.file)
        if edge.root != head.root:
            raise ValueError(f"the tiles of the log {self.origin} do not fit its checkpoint")
        for path, data in edge.append([each.leaf for each in batch]).items():
            self.storage.put(path, data)
        after = Checkpoint(self.origin, edge.size, edge.root, batch[-1].mark)
        self.storage.swap(CHECKPOINT, note, sign_checkpoint(after, self.key.public, self.key.sign).encode())
        return batch

    def _head(self) -> tuple[Checkpoint, bytes | None]:
        note = self.storage.read(CHECKPOINT)
        if note is None:
            return Checkpoint(self.origin, 0, EMPTY_ROOT), None
        return open_checkpoint(note.decode(), self.origin, self.key.trusted), note

    def _begin(self, head: Checkpoint, batch: list[Salted]) -> list[Salted]:
        """Create the batch that follows a checkpoint, or return the one that another process has created."""
        path = batch_path(head.size)
        if self.storage.create(path, dump_batch(batch, self.key.sign(about_batch(head, batch)))):
            return batch
        begun, signature = load_batch(self.file(path))
        # Somebody who can write to the storage must not get entries into the log.
        self.check(signature, about_batch(head, begun))
        return begun

    def check(self, signature: bytes, data: bytes) -> None:
        """Check the signature of a batch.

        Raises:
            ValueError: when no key of the log has made it.
        """
        for verify in self.key.trusted.values():
            with suppress(InvalidSignature):
                verify(signature, data)
                return
        raise ValueError(f"a batch of the log {self.origin} is not signed with a key of the log")

    def file(self, path: str) -> bytes:
        """Return a file that has to be there.

        Raises:
            ValueError: when it is not.
        """
        data = self.storage.read(path)
        if data is None:
            raise ValueError(f"the file {path} of the log {self.origin} is missing")
        return data
