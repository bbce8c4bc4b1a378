"""A bot signs the heads of its log with a key that its ring has for it, or does not start."""

import pytest

from agent_adapter.receipts.key_files import make_signing, read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from bot.domain.errors import SettingsError
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import Settings
from playground.workspace import TEAM

NEEDED = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "approvers": "U0DANA"}


@pytest.fixture
def signing(tmp_path):
    return make_signing(tmp_path, team=TEAM["id"])


def listed(signing, signer, purpose="log", **fields):
    """Put a key into the ring."""
    key = RingKey.of(public_of(signer), purpose, **({"namespace": "assent"} | fields))
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return signer


def settings_of(signing, tmp_path, signer=None, **given):
    named = {"ring": str(signing.ring_path), "audit_dir": str(tmp_path / "trail")}
    if signer:
        named["log_key"] = signer.private_bytes.decode()
    return Settings(_env_file=None, **NEEDED, **named | given)


def refusal(settings):
    with pytest.raises(SettingsError) as refused:
        load_log_key(settings)
    return str(refused.value)


def test_without_a_key_no_head_is_signed(signing, tmp_path):
    assert load_log_key(settings_of(signing, tmp_path)) is None


def test_a_key_that_the_ring_has_for_the_log_signs_it_until_it_is_revoked(signing, tmp_path):
    signer = listed(signing, new_signer())
    key = load_log_key(settings_of(signing, tmp_path, signer))
    head = {"at": "2026-11-22T00:00:00.000Z", "key": key.kid, "log": "assent/1"}

    assert key.problem(head, key.sign(b"head"), b"head") == ""
    assert "not signed with a key of the log" in key.problem(head, key.sign(b"head"), b"other")
    assert "not signed with a key of the log" in key.problem(
        head | {"log": "x/1"}, key.sign(b"head"), b"head"
    )
    revoked = RingKey.of(public_of(signer), "log", namespace="assent", revoked=True)
    write_keys(signing.ring_path, [revoked])
    key.ring._next_look = 0
    with pytest.raises(ValueError, match="is revoked"):
        key.sign(b"head")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"namespace": "other"}, "is for the namespace 'other'"),
        ({"revoked": True}, "is revoked"),
        ({"purpose": "receipts", "team": TEAM["id"]}, "is for receipts"),
        ({"not_after": "2020-01-01T00:00:00Z"}, "signs only between"),
    ],
)
def test_a_key_that_does_not_count_is_an_error_at_the_start(signing, tmp_path, fields, said):
    signer = listed(signing, new_signer(), **fields)

    assert said in refusal(settings_of(signing, tmp_path, signer))


@pytest.mark.parametrize(("missing", "named"), [("ring", "ASSENT_RING"), ("audit_dir", "ASSENT_AUDIT_DIR")])
def test_a_key_needs_a_ring_and_a_folder(signing, tmp_path, missing, named):
    signer = listed(signing, new_signer())

    assert f"{named} is not" in refusal(settings_of(signing, tmp_path, signer, **{missing: None}))


def test_a_broken_key_is_not_shown(signing, tmp_path):
    sentence = refusal(settings_of(signing, tmp_path, log_key="c2VjcmV0"))

    assert sentence.startswith("ASSENT_LOG_KEY")
    assert "c2VjcmV0" not in sentence
