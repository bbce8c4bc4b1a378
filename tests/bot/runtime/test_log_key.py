"""A bot seals the audit trail with a key that its ring has for it, or does not start."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from agent_adapter.receipts.key_files import make_signing, read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import LocalSigner
from bot.domain.errors import SettingsError
from bot.runtime.log_key import load_log_key
from bot.runtime.settings import Settings
from bot.tlog.examine import examine
from playground.workspace import TEAM
from tests.support.logs import TestLogKey, make_log

NEEDED = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "approvers": "U0DANA"}


@pytest.fixture
def signing(tmp_path):
    return make_signing(tmp_path, team=TEAM["id"])


def listed(signing, signer, purpose="log", **fields):
    """Put a key into the ring."""
    key = RingKey.of(signer.public, purpose, **({"namespace": "assent"} | fields))
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return signer


def settings_of(signing, tmp_path, signer=None, **given):
    named = {"ring": str(signing.ring_path), "audit_dir": str(tmp_path / "trail")}
    if signer:
        named["log_key"] = signer.private_pem()
    return Settings(_env_file=None, **NEEDED, **named | given)


def refusal(settings):
    with pytest.raises(SettingsError) as refused:
        load_log_key(settings)
    return str(refused.value)


def test_without_a_key_nothing_is_sealed(signing, tmp_path):
    assert load_log_key(settings_of(signing, tmp_path)) is None


def test_anchors_without_a_log_are_an_error_at_the_start(signing, tmp_path):
    assert "ASSENT_ANCHOR is set" in refusal(settings_of(signing, tmp_path, anchor="slack:C0AUDIT"))


async def test_a_key_that_the_ring_has_for_the_log_signs_it(signing, tmp_path):
    signer = listed(signing, LocalSigner.generate())

    key = load_log_key(settings_of(signing, tmp_path, signer))

    await key.try_out()
    key.trusted[key.public](await asyncio.to_thread(key.sign, b"text"), b"text")


@pytest.mark.parametrize(
    "fields",
    [
        {"purpose": "receipts", "team": TEAM["id"]},
        {"purpose": "agent", "agent": "billing"},
        {"namespace": "other"},
        {"revoked": True},
        {"not_after": "2026-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_a_key_for_something_else_or_a_revoked_one_does_not_seal(signing, tmp_path, fields):
    signer = listed(signing, LocalSigner.generate(), **fields)

    assert f"the key {signer.kid} " in refusal(settings_of(signing, tmp_path, signer))


def test_a_key_that_the_ring_does_not_have_does_not_seal(signing, tmp_path):
    assert "is not in the ring" in refusal(settings_of(signing, tmp_path, LocalSigner.generate()))


async def test_a_key_that_is_revoked_while_the_bot_runs_signs_no_more(signing, tmp_path):
    signer = listed(signing, LocalSigner.generate())
    key = load_log_key(settings_of(signing, tmp_path, signer))
    await key.try_out()
    revoked = [each.model_copy(update={"revoked": True}) for each in key.ring.keys.values()]
    key.ring._trust(revoked)

    with pytest.raises(ValueError, match="is revoked"):
        await asyncio.to_thread(key.sign, b"text")


# --- A key that a service keeps -----------------------------------------------------------------------------------


class Service:
    """Signs with a key that it keeps for itself, and only in the loop in which it first signed."""

    def __init__(self, signer):
        self.kid, self.answer, self._loop = signer.kid, signer.sign, None

    async def sign(self, data):
        self._loop = self._loop or asyncio.get_running_loop()
        assert self._loop is asyncio.get_running_loop()
        return await self.answer(data)


@pytest.fixture
def service(signing, tmp_path, monkeypatch):
    """A service that signs the log, and the settings of a bot that names it."""
    found = Service(listed(signing, LocalSigner.generate()))
    monkeypatch.setitem(sys.modules, "our_service", SimpleNamespace(signer=lambda: found))
    return found


@pytest.fixture
def settings(signing, tmp_path):
    return settings_of(signing, tmp_path, log_signer="our_service:signer")


async def failing(_):
    raise ConnectionError("no route to the service")


async def lying(_):
    return bytes(64)


async def test_a_service_can_keep_the_key_of_the_log(settings, service, tmp_path):
    """It has the same form as one for receipts, and a log that it signs is sound."""
    key = load_log_key(settings)
    await key.try_out()

    log = await asyncio.to_thread(make_log, tmp_path / "log" / "00", key, ["first"], ["second"])

    assert examine(log).head.size == 2


@pytest.mark.parametrize("answer", [failing, lying])
async def test_a_service_that_does_not_sign_ends_the_start(settings, service, answer):
    key = load_log_key(settings)
    service.answer = answer

    with pytest.raises(SettingsError, match=f"the key of the log {service.kid} cannot be used"):
        await key.try_out()


@pytest.mark.parametrize(
    ("answer", "said"), [(failing, "no route to the service"), (lying, "is not from the key")]
)
async def test_a_wrong_signature_of_a_service_never_gets_into_the_log(
    settings, service, tmp_path, answer, said
):
    """Otherwise the log could never be gone on with. What was to be sealed waits."""
    key = load_log_key(settings)
    await key.try_out()
    log = await asyncio.to_thread(make_log, tmp_path / "log" / "00", key, ["first"])
    rightly, service.answer = service.answer, answer

    with pytest.raises(ValueError, match=said):
        await asyncio.to_thread(log.append, [b"second"])

    assert examine(log).head.size == 1
    service.answer = rightly
    await asyncio.to_thread(log.append, [b"second"])
    assert examine(log).head.size == 2


async def test_a_service_that_does_not_answer_in_time_is_said(settings, service, monkeypatch):
    key = load_log_key(settings)
    await key.try_out()
    monkeypatch.setattr("bot.runtime.log_key._WITHIN", 0.01)
    service.answer = lambda _: asyncio.sleep(60)

    with pytest.raises(ValueError, match="did not sign within"):
        await asyncio.to_thread(key.sign, b"text")


def test_a_bot_has_one_key_for_the_log(signing, tmp_path, service):
    signer = listed(signing, LocalSigner.generate())

    assert "are both set" in refusal(settings_of(signing, tmp_path, signer, log_signer="our_service:signer"))


# --- What belongs to a log ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("missing", "named"), [("ring", "ASSENT_RING"), ("audit_dir", "ASSENT_AUDIT_DIR")])
def test_what_a_log_needs_is_named(signing, tmp_path, missing, named):
    signer = listed(signing, LocalSigner.generate())

    assert f"{named} is not set" in refusal(settings_of(signing, tmp_path, signer, **{missing: None}))


def test_a_broken_key_is_named_and_not_shown(signing, tmp_path):
    sentence = refusal(settings_of(signing, tmp_path, log_key="c2VjcmV0"))

    assert sentence.startswith("ASSENT_LOG_KEY")
    assert "c2VjcmV0" not in sentence


def test_a_folder_with_a_sealed_log_is_not_gone_on_with_without_its_key(signing, tmp_path):
    """Entries would leave Redis and be in no log."""
    make_log(tmp_path / "trail" / "log" / "00", TestLogKey(), ["first"])

    assert "has a sealed log" in refusal(settings_of(signing, tmp_path))


def test_a_bucket_needs_a_key(signing, tmp_path):
    """It has sealed logs only."""
    assert "a bucket has sealed logs only" in refusal(
        settings_of(signing, tmp_path, audit_dir="s3://trail/assent")
    )
