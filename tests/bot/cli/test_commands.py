"""The commands as an operator meets them: another process, its output, its exit code."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.commands import run_bot

ROOT = Path(__file__).parents[3]


@pytest.fixture
def environment(playground, redis_url, tmp_path):
    """Everything that a bot needs, and nothing else of this machine."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "SLACK_BOT_TOKEN": playground.bot_token,
        "SLACK_APP_TOKEN": playground.app_token,
        "SLACK_API_URL": playground.api_url,
        "REDIS_URL": redis_url,
        "ASSENT_APPROVERS": "U0DANA, U0ERIK",
        "ASSENT_CHANNEL": "C0APPROVALS",
        "ASSENT_HTTP_HOST": "127.0.0.1",
        "ASSENT_HTTP_PORT": str(free_port()),
    }


@pytest.fixture
def command(environment, tmp_path):
    """Run a command to its end, in a folder without a .env."""

    async def run(*arguments, **changed):
        given = {name: value for name, value in {**environment, **changed}.items() if value is not None}
        return await run_bot(*arguments, folder=tmp_path, environment=given)

    return run


async def start(environment, folder, *arguments, **changed):

    given = {name: value for name, value in {**environment, **changed}.items() if value is not None}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments,
        cwd=folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


async def communicate(process):

    async with asyncio.timeout(40):
        output, errors = await process.communicate()
    return output.decode(), errors.decode()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


async def test_wrong_settings_end_the_bot_with_a_sentence_for_each_and_code_2(command):
    """One start is enough to learn them all, and shows no traceback."""
    code, output, errors = await command(SLACK_BOT_TOKEN=None, ASSENT_APPROVERS="", ASSENT_HTTP_PORT="web")

    assert (code, output) == (2, "")
    assert [line.split()[0].rstrip(":") for line in errors.splitlines()] == [
        "SLACK_BOT_TOKEN",
        "ASSENT_APPROVERS",
        "ASSENT_HTTP_PORT",
    ]


async def test_an_unreachable_redis_ends_the_bot_with_one_sentence_and_code_1(command):
    """The sentence names the server, and not its password."""
    code, _, errors = await command(REDIS_URL="redis://:secret@127.0.0.1:1/0")

    assert code == 1
    sentence = errors.splitlines()[-1]
    assert sentence.startswith("Redis at redis://127.0.0.1:1/0 does not answer")
    assert sentence.endswith("is it running, and is this the right address?")
    assert "secret" not in errors
    assert "Traceback" not in errors


async def test_the_bot_logs_json_gets_ready_and_ends_in_order_on_sigterm(environment, tmp_path):
    """What a supervisor does with it. It warns of settings that nobody knows, also of those in .env."""
    (tmp_path / ".env").write_text("ASSENT_CHANEL=C0OPS\n")
    process = await start(environment, tmp_path, ASSENT_PACING="off")
    status, _ = await readiness(environment, until=200)
    process.send_signal(signal.SIGTERM)
    output, errors = await communicate(process)

    assert status == 200
    assert process.returncode == 0
    assert output == ""
    lines = [json.loads(line) for line in errors.splitlines()]
    events = [line["event"] for line in lines]
    assert "bot.started" in events
    assert events[-1] == "bot.stopped"
    unknown = [line["reason"].split()[0] for line in lines if line["event"] == "setting.unknown"]
    assert unknown == ["ASSENT_CHANEL", "ASSENT_PACING"]


async def readiness(environment, *, until):
    """Ask /readyz until it answers so, as a probe does."""

    def ask():
        address = f"http://127.0.0.1:{environment['ASSENT_HTTP_PORT']}/readyz"
        deadline, answer = time.monotonic() + 30, (0, {})
        while time.monotonic() < deadline and answer[0] != until:
            try:
                with urllib.request.urlopen(address, timeout=5) as response:
                    answer = response.status, json.load(response)
            except urllib.error.HTTPError as error:
                with error:
                    answer = error.code, json.load(error)
            except OSError:
                time.sleep(0.05)
        return answer

    return await asyncio.to_thread(ask)


async def test_the_doctor_prints_a_line_for_each_check_what_failed_last_and_counts_them(
    command, tmp_path, signing
):
    """With 0 when everything is there, and with 1 when something has to be corrected: nobody has to scroll for it."""
    given = {
        "ASSENT_AUDIT_DIR": str(tmp_path / "audit"),
        "ASSENT_SIGNING_KEY_FILE": str(signing.key_path),
        "ASSENT_SEAL_KEY_FILE": str(signing.seal_path),
        "ASSENT_RING": str(signing.ring_path),
    }
    code, output, errors = await command("doctor", **given)

    assert code == 0
    *lines, last = output.splitlines()
    # What Slack does not tell is a note.
    assert {line.split()[0] for line in lines} == {"ok", "note"}, output
    assert last.endswith(" note: the bot can work")
    assert errors == ""

    wrong = {"ASSENT_CHANNEL": "C0OLD", "ASSENT_APPROVERS": "U0LEFT,U0DANA", "ASSENT_CHANEL": "C0OPS"}
    code, output, _ = await command("doctor", **given, **wrong)
    *_, unknown, warned, failed, last = output.splitlines()
    assert (code, warned.split()[0], failed.split()[:2]) == (1, "warn", ["fail", "channel:"])
    assert unknown.startswith("warn  settings: ASSENT_CHANEL is not a setting of the bot")
    assert last.endswith(" 2 warn, 1 fail: correct what failed")


async def test_a_manifest_is_printed_without_any_setting(command, playground):
    """The app has to be made before there is a token."""
    code, output, errors = await command("manifest", SLACK_BOT_TOKEN=None, ASSENT_APPROVERS=None)

    assert (code, errors) == (0, "")
    assert output == (ROOT / "deploy" / "slack-manifest.socket.yaml").read_text()
