"""Logs for tests: a key that is made on the spot, real files, and the ring that verifiers read."""

import base64
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter.receipts.ring import RingKey, dump_keys
from bot.tlog.batch import Salted, about_batch, batch_path, dump_batch, load_batch
from bot.tlog.log import CHECKPOINT, Log
from bot.tlog.note import ED25519, Checkpoint, key_id
from bot.tlog.proof import dump_proof
from bot.tlog.storage import Folder
from bot.tlog.tiles import Edge, subtree_reader


class TestLogKey:
    """A key of logs."""

    __test__ = False

    def __init__(self, private: bytes | None = None) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(private) if private else Ed25519PrivateKey.generate()
        self.public = self._key.public_key().public_bytes_raw()
        self.sign = self._key.sign
        self.trusted = {self.public: self._key.public_key().verify}


def ring_of(*keys: TestLogKey, **changed: object) -> str:
    """The ring that lists these keys for logs."""
    fields = {"purpose": "log", "namespace": "assent"} | changed
    return dump_keys([RingKey.of(key.public, **fields) for key in keys])


def make_log(folder: Path, key: TestLogKey, *batches: list[str], origin: str = "assent/assent/00") -> Log:
    """A log in a folder with these entries."""
    log = Log(Folder(folder), origin, key)
    for batch in batches:
        first = log.head().size
        marks = [f"1 {first + at} {first + at}-0" for at, _ in enumerate(batch)]
        log.append([entry.encode() for entry in batch], marks)
    return log


def entries_of(log: Log) -> list[Salted]:
    """Every entry that the checkpoint covers."""
    found: list[Salted] = []
    while len(found) < log.head().size:
        found += load_batch(log.storage.read(batch_path(len(found))))[0]
    return found


def proof_of(log: Log, *indexes: int) -> str:
    """The proof that these entries are in the log."""
    head, entries = log.head(), entries_of(log)
    hash_of = subtree_reader(head.size, log.storage.read)
    note = log.storage.read(CHECKPOINT).decode()
    return dump_proof(note, head.size, [(index, entries[index]) for index in indexes], hash_of)


def vkey_of(key: TestLogKey, origin: str) -> str:
    """The line by which Go's sumdb names the key of a log."""
    named = key_id(origin, key.public).hex()
    return f"{origin}+{named}+{base64.b64encode(ED25519 + key.public).decode()}"


def rewritten(log: Log, first: int, batch: list[Salted]) -> bytes:
    """Other entries in place of the batch that begins at this place, signed by the key of the log."""
    edge, before = Edge(), entries_of(log)[:first]
    edge.append([each.leaf for each in before])
    head = Checkpoint(log.origin, first, edge.root, before[-1].mark if before else "")
    return dump_batch(batch, log.key.sign(about_batch(head, batch)))


def erase(log: Log, first: int, *indexes: int) -> None:
    """Erase entries of the batch that begins at this place: their leaves stay."""
    batch, signature = load_batch(log.storage.read(batch_path(first)))
    kept = [each.erased if first + at in indexes else each for at, each in enumerate(batch)]
    log.storage.put(batch_path(first), dump_batch(kept, signature))
