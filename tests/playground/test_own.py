"""What `make demo` and `make playground` leave for other commands."""

import stat

from bot.runtime.settings import Settings
from playground.demo.own import environment


def test_only_its_owner_reads_the_file_with_the_private_key(tmp_path, monkeypatch):
    """Also when a file was left there that everybody may read."""
    monkeypatch.chdir(tmp_path)
    settings = Settings(
        _env_file=None, SLACK_BOT_TOKEN="xoxb-1", SLACK_APP_TOKEN="xapp-1", approvers="U0DANA"
    )
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data" / "playground.env").write_text("")

    with environment(settings, "http://127.0.0.1:1") as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "SLACK_BOT_TOKEN" in path.read_text()
