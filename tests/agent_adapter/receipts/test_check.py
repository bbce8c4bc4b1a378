"""A tool runs only what people approved. The attacks on a receipt are `verifiers/vectors.json`, for all that check one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter import InvalidRequestError, ReceiptError, WrongArgumentError
from agent_adapter.contract.receipt import Receipt
from agent_adapter.receipts.check import verify_receipt
from agent_adapter.receipts.ring import Ring
from tests.support.receipts import RECORD, Signing, listed, milliseconds, ring_text

BOT = Signing()
RING = BOT.ring()


def check(receipt, ring=RING, **changed):
    given = {"audience": "billing", "tool": "pay", "args": {"to": "al"}} | changed
    return verify_receipt(receipt, keys=ring, **given)


def refused(receipt, ring=RING, **changed):
    with pytest.raises(ReceiptError) as caught:
        check(receipt, ring, **changed)
    return caught.value.code


@pytest.mark.parametrize("form", [str, Path])
def test_a_ring_is_named_by_its_file(tmp_path, form):
    """A receipt that the file does not account for is refused, and a broken file is an error that names it."""
    path = tmp_path / "ring.json"
    path.write_text(ring_text(listed(BOT)))
    assert check(BOT.receipt(), form(path)).key == BOT.kid

    path.write_text(ring_text(listed(Signing())))
    assert refused(BOT.receipt(), form(path)) == "key"

    path.write_text("{}")
    with pytest.raises(InvalidRequestError, match=r"ring\.json"):
        check(BOT.receipt(), form(path))
    with pytest.raises(InvalidRequestError, match=r"^keys: cannot read"):
        check(BOT.receipt(), form(tmp_path / "missing.json"))


class Once:
    """A store of used keys in memory."""

    def __init__(self):
        self.taken = {}

    def __call__(self, key, until):
        is_free = key not in self.taken
        self.taken.setdefault(key, until)
        return is_free


def test_an_approved_call_is_proven_with_who_and_when_and_what():
    proven = check(BOT.receipt(index=3))

    assert (proven.id, proven.tool, proven.kind, proven.people) == (
        f"{RECORD}:3",
        "pay",
        "approve",
        ("U0DANA",),
    )
    assert (proven.arguments, proven.args, proven.key, proven.how) == (
        {"to": "al"},
        '{"to":"al"}',
        BOT.kid,
        "click",
    )
    assert milliseconds(proven.at) == milliseconds(BOT.now)
    assert proven.use_by - proven.at == timedelta(hours=25)


def test_arguments_are_checked_as_bytes_as_text_or_as_values():
    receipt = BOT.receipt({"to": "ål", "n": 1})

    for args in ('{"to":"ål","n":1}', '{"to":"ål","n":1}'.encode(), {"n": 1, "to": "ål"}):
        assert check(receipt, args=args).arguments == {"to": "ål", "n": 1}


@pytest.mark.parametrize("text", ['{"to":"al","to":"bo"}', "[]", "null", "{", '{"n":NaN}'])
def test_signed_arguments_that_are_not_a_strict_object_do_not_run_as_values(text):
    assert refused(BOT.receipt(text)) == "arguments"


def test_a_call_without_a_receipt_does_not_run():
    assert refused(None) == "missing"
    assert refused(Receipt((), 0, "{}")) == "form"


def test_an_approved_call_runs_once():
    used, receipt = Once(), BOT.receipt()

    proven = check(receipt, used=used)

    assert used.taken == {proven.id: proven.use_by}
    assert refused(receipt, used=used) == "used"
    assert refused(Receipt.load(receipt.dump()), used=used) == "used"


def test_nothing_is_used_up_by_a_call_that_does_not_run():
    used = Once()

    refused(BOT.receipt(), used=used, args={"to": "bo"})

    assert used.taken == {}
    assert check(BOT.receipt(), used=used)


@pytest.mark.parametrize("answer", [None, 0, 1, "yes"])
def test_a_store_that_does_not_say_true_lets_nothing_run(answer):
    assert refused(BOT.receipt(), used=lambda _key, _until: answer) == "used"


async def test_an_asynchronous_store_is_refused_where_nobody_awaits_it():
    async def used(key, until):
        return True

    with pytest.raises(WrongArgumentError, match="asynchronous"):
        check(BOT.receipt(), used=used)


def test_two_people_agree_when_the_last_statement_counts_the_first():
    proven = check(BOT.agreed(["U0BO", "U0DANA"], quorum=2))

    assert proven.people == ("U0BO", "U0DANA")


def test_a_key_that_is_revoked_later_stops_what_was_checked_before(tmp_path):
    """What is kept of earlier checks ends with the keys it was checked with."""
    file = tmp_path / "ring.json"
    file.write_text(ring_text(listed(BOT)))
    ring, receipt = Ring.load(file), BOT.receipt()
    check(receipt, ring)

    file.write_text(ring_text(listed(BOT, revoked=True)))
    ring._next_look = 0

    assert refused(receipt, ring) == "revoked"


def test_errors_do_not_show_values():
    """A value may be masked on the card."""
    with pytest.raises(ReceiptError) as caught:
        check(BOT.receipt({"secret": "hunter2"}), args={"secret": "hunter3"})

    assert "hunter" not in str(caught.value)
    assert "secret" in str(caught.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(
        st.characters(codec="utf-8")
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
ARGUMENTS = st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=4)


@given(ARGUMENTS, ARGUMENTS)
def test_values_run_exactly_when_they_would_be_written_the_same(approved, given):
    """Whatever the order of keys: what differs in JSON text differs, and nothing else does."""
    is_same = json.dumps(approved, sort_keys=True) == json.dumps(given, sort_keys=True)
    receipt = BOT.receipt(approved)

    assert check(receipt, args=json.loads(json.dumps(approved)))
    if is_same:
        assert check(receipt, args=given)
    else:
        assert refused(receipt, args=given) == "arguments"


def test_now_is_the_clock_of_the_machine():
    old = Signing(now=datetime.now(UTC) - timedelta(days=3))

    assert refused(old.receipt(), old.ring()) == "expired"
