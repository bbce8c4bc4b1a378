"""What signs: a key in this process, or one that a key management service keeps."""

import hashlib
from typing import TYPE_CHECKING, Protocol

from agent_adapter.receipts.dsse import Envelope, Signature, pre_authentication

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


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
        self.kid = kid_of(key.public_key().public_bytes_raw())

    async def sign(self, data: bytes) -> bytes:
        """Return the signature."""
        return self._key.sign(data)


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
