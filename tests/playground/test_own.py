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


def started(redis_url):
    """The playground, as `make playground` starts it."""
    return on_stage(redis=nullcontext(redis_url), namespace="assent", own_keys_count=True)


def test_only_its_owner_reads_the_file_with_the_private_key(tmp_path):
    """Also when a file was left there that everybody may read."""
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data" / "playground.env").write_text("")
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}

    with environment(Settings(_env_file=None, approvers="U0DANA", **tokens), "http://127.0.0.1:1") as path:
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
