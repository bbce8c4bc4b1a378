"""Entries with their salts, as they are kept beside the tree: this part of a log can be erased, and the tree stays whole."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError
from bot.tlog.note import Checkpoint
from bot.tlog.tiles import MOST_BYTES

SAID = "said"
"""The folder of the batches. The name of each is the place of its first entry in the log, so they are in order."""
SALT = 32
"""Bytes, no more and no fewer. Without the salt, nobody can find out an erased entry by trying what it may have been."""


@dataclass(frozen=True, slots=True)
class Salted:
    """One entry of the log."""

    leaf: bytes
    """What is in the tree: the SHA-256 of the salt and the entry."""
    entry: bytes | None
    """`None` when it was erased, as its salt."""
    salt: bytes | None
    mark: str = ""
    """Where the entry was taken from, in one line. It stays when the entry is erased."""

    @classmethod
    def of(cls, entry: bytes, mark: str = "") -> "Salted":
        """Salt a new entry.

        Raises:
            ValueError: when it is too long.
        """
        if len(entry) > MOST_BYTES:
            raise ValueError(f"an entry of the log has {len(entry):,} bytes, at most {MOST_BYTES:,}")
        if "\n" in mark:
            raise ValueError("the mark of an entry is one line")
        salt = secrets.token_bytes(SALT)
        return cls(sha256(salt + entry).digest(), entry, salt, mark)

    @property
    def fields(self) -> dict[str, str]:
        """What a batch or a proof has of it."""
        found = {"leaf": self.leaf.hex()}
        if self.mark:
            found["mark"] = self.mark
        if self.entry is not None and self.salt is not None:
            found |= {"entry": self.entry.decode(), "salt": base64.b64encode(self.salt).decode()}
        return found

    @property
    def erased(self) -> "Salted":
        """The same leaf without what it said."""
        return Salted(self.leaf, None, None, self.mark)

    @property
    def is_sound(self) -> bool:
        """Whether it was erased, or still says what the leaf is about.

        The length of the salt is fixed: otherwise the beginning of an entry could pass for a part of its salt.
        """
        if self.entry is None or self.salt is None:
            return self.entry is self.salt
        return len(self.salt) == SALT and sha256(self.salt + self.entry).digest() == self.leaf


def batch_path(first: int) -> str:
    """Return the path of the batch whose first entry has this place in the log."""
    return f"{SAID}/{first:012d}"


def dump_batch(entries: Sequence[Salted], signature: bytes) -> bytes:
    """Write a batch, one line for each entry, and the signature as its last line."""
    lines = (encode(each.fields) for each in entries)
    return "".join(f"{line}\n" for line in [*lines, base64.b64encode(signature).decode()]).encode()


def load_batch(data: bytes) -> tuple[list[Salted], bytes]:
    """Read the entries of a batch, and its signature.

    Raises:
        ValueError: when a line is not an entry, or says something else than what its leaf is about.
    """
    # Not `splitlines`: text of agents may have other characters that end a line.
    *lines, signature = data.decode().removesuffix("\n").split("\n")
    found = [_read(line) for line in lines]
    if wrong := [number for number, each in enumerate(found, 1) if not each.is_sound]:
        raise ValueError(f"line {wrong[0]} does not say what its leaf in the tree is about")
    return found, base64.b64decode(signature, validate=True)


def about_batch(head: Checkpoint, entries: Sequence[Salted]) -> bytes:
    """Return what the signature of a batch is about: its leaves, and the log that it continues.

    It stays valid when entries are erased.
    """
    lines = "".join(f"{each.leaf.hex()} {each.mark}\n" for each in entries)
    return f"assent/batch/v1\n{head.text}\n{lines}".encode()


def _read(line: str) -> Salted:
    try:
        value = decode(line)
        entry, salt = value.get("entry"), value.get("salt")
        return Salted(
            bytes.fromhex(value["leaf"]),
            None if entry is None else entry.encode(),
            None if salt is None else base64.b64decode(salt, validate=True),
            str(value.get("mark", "")),
        )
    except (InvalidRequestError, LookupError, AttributeError, TypeError) as error:
        raise ValueError("a line of a batch is not an entry") from error
