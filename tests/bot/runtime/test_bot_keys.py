"""A bot signs with a key that its ring has, or does not start."""

import traceback
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from agent_adapter import InvalidRequestError
from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import new_signer, public_of, read_signer, signer_from_environment
from bot.domain.errors import KeyUnfitError, SettingsError
from bot.jobs.slack_link import SlackLink
from bot.runtime.bot_keys import load_bot_keys
from bot.runtime.health import Health
from bot.runtime.settings import Settings
from playground.workspace import TEAM
from tests.conftest import keys_of

NEEDED = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "approvers": "U0DANA"}


def settings_of(**given):
    return Settings(_env_file=None, **NEEDED, **given)


def signed_by(signing, **given):
    return settings_of(**keys_of(signing) | given)


def refusal(settings):
    with pytest.raises(SettingsError) as refused:
        load_bot_keys(settings)
    return str(refused.value)


def test_without_a_key_and_a_ring_nothing_is_signed():
    assert load_bot_keys(settings_of()) is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ring": None}, "ASSENT_RING is not set: a bot that signs needs"),
        ({"seal_key": None}, "ASSENT_SEAL_KEY is not set"),
        ({"seal_key": "c2hvcnQ="}, "ASSENT_SEAL_KEY: entry 1 is not 32 bytes in base64"),
        ({"signing_key": None}, "ASSENT_SIGNING_KEY is not set"),
        ({"signing_key": None, "seal_key": None, "ring": None, "require_signed": True}, "is not set"),
        ({"signing_key": new_signer().private_bytes.decode()}, "is not in the ring"),
        ({"namespace": "other"}, "is for the namespace 'assent', and this bot has 'other'"),
        ({"ring": "nowhere.json"}, "cannot read nowhere.json"),
    ],
)
def test_what_does_not_fit_ends_the_start(signing, given, sentence):
    assert sentence in refusal(signed_by(signing, **given))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"revoked": True}, "is revoked"),
        ({"not_after": "2026-01-01T00:00:00Z"}, "signs only between its not_before and not_after"),
    ],
)
def test_a_key_that_nobody_accepts_any_more_ends_the_start(signing, changed, sentence):
    fields = read_keys(signing.ring_path)[0].model_dump(exclude_defaults=True) | changed
    write_keys(signing.ring_path, [RingKey.model_validate(fields)])

    assert sentence in refusal(signed_by(signing))


@pytest.mark.parametrize(
    "changed", [{"revoked": True}, {"not_after": datetime(2026, 1, 1, tzinfo=UTC)}, None]
)
def test_a_key_that_ends_while_the_bot_runs_signs_no_more(signing, changed):
    """What nobody would accept must not be recorded as a decision, and not written into the log."""
    keys = load_bot_keys(signed_by(signing))
    assert keys.sign_head(b"a head")
    own = [keys.key.model_copy(update=changed | {"not_before": None})] if changed else []
    write_keys(signing.ring_path, own)
    keys.ring._next_look = 0

    with pytest.raises(KeyUnfitError, match=signing.kid):
        keys.sign_head(b"a head")
    link = SlackLink(None, Health(), None, None, None, keys)
    link._look_at_keys(keys, TEAM["id"])
    assert signing.kid in link.health.warnings["signing"]
    assert not link.health.signed


def test_a_key_of_an_agent_signs_no_receipts(signing):
    key = RingKey.of(public_of(signing.signer), "agent", namespace="assent", agent="billing")
    write_keys(signing.ring_path, [key])

    assert "is for agent" in refusal(signed_by(signing))


def test_a_key_is_for_one_workspace(signing):
    keys = load_bot_keys(signed_by(signing))

    assert keys.wrong_team(TEAM["id"]) is None
    assert f"to the workspace {TEAM['id']}, and the bot is in T0OTHER" in keys.wrong_team("T0OTHER")


def test_settings_do_not_show_the_key(signing):
    settings = signed_by(signing)

    assert settings.signing_key.splitlines()[1] not in repr(settings)
    assert settings.seal_key.strip() not in repr(settings)
    assert "key" not in repr(load_bot_keys(settings).seal)


# --- Reading a private key ----------------------------------------------------------------------------------------


def test_a_private_key_is_read_from_the_environment_or_a_file(signing, monkeypatch):
    monkeypatch.delenv("ASSENT_SIGNING_KEY", raising=False)
    assert signer_from_environment("ASSENT_SIGNING_KEY") is None

    monkeypatch.setenv("ASSENT_SIGNING_KEY", signing.signer.private_bytes.decode())
    assert signer_from_environment("ASSENT_SIGNING_KEY").public_key.keyid == signing.kid


def wrong_key(kind):
    own = new_signer()
    match kind:
        case "a line of PEM":
            return own.private_bytes.decode().splitlines()[1]
        case "cut PEM":
            return own.private_bytes.decode().replace("-----END", "----END")
        case "with a password":
            locked = BestAvailableEncryption(b"x")
            return own._private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked).decode()
        case "of another curve":
            curve = ec.generate_private_key(ec.SECP256R1())
            return curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("a line of PEM", "not a private key in PEM"),
        ("cut PEM", "not a private key in PEM"),
        ("with a password", "has a password"),
        ("of another curve", "not one of Ed25519"),
    ],
)
def test_an_error_about_a_private_key_never_shows_it(kind, sentence):
    text = wrong_key(kind)
    with pytest.raises(InvalidRequestError, match=sentence) as refused:
        read_signer(text)

    said = "".join(traceback.format_exception(refused.value))
    assert not any(line in said for line in text.splitlines() if not line.startswith("-"))
