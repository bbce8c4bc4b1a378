"""A ring says which keys count, for what, and when. Forged envelopes are in `verifiers/vectors.json`, for all that check one."""

import base64
import json
import traceback
from datetime import UTC, datetime

import pytest

from agent_adapter import InvalidRequestError, ReceiptError
from agent_adapter.receipts import ring as ring_module
from agent_adapter.receipts.dsse import digest_of, load_envelope
from agent_adapter.receipts.key_files import read_keys
from agent_adapter.receipts.ring import Ring, RingKey, dump_keys
from agent_adapter.receipts.signer import kid_of, new_signer, public_of
from playground.demo.keys import make_signing
from tests.support.receipts import Signing, listed, milliseconds, ring_text

BOT = Signing()


def key_of(signer, **changed):
    return RingKey.of(public_of(signer), "receipts", **{"namespace": "assent", "team": "T1"} | changed)


def refusal(ring, text, namespace="assent"):
    with pytest.raises(ReceiptError) as refused:
        ring.open_statement(text, namespace=namespace)
    return refused.value.code


def test_what_a_listed_key_signed_opens_and_is_verified_once(monkeypatch):
    ring, text = BOT.ring(), BOT.sign(BOT.statement())

    opened = ring.open_statement(text, namespace="assent")

    assert opened.statement == BOT.statement()
    assert opened.digest == digest_of(load_envelope(text))
    assert opened.key.kid == BOT.kid == kid_of(BOT.public)
    monkeypatch.setattr(type(opened.key.public_key), "verify_signature", lambda *_: pytest.fail("again"))
    assert ring.open_statement(text, namespace="assent") is opened
    assert refusal(ring, text, namespace="other") == "namespace"


def test_its_digest_depends_on_what_is_signed_and_not_on_who_signs():
    one, other = [digest_of(load_envelope(each.sign(b"{}"))) for each in (BOT, Signing())]

    assert one == other != digest_of(load_envelope(BOT.sign(b"{}", type="text/plain")))


def test_what_silence_decides_is_dated_after_its_deadline():
    text = BOT.sign(BOT.statement(deadline=milliseconds(BOT.now) - 1))

    assert BOT.ring().open_statement(text, namespace="assent")


@pytest.mark.parametrize(
    ("text", "code"), [(" " * 300_000, "size"), ("[" * 5_000, "form"), ("", "form"), ("[]", "form")]
)
def test_what_is_no_envelope_is_not_read(text, code):
    assert refusal(BOT.ring(), text) == code


# --- The file -----------------------------------------------------------------------------------------------------


def test_a_ring_that_was_written_reads_the_same():
    keys = [
        key_of(new_signer(), not_after=datetime(2027, 1, 1, tzinfo=UTC), revoked=True),
        RingKey.of(public_of(new_signer()), "agent", namespace="assent", agent="billing"),
        RingKey.of(public_of(new_signer()), "log", namespace="assent"),
    ]

    assert set(Ring.parse(dump_keys(keys)).keys.values()) == set(keys)
    assert dump_keys(keys) == dump_keys(reversed(keys))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"revokd": True}, "ring.keys[0].revokd: Extra inputs are not permitted"),
        ({"revoked": "no"}, "ring.keys[0].revoked: Input should be a valid boolean"),
        ({"kid": "0" * 16}, "ring.keys[0]: this public key is called"),
        ({"team": None}, "ring.keys[0]: a key of purpose 'receipts' needs its 'team'"),
        ({"agent": "billing"}, "ring.keys[0]: a key of purpose 'receipts' has no 'agent'"),
        ({"purpose": "log"}, "ring.keys[0]: a key of purpose 'log' has no 'team'"),
        ({"purpose": "all"}, "ring.keys[0].purpose: Input should be 'receipts', 'log' or 'agent'"),
        ({"not_after": 1_795_000_000}, "ring.keys[0].not_after: write a time with its zone"),
        ({"not_after": "2026-12-31"}, "ring.keys[0].not_after: Input should have timezone info"),
        (
            {"not_before": "2026-12-31T00:00:00Z", "not_after": "2026-12-30T00:00:00Z"},
            "ring.keys[0]: not_before is later than not_after",
        ),
        ({"public": "AAAA"}, "ring.keys[0]: `public` is not a public key of Ed25519"),
    ],
)
def test_a_wrong_entry_is_named_with_its_place(changed, sentence):
    with pytest.raises(InvalidRequestError) as refused:
        Ring.parse(ring_text(listed(BOT, **changed)))

    assert str(refused.value).startswith(sentence)


def test_a_private_key_in_the_ring_is_refused_and_not_shown():
    pem = new_signer().private_bytes.decode()
    seed = pem.splitlines()[1]
    for public in (pem, seed, base64.b64encode(base64.b64decode(seed)[-32:]).decode()):
        with pytest.raises(InvalidRequestError) as refused:
            Ring.parse(ring_text(listed(BOT, public=public)))
        assert public not in "".join(traceback.format_exception(refused.value))


SMALL = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


@pytest.mark.parametrize("sign", [0, 0x80])
@pytest.mark.parametrize("small", SMALL)
def test_a_key_under_which_anybody_can_sign_is_refused(small, sign):
    raw = bytearray.fromhex(small)
    raw[31] |= sign

    with pytest.raises(InvalidRequestError, match="small order"):
        RingKey.of(bytes(raw), "receipts", namespace="assent", team="T1")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version":2,"keys":[]}', '{"version":true,"keys":[]}', '{"version":1}',
     '{"version":1,"keys":{}}', '{"version":1,"keys":[],"key":[]}', '{"version":1,"keys":[],"keys":[]}'],
)  # fmt: skip
def test_what_is_not_a_ring_is_refused(text):
    with pytest.raises(InvalidRequestError, match=r"^ring"):
        Ring.parse(text)


# --- A ring that changes ------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    """The file of a ring with the key of the bot."""
    (tmp_path / "ring.json").write_text(ring_text(listed(BOT)))
    return tmp_path / "ring.json"


def test_a_changed_file_counts_at_the_next_look_and_not_before(path, monkeypatch):
    """What was verified before is verified again."""
    now = [100.0]
    monkeypatch.setattr(ring_module.time, "monotonic", lambda: now[0])
    ring, text = Ring.load(path), BOT.sign(BOT.statement())
    assert ring.open_statement(text, namespace="assent")

    path.write_text(ring_text(listed(BOT, revoked=True)))
    now[0] += ring_module.LOOK_EVERY / 2
    assert ring.open_statement(text, namespace="assent")
    now[0] += ring_module.LOOK_EVERY
    assert refusal(ring, text) == "revoked"

    path.write_text(ring_text(listed(BOT)))
    now[0] += 2 * ring_module.LOOK_EVERY
    assert ring.open_statement(text, namespace="assent")


@pytest.mark.parametrize("broken", ["{", None])
def test_when_the_file_is_broken_later_the_last_ring_holds_and_the_log_says_it_once(
    path, monkeypatch, caplog, broken
):
    monkeypatch.setattr(ring_module, "LOOK_EVERY", 0.0)
    ring = Ring.load(path)
    if broken is None:
        path.unlink()
    else:
        path.write_text(broken)

    for _ in range(3):
        assert ring.open_statement(BOT.sign(BOT.statement()), namespace="assent")

    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert "so the keys from before count" in caplog.text


# --- Settings of a verifier ---------------------------------------------------------------------------------------


@pytest.fixture
def environment(monkeypatch, path):
    for name in ("ASSENT_RING", "ASSENT_REQUIRE_SIGNED"):
        monkeypatch.delenv(name, raising=False)

    def set_all(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"ASSENT_{name.upper()}", str(value))

    return set_all


def test_a_ring_is_the_file_that_the_environment_names(environment, path):
    assert Ring.from_environment() is None

    environment(ring=path)
    assert Ring.from_environment().keys.keys() == {BOT.kid}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"require_signed": "true"}, "ASSENT_REQUIRE_SIGNED is set, and ASSENT_RING is not"),
        ({"require_signed": "perhaps"}, "neither true nor false"),
        ({"ring": "nowhere.json"}, "cannot read nowhere.json"),
    ],
)
def test_a_setting_that_does_not_fit_ends_the_start(environment, given, sentence):
    environment(**given)

    with pytest.raises(InvalidRequestError, match=sentence):
        Ring.from_environment()


@pytest.mark.parametrize(
    ("keys", "is_said"),
    [
        ([listed(BOT, purpose="agent", team=None, agent="billing")], True),
        ([listed(BOT, revoked=True)], True),
        ([], True),
        ([listed(BOT)], False),
    ],
    ids=["for an agent alone", "revoked", "no key", "for receipts"],
)
def test_a_ring_with_no_key_whose_receipts_count_warns(path, caplog, keys, is_said):
    """An agent or a tool would refuse everything, and not say that the ring is the reason."""
    path.write_text(json.dumps({"version": 1, "keys": keys}))

    Ring.load(path)

    assert ("does not have the bot's public key" in caplog.text) is is_said


def test_a_second_key_is_made_beside_the_first(tmp_path):
    kids = {make_signing(tmp_path, team="T1", name=name).kid for name in ("old.pem", "new.pem")}

    assert {each.kid for each in read_keys(tmp_path / "ring.json")} == kids
