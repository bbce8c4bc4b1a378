"""Signed envelopes in the form of DSSE: the bytes of the payload are signed as they are, together with their type.

https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError, ReceiptError

MOST_BYTES = 256 * 1024
"""Of an envelope as text. A statement about 50 actions takes 40 KB."""
MOST_SIGNATURES = 8


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature of an envelope."""

    kid: str
    """Which key may have made it. Nothing protects this name, so it only says which key to try."""
    bytes: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload, its type and its signatures. Nothing is checked yet."""

    type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed(self) -> bytes:
        """The bytes that each signature is about."""
        return pre_authentication(self.type, self.payload)

    @property
    def digest(self) -> str:
        """The SHA-256 of the signed bytes, in hex: the name of what was signed, whoever has signed it."""
        return hashlib.sha256(self.signed).hexdigest()

    def dump(self) -> str:
        """Write it as JSON."""
        return encode(
            {
                "payloadType": self.type,
                "payload": base64.b64encode(self.payload).decode(),
                "signatures": [
                    {"keyid": each.kid, "sig": base64.b64encode(each.bytes).decode()}
                    for each in self.signatures
                ],
            }
        )


def pre_authentication(type: str, payload: bytes) -> bytes:
    """Return the bytes to sign for a payload of this type."""
    name = type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


def load_envelope(text: str) -> Envelope:
    """Read an envelope.

    Raises:
        ReceiptError: when it is too large (`size`), or not an envelope (`form`).
    """
    if len(text) > MOST_BYTES:
        raise ReceiptError(f"a receipt of {len(text):,} characters is too large", code="size")
    try:
        fields: Any = decode(text)
        signatures = fields["signatures"]
        envelope = Envelope(
            fields["payloadType"],
            _bytes(fields["payload"]),
            tuple(Signature(each["keyid"], _bytes(each["sig"])) for each in signatures),
        )
    except (InvalidRequestError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ReceiptError("a receipt is not a signed envelope (DSSE)", code="form") from error
    texts = [envelope.type, *(each.kid for each in envelope.signatures)]
    if not all(isinstance(each, str) for each in texts) or not 0 < len(signatures) <= MOST_SIGNATURES:
        raise ReceiptError("a receipt is not a signed envelope (DSSE)", code="form")
    return envelope


def _bytes(text: str) -> bytes:
    try:
        # Both alphabets are allowed by DSSE.
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (AttributeError, binascii.Error) as error:
        raise ValueError("not base64") from error
