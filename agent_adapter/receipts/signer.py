"""Private keys: what a bot or an agent signs with."""

import hashlib
import os
from typing import TYPE_CHECKING

from agent_adapter.cipher import text_from_environment
from agent_adapter.errors import InvalidRequestError
from agent_adapter.extras import needs

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from securesystemslib.signer import CryptoSigner

SIGNING_VARIABLE = "ASSENT_SIGNING_KEY"
CREATE = "`python -m bot keys signing create KEY_FILE --ring RING --team T…`"
"""The command that makes a key for receipts and lists its public key."""
CREATE_FOR_AGENT = "`python -m bot keys signing create KEY_FILE --ring RING --purpose agent --agent NAME`"
"""The command that makes a key for an agent."""
AGENT_VARIABLE = "ASSENT_AGENT_KEY"


def new_signer() -> "CryptoSigner":
    """Make a new key of Ed25519."""
    _check_installed(SIGNING_VARIABLE)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415  # an extra

    return signer_of(Ed25519PrivateKey.generate())


def signer_of(private: "Ed25519PrivateKey") -> "CryptoSigner":
    """Make what signs with a private key. Its key id is the name that a ring has for it."""
    from securesystemslib.signer import CryptoSigner, SSlibKey  # noqa: PLC0415  # an extra

    public = private.public_key()
    return CryptoSigner(private, SSlibKey.from_crypto(public, kid_of(public.public_bytes_raw())))


def read_signer(text: str, *, where: str = "signer") -> "CryptoSigner":
    """Read a private key of Ed25519 in PEM (PKCS #8). No error shows it.

    Raises:
        InvalidRequestError: when it is something else, or securesystemslib is not installed.
    """
    _check_installed(where)
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # an extra
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415  # likewise
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    cure = f"make one with {CREATE_FOR_AGENT if where == AGENT_VARIABLE else CREATE}"
    try:
        key = load_pem_private_key(text.strip().encode(), password=None)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidRequestError(f"{where}: this is not a private key in PEM: {cure}") from None
    except TypeError:
        raise InvalidRequestError(
            f"{where}: the private key has a password, and has to be stored without one: {cure}"
        ) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InvalidRequestError(f"{where}: the private key is not one of Ed25519: {cure}")
    return signer_of(key)


def signer_from_environment(variable: str) -> "CryptoSigner | None":
    """Read the private key from this variable, or from the file that the same name with `_FILE` names.

    Returns `None` when neither is set.
    """
    text = text_from_environment(variable)
    is_set = text.strip() or os.environ.get(f"{variable}_FILE")
    return read_signer(text, where=variable) if is_set else None


def public_of(signer: "CryptoSigner") -> bytes:
    """Return the 32 bytes of the public key."""
    return bytes.fromhex(signer.public_key.keyval["public"])


def kid_of(public: bytes) -> str:
    """Return the name of a public key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(public).hexdigest()[:16]


def _check_installed(what: str) -> None:
    try:
        import securesystemslib.signer  # noqa: F401, PLC0415  # an extra
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: F401, PLC0415  # likewise
    except ImportError as error:
        raise InvalidRequestError(needs(what, "receipts", error)) from error
