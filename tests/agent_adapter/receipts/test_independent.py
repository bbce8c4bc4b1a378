"""The DSSE library of TUF and in-toto verifies our envelopes, and we verify its."""

import pytest
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from agent_adapter.contract.arguments import decode, encode
from agent_adapter.receipts.dsse import load_envelope
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import LocalSigner, kid_of, sign_envelope
from agent_adapter.receipts.statement import RECEIPT


def their_key(signer):
    return SSlibKey(signer.kid, "ed25519", "ed25519", {"public": signer.public.hex()})


async def test_another_library_verifies_what_we_sign():
    signer = LocalSigner.generate()
    ours = await sign_envelope(signer, RECEIPT, b'{"v":1}')

    theirs = TheirEnvelope.from_dict(decode(ours.dump()))

    assert theirs.pae() == ours.signed
    assert theirs.verify([their_key(signer)], threshold=1).keys() == {signer.kid}


async def test_another_library_refuses_what_was_changed():
    signer = LocalSigner.generate()
    theirs = TheirEnvelope.from_dict(decode((await sign_envelope(signer, RECEIPT, b'{"v":1}')).dump()))
    theirs.payload = b'{"v":2}'

    with pytest.raises(VerificationError):
        theirs.verify([their_key(signer)], threshold=1)


def test_we_verify_what_another_library_signs():
    signer = CryptoSigner.generate_ed25519()
    public = bytes.fromhex(signer.public_key.keyval["public"])
    signer.public_key.keyid = kid_of(public)
    theirs = TheirEnvelope(b'{"v":1}', RECEIPT, {})
    theirs.sign(signer)

    ours = load_envelope(encode(theirs.to_dict()))

    key = RingKey.of(public, "receipts", namespace="assent", team="T1")
    assert Ring([key]).check(ours, purpose="receipts", type=RECEIPT) == key
