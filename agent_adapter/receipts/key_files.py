"""Files of keys: secrets that only their owner reads, and the ring of public keys."""

import base64
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from agent_adapter.errors import InvalidRequestError
from agent_adapter.receipts.ring import Ring, RingKey, dump_keys, parse_keys


def write_seal_key(path: Path) -> None:
    """Write a key with which bots seal what they keep."""
    write_secret(path, base64.b64encode(secrets.token_bytes(32)) + b"\n")


def write_secret(path: Path, text: bytes) -> None:
    """Write a key to a new file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidRequestError(
            f"{path} is already there: choose another name; a private key is never overwritten"
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)


def read_keys(path: Path) -> tuple[RingKey, ...]:
    """Read the keys of a ring; none when the file is not there yet."""
    if not path.exists():
        return ()
    return parse_keys(path.read_text(encoding="utf-8", errors="replace"), where=str(path))


def write_keys(path: Path, keys: Iterable[RingKey]) -> None:
    """Write a ring in one step: a reader meets the old file or the new one."""
    text = dump_keys(keys)
    Ring.parse(text, where=str(path))
    target = path.resolve()
    # Beside the file, so that it can take its place.
    new = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        new.write_text(text, encoding="utf-8")
        # Everybody may read public keys.
        new.chmod(0o644)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
