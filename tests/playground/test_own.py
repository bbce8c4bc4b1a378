"""What `make demo` and `make playground` leave for other commands."""

import stat
from contextlib import nullcontext

import pytest

from bot.domain.errors import SettingsError
from bot.runtime.settings import Settings
from playground.demo.keys import make_signing
from playground.demo.own import environment
from playground.demo.stage import on_stage


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def settings_with(**given):
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    return Settings(_env_file=None, approvers="" if "policy" in given else "U0DANA", **tokens, **given)


def started(redis_url):
    """The playground, as `make playground` starts it."""
    return on_stage(redis=nullcontext(redis_url), namespace="assent", own_keys_count=True)


def test_only_its_owner_reads_the_file_with_the_private_key(tmp_path):
    """Also when a file was left there that everybody may read."""
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data" / "playground.env").write_text("")

    with environment(settings_with(), "http://127.0.0.1:1") as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "SLACK_BOT_TOKEN" in path.read_text()


async def test_the_playground_signs_with_the_keys_that_it_is_given(tmp_path, monkeypatch, redis_url):
    """With a ring in the environment, and made for its workspace as the page about receipts says."""
    signing = make_signing(tmp_path, team="T0PLAY")
    monkeypatch.setenv("ASSENT_RING", str(signing.ring_path))
    monkeypatch.setenv("ASSENT_SIGNING_KEY_FILE", str(signing.key_path))
    monkeypatch.setenv("ASSENT_SEAL_KEY_FILE", str(signing.seal_path))

    async with started(redis_url) as stage:
        assert stage.bot.store.signing
        assert stage.bot.store.signing.key.kid == signing.kid

    monkeypatch.delenv("ASSENT_SEAL_KEY_FILE")
    with pytest.raises(SettingsError, match="ASSENT_SEAL_KEY is not"):
        async with started(redis_url):
            pass


async def test_a_ring_of_a_playground_that_has_ended_is_not_asked_for(
    tmp_path, monkeypatch, redis_url, caplog
):
    """A terminal that sourced its settings still names it. The playground says so, because the path may be wrong."""
    monkeypatch.setenv("ASSENT_RING", str(tmp_path / "gone.json"))

    async with started(redis_url) as stage:
        assert stage.bot.settings.ring != str(tmp_path / "gone.json")

    gone = tmp_path / "gone.json"
    assert f"ASSENT_RING: there is no file {gone}, so the playground uses keys of its own" in caplog.text


async def test_a_key_without_a_ring_is_not_dropped_in_silence(monkeypatch, redis_url, caplog):
    """The playground takes given keys only beside a ring, and says so."""
    monkeypatch.delenv("ASSENT_RING", raising=False)
    monkeypatch.setenv("ASSENT_SEAL_KEY", "anything")

    async with started(redis_url):
        pass

    assert (
        "ASSENT_SEAL_KEY counts only beside ASSENT_RING, so the playground uses keys of its own"
        in caplog.text
    )
