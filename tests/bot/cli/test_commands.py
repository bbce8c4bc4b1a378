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
from redis import Redis

from playground.redis_server import RedisServer
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


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"SLACK_BOT_TOKEN": None}, "SLACK_BOT_TOKEN is not set: copy the bot token"),
        ({"ASSENT_APPROVERS": None}, "ASSENT_APPROVERS is not set: name who may decide in .env"),
        ({"ASSENT_APPROVERS": ""}, "ASSENT_APPROVERS is not set: name who may decide in .env"),
        ({"ASSENT_APPROVERS": "dana"}, "ASSENT_APPROVERS: 'dana' is not an approver: write a user id"),
        ({"SLACK_APP_TOKEN": None}, "SLACK_APP_TOKEN is not set: make an app-level token"),
        ({"ASSENT_CHANNEL": "#approvals"}, "ASSENT_CHANNEL: '#approvals' is not a channel id"),
        ({"ASSENT_NAMESPACE": "my bots"}, "ASSENT_NAMESPACE: 'my bots' cannot be a namespace: write 1 to 64"),
        ({"ASSENT_LOG_LEVEL": "loud"}, "ASSENT_LOG_LEVEL: 'loud' is not one of DEBUG, INFO, WARNING, ERROR"),
        (
            {"SLACK_BOT_TOKEN": None, "SLACK_BOT_TOKEN_FILE": "/nowhere/token"},
            "SLACK_BOT_TOKEN_FILE: there is no file /nowhere/token: name one that this user can read",
        ),
    ],
)
async def test_a_wrong_setting_ends_the_bot_with_one_sentence_and_code_2(command, changed, expected):
    """An operator reads what to set, and no traceback."""
    code, output, errors = await command(**changed)

    assert code == 2
    assert output == ""
    assert errors.startswith(expected)
    assert errors.count("\n") == 1


async def test_a_misspelt_setting_is_reported_with_the_name_that_may_be_meant(command):
    """It may be why another one is not set."""
    code, _, errors = await command(ASSENT_APPROVERS=None, ASSENT_APROVERS="U0DANA")

    assert code == 2
    assert errors.splitlines()[1] == (
        "ASSENT_APROVERS is not a setting of the bot, so it does nothing: did you mean ASSENT_APPROVERS?"
    )


async def test_a_running_bot_and_the_doctor_warn_of_settings_that_nobody_knows(
    command, environment, tmp_path
):
    """One line for each, also for those in .env."""
    (tmp_path / ".env").write_text("ASSENT_CHANEL=C0OPS\n")
    process = await start(environment, tmp_path, ASSENT_PACING="off")
    await readiness(environment, until=200)
    process.send_signal(signal.SIGTERM)
    _, errors = await communicate(process)
    warned = [json.loads(line) for line in errors.splitlines() if "setting.unknown" in line]

    assert [line["level"] for line in warned] == ["warning", "warning"]
    assert [line["reason"].split()[0] for line in warned] == ["ASSENT_CHANEL", "ASSENT_PACING"]
    _, output, _ = await command("doctor")
    assert "warn  settings: ASSENT_CHANEL is not a setting of the bot" in output
    assert output.index("did you mean ASSENT_CHANNEL?")


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_bot_that_keeps_no_audit_trail_says_so_when_it_starts(environment, tmp_path, is_kept):
    """With what can be lost, and when."""
    changed = {"ASSENT_AUDIT_DIR": str(tmp_path / "trail")} if is_kept else {}
    process = await start(environment, tmp_path, **changed)
    await readiness(environment, until=200)
    process.send_signal(signal.SIGTERM)
    _, errors = await communicate(process)
    warned = [json.loads(line) for line in errors.splitlines() if "audit.not_kept" in line]

    assert len(warned) == (not is_kept)
    assert all("lost when it takes more than 256 MB" in line["reason"] for line in warned)


@pytest.mark.parametrize("arguments", [("keys", "create", "Bad Name"), ("keys", "create", "")])
async def test_a_name_that_cannot_be_one_is_answered_in_words_with_an_example(command, arguments):
    """Nobody has to read a regular expression."""
    code, _, errors = await command(*arguments)

    assert code == 1
    assert errors == (
        f"agent: {arguments[2]!r} cannot be the name of an agent: write 1 to 40 lower-case letters, "
        f"digits and hyphens, as in {'bad-name' if arguments[2] else 'billing'!r}\n"
    )


async def test_every_wrong_setting_is_named_at_once(command):
    """One start is enough to learn them all."""
    code, _, errors = await command(SLACK_BOT_TOKEN=None, ASSENT_APPROVERS=None, ASSENT_HTTP_PORT="web")

    assert code == 2
    assert [line.split()[0].rstrip(":") for line in errors.splitlines()] == [
        "SLACK_BOT_TOKEN",
        "ASSENT_APPROVERS",
        "ASSENT_HTTP_PORT",
    ]


async def test_the_doctor_of_a_first_run_says_everything_at_once_and_where_it_goes(command):
    """Each missing setting with its place, and the Redis that does not answer."""
    code, output, _ = await command(
        "doctor",
        SLACK_BOT_TOKEN=None,
        SLACK_APP_TOKEN=None,
        ASSENT_APPROVERS=None,
        REDIS_URL="redis://127.0.0.1:1",
    )

    *settings, redis = output.splitlines()
    assert code == 1
    assert [line.split()[2] for line in settings] == [
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
        "ASSENT_APPROVERS",
    ]
    assert all(".env" in line for line in settings)
    assert "doctor needs all settings of the bot: run it where the bot runs" in settings[0]
    assert redis.startswith("fail  redis: Redis at redis://127.0.0.1:1 does not answer")


async def test_the_doctor_tries_the_tokens_that_are_set_while_others_are_missing(command):
    """One round is enough to learn that a token is wrong, too."""
    _, output, _ = await command("doctor", ASSENT_APPROVERS=None, SLACK_BOT_TOKEN="xoxb-wrong")

    assert [line.split(":")[0] for line in output.splitlines()] == [
        "fail  settings", "ok    redis", "ok    schema", "ok    app token", "fail  bot token",
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [(), ("doctor",), ("policy", "check", "policy.yaml")], ids=str)
async def test_settings_that_are_not_text_are_reported_in_one_sentence(command, tmp_path, arguments):
    """By every command that reads them: which file it is, and no traceback."""
    (tmp_path / ".env").write_bytes(b"ASSENT_CHANNEL=\xe9\xff\n")

    code, output, errors = await command(*arguments)

    assert code in (1, 2)
    assert ".env is not UTF-8 text: " in output + errors
    assert (output + errors).count("\n") == 1


async def test_an_unreachable_redis_ends_the_bot_with_one_sentence_and_code_1(command):
    """The sentence names the server, and not its password."""
    code, _, errors = await command(REDIS_URL="redis://:secret@127.0.0.1:1/0")

    assert code == 1
    sentence = errors.splitlines()[-1]
    assert sentence.startswith("Redis at redis://127.0.0.1:1/0 does not answer")
    assert sentence.endswith("is it running, and is this the right address?")
    assert "secret" not in errors
    assert "Traceback" not in errors


async def test_a_redis_that_evicts_is_refused(command, tmp_path):
    """Pending approvals could vanish there."""
    server = RedisServer(tmp_path / "redis", ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"))
    server.start()
    try:
        code, _, errors = await command(REDIS_URL=server.url)
    finally:
        server.stop()

    assert code == 1
    sentence = errors.splitlines()[-1]
    assert (
        "evicts pending approvals (maxmemory-policy allkeys-lru): set maxmemory-policy noeviction" in sentence
    )
    assert "Traceback" not in errors


async def test_a_namespace_of_another_version_is_refused(command, redis_url):
    """Nothing is written into it."""
    with Redis.from_url(redis_url, decode_responses=True) as redis:
        redis.hset("{assent}:meta", mapping={"schema": "99", "lanes": "1"})

        code, _, errors = await command()

        assert redis.hgetall("{assent}:meta") == {"schema": "99", "lanes": "1"}
    assert code == 1
    sentence = errors.splitlines()[-1]
    assert sentence.startswith("namespace 'assent' was written with schema 99, this version reads 2")


async def test_a_port_that_is_taken_is_reported(command):
    """The sentence names the port and the setting."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, errors = await command(ASSENT_HTTP_PORT=str(port))

    assert code == 1
    assert errors.splitlines()[-1] == (
        f"Port {port} is in use: another program listens there, perhaps another bot. "
        "Stop it, or set ASSENT_HTTP_PORT to another port."
    )
    assert "Traceback" not in errors


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1"])
async def test_an_address_that_is_not_ours_is_reported(command, host):
    """Neither an unknown name nor another machine's address can be listened on."""
    code, _, errors = await command(ASSENT_HTTP_HOST=host)

    assert code == 1
    assert "may the bot listen on ASSENT_HTTP_HOST and ASSENT_HTTP_PORT?" in errors.splitlines()[-1]
    assert "Traceback" not in errors


async def test_the_bot_logs_json_gets_ready_and_ends_in_order_on_sigterm(environment, tmp_path):
    """What a supervisor does with it."""
    process = await start(environment, tmp_path)
    status, _ = await readiness(environment, until=200)
    process.send_signal(signal.SIGTERM)
    output, errors = await communicate(process)

    assert status == 200
    assert process.returncode == 0
    assert output == ""
    events = [json.loads(line)["event"] for line in errors.splitlines()]
    assert "bot.started" in events
    assert events[-1] == "bot.stopped"


async def test_a_wrong_token_keeps_the_bot_up_and_not_ready_with_the_reason(environment, tmp_path):
    """Waiting agents lose nothing, and whoever looks at the log or at /readyz reads why."""
    environment["SLACK_BOT_TOKEN"] = "xoxb-wrong"
    process = await start(environment, tmp_path)
    line = json.loads(await first(process, "slack.unavailable"))
    status, body = await readiness(environment, until=503)
    process.send_signal(signal.SIGTERM)
    await communicate(process)

    assert "invalid_auth" in line["reason"]
    assert status == 503
    assert "invalid_auth" in body["faults"]["slack"]


async def first(process, event):
    while line := (await process.stderr.readline()).decode():
        if event in line:
            return line
    raise AssertionError(f"the bot ended without {event}")


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


async def test_the_doctor_prints_a_line_for_each_check_and_exits_0(command, tmp_path, signing):
    """Everything is there."""
    code, output, errors = await command(
        "doctor",
        ASSENT_AUDIT_DIR=str(tmp_path / "audit"),
        ASSENT_SIGNING_KEY_FILE=str(signing.key_path),
        ASSENT_SEAL_KEY_FILE=str(signing.seal_path),
        ASSENT_RING=str(signing.ring_path),
    )

    assert code == 0
    # What Slack does not tell is a note.
    assert {line.split()[0] for line in output.splitlines()} == {"ok", "note"}, output
    assert errors == ""


async def test_the_doctor_exits_1_when_something_has_to_be_fixed(command):
    """So a deployment can stop on it."""
    code, output, _ = await command("doctor", ASSENT_CHANNEL="C0OLD")

    assert code == 1
    assert "fail  channel: #old is archived" in output


async def test_a_manifest_is_printed_without_any_setting(command, playground):
    """The app has to be made before there is a token."""
    code, output, errors = await command("manifest", SLACK_BOT_TOKEN=None, ASSENT_APPROVERS=None)

    assert (code, errors) == (0, "")
    assert output == (ROOT / "deploy" / "slack-manifest.socket.yaml").read_text()


async def test_a_manifest_for_http_needs_the_address(command):
    """The sentence names the option."""
    code, output, errors = await command("manifest", "--mode", "http")

    assert (code, output) == (2, "")
    assert "HTTP mode needs the address at which Slack reaches the bot: --url https://" in errors


def test_with_a_python_that_lacks_its_packages_it_says_which_one_has_them():
    """As with the system's Python in a checkout: a sentence, and no traceback."""
    without = "import runpy, sys; sys.modules['typer'] = None; runpy.run_module('bot')"
    done = subprocess.run(
        [sys.executable, "-c", without], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.endswith("the command is `.venv/bin/python -m bot`\n")
    assert "Traceback" not in done.stderr
