"""What signs: a key in this process, or one that a key management service keeps."""

import base64
import binascii
import hashlib
import os
from typing import TYPE_CHECKING, Protocol, Self

from agent_adapter.ciphers import text_from_environment
from agent_adapter.errors import InvalidRequestError
from agent_adapter.extras import needs
from agent_adapter.receipts.dsse import Envelope, Signature, pre_authentication

if TYPE_CHECKING:
    from types import ModuleType

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


SIGNING_VARIABLE = "ASSENT_SIGNING_KEY"
CREATE = "`python -m bot keys signing create KEY_FILE --ring RING --team T…`"
"""The command that makes a key for receipts and lists its public key."""
CREATE_FOR_AGENT = "`python -m bot keys signing create KEY_FILE --ring RING --purpose agent --agent NAME`"
"""The command that makes a key for an agent."""
CREATE_FOR_LOG = "`python -m bot keys signing create KEY_FILE --ring RING --purpose log`"
"""The command that makes a key for the log of the audit trail."""
AGENT_VARIABLE = "ASSENT_AGENT_KEY"


class Signer(Protocol):
    """Signs with one Ed25519 key."""

    @property
    def kid(self) -> str:
        """The name of its public key: see `kid_of`."""

    async def sign(self, data: bytes) -> bytes:
        """Return the signature, 64 bytes.

        Raises:
            SigningError: when it cannot sign now.
        """


class LocalSigner:
    """Signs with a key that this process has."""

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        self._key = key
        self.public = key.public_key().public_bytes_raw()
        self.kid = kid_of(self.public)

    @classmethod
    def generate(cls) -> Self:
        """Make a new key.

        Raises:
            InvalidRequestError: when `cryptography` is not installed.
        """
        return cls(_ed25519().Ed25519PrivateKey.generate())

    @classmethod
    def parse(cls, text: str, *, where: str = SIGNING_VARIABLE) -> Self:
        """Read a private key: PEM (PKCS #8), or its 32 bytes in base64. No error shows it.

        Raises:
            InvalidRequestError: when it is not a private key of Ed25519, or `cryptography` is not installed.
        """
        return cls(_read_private(text.strip(), where))

    @classmethod
    def from_environment(cls, variable: str = SIGNING_VARIABLE) -> Self | None:
        """Read the private key from this variable, or from the file that the same name with `_FILE` names.

        Returns `None` when neither is set.

        Raises:
            InvalidRequestError: when both are set, the file cannot be read, or it is not a private key of Ed25519.
        """
        text = text_from_environment(variable)
        is_set = text.strip() or os.environ.get(f"{variable}_FILE")
        return cls.parse(text, where=variable) if is_set else None

    def private_pem(self) -> str:
        """Write the private key as PEM (PKCS #8), to keep it in a file."""
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415  # an extra
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    async def sign(self, data: bytes) -> bytes:
        """Return the signature."""
        return self.signature(data)

    def signature(self, data: bytes) -> bytes:
        """Return the signature, without a loop."""
        return self._key.sign(data)


def _read_private(text: str, where: str) -> "Ed25519PrivateKey":
    ed25519 = _ed25519()
    read = _read_pem if text.startswith("-----BEGIN ") else _read_base64
    try:
        key = read(text)
    except ValueError as error:
        raise InvalidRequestError(f"{where}: {error}: {_cure(where)}") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InvalidRequestError(f"{where}: the private key is not one of Ed25519: {_cure(where)}")
    found: Ed25519PrivateKey = key
    return found


def _cure(where: str) -> str:
    return f"make one with {CREATE_FOR_AGENT if where == AGENT_VARIABLE else CREATE}"


def _read_base64(text: str) -> object:
    try:
        return _ed25519().Ed25519PrivateKey.from_private_bytes(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        raise ValueError("this is neither PEM nor 32 bytes in base64") from None


def _read_pem(text: str) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # an extra
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415  # likewise

    try:
        return load_pem_private_key(text.encode(), password=None)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("the PEM is not a private key that can be read") from None
    except TypeError:
        raise ValueError("the private key has a password, and has to be stored without one") from None


def _ed25519() -> "ModuleType":
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise InvalidRequestError(needs(SIGNING_VARIABLE, "receipts", error)) from error
    return ed25519


def kid_of(public: bytes) -> str:
    """Return the name of a public key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(public).hexdigest()[:16]


async def sign_envelope(signer: Signer, type: str, payload: bytes) -> Envelope:
    """Sign a payload of a type.

    Raises:
        SigningError: when the signer cannot sign now.
    """
    signature = await signer.sign(pre_authentication(type, payload))
    return Envelope(type, payload, (Signature(signer.kid, signature),))
