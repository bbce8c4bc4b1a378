"""A tool runs only what people approved: each attack on a receipt ends before the tool's body."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter import InvalidRequestError, ReceiptError, WrongArgumentError
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.receipt import Receipt
from agent_adapter.receipts.check import TOLERANCE, verify_receipt
from agent_adapter.receipts.dsse import load_envelope
from agent_adapter.receipts.ring import Ring
from agent_adapter.receipts.statement import dump_statement, run_of
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


def test_an_edit_is_proven_with_the_arguments_that_the_person_wrote():
    receipt = BOT.receipt({"to": "bo"}, kind="edit", position="edit:1", asked="0" * 64)

    assert check(receipt, args={"to": "bo"}).kind == "edit"
    assert refused(receipt, args={"to": "al"}) == "arguments"


def test_arguments_are_checked_as_bytes_as_text_or_as_values():
    receipt = BOT.receipt({"to": "ål", "n": 1})

    for args in ('{"to":"ål","n":1}', '{"to":"ål","n":1}'.encode(), {"n": 1, "to": "ål"}):
        assert check(receipt, args=args).arguments == {"to": "ål", "n": 1}


@pytest.mark.parametrize(
    "args",
    [
        '{"n":1,"to":"al"}', '{"to": "al","n":1}', '{"to":"al","n":1.0}', '{"to":"al","n":1,"n":1}', "", b"\xff",
        b'\xef\xbb\xbf{"to":"al","n":1}',
        {"to": "al", "n": 1.0}, {"to": "al", "n": True}, {"to": "al", "n": "1"}, {"to": "al"}, {},
        {"to": "al", "n": 1, "cc": None}, {"to": "AL", "n": 1}, {"to": ["al"], "n": 1},
    ],
)  # fmt: skip
def test_other_arguments_do_not_run(args):
    """As bytes, another order of keys is another text. As values, `1`, `1.0`, `true` and `"1"` are four values."""
    assert refused(BOT.receipt({"to": "al", "n": 1}), args=args) == "arguments"


@pytest.mark.parametrize("text", ['{"to":"al","to":"bo"}', "[]", "null", "{", '{"n":NaN}'])
def test_signed_arguments_that_are_not_a_strict_object_do_not_run_as_values(text):
    assert refused(BOT.receipt(text)) == "arguments"


def test_arguments_in_the_receipt_cannot_be_exchanged():
    receipt = BOT.receipt({"to": "al"})

    assert refused(Receipt(receipt.envelopes, 0, '{"to":"bo"}'), args={"to": "bo"}) == "arguments"
    assert refused(Receipt(receipt.envelopes, 0, '{"to":"bo"}'), args='{"to":"bo"}') == "arguments"


def test_a_call_without_a_receipt_does_not_run():
    assert refused(None) == "missing"
    assert refused(Receipt((), 0, "{}")) == "form"


def test_an_approval_is_for_one_tool_of_one_agent_in_one_namespace():
    receipt = BOT.receipt()

    assert refused(receipt, tool="delete") == "tool"
    assert refused(receipt, audience="support") == "audience"
    assert refused(receipt, namespace="staging") == "namespace"


def test_a_tool_that_knows_its_run_refuses_the_receipt_of_another_run():
    assert check(BOT.receipt(), run="thread-1").record == RECORD
    assert refused(BOT.receipt(), run="thread-2") == "run"


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


def test_an_approval_ends_at_its_use_by_and_clocks_may_differ_a_little():
    until = BOT.now + timedelta(hours=25)

    assert check(BOT.receipt(), now=until + TOLERANCE - timedelta(seconds=1))
    assert refused(BOT.receipt(), now=until + TOLERANCE) == "expired"


@pytest.mark.parametrize("kind", ["reject", "respond"])
def test_what_was_rejected_or_answered_does_not_run(kind):
    """Also when somebody claims that it has bytes that may run."""
    rejected = BOT.action(kind=kind, position=kind, runs=None)

    assert refused(Receipt((BOT.sign(BOT.statement(rejected)),), 0, '{"to":"al"}')) == "kind"
    assert refused(BOT.receipt(kind=kind)) == "kind"


def test_an_index_leads_to_its_own_action_only():
    """In one click, the first call was approved and the second rejected."""
    both = BOT.statement(BOT.action(), BOT.action(i=1, kind="reject", position="reject", runs=None))
    text = BOT.sign(both)

    assert check(Receipt((text,), 0, '{"to":"al"}')).index == 0
    assert refused(Receipt((text,), 1, '{"to":"al"}')) == "kind"
    assert refused(Receipt((text,), 2, '{"to":"al"}')) == "action"
    assert refused(Receipt((text,), -1, '{"to":"al"}')) == "action"


def test_two_people_agree_when_the_last_statement_counts_the_first():
    proven = check(BOT.agreed(["U0BO", "U0DANA"], quorum=2))

    assert proven.people == ("U0BO", "U0DANA")


def test_a_list_of_people_that_was_cut_proves_nothing():
    whole = BOT.agreed(["U0BO", "U0DANA"], quorum=2)

    for left in (whole.envelopes[:1], whole.envelopes[1:]):
        assert refused(Receipt(left, 0, whole.args)) == "people"
    assert refused(Receipt(whole.envelopes[::-1], 0, whole.args)) == "people"


def test_one_person_is_not_two():
    assert refused(BOT.agreed(["U0DANA", "U0DANA"], quorum=2)) == "people"
    once = BOT.agreed(["U0DANA"], quorum=2)
    assert refused(Receipt(once.envelopes * 2, 0, once.args)) == "people"


def test_the_largest_number_of_people_that_a_statement_names_has_to_agree():
    first = BOT.sign(BOT.statement(BOT.action(by="U0BO", quorum=3)))
    last = BOT.sign(BOT.statement(BOT.action(quorum=2, counts=(load_envelope(first).digest,))))

    assert refused(Receipt((first, last), 0, '{"to":"al"}')) == "people"


def test_a_vote_that_the_bot_did_not_count_is_no_help():
    """Somebody voted, and took the vote back before the decision."""
    taken_back = BOT.sign(BOT.statement(BOT.action(by="U0BO", quorum=2)))
    last = BOT.sign(BOT.statement(BOT.action(quorum=2)))

    assert refused(Receipt((taken_back, last), 0, '{"to":"al"}')) == "people"


@pytest.mark.parametrize("changed", [{"position": "edit:2"}, {"tool": "delete"}, {"runs": "1" * 64}])
def test_people_who_agreed_to_something_else_do_not_count(changed):
    first = BOT.sign(BOT.statement(BOT.action(by="U0BO", quorum=2, **changed)))
    last = BOT.sign(BOT.statement(BOT.action(quorum=2, counts=(load_envelope(first).digest,))))

    assert refused(Receipt((first, last), 0, '{"to":"al"}')) == "people"


def test_statements_of_two_records_do_not_mix():
    first = BOT.sign(BOT.statement(BOT.action(by="U0BO", quorum=2), rec="billing.other"))
    last = BOT.sign(BOT.statement(BOT.action(quorum=2, counts=(load_envelope(first).digest,))))

    assert refused(Receipt((first, last), 0, '{"to":"al"}')) == "record"


def test_each_of_several_statements_must_be_good():
    """A genuine decision does not carry a first vote that ran out, or that another agent was given."""
    for changed, code in [
        ({"use_by": milliseconds(BOT.now)}, "expired"),
        ({"aud": "support"}, "audience"),
        ({"run": run_of("other")}, "run"),
    ]:
        first = BOT.sign(BOT.statement(BOT.action(by="U0BO", quorum=2), **changed))
        last = BOT.sign(BOT.statement(BOT.action(quorum=2, counts=(load_envelope(first).digest,))))
        receipt = Receipt((first, last), 0, '{"to":"al"}')
        assert refused(receipt, now=BOT.now + timedelta(minutes=1), run="thread-1") == code


def test_a_tool_may_ask_for_more_people_than_the_policy():
    assert check(BOT.receipt(), min_people=1).people == ("U0DANA",)
    assert refused(BOT.receipt(), min_people=2) == "people"
    assert check(BOT.agreed(["U0BO", "U0DANA"], quorum=1), min_people=2)


def test_a_tool_that_asks_for_a_person_does_not_take_silence():
    silent = BOT.receipt(by="expired", how="silence:nightly")

    assert check(silent).how == "silence:nightly"
    assert refused(silent, min_people=1) == "people"


def test_keys_of_others_prove_nothing():
    other = Signing()

    assert refused(other.receipt()) == "key"
    assert refused(BOT.receipt(), other.ring()) == "key"
    assert refused(BOT.receipt(), Ring()) == "key"
    assert refused(BOT.receipt(), BOT.ring(revoked=True)) == "revoked"


def test_a_changed_statement_is_not_what_was_signed():
    envelope = load_envelope(BOT.receipt().envelopes[0])
    forged = dump_statement(BOT.statement(BOT.action({"to": "bo"})))
    text = type(envelope)(envelope.type, forged, envelope.signatures).dump()

    assert refused(Receipt((text,), 0, '{"to":"bo"}'), args={"to": "bo"}) == "signature"


def test_something_else_that_the_bot_signed_is_not_a_receipt():
    statement = dump_statement(BOT.statement())

    for other in ("application/vnd.assent.request.v1+json", "application/json"):
        assert refused(Receipt((BOT.sign(statement, type=other),), 0, '{"to":"al"}')) == "type"


def test_a_later_version_says_what_to_update():
    newer = encode(decode(dump_statement(BOT.statement())) | {"v": 2}).encode()

    assert refused(Receipt((BOT.sign(newer),), 0, '{"to":"al"}')) == "version"


def test_a_key_that_is_revoked_later_stops_what_was_checked_before(tmp_path):
    """What is kept of earlier checks ends with the keys it was checked with."""
    file = tmp_path / "ring.json"
    file.write_text(ring_text(listed(BOT)))
    ring, receipt = Ring.load(file), BOT.receipt()
    check(receipt, ring)

    file.write_text(ring_text(listed(BOT, revoked=True)))
    ring._file._next_look = 0

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
