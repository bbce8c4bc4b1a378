"""Encrypts the stored states of paused runs, if there is a key. Each text is bound to its record and field."""

import base64
import binascii
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_adapter.errors import InvalidRequestError, UnreadableContinuationError
from agent_adapter.extras import needs

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VARIABLE = "ASSENT_STATE_KEY"
MARK = "aes-256-gcm:"
"""The beginning of an encrypted text. No JSON starts like this."""
OLD_MARK = "fernet:"
"""The beginning of texts from versions before 0.2, which were not bound to their record."""
NONCE = 12
"""Bytes. Random for each text: NIST SP 800-38D allows this for up to 2^32 texts per key."""


class Seal:
    """Encrypts states with the first key, and decrypts with any of the keys. Without keys, states are stored as they are.

    A text is bound to the record and the field that it was encrypted for. It cannot be decrypted in another place.

    Args:
        keys: 32 random bytes each, in base64, newest first.

    Raises:
        InvalidRequestError: when a key is not valid, or `cryptography` is not installed.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._ciphers = [_cipher(key) for key in keys]

    @classmethod
    def from_environment(cls) -> Self:
        """Read the keys from `ASSENT_STATE_KEY`, or from the file that `ASSENT_STATE_KEY_FILE` names, separated by commas.

        Raises:
            InvalidRequestError: when a key is not valid, or the file cannot be read.
        """
        path = os.environ.get(f"{VARIABLE}_FILE")
        try:
            text = Path(path).read_text(encoding="utf-8") if path else os.environ.get(VARIABLE, "")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequestError(f"{VARIABLE}_FILE: cannot read {path}: {error}") from error
        return cls([key.strip() for key in text.split(",") if key.strip()])

    def close(self, text: str, *, record: str, field: str) -> str:
        """Encrypt a text for one field of one record; without a key, return it unchanged."""
        if not self._ciphers:
            return text
        nonce = os.urandom(NONCE)
        sealed = self._ciphers[0].encrypt(nonce, text.encode(), _place(record, field))
        return MARK + base64.b64encode(nonce + sealed).decode()

    def open(self, text: str, *, record: str, field: str) -> str:
        """Decrypt a text; without a key, return it unchanged.

        Raises:
            UnreadableContinuationError: when it was encrypted for another place or with an unknown key, or when it is not
                encrypted although there is a key.
        """
        if not self._ciphers:
            if text.startswith((MARK, OLD_MARK)):
                raise UnreadableContinuationError(
                    f"the state is encrypted: give this worker the key in {VARIABLE}"
                )
            return text
        if text.startswith(OLD_MARK):
            raise UnreadableContinuationError(
                "the state was encrypted by a version before 0.2: resume this run with a worker of that version"
            )
        if not text.startswith(MARK):
            raise UnreadableContinuationError(
                f"the state is not encrypted, but this worker has a key in {VARIABLE}: if the run was started without "
                f"one, resume it with a worker without {VARIABLE}"
            )
        return self._decrypt(text.removeprefix(MARK), _place(record, field)).decode()

    def _decrypt(self, text: str, place: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # installed only where keys are used

        try:
            sealed = base64.b64decode(text, validate=True)
        except binascii.Error:
            sealed = b""
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(sealed[:NONCE], sealed[NONCE:], place)
            except (InvalidTag, ValueError):
                continue
        raise UnreadableContinuationError(
            f"the state was encrypted with a key that is not in {VARIABLE}, or for another run: add the key after the "
            "newer ones; if it is there already, somebody changed what is stored"
        )


def _place(record: str, field: str) -> bytes:
    return json.dumps(["assent", record, field]).encode()


def _cipher(key: str) -> "AESGCM":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise InvalidRequestError(needs(VARIABLE, "encryption", error)) from error
    try:
        raw = base64.b64decode(key.translate({ord("-"): "+", ord("_"): "/"}), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise InvalidRequestError(
            f"{VARIABLE}: each key is 32 bytes in base64; make one with "
            '`python -c "import base64, os; print(base64.b64encode(os.urandom(32)).decode())"`'
        )
    return AESGCM(raw)
