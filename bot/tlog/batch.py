"""Entries with their salts, as they are kept beside the tree: this part of a log can be erased, and the tree stays whole."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError
from bot.tlog.tiles import MOST_BYTES

SALT = 32
"""Bytes. Without the salt, nobody can find out an erased entry by trying what it may have been."""


@dataclass(frozen=True, slots=True)
class Salted:
    """One entry; `None` when it was erased."""

    leaf: bytes
    """What is in the tree: the SHA-256 of the salt and the entry."""
    entry: bytes | None
    salt: bytes | None

    @classmethod
    def of(cls, entry: bytes) -> "Salted":
        """Salt a new entry.

        Raises:
            ValueError: when it is too long.
        """
        if len(entry) > MOST_BYTES:
            raise ValueError(f"an entry of the log has {len(entry):,} bytes, at most {MOST_BYTES:,}")
        salt = secrets.token_bytes(SALT)
        return cls(sha256(salt + entry).digest(), entry, salt)

    @property
    def erased(self) -> "Salted":
        """The same leaf without what it said."""
        return Salted(self.leaf, None, None)

    @property
    def is_sound(self) -> bool:
        """Whether it was erased, or still says what the leaf is about."""
        return self.entry is None or sha256((self.salt or b"") + self.entry).digest() == self.leaf


def batch_path(first: int) -> str:
    """Return the path of the batch whose first entry has this place in the log."""
    return f"said/{first:012d}"


def dump_batch(entries: Sequence[Salted]) -> bytes:
    """Write a batch, one line for each entry."""
    lines = (
        encode(
            {
                "leaf": each.leaf.hex(),
                **({} if each.entry is None else {"entry": each.entry.decode()}),
                **({} if each.salt is None else {"salt": base64.b64encode(each.salt).decode()}),
            }
        )
        for each in entries
    )
    return "".join(f"{line}\n" for line in lines).encode()


def load_batch(data: bytes) -> list[Salted]:
    """Read a batch.

    Raises:
        ValueError: when a line is not an entry, or says something else than what its leaf is about.
    """
    found = [_read(line) for line in data.decode().splitlines()]
    if wrong := [number for number, each in enumerate(found, 1) if not each.is_sound]:
        raise ValueError(f"line {wrong[0]} does not say what its leaf in the tree is about")
    return found


def _read(line: str) -> Salted:
    try:
        value = decode(line)
        entry, salt = value.get("entry"), value.get("salt")
        return Salted(
            bytes.fromhex(value["leaf"]),
            None if entry is None else entry.encode(),
            None if salt is None else base64.b64decode(salt, validate=True),
        )
    except (InvalidRequestError, LookupError, AttributeError, TypeError) as error:
        raise ValueError("a line of a batch is not an entry") from error
