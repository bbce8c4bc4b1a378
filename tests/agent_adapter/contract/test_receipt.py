"""The receipt of a call travels as JSON, in an HTTP header and in the `_meta` of MCP."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter import ReceiptError, Resume
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.receipt import META, MOST_BYTES, MOST_ENVELOPES, Receipt
from agent_adapter.contract.record import in_order

ENVELOPE = '{"payloadType":"t","payload":"e30=","signatures":[{"keyid":"k","sig":"AA=="}]}'
RECEIPT = Receipt((ENVELOPE, ENVELOPE.replace("e30=", "W10=")), 3, '{"to":"ål","amount":1.10}')


def test_it_travels_unchanged_as_json_in_a_header_and_in_meta():
    assert Receipt.load(RECEIPT.dump()) == RECEIPT
    assert Receipt.load(RECEIPT.dump().encode()) == RECEIPT
    assert Receipt.from_header(RECEIPT.header()) == RECEIPT
    assert Receipt.from_meta(json.loads(json.dumps(RECEIPT.meta()))) == RECEIPT


@given(args=st.text(st.characters(codec="utf-8")), index=st.integers(0, 10**6))
def test_the_bytes_of_the_arguments_survive_every_way(args, index):
    receipt = Receipt((ENVELOPE,), index, args)

    assert Receipt.load(receipt.dump()) == receipt
    assert Receipt.from_header(receipt.header()) == receipt
    assert Receipt.from_meta(receipt.meta()) == receipt


def test_a_request_without_a_receipt_has_none():
    assert Receipt.from_meta(None) is None
    assert Receipt.from_meta({"progressToken": 1}) is None


@pytest.mark.parametrize(
    "fields",
    [
        None, [], "text", 5, {},
        {"v": 1, "envelopes": [], "index": 0, "args": "{}"},
        {"v": 1, "envelopes": ["text"], "index": 0, "args": "{}"},
        {"v": 1, "envelopes": [{}], "index": "0", "args": "{}"},
        {"v": 1, "envelopes": [{}], "index": True, "args": "{}"},
        {"v": 1, "envelopes": [{}], "index": 0, "args": {}},
        {"v": True, "envelopes": [{}], "index": 0, "args": "{}"},
        {"envelopes": [{}], "index": 0, "args": "{}"},
    ],
)  # fmt: skip
def test_what_is_not_a_receipt_is_refused(fields):
    with pytest.raises(ReceiptError) as caught:
        Receipt.load(json.dumps(fields))

    assert caught.value.code == "form"


@pytest.mark.parametrize("text", ["", "{", '{"v":1,"v":1}', "[" * 5000, b"\xff"])
def test_text_that_is_not_strict_json_is_refused(text):
    with pytest.raises(ReceiptError) as caught:
        Receipt.load(text)

    assert caught.value.code == "form"


def test_a_newer_version_says_what_to_update():
    with pytest.raises(ReceiptError, match="update Assent here") as caught:
        Receipt.load('{"v":2,"something":"new"}')

    assert caught.value.code == "version"


def test_large_receipts_are_refused_before_they_are_read():
    for read, text in [
        (Receipt.load, " " * (MOST_BYTES + 1)),
        (Receipt.from_header, "A" * (MOST_BYTES + 4)),
        (Receipt.load, Receipt((ENVELOPE,) * (MOST_ENVELOPES + 1), 0, "{}").dump()),
    ]:
        with pytest.raises(ReceiptError) as caught:
            read(text)
        assert caught.value.code == "size"


def test_a_receipt_that_is_too_long_for_a_header_says_where_to_send_it():
    with pytest.raises(ReceiptError, match="in the body") as caught:
        Receipt((ENVELOPE,), 0, "x" * 8000).header()

    assert caught.value.code == "size"


def test_a_header_that_is_not_base64_is_refused():
    for value in ("%%%", "é", base64.b64encode(b"[]").decode()):
        with pytest.raises(ReceiptError) as caught:
            Receipt.from_header(value)
        assert caught.value.code == "form"


@pytest.mark.parametrize("meta", [{META: object()}, "io.assent/receipt", ["io.assent/receipt"], 1])
def test_meta_that_is_not_a_json_object_is_refused(meta):
    with pytest.raises(ReceiptError) as caught:
        Receipt.from_meta(meta)

    assert caught.value.code == "form"


def test_receipts_stay_with_their_calls_when_only_some_are_asked_again():
    """After a restart some calls may be left, in another order."""
    receipts = tuple(Receipt((ENVELOPE,), index, "{}") for index in range(3))
    whole = Resume(
        interrupt_id="billing.1",
        status="decided",
        decisions=[ApproveDecision()] * 3,
        records=[None] * 3,
        receipts=receipts,
    )

    rest = in_order(whole, [2, 1])

    assert [rest.receipt(0), rest.receipt(1)] == [receipts[2], receipts[1]]
    assert in_order(whole.model_copy(update={"receipts": ()}), [2]).receipt(0) is None


def test_receipts_are_in_no_text_of_an_answer():
    """They are for tools, and the answer of the HTTP API stays as it is."""
    resume = Resume(
        interrupt_id="billing.1",
        status="decided",
        decisions=[ApproveDecision()],
        records=[None],
        receipts=[RECEIPT],
    )

    assert "receipts" not in resume.model_dump()
    assert ENVELOPE not in repr(resume)


def test_a_header_that_is_absent_is_a_receipt_that_is_missing():
    with pytest.raises(ReceiptError, match="there is no header") as refused:
        Receipt.from_header(None)
    assert refused.value.code == "missing"
