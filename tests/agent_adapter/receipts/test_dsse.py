"""An envelope carries signed bytes as they are."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter import ReceiptError
from agent_adapter.receipts.dsse import load_envelope, pre_authentication
from agent_adapter.receipts.signer import LocalSigner, sign_envelope
from agent_adapter.receipts.statement import RECEIPT


def test_signed_bytes_are_those_of_the_specification():
    assert pre_authentication("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


async def test_an_envelope_that_was_written_reads_the_same():
    key = Ed25519PrivateKey.generate()
    envelope = await sign_envelope(LocalSigner(key), RECEIPT, b'{"v":1}')

    read = load_envelope(envelope.dump())

    assert read == envelope
    key.public_key().verify(read.signatures[0].bytes, read.signed)


async def test_its_digest_depends_on_what_is_signed_and_not_on_who_signs():
    first, second = [
        await sign_envelope(LocalSigner(Ed25519PrivateKey.generate()), RECEIPT, b"{}") for _ in range(2)
    ]
    other_type = await sign_envelope(LocalSigner(Ed25519PrivateKey.generate()), "text/plain", b"{}")

    assert first.digest == second.digest != other_type.digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"payloadType":"a","payload":"!","signatures":[{"keyid":"k","sig":"AAAA"}]}',
        '{"payloadType":"a","payload":"AAAA","signatures":[]}',
        '{"payloadType":"a","payload":"AAAA","signatures":{}}',
        '{"payloadType":1,"payload":"AAAA","signatures":[{"keyid":"k","sig":"AAAA"}]}',
        '{"payloadType":"a","payload":"AAAA","payload":"BBBB","signatures":[{"keyid":"k","sig":"AAAA"}]}',
        '{"payloadType":"a","payload":"AAAA","signatures":[{"keyid":2,"sig":"AAAA"}]}',
        "[" * 5_000,
    ],
)
def test_what_is_not_an_envelope_is_refused(text):
    with pytest.raises(ReceiptError) as refused:
        load_envelope(text)

    assert refused.value.code == "form"


def test_an_envelope_that_is_too_large_is_not_read():
    with pytest.raises(ReceiptError) as refused:
        load_envelope(" " * 300_000)

    assert refused.value.code == "size"
