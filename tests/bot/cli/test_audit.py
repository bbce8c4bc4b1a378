"""`python -m bot audit` as an auditor meets it: its output, and its exit codes."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from agent_adapter.cipher import MARK
from bot.cli.commands import cli
from bot.jobs.audit_mover import AuditMover
from bot.runtime.health import Health
from bot.store.audit import AuditStore
from bot.store.audit_log import AuditLog
from tests.support.logs import make_keys, make_log

DAY = 86_400_000


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


@pytest.fixture
async def trail(redis, store, tmp_path):
    """Three decisions, of which the first one is old and in the log alone."""
    trail = AuditStore(redis, store.keys, str(tmp_path / "trail"))
    at = int((await redis.time())[0]) * 1000
    said = [
        (
            30,
            "billing.a",
            "U0DANA",
            {"decision": "approve", "tool": "pay", "name": "Dana", "rule": "payments"},
        ),
        (2, "billing.b", "U0ERIK", {"decision": "reject", "tool": "pay", "name": "Erik", "reason": "=1+1"}),
        (0, "ops.c", "U0DANA U0MIRA", {"decision": "approve", "tool": "restart", "name": "Mira\x1b[31m"}),
    ]
    for ago, request, by, facts in said:
        fields = {"event": "decided", "id": request, "index": "0", "by": by, "facts": json.dumps(facts)}
        await redis.xadd(store.keys.audit, fields, id=f"{at - ago * DAY}-0")
    await AuditMover(trail, Health(), "one", 10_000_000, 365).tidy()
    return trail


async def test_entries_that_cannot_be_decrypted_are_counted(command, trail, redis):
    """Without the key of the records, who decided stands there, and what they decided does not."""
    fields = {"event": "decided", "id": "billing.d", "by": "U0DANA", "facts": f"{MARK}AAAA"}
    await redis.xadd(trail.keys.audit, fields)

    code, _, errors = await command()

    assert code == 0
    assert errors == (
        "1 of these 4 entries cannot be read in full: they are encrypted. "
        "Set ASSENT_RECORD_KEY_FILE to the key of the bots.\n"
    )


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], ["billing.a", "billing.b", "ops.c"]),
        (["--since", "7d"], ["billing.b", "ops.c"]),
        (["--until", "7d"], ["billing.a"]),
        (["--since", "7d", "--until", "1d"], ["billing.b"]),
    ],
)
async def test_redis_and_the_log_are_one_story_in_order_of_time(command, trail, options, found):
    """The old entry is in the log alone, the others in Redis, too."""
    code, output, _ = await command("export", *options)

    assert (code, [json.loads(line)["id"] for line in output.splitlines()]) == (0, found)


async def test_a_table_is_for_people_and_nothing_in_it_acts_on_the_terminal(command, trail):
    """A name with a control sequence is shown with its code, also as JSON."""
    assert "\x1b" not in (await command("export"))[1]
    code, output, _ = await command()

    assert code == 0
    assert "decided approve" in output
    assert "payments" in output
    assert "\x1b" not in output
    assert "Mira" in output


async def test_show_tells_one_request_and_knows_when_there_is_none(command, trail):
    """Exit code 1, with what to look at."""
    assert (await command("show", "billing.a"))[0] == 0
    code, output, errors = await command("show", "billing.zzz")

    assert (code, output) == (1, "")
    assert "no entry about billing.zzz" in errors
    assert "ASSENT_AUDIT_DIR" in errors


async def test_a_line_of_the_log_that_cannot_be_read_is_named(command, trail, tmp_path):
    """Nothing is left out silently. What is still being written is not there yet."""
    (day,) = AuditLog(tmp_path / "trail", "assent").days()
    file = tmp_path / "trail" / f"{day}.jsonl"
    file.write_text(file.read_text().replace("billing.a", "billing.z") + '{"n":5')

    code, output, errors = await command("export")

    assert (code, len(output.splitlines())) == (1, 2)
    assert f"entries are missing here, because a line of the log cannot be read: {file} line 1" in errors


# --- The log ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "trail"


@pytest.fixture
def log(tmp_path, folder):
    return make_log(folder, make_keys(tmp_path))


async def test_a_sound_log_is_said_to_be_sound_and_a_changed_one_is_not(command, log, folder):
    code, output, _ = await command("verify")
    assert code == 0
    assert output.startswith("assent/")
    assert "lines 1 to 9 of 2026-11-08T12:00:01.000Z follow each other. Each head is signed." in output
    file = folder / "2026-11-07.jsonl"
    file.write_text(file.read_text().replace("U0DANA", "U0ERIK", 1))

    code, _, errors = await command("verify")

    assert (code, errors) == (1, "2026-11-07.jsonl line 1: the text of 'by' was changed\n")


@pytest.mark.parametrize(
    ("arguments", "changed", "code", "cure"),
    [
        (["--since", "yesterday"], {}, 2, "write 2026-11-22"),
        ([], {"REDIS_URL": "redis://127.0.0.1:1/0"}, 1, "127.0.0.1:1"),
        ([], {"REDIS_URL": ""}, 2, "REDIS_URL is not the address of a Redis: write redis://host:6379/0\n"),
        (["verify"], {"ASSENT_AUDIT_DIR": ""}, 2, "ASSENT_AUDIT_DIR is not set"),
        (["verify"], {"ASSENT_AUDIT_DIR": "/nowhere"}, 2, "there is no log in /nowhere: name its folder"),
        (["verify"], {"ASSENT_RING": ""}, 2, "in ASSENT_RING"),
        (["verify", "--against", "ring.json"], {}, 2, "keep only their lines"),
        (["verify", "--against", "none.txt"], {}, 2, "keep only their lines"),
        (["erase"], {}, 2, "name one request, or one person"),
        (["erase", "billing.zzz", "--yes"], {}, 1, "no entry about billing.zzz: look at its spelling"),
        (["erase", "--person", "U0ZZZ", "--yes"], {}, 1, "no entry about U0ZZZ: look at its spelling"),
        (["erase", "billing.a", "--yes"], {"ASSENT_NAMESPACE": "other"}, 2, "nothing was erased"),
        (["erase", "billing.a", "--yes"], {"REDIS_URL": "redis://127.0.0.1:1"}, 1, "127.0.0.1:1"),
        (["erase", "billing.a", "--yes", "--reason", "x" * 1_001], {}, 2, "at most 1,000"),
    ],
)
async def test_a_mistake_names_its_cure(command, log, keys, redis, arguments, changed, code, cure):
    """Nothing is erased, and the trail does not say that somebody did."""
    found, _, errors = await command(*arguments, **changed)

    assert (found, cure in errors) == (code, True), errors
    assert (log.check(None).erased, await redis.xlen(keys.audit)) == (0, 0)


async def test_what_the_log_says_about_a_request_is_erased_and_who_did_is_entered(
    command, log, folder, keys, redis
):
    code, output, errors = await command("erase", "billing.b", "--yes", "--reason", "asked for by Ann")

    assert code == 0, errors
    assert "erased something in 1 lines about billing.b" in output
    assert b"billing.b" not in (folder / "2026-11-07.jsonl").read_bytes()
    ((_, entry),) = await redis.xrange(keys.audit)
    assert (entry["event"], entry["id"], entry["reason"]) == ("erased", "billing.b", "asked for by Ann")
    assert "@" in entry["by"]
    code, output, _ = await command("verify")
    assert code == 0
    assert "Of 1 lines something was erased." in output


async def test_a_person_is_erased_and_what_was_decided_stays(command, log, folder, keys, redis):
    code, output, errors = await command("erase", "--person", "U0DANA", "--yes")

    assert code == 0, errors
    assert "in 6 lines" in output
    text = b"".join(file.read_bytes() for file in folder.glob("*.jsonl"))
    assert not any(word in text for word in (b"U0DANA", b"Dana", b"as agreed"))
    assert [entry["id"] for entry in AuditLog(folder, "assent").read("2026-11-08")] == [
        "billing.e",
        "billing.f",
    ]
    ((_, entry),) = await redis.xrange(keys.audit)
    assert (entry["id"], "U0DANA" in str(entry)) == ("", False)
    assert (await command("verify"))[0] == 0


async def test_who_does_not_confirm_erases_nothing(command, log):
    assert (await command("erase", "billing.b"))[0] == 1
    assert log.check(None).erased == 0
