"""Looks at every file of a log: whether it is what the key has signed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bot.tlog.batch import Salted, about_batch, batch_path, load_batch
from bot.tlog.log import Log
from bot.tlog.note import Checkpoint
from bot.tlog.tiles import Edge
from bot.tlog.tree import leaf_hash, root_of

_NOTE = re.compile(r"(?:[^\n]+\n)+\n(?:\u2014 [^\n]+\n)+")


@dataclass(frozen=True, slots=True)
class Examined:
    """A log in which every file is what was signed."""

    head: Checkpoint
    entries: tuple[Salted, ...]

    @property
    def erased(self) -> dict[int, Salted]:
        """The entries that were erased, by their places."""
        return {place: each for place, each in enumerate(self.entries) if each.entry is None}


def notes_in(text: str) -> list[str]:
    """Return the signed checkpoints in a text, such as an anchor.

    Raises:
        ValueError: when there is none, or something else beside them.
    """
    found: list[str] = _NOTE.findall(text)
    # A heading above a checkpoint would be taken for the name of its log.
    has_sizes = all(note.split("\n")[1].isdecimal() for note in found)
    if not found or not has_sizes or _NOTE.sub("", text).strip("\n"):
        raise ValueError("this is not a file of signed checkpoints")
    return found


def entries_of(log: Log) -> Iterator[tuple[Checkpoint, list[Salted], bytes]]:
    """Give the batches that the checkpoint covers, each with the checkpoint before it and its signature.

    Raises:
        ValueError: when one is missing, or says something else than its leaves.
    """
    size, edge, mark = log.head().size, Edge(), ""
    while edge.size < size:
        path = batch_path(edge.size)
        before = Checkpoint(log.origin, edge.size, edge.root, mark)
        try:
            batch, signature = load_batch(log.file(path))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        yield before, batch, signature
        edge.append([each.leaf for each in batch])
        mark = batch[-1].mark


def examine(log: Log, older: Iterable[Checkpoint] = ()) -> Examined:
    """Check the checkpoint, the batches and the tiles of a log.

    Args:
        log: The log.
        older: Checkpoints of it from before. It must still begin as they say.

    Raises:
        ValueError, InvalidSignature: when something is not what the key has signed.
        OSError: when the storage does not serve it.
    """
    head, entries = log.head(), list[Salted]()
    for before, batch, signature in entries_of(log):
        log.check(signature, about_batch(before, batch))
        entries += batch
    edge = Edge()
    files = edge.append([each.leaf for each in entries])
    if (edge.size, edge.root) != (head.size, head.root):
        raise ValueError("the entries are not those that the checkpoint was signed for")
    for path, data in files.items():
        if log.file(path) != data:
            raise ValueError(f"{path} does not fit the entries")
    hashes = [leaf_hash(each.leaf) for each in entries]
    for each in older:
        if each.size > head.size or root_of(hashes[: each.size]) != each.root:
            raise ValueError(
                f"it does not begin with the {each.size:,} entries of the older checkpoint: it was written anew, or cut off"
            )
    return Examined(head, tuple(entries))
