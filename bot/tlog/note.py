"""Checkpoints: the size and the root of a log, signed. https://c2sp.org/tlog-checkpoint, https://c2sp.org/signed-note"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

Verify: TypeAlias = Callable[[bytes, bytes], None]
"""Raises when a signature does not belong to the bytes."""

ED25519 = b"\x01"
_MARK = "\u2014 "


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says about itself at one moment."""

    origin: str
    """The name of the log, and of the key that signs it."""
    size: int
    root: bytes
    mark: str = ""
    """Where the last entry was taken from."""

    @property
    def text(self) -> str:
        """The lines that are signed."""
        mark = f"{self.mark}\n" if self.mark else ""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n{mark}"


def key_id(name: str, public: bytes) -> bytes:
    """Return the four bytes by which a note names an Ed25519 key."""
    return sha256(name.encode() + b"\n" + ED25519 + public).digest()[:4]


def sign_checkpoint(checkpoint: Checkpoint, public: bytes, sign: Callable[[bytes], bytes]) -> str:
    """Write a checkpoint with the signature of its log."""
    signature = key_id(checkpoint.origin, public) + sign(checkpoint.text.encode())
    return f"{checkpoint.text}\n{_MARK}{checkpoint.origin} {base64.b64encode(signature).decode()}\n"


def open_checkpoint(note: str, origin: str, keys: Mapping[bytes, Verify]) -> Checkpoint:
    """Read a checkpoint that its log has signed.

    Args:
        note: The signed note.
        origin: The name of the log.
        keys: Its public keys, each with what checks its signatures.

    Raises:
        ValueError: when it is not a checkpoint of this log, or not signed by it.
    """
    text, _, signatures = note.rpartition("\n\n")
    text += "\n"
    found = [_signature(line) for line in signatures.splitlines()]
    known = {key_id(origin, public): verify for public, verify in keys.items()}
    own = [(known[key], signature) for name, key, signature in found if name == origin and key in known]
    if not own:
        raise ValueError(f"the checkpoint is not signed with a key of the log {origin}")
    for verify, signature in own:
        verify(signature, text.encode())
    named, size, root, mark, *_ = [*text.split("\n"), "", "", ""]
    if named != origin:
        raise ValueError(f"the checkpoint is of the log {named}, not of {origin}")
    if not size.isdecimal() or not size.isascii() or (size != "0" and size.startswith("0")):
        raise ValueError("the checkpoint does not say how long the log is")
    checkpoint = Checkpoint(origin, int(size), _decoded(root), mark)
    if len(checkpoint.root) != 32:
        raise ValueError("the checkpoint does not have the root of a tree")
    return checkpoint


def size_in(note: bytes | None) -> int:
    """Return how many entries a checkpoint speaks of; 0 when it cannot be read. No signature is checked."""
    _, size, *_ = [*(note or b"").split(b"\n"), b"", b""]
    return int(size) if size.isdigit() else 0


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, _, text = line.removeprefix(_MARK).partition(" ")
    if not line.startswith(_MARK) or not name or not text:
        raise ValueError("the checkpoint has a line that is not a signature")
    raw = _decoded(text)
    return name, raw[:4], raw[4:]


def _decoded(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error:
        raw = b""
    # Another form of the same bytes would be a note that nobody wrote.
    if not raw or base64.b64encode(raw).decode() != text:
        raise ValueError("the checkpoint has text that is not base64")
    return raw
