"""A ring says which keys count, for what, and when."""

import base64
import json
import traceback
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter import InvalidRequestError, ReceiptError
from agent_adapter.receipts import ring as ring_module
from agent_adapter.receipts.dsse import Envelope, Signature, load_envelope, pre_authentication
from agent_adapter.receipts.key_files import make_signing, read_keys, write_keys
from agent_adapter.receipts.ring import LONGEST_WAIT, Ring, RingKey, dump_keys
from agent_adapter.receipts.signer import LocalSigner, kid_of, sign_envelope
from agent_adapter.receipts.statement import LONGEST_USE, RECEIPT, ActionStatement, Statement, dump_statement

AT = int(datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
NOBODY = Ring()


def key_of(signer, **changed):
    return RingKey.of(signer.public, "receipts", **{"namespace": "assent", "team": "T1"} | changed)


def statement_of(kid, **changed):
    action = ActionStatement(
        i=0,
        pause="p",
        tool="send_email",
        asked="a",
        runs="a",
        stored="s",
        kind="approve",
        position="approve",
        by="U1",
        how="click",
        quorum=1,
    )
    fields = {
        "kid": kid,
        "ns": "assent",
        "team": "T1",
        "rec": "billing.1",
        "run": "r",
        "aud": "billing",
        "body": "b",
        "policy": "1",
        "at": AT,
        "deadline": AT + HOUR,
        "use_by": AT + 25 * HOUR,
        "actions": (action,),
    }
    return Statement(**fields | changed)


async def signed(signer, *, type=RECEIPT, payload=None, **changed):
    if payload is None:
        payload = dump_statement(statement_of(**{"kid": signer.kid} | changed))
    return (await sign_envelope(signer, type, payload)).dump()


def refusal(ring, text, namespace="assent"):
    with pytest.raises(ReceiptError) as refused:
        ring.open_statement(text, namespace=namespace)
    return refused.value.code


@pytest.fixture
def signer():
    return LocalSigner.generate()


async def test_what_a_listed_key_signed_opens(signer):
    text = await signed(signer)

    opened = Ring([key_of(signer)]).open_statement(text, namespace="assent")

    assert opened.statement == statement_of(signer.kid)
    assert opened.digest == load_envelope(text).digest
    assert opened.key == key_of(signer)


async def test_a_second_reading_of_the_same_envelope_checks_no_signature_again(signer, monkeypatch):
    ring, text = Ring([key_of(signer)]), await signed(signer)
    first = ring.open_statement(text, namespace="assent")
    monkeypatch.setattr(RingKey, "verifies", lambda *_: False)

    assert ring.open_statement(text, namespace="assent") is first
    assert refusal(ring, text, namespace="other") == "namespace"


async def test_what_another_key_signed_is_refused(signer):
    assert refusal(Ring([key_of(LocalSigner.generate())]), await signed(signer)) == "key"
    assert refusal(NOBODY, await signed(signer)) == "key"


async def test_the_name_of_a_key_proves_nothing(signer):
    """Another key signs, and the envelope names the trusted one."""
    other = LocalSigner.generate()
    envelope = load_envelope(await signed(other, kid=signer.kid))
    renamed = Envelope(
        envelope.type, envelope.payload, (Signature(signer.kid, envelope.signatures[0].bytes),)
    )

    assert refusal(Ring([key_of(signer)]), renamed.dump()) == "signature"


async def test_one_good_signature_among_foreign_ones_is_enough(signer):
    ours = load_envelope(await signed(signer))
    theirs = await LocalSigner.generate().sign(ours.signed)
    both = Envelope(ours.type, ours.payload, (Signature("0" * 16, theirs), *ours.signatures))

    assert Ring([key_of(signer)]).open_statement(both.dump(), namespace="assent").digest == ours.digest


async def test_a_revoked_key_signs_nothing_whatever_its_date(signer):
    ring = Ring([key_of(signer, revoked=True)])

    assert refusal(ring, await signed(signer)) == "revoked"
    assert refusal(ring, await signed(signer, at=AT - 1000 * HOUR)) == "revoked"


@pytest.mark.parametrize(("at", "code"), [(-1, "key_time"), (0, None), (HOUR, None), (HOUR + 1, "key_time")])
async def test_a_key_signs_only_what_is_dated_within_its_times(signer, at, code):
    first = datetime.fromtimestamp(AT / 1000, UTC)
    ring = Ring([key_of(signer, not_before=first, not_after=first + timedelta(hours=1))])
    text = await signed(signer, at=AT + at)

    if code:
        assert refusal(ring, text) == code
    else:
        assert ring.open_statement(text, namespace="assent")


async def test_a_statement_is_of_the_namespace_and_the_workspace_of_its_key(signer):
    ring = Ring([key_of(signer)])

    assert refusal(ring, await signed(signer), namespace="other") == "namespace"
    assert refusal(ring, await signed(signer, ns="other")) == "namespace"
    assert refusal(ring, await signed(signer, ns="other"), namespace="other") == "namespace"
    assert refusal(ring, await signed(signer, team="T2")) == "team"
    assert refusal(ring, await signed(signer, kid="0" * 16)) == "key"


async def test_a_key_signs_only_what_it_is_for(signer):
    log = RingKey.of(signer.public, "log", namespace="assent")
    agent = RingKey.of(signer.public, "agent", namespace="assent", agent="billing")

    assert refusal(Ring([log]), await signed(signer)) == "key"
    assert refusal(Ring([agent]), await signed(signer)) == "key"


async def test_a_statement_is_not_taken_from_another_type(signer):
    assert (
        refusal(Ring([key_of(signer)]), await signed(signer, type="application/vnd.assent.log+json"))
        == "type"
    )


async def test_the_type_cannot_be_changed_afterwards(signer):
    envelope = load_envelope(await signed(signer, type="text/plain"))

    assert (
        refusal(Ring([key_of(signer)]), Envelope(RECEIPT, envelope.payload, envelope.signatures).dump())
        == "signature"
    )


@pytest.mark.parametrize(
    "cut", [lambda raw: raw[:63], lambda raw: raw + b"\0", lambda _: b"", lambda _: bytes(64)]
)
async def test_a_signature_has_64_bytes(signer, cut):
    envelope = load_envelope(await signed(signer))
    changed = Signature(signer.kid, cut(envelope.signatures[0].bytes))

    assert (
        refusal(Ring([key_of(signer)]), Envelope(envelope.type, envelope.payload, (changed,)).dump())
        == "signature"
    )


async def test_a_signature_has_one_form(signer):
    """S and S plus the order of the group would both fit, if it were not checked."""
    envelope = load_envelope(await signed(signer))
    raw = envelope.signatures[0].bytes
    order = 2**252 + 27742317777372353535851937790883648493
    larger = (int.from_bytes(raw[32:], "little") + order).to_bytes(32, "little")
    changed = Signature(signer.kid, raw[:32] + larger)

    assert (
        refusal(Ring([key_of(signer)]), Envelope(envelope.type, envelope.payload, (changed,)).dump())
        == "signature"
    )


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b'{"v":2}', "version"),
        (b'{"v":1,"v":1}', "form"),
        (b"[]", "form"),
        (b"", "form"),
        (b'{"v":1,"extra":true}', "form"),
        (b"\xff", "form"),
    ],
)
async def test_signed_bytes_that_are_not_a_statement_are_refused(signer, payload, code):
    assert refusal(Ring([key_of(signer)]), await signed(signer, payload=payload)) == code


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"use_by": AT - 1}, "use_by"),
        ({"use_by": AT + HOUR + LONGEST_USE // timedelta(milliseconds=1) + 1}, "use_by"),
        ({"deadline": AT + LONGEST_WAIT // timedelta(milliseconds=1) + 1}, "deadline"),
        ({"deadline": 10**30, "use_by": 10**30}, "deadline"),
    ],
)
async def test_a_statement_that_may_be_used_too_long_is_refused(signer, changed, code):
    assert refusal(Ring([key_of(signer)]), await signed(signer, **changed)) == code


async def test_what_silence_decides_is_dated_after_its_deadline(signer):
    text = await signed(signer, deadline=AT - 1, use_by=AT + HOUR)

    assert Ring([key_of(signer)]).open_statement(text, namespace="assent")


# --- The file -----------------------------------------------------------------------------------------------------


def entry(signer, **changed):
    return {
        "kid": signer.kid,
        "public": base64.b64encode(signer.public).decode(),
        "purpose": "receipts",
        "namespace": "assent",
        "team": "T1",
    } | changed


def ring_of(*entries, **changed):
    return json.dumps({"version": 1, "keys": entries} | changed)


def test_a_ring_that_was_written_reads_the_same(signer):
    keys = [
        key_of(signer, not_after=datetime(2027, 1, 1, tzinfo=UTC), revoked=True),
        RingKey.of(LocalSigner.generate().public, "log", namespace="assent"),
    ]

    assert set(Ring.parse(dump_keys(keys)).keys.values()) == set(keys)
    assert dump_keys(keys) == dump_keys(reversed(keys))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"revokd": True}, "ring.keys[0]: there is no 'revokd' (did you mean 'revoked'?)"),
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
def test_a_wrong_entry_is_named_with_its_place(signer, changed, sentence):
    with pytest.raises(InvalidRequestError) as refused:
        Ring.parse(ring_of(entry(signer, **changed)))

    assert str(refused.value).startswith(sentence)


def test_a_private_key_in_the_ring_is_refused_and_not_shown(signer):
    pem = signer.private_pem()
    seed = pem.splitlines()[1]
    for public in (pem, seed, base64.b64encode(base64.b64decode(seed)[-32:]).decode()):
        with pytest.raises(InvalidRequestError) as refused:
            Ring.parse(ring_of(entry(signer, public=public)))
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
    public = bytes(raw)

    with pytest.raises(InvalidRequestError, match="small order"):
        RingKey.of(public, "receipts", namespace="assent", team="T1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version":2,"keys":[]}',
        '{"version":true,"keys":[]}',
        '{"version":1}',
        '{"version":1,"keys":{}}',
        '{"version":1,"keys":[],"key":[]}',
        '{"version":1,"keys":[],"keys":[]}',
    ],
)
def test_what_is_not_a_ring_is_refused(text):
    with pytest.raises(InvalidRequestError, match=r"^ring"):
        Ring.parse(text)


def test_a_key_is_listed_once(signer):
    with pytest.raises(InvalidRequestError, match="listed twice"):
        Ring.parse(ring_of(entry(signer), entry(signer, revoked=True)))


# --- A ring that changes ------------------------------------------------------------------------------------------


@pytest.fixture
def look_at_once(monkeypatch):
    monkeypatch.setattr(ring_module, "LOOK_EVERY", 0.0)


async def test_a_ring_follows_its_file(tmp_path, look_at_once):
    signing = make_signing(tmp_path, team="T1")
    ring, text = signing.ring, await signed(signing.signer)
    before = ring.keys
    assert ring.open_statement(text, namespace="assent")

    write_keys(
        signing.ring_path,
        [each.model_copy(update={"revoked": True}) for each in read_keys(signing.ring_path)],
    )

    assert refusal(ring, text) == "revoked"
    assert ring.keys is not before


@pytest.mark.parametrize("broken", ["{", None])
async def test_when_the_file_is_broken_later_the_last_ring_holds_and_the_log_says_it_once(
    tmp_path, look_at_once, caplog, broken
):
    signing = make_signing(tmp_path, team="T1")
    ring = signing.ring
    if broken is None:
        signing.ring_path.unlink()
    else:
        signing.ring_path.write_text(broken)

    for _ in range(3):
        assert ring.open_statement(await signed(signing.signer), namespace="assent")

    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert "so the keys from before count" in caplog.text


def test_a_ring_that_is_broken_at_the_start_ends_the_start(tmp_path):
    (tmp_path / "ring.json").write_text("{")
    for name in ("ring.json", "nothing.json"):
        with pytest.raises(InvalidRequestError, match=name):
            Ring.load(tmp_path / name)


async def test_a_rotated_key_opens_what_it_signed_in_its_time(tmp_path):
    old, new = (make_signing(tmp_path, team="T1", name=name).signer for name in ("old.pem", "new.pem"))
    ring = Ring(
        [
            key_of(old, not_after=datetime.fromtimestamp(AT / 1000, UTC)),
            key_of(new, not_before="2026-11-23T12:00:00Z"),
        ]
    )

    assert ring.open_statement(await signed(old), namespace="assent")
    assert ring.open_statement(await signed(new), namespace="assent")
    assert refusal(ring, await signed(old, at=AT + 1)) == "key_time"
    assert len(read_keys(tmp_path / "ring.json")) == 2


# --- What this process has signed itself --------------------------------------------------------------------------


async def kept(ring, signer, **given):
    """Sign a statement as a bot does, and keep that in the ring."""
    envelope = load_envelope(await signed(signer, **given))
    ring.keep(signer, envelope.signatures[0].bytes, envelope.signed)
    return envelope


async def test_what_this_process_has_just_signed_is_not_verified_again(signer, monkeypatch):
    ring = Ring([key_of(signer)])
    envelope = await kept(ring, signer)
    monkeypatch.setattr(RingKey, "verifies", lambda *_: False)

    assert ring.open_statement(envelope.dump(), namespace="assent").digest == envelope.digest


@given(st.data())
async def test_only_the_very_bytes_that_were_signed_are_known_again(data):
    """One changed bit, in what was signed or in the signature, and the signature is verified and refused."""
    signer = LocalSigner.generate()
    ring = Ring([key_of(signer)])
    envelope = await kept(ring, signer)
    signature, payload = envelope.signatures[0].bytes, envelope.payload
    bit = data.draw(st.integers(0, 8 * (len(signature) + len(payload)) - 1))
    changed = (int.from_bytes(signature + payload) ^ 1 << bit).to_bytes(len(signature + payload))
    cut = len(signature)
    forged = Envelope(RECEIPT, changed[cut:], (Signature(signer.kid, changed[:cut]),))

    assert refusal(ring, forged.dump()) == "signature"


async def test_bytes_that_move_between_a_signature_and_what_was_signed_are_not_known_again(signer):
    """The payload contains the beginning of another signed text. The signature takes all that stands before it."""
    ring, inner = Ring([key_of(signer)]), dump_statement(statement_of(signer.kid))
    hidden = pre_authentication(RECEIPT, inner)
    envelope = await kept(ring, signer, payload=b"{}" + hidden)
    before = envelope.signed[: -len(hidden)]
    forged = Envelope(RECEIPT, inner, (Signature(signer.kid, envelope.signatures[0].bytes + before),))

    assert forged.signatures[0].bytes + forged.signed == envelope.signatures[0].bytes + envelope.signed
    assert refusal(ring, forged.dump()) == "signature"


async def test_what_another_key_signed_under_the_name_of_a_listed_one_is_not_kept(signer):
    ring, other = Ring([key_of(signer)]), LocalSigner.generate()
    other.kid = signer.kid

    assert refusal(ring, (await kept(ring, other)).dump()) == "signature"


async def test_what_this_process_signed_meets_every_other_check(signer):
    ring = Ring([key_of(signer)])

    assert refusal(ring, (await kept(ring, signer, type="application/other")).dump()) == "type"
    assert refusal(ring, (await kept(ring, signer, team="T2")).dump()) == "team"
    assert refusal(ring, (await kept(ring, signer)).dump(), namespace="other") == "namespace"


async def test_what_this_process_signed_is_revoked_with_its_key(tmp_path, look_at_once):
    signing = make_signing(tmp_path, team="T1")
    ring = signing.ring
    envelope = await kept(ring, signing.signer)
    assert ring.open_statement(envelope.dump(), namespace="assent")

    write_keys(
        signing.ring_path,
        [each.model_copy(update={"revoked": True}) for each in read_keys(signing.ring_path)],
    )

    assert refusal(ring, envelope.dump()) == "revoked"


async def test_only_the_last_signatures_of_this_process_are_kept(signer, monkeypatch):
    monkeypatch.setattr(ring_module, "KEPT", 2)
    ring = Ring([key_of(signer)])
    first, *last = [await kept(ring, signer, at=AT + number) for number in range(3)]
    monkeypatch.setattr(RingKey, "verifies", lambda *_: False)

    assert refusal(ring, first.dump()) == "signature"
    assert all(ring.open_statement(each.dump(), namespace="assent") for each in last)


# --- Settings of a verifier ---------------------------------------------------------------------------------------


@pytest.fixture
def environment(monkeypatch, tmp_path):
    for name in ("ASSENT_RING", "ASSENT_REQUIRE_SIGNED", "ASSENT_UNSIGNED_UNTIL"):
        monkeypatch.delenv(name, raising=False)
    make_signing(tmp_path, team="T1")

    def set_all(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"ASSENT_{name.upper()}", str(value))

    set_all.ring = tmp_path / "ring.json"
    return set_all


def day(ahead):
    return (datetime.now(UTC) + timedelta(days=ahead)).date().isoformat()


def test_without_a_setting_there_is_no_ring(environment):
    assert Ring.from_environment() is None


def test_a_ring_accepts_only_signed_answers(environment):
    environment(ring=environment.ring)

    assert not Ring.from_environment().accepts_unsigned


def test_a_ring_that_is_required_and_missing_ends_the_start(environment):
    environment(require_signed="true")

    with pytest.raises(InvalidRequestError, match="ASSENT_REQUIRE_SIGNED is set, and ASSENT_RING is not"):
        Ring.from_environment()


def test_unsigned_answers_are_accepted_until_a_day_with_a_warning(environment, caplog):
    environment(ring=environment.ring, unsigned_until=day(29))

    assert Ring.from_environment().accepts_unsigned
    assert "ASSENT_UNSIGNED_UNTIL" in caplog.text


def test_a_day_that_has_begun_accepts_nothing_unsigned(environment):
    environment(ring=environment.ring, unsigned_until=day(0))

    assert not Ring.from_environment().accepts_unsigned


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"unsigned_until": day(32)}, "more than 30 days ahead: the last day that can be set today is "),
        ({"unsigned_until": "soon"}, "is not a date: write it as YYYY-MM-DD"),
        ({"require_signed": "perhaps"}, "neither true nor false"),
        ({"ring": "nowhere.json"}, "cannot read nowhere.json"),
    ],
)
def test_a_setting_that_cannot_be_read_ends_the_start(environment, changed, sentence):
    environment(**{"ring": environment.ring} | changed)

    with pytest.raises(InvalidRequestError, match=sentence):
        Ring.from_environment()


def test_a_key_is_named_by_its_bytes(signer):
    assert key_of(signer).kid == signer.kid == kid_of(signer.public)


@pytest.mark.parametrize(
    ("purpose", "changed", "is_said"),
    [("log", {}, True), ("receipts", {"revoked": True}, True), ("receipts", {}, False)],
    ids=["for the log alone", "revoked", "for receipts"],
)
def test_a_ring_with_no_key_whose_receipts_count_warns(tmp_path, caplog, signer, purpose, changed, is_said):
    """An agent or a tool would refuse everything, and not say that the ring is the reason."""
    team = {"team": "T0"} if purpose == "receipts" else {}
    key = RingKey.of(signer.public, purpose, namespace="assent", **team, **changed)
    (tmp_path / "ring.json").write_text(dump_keys([key]))

    Ring.load(tmp_path / "ring.json")

    assert ("does not have the bot's public key" in caplog.text) is is_said


def test_a_ring_without_keys_warns_and_a_missing_file_names_what_asked_for_it(tmp_path, caplog):
    path = tmp_path / "ring.json"
    path.write_text('{"version":1,"keys":[]}')
    Ring.load(path)
    assert "does not have the bot's public key" in caplog.text

    with pytest.raises(InvalidRequestError, match=r"^keys: cannot read missing\.json"):
        Ring.load("missing.json", where="keys")
