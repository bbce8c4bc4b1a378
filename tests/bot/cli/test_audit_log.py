"""`python -m bot audit verify` and `erase` as an auditor meets them: what they print, and their exit codes."""

import asyncio

import pytest
from typer.testing import CliRunner

from agent_adapter.contract.keys import Keys
from agent_adapter.redis.pool import freeze_meta
from bot.cli.commands import cli
from bot.store.audit_log import AuditLog
from tests.support.logs import make_keys, make_log


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "trail"


@pytest.fixture
def log(tmp_path, folder):
    return make_log(folder, make_keys(tmp_path))


@pytest.fixture
async def stream(redis):
    """Of a namespace in which a bot has run."""
    await freeze_meta(redis, "assent")
    return Keys("assent").audit


@pytest.fixture
def command(tmp_path, redis_url, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def run(*arguments, **changed):
        given = {
            "ASSENT_AUDIT_DIR": str(tmp_path / "trail"),
            "ASSENT_RING": str(tmp_path / "ring.json"),
            "REDIS_URL": redis_url,
            **changed,
        }
        ended = await asyncio.to_thread(CliRunner().invoke, cli, ["audit", *arguments], env=given)
        return ended.exit_code, ended.stdout, ended.stderr

    return run


async def test_a_sound_log_is_said_to_be_sound_and_a_changed_one_is_not(command, log, folder):
    code, output, _ = await command("verify")
    assert code == 0
    assert output.startswith("assent/")
    assert "lines 1 to 9 of 2026-11-08T12:00:01.000Z follow each other. Each head is signed." in output
    file = folder / "2026-11-07.jsonl"
    file.write_text(file.read_text().replace("U0DANA", "U0ERIK", 1))

    code, _, errors = await command("verify")

    assert (code, errors) == (1, "2026-11-07.jsonl line 1: the text of 'by' was changed\n")


async def test_a_log_that_was_cut_does_not_fit_a_head_from_before(command, log, folder, tmp_path):
    heads = tmp_path / "heads.txt"
    heads.write_text(f"{log.chain.last}\n")
    assert (await command("verify", "--against", str(heads)))[0] == 0
    (folder / "2026-11-08.jsonl").unlink()
    assert (await command("verify"))[0] == 0

    code, _, errors = await command("verify", "--against", str(heads))

    assert code == 1
    assert "the head of line 9 that you named is not in it: it was cut" in errors


@pytest.mark.parametrize(
    ("arguments", "changed", "code", "cure"),
    [
        (["verify"], {"ASSENT_AUDIT_DIR": ""}, 2, "ASSENT_AUDIT_DIR is not set"),
        (["verify"], {"ASSENT_AUDIT_DIR": "/nowhere"}, 1, "there is no log in /nowhere"),
        (["verify"], {"ASSENT_RING": ""}, 2, "in ASSENT_RING"),
        (["verify", "--against", "ring.json"], {}, 2, "keep only their lines"),
        (["verify", "--against", "none.txt"], {}, 2, "keep only their lines"),
        (["erase"], {}, 2, "name one request, or one person"),
        (["erase", "billing.a", "--yes"], {"ASSENT_NAMESPACE": "other"}, 2, "nothing was erased"),
        (["erase", "billing.a", "--yes"], {"REDIS_URL": "redis://127.0.0.1:1"}, 1, "127.0.0.1:1"),
        (["erase", "billing.a", "--yes", "--reason", "x" * 1_001], {}, 2, "at most 1,000"),
    ],
)
async def test_a_mistake_names_its_cure_and_erases_nothing(command, log, arguments, changed, code, cure):
    found, _, errors = await command(*arguments, **changed)

    assert (found, cure in errors) == (code, True), errors
    assert log.check(None).erased == 0


async def test_what_the_log_says_about_a_request_is_erased_and_who_did_is_entered(
    command, log, folder, stream, redis
):
    code, output, errors = await command("erase", "billing.b", "--yes", "--reason", "asked for by Ann")

    assert code == 0, errors
    assert "erased something in 1 lines about billing.b" in output
    assert b"billing.b" not in (folder / "2026-11-07.jsonl").read_bytes()
    ((_, entry),) = await redis.xrange(stream)
    assert (entry["event"], entry["id"], entry["reason"]) == ("erased", "billing.b", "asked for by Ann")
    assert "@" in entry["by"]
    code, output, _ = await command("verify")
    assert code == 0
    assert "Of 1 lines something was erased." in output


async def test_a_person_is_erased_and_what_was_decided_stays(command, log, folder, stream, redis):
    code, output, errors = await command("erase", "--person", "U0DANA", "--yes")

    assert code == 0, errors
    assert "in 6 lines" in output
    text = b"".join(file.read_bytes() for file in folder.glob("*.jsonl"))
    assert not any(word in text for word in (b"U0DANA", b"Dana", b"as agreed"))
    assert [entry["id"] for entry in AuditLog(folder, "assent").read("2026-11-08")] == [
        "billing.e",
        "billing.f",
    ]
    ((_, entry),) = await redis.xrange(stream)
    assert (entry["id"], "U0DANA" in str(entry)) == ("", False)
    assert (await command("verify"))[0] == 0


async def test_who_does_not_confirm_erases_nothing(command, log):
    assert (await command("erase", "billing.b"))[0] == 1
    assert log.check(None).erased == 0
