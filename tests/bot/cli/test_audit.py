"""`python -m bot audit` as an auditor meets it: another process, its output, its exit code."""

import json
import os
from functools import partial

import pytest

from agent_adapter.cipher import MARK
from bot.jobs.audit_mover import AuditMover
from bot.runtime.health import Health
from bot.store.audit import AuditStore
from bot.store.audit_log import AuditLog
from tests.support.commands import ROOT

DAY = 86_400_000


@pytest.fixture
def environment(redis_url, tmp_path):
    """Of somebody who has no token of Slack."""
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "REDIS_URL": redis_url}
    return given | {"ASSENT_AUDIT_DIR": str(tmp_path / "trail")}


@pytest.fixture
def command(command):
    return partial(command, "audit")


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


async def ids(command, *arguments):
    code, output, _ = await command("export", *arguments)
    assert code == 0
    return [json.loads(line)["id"] for line in output.splitlines()]


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
    assert await ids(command, *options) == found


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


@pytest.mark.parametrize(
    ("arguments", "changed", "code", "cure"),
    [
        (["--since", "yesterday"], {}, 2, "write 2026-11-22"),
        ([], {"REDIS_URL": "redis://127.0.0.1:1/0"}, 1, "127.0.0.1:1"),
    ],
)
async def test_a_mistake_names_its_cure(command, arguments, changed, code, cure):
    """And has its own exit code."""
    found, _, errors = await command(*arguments, **changed)

    assert found == code
    assert cure in errors


async def test_a_line_of_the_log_that_cannot_be_read_is_named(command, trail, tmp_path):
    """Nothing is left out silently. What is still being written is not there yet."""
    (day,) = AuditLog(tmp_path / "trail", "assent").days()
    file = tmp_path / "trail" / f"{day}.jsonl"
    file.write_text(file.read_text().replace("billing.a", "billing.z") + '{"n":5')

    code, output, errors = await command("export")

    assert (code, len(output.splitlines())) == (1, 2)
    assert f"entries are missing here, because a line of the log cannot be read: {file} line 1" in errors
