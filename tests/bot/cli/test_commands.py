"""The commands as an operator meets them: another process, its output, its exit code."""

import asyncio
import json
import signal

import pytest

from tests.support.commands import ROOT


async def test_wrong_settings_end_the_bot_with_a_sentence_for_each_and_code_2(command):
    """One start is enough to learn them all, and shows no traceback."""
    code, output, errors = await command(SLACK_BOT_TOKEN=None, ASSENT_APPROVERS="", ASSENT_HTTP_PORT="web")

    assert (code, output) == (2, "")
    assert [line.split()[0].rstrip(":") for line in errors.splitlines()] == [
        "SLACK_BOT_TOKEN",
        "ASSENT_APPROVERS",
        "ASSENT_HTTP_PORT",
    ]


@pytest.mark.parametrize(("arguments", "expected"), [([], 2), (["keys", "list"], 2), (["doctor"], 1)])
async def test_an_empty_address_of_redis_is_a_wrong_setting(command, arguments, expected):
    """Not the default: a bot would wait on another Redis than its agents ask in."""
    code, output, errors = await command(*arguments, REDIS_URL="")

    named = [line for line in (output + errors).splitlines() if "REDIS_URL: this is not the address" in line]
    assert (code, len(named), "Traceback" in errors) == (expected, 1, False)


async def test_an_unreachable_redis_ends_the_bot_with_one_sentence_and_code_1(command):
    """The sentence names the server, and not its password."""
    code, _, errors = await command(REDIS_URL="redis://:secret@127.0.0.1:1/0")

    assert code == 1
    sentence = errors.splitlines()[-1]
    assert sentence.startswith("Redis at redis://127.0.0.1:1/0 does not answer")
    assert sentence.endswith("is it running, and is this the right address?")
    assert "secret" not in errors
    assert "Traceback" not in errors


async def test_the_bot_logs_json_and_ends_in_order_on_sigterm(start, tmp_path):
    """What a supervisor does with it. It warns of settings that nobody knows, also of those in .env."""
    (tmp_path / ".env").write_text("ASSENT_CHANEL=C0OPS\n")
    process = await start(ASSENT_PACING="off")
    async with asyncio.timeout(40):
        lines = [await process.stderr.readline()]
        while b"bot.started" not in lines[-1]:
            lines.append(await process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        output, errors = await process.communicate()

    assert (process.returncode, output) == (0, b"")
    logged = [json.loads(line) for line in (*lines, *errors.splitlines())]
    assert logged[-1]["event"] == "bot.stopped"
    unknown = [line["reason"].split()[0] for line in logged if line["event"] == "setting.unknown"]
    assert unknown == ["ASSENT_CHANEL", "ASSENT_PACING"]


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
