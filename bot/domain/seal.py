"""The seal: what a bot wrote into Redis carries a mark that only a bot can make. Pure.

It hides nothing: `agent_adapter.cipher` does that. Its key is of the bots alone, and derived from no key that an agent has.
"""

import base64
import binascii
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Self

from agent_adapter.receipts.statement import bytes_digest
from bot.domain.errors import SettingsError

KEY_BYTES = 32
_MARK_BYTES = 24
"""192 bits cannot be guessed, and the mark stays short: Redis keeps short values in a compact form."""
CLOCKS_DIFFER = timedelta(seconds=30)
"""How far the clock of Redis may be from the clock of a bot with a seal."""
_DOMAIN = "assent-seal-1"
_SEALED = "seal:"
"""Begins what stands in the place of an agent's own signature."""


@dataclass(frozen=True, slots=True)
class Seal:
    """Makes marks with its first key, and accepts those of all its keys."""

    namespace: str
    keys: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def parse(cls, text: str, *, namespace: str) -> Self:
        """Read the keys: base64, separated by commas, the newest first. No error shows one.

        Raises:
            SettingsError: when one of them is not a key.
        """
        keys = tuple(_key(each.strip(), number) for number, each in enumerate(text.split(","), 1))
        return cls(namespace, keys)

    def mark(self, record: str, name: str, values: Iterable[str]) -> str:
        """Give the mark of a fact.

        Args:
            record: What the fact belongs to.
            name: What it says there.
            values: The fact.
        """
        return _mark(self.keys[0], _message(self.namespace, record, name, values))

    def holds(self, mark: str, record: str, name: str, values: Iterable[str]) -> bool:
        """Whether a bot made this mark for this very fact."""
        return _holds(self.keys, self.namespace, mark, record, name, tuple(values))


def sealed_question(seal: Seal, record: str, body: str) -> str:
    """Give what is stored beside a question in the place of its agent's signature.

    Args:
        seal: Makes the mark.
        record: Its id.
        body: The question, before it is encrypted.
    """
    return _SEALED + seal.mark(record, "question", (bytes_digest(body),))


def is_over_http(seal: Seal, record: str, body: str, signature: str) -> bool:
    """Whether the HTTP API has asked this very question."""
    if not signature.startswith(_SEALED):
        return False
    return seal.holds(signature.removeprefix(_SEALED), record, "question", (bytes_digest(body),))


# A card is read many times between two changes.
@lru_cache(4_096)
def _holds(
    keys: tuple[bytes, ...], namespace: str, mark: str, record: str, name: str, values: tuple[str, ...]
) -> bool:
    message, given = _message(namespace, record, name, values), mark.encode()
    return any(hmac.compare_digest(given, _mark(key, message).encode()) for key in keys)


def _mark(key: bytes, message: bytes) -> str:
    return base64.urlsafe_b64encode(hmac.digest(key, message, "sha256")[:_MARK_BYTES]).decode()


def _message(namespace: str, record: str, name: str, values: Iterable[str]) -> bytes:
    """Write a fact so that no two of them read the same: each part has its length before it."""
    parts = [part.encode() for part in (_DOMAIN, namespace, record, name, *values)]
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _key(text: str, number: int) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    # The text is not repeated: it may be a key with a typing mistake.
    if len(key) != KEY_BYTES:
        raise SettingsError(
            f"ASSENT_SEAL_KEY: entry {number} is not {KEY_BYTES} bytes in base64: "
            "make a key with `python -m bot keys signing seal KEY_FILE`"
        )
    return key
