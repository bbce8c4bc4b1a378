"""The receipt of a call travels as JSON, in an HTTP header and in the `_meta` of MCP."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter import ReceiptError
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.receipt import META, MOST_BYTES, MOST_ENVELOPES, Receipt
from agent_adapter.contract.record import in_order
from tests.support.builders import a_resume

ENVELOPE = '{"payloadType":"t","payload":"e30=","signatures":[{"keyid":"k","sig":"AA=="}]}'
RECEIPT = Receipt((ENVELOPE, ENVELOPE.replace("e30=", "W10=")), 3, '{"to":"ål","amount":1.10}')


@pytest.mark.parametrize(
    ("read", "value", "code"),
    [
        *(
            (Receipt.load, json.dumps(fields), "form")
            for fields in [
                None, [], "text", 5, {},
                {"v": 1, "envelopes": [], "index": 0, "args": "{}"},
                {"v": 1, "envelopes": ["text"], "index": 0, "args": "{}"},
                {"v": 1, "envelopes": [{}], "index": "0", "args": "{}"},
                {"v": 1, "envelopes": [{}], "index": True, "args": "{}"},
                {"v": 1, "envelopes": [{}], "index": 0, "args": {}},
                {"v": True, "envelopes": [{}], "index": 0, "args": "{}"},
                {"envelopes": [{}], "index": 0, "args": "{}"},
            ]
        ),
        *((Receipt.load, text, "form") for text in ["", "{", '{"v":1,"v":1}', "[" * 5000, b"\xff"]),
        (Receipt.load, '{"v":2,"something":"new"}', "version"),
        (Receipt.load, " " * (MOST_BYTES + 1), "size"),
        (Receipt.load, Receipt((ENVELOPE,) * (MOST_ENVELOPES + 1), 0, "{}").dump(), "size"),
        (Receipt.from_header, "A" * (MOST_BYTES + 4), "size"),
        *((Receipt.from_header, value, "form") for value in ("%%%", "é", base64.b64encode(b"[]").decode())),
        (Receipt.from_header, None, "missing"),
        *((Receipt.from_meta, meta, "form") for meta in [{META: object()}, META, [META], 1]),
        (lambda args: Receipt((ENVELOPE,), 0, args).header(), "x" * 8000, "size"),
    ],
)  # fmt: skip
def test_what_is_not_a_receipt_is_refused_with_a_code(read, value, code):
    """Before it is read where it is too large; the code tells a program what is wrong."""
    with pytest.raises(ReceiptError) as caught:
        read(value)

    assert caught.value.code == code


@given(args=st.text(st.characters(codec="utf-8")), index=st.integers(0, 10**6))
def test_it_travels_unchanged_as_json_in_a_header_and_in_meta(args, index):
    """With the very bytes of the arguments."""
    receipt = Receipt((ENVELOPE, ENVELOPE.replace("e30=", "W10=")), index, args)

    assert Receipt.load(receipt.dump()) == Receipt.load(receipt.dump().encode()) == receipt
    assert Receipt.from_header(receipt.header()) == receipt
    assert Receipt.from_meta(receipt.meta()) == receipt


def test_a_request_without_a_receipt_has_none():
    assert Receipt.from_meta(None) is None
    assert Receipt.from_meta({"progressToken": 1}) is None


def test_receipts_stay_with_their_calls_when_only_some_are_asked_again():
    """After a restart some calls may be left, in another order."""
    receipts = tuple(Receipt((ENVELOPE,), index, "{}") for index in range(3))
    whole = a_resume(*[ApproveDecision()] * 3, receipts=receipts)

    rest = in_order(whole, [2, 1])

    assert [rest.receipt(0), rest.receipt(1)] == [receipts[2], receipts[1]]
    assert in_order(whole.model_copy(update={"receipts": ()}), [2]).receipt(0) is None


def test_receipts_are_in_no_text_of_an_answer():
    """They are for tools, and the answer of the HTTP API stays as it is."""
    resume = a_resume(ApproveDecision(), receipts=(RECEIPT,))

    assert "receipts" not in resume.model_dump()
    assert ENVELOPE not in repr(resume)
