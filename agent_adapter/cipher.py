"""AES-256-GCM for texts that are kept in Redis. Each text is bound to its record and field.

Bots and agents share the keys in `ASSENT_RECORD_KEY`. Those in `ASSENT_STATE_KEY` stay with the agents.
"""

import base64
import binascii
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_adapter.errors import InvalidRequestError, LockedRecordError
from agent_adapter.extras import needs

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

RECORD_KEY = "ASSENT_RECORD_KEY"
STATE_KEY = "ASSENT_STATE_KEY"
MARK = "aes-256-gcm:"
"""The beginning of an encrypted text. No JSON starts like this."""
NONCE = 12
"""Bytes. NIST SP 800-38D allows random ones for up to 2^32 texts per key."""


class Cipher:
    """Encrypts with the first key, and decrypts with any of the keys. Without keys, texts are stored as they are.

    Args:
        keys: 32 random bytes each, in base64, newest first.
        variable: The setting that they come from, for error messages.

    Raises:
        InvalidRequestError: when a key is not valid, or `cryptography` is not installed.
    """

    def __init__(self, keys: Sequence[str] = (), *, variable: str = RECORD_KEY) -> None:
        self._variable = variable
        self._ciphers = [_cipher(_bytes_of(key, variable), variable) for key in keys]

    @classmethod
    def parse(cls, text: str | None, *, variable: str = RECORD_KEY) -> Self:
        """Read keys that are separated by commas.

        Raises:
            InvalidRequestError: as the class itself.
        """
        keys = [key.strip() for key in (text or "").split(",") if key.strip()]
        return cls(keys, variable=variable)

    @classmethod
    def from_environment(cls, variable: str) -> Self:
        """Read the keys from an environment variable, or from the file that the variable with `_FILE` names.

        Raises:
            InvalidRequestError: also when both are set, or the file cannot be read.
        """
        return cls.parse(text_from_environment(variable), variable=variable)

    def __bool__(self) -> bool:
        """Whether there is a key."""
        return bool(self._ciphers)

    def close(self, text: str, *, record: str, field: str) -> str:
        """Encrypt a text for one field of one record. Without a key, and for an empty text, return it unchanged."""
        if not text or not self._ciphers:
            return text
        nonce = os.urandom(NONCE)
        sealed = self._ciphers[0].encrypt(nonce, text.encode(), _place(record, field))
        return MARK + base64.b64encode(nonce + sealed).decode()

    def open(self, text: str, *, record: str, field: str) -> str:
        """Decrypt a text of one field of one record; return a text that is not encrypted unchanged.

        Raises:
            LockedRecordError: when it was encrypted with another key, or for another place.
        """
        if not text.startswith(MARK):
            return text
        if not self._ciphers:
            raise LockedRecordError(
                f"{record} is encrypted: set {self._variable} to the key with which it was asked"
            )
        found = self._decrypted(text.removeprefix(MARK), _place(record, field))
        if found is None:
            raise LockedRecordError(
                f"{record}: {field.split(maxsplit=1)[0]} was encrypted with a key that is not in {self._variable}, or for another place: add the "
                "key after the newer ones; if it is there already, somebody changed what is stored"
            )
        return found

    def _decrypted(self, text: str, place: bytes) -> str | None:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # installed only where keys are used

        try:
            sealed = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(sealed[:NONCE], sealed[NONCE:], place).decode()
            except (InvalidTag, ValueError):
                continue
        return None


def text_from_environment(variable: str) -> str:
    """Read an environment variable, or the file that the variable with `_FILE` names. Empty when neither is set.

    Raises:
        InvalidRequestError: when both are set, or the file cannot be read.
    """
    text, path = os.environ.get(variable, ""), os.environ.get(f"{variable}_FILE")
    if not path:
        return text
    if text.strip():
        raise InvalidRequestError(f"{variable} and {variable}_FILE are both set: remove one of them")
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        what = "there is no file" if isinstance(error, FileNotFoundError) else f"{error.strerror}:"
        raise InvalidRequestError(
            f"{variable}_FILE: {what} {path}: name one that this user can read"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{variable}_FILE: {path} is not UTF-8 text: {error.reason}") from error


def _place(record: str, field: str) -> bytes:
    return json.dumps(["assent", record, field]).encode()


def _bytes_of(key: str, variable: str) -> bytes:
    try:
        raw = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise InvalidRequestError(
            f"{variable}: each key is 32 bytes in base64; make one with "
            '`python -c "import base64, os; print(base64.b64encode(os.urandom(32)).decode())"`'
        )
    return raw


def _cipher(raw: bytes, variable: str) -> "AESGCM":
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise InvalidRequestError(needs(variable, "encryption", error)) from error
    return AESGCM(raw)
