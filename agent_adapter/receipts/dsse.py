"""Signed envelopes in the form of DSSE. securesystemslib signs and verifies them; they are read here, more strictly.

https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
"""

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Any

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.errors import InvalidRequestError, ReceiptError

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import Signer

MOST_BYTES = 256 * 1024
"""Of an envelope as text. A statement about 50 actions takes 40 KB."""
MOST_SIGNATURES = 8


def load_envelope(text: str) -> "Envelope":
    """Read an envelope. No signature is checked yet."""
    from securesystemslib.dsse import Envelope  # noqa: PLC0415  # an extra
    from securesystemslib.signer import Signature  # noqa: PLC0415  # likewise

    if len(text) > MOST_BYTES:
        raise ReceiptError(f"a receipt of {len(text):,} characters is too large", code="size")
    try:
        fields: Any = decode(text)
        signatures = {_text(each["keyid"]): _bytes(each["sig"]).hex() for each in fields["signatures"]}
        if not 0 < len(signatures) == len(fields["signatures"]) <= MOST_SIGNATURES:
            raise ValueError("no signature, too many, or two of one key")  # noqa: TRY301  # one answer to every fault
        return Envelope(
            _bytes(fields["payload"]),
            _text(fields["payloadType"]),
            {kid: Signature(kid, signature) for kid, signature in signatures.items()},
        )
    except (InvalidRequestError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ReceiptError("a receipt is not a signed envelope (DSSE)", code="form") from error


def signed(signer: "Signer", type: str, payload: bytes) -> str:
    """Sign a payload of a type, and return the envelope as JSON."""
    from securesystemslib.dsse import Envelope  # noqa: PLC0415  # an extra

    envelope = Envelope(payload, type, {})
    envelope.sign(signer)
    return dump_envelope(envelope)


def dump_envelope(envelope: "Envelope") -> str:
    """Write an envelope as JSON."""
    return encode(envelope.to_dict())


def digest_of(envelope: "Envelope") -> str:
    """Return the SHA-256 of the signed bytes, in hex: the name of what was signed. It does not depend on the signer."""
    return hashlib.sha256(envelope.pae()).hexdigest()


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError("not a text")
    return value


def _bytes(text: Any) -> bytes:
    try:
        raw = base64.b64decode(_text(text), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    if base64.b64encode(raw).decode() != text:
        raise ValueError("the same bytes have a shorter base64")
    return raw
