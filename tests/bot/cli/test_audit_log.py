"""`python -m bot audit verify`, `prove` and `erase` as an auditor meets them: another process, its output, its exit code."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_adapter.contract.keys import Keys
from agent_adapter.receipts.signer import kid_of
from agent_adapter.redis.pool import freeze_meta
from bot.cli.acl import users_of
from bot.domain.audit_entry import AuditEntry
from bot.domain.sealing import Mark, following
from bot.jobs.sealer import Sealer
from bot.runtime.health import Health
from bot.store.audit import AuditStore
from bot.store.audit_log import LaneLog, Sealed
from bot.tlog.log import CHECKPOINT, Log
from bot.tlog.storage import Folder
from tests.support.logs import TestLogKey, erase, ring_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def key():
    return TestLogKey()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "trail" / "log" / "00"


@pytest.fixture
def log(key, folder):
    """A log about two requests, in two batches."""
    return written(Log(Folder(folder), "assent/assent/00", key), "ab", "ac")


def written(log, *batches):
    for batch in batches:
        sealed = Sealed.read(log)
        first = sealed.mark.seq + 1
        entries = [
            AuditEntry.of_stream(
                "00",
                f"{1_794_000_000_000 + seq}-0",
                {"event": "decided", "id": f"billing.{name}", "seq": str(seq)},
            )
            for seq, name in enumerate(batch, first)
        ]
        sealed.append(following(sealed.mark, entries))
    return log


@pytest.fixture
async def lane(redis):
    """Of a namespace in which a bot has run."""
    return await freeze_meta(redis, "assent")


@pytest.fixture
def command(tmp_path, key, redis_url):
    (tmp_path / "ring.json").write_text(ring_of(key))

    async def run(*arguments, **changed):
        given = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "ASSENT_AUDIT_DIR": str(tmp_path / "trail"),
            "ASSENT_RING": str(tmp_path / "ring.json"),
            "REDIS_URL": redis_url,
            **changed,
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "audit", *arguments,
            cwd=tmp_path, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        output, errors = await process.communicate()
        return process.returncode, output.decode(), errors.decode()

    return run


async def test_a_sound_log_is_said_to_be_sound(command, log):
    code, output, _ = await command("verify")

    assert code == 0
    assert "assent/assent/00: 4 entries, the last one of 2026-" in output
    assert "Every file is what the key has signed." in output


async def test_an_older_checkpoint_still_fits_and_one_of_another_log_does_not(command, log, tmp_path, key):
    anchor = tmp_path / "anchor.txt"
    anchor.write_bytes(log.storage.read(CHECKPOINT))
    written(log, "d")
    assert (await command("verify", "--against", str(anchor)))[0] == 0
    other = written(Log(Folder(tmp_path / "other"), "assent/assent/00", key), "xy")
    anchor.write_bytes(other.storage.read(CHECKPOINT))

    code, _, errors = await command("verify", "--against", str(anchor))

    assert code == 1
    assert "it was written anew, or cut off" in errors


async def test_a_log_that_was_written_anew_and_is_shorter_does_not_fit_its_anchor(
    command, log, tmp_path, key, folder
):
    anchor = tmp_path / "anchor.txt"
    anchor.write_bytes(log.storage.read(CHECKPOINT))
    folder.rename(tmp_path / "before")
    written(Log(Folder(folder), "assent/assent/00", key), "a")

    code, _, errors = await command("verify", "--against", str(anchor))

    assert code == 1
    assert "cut off" in errors


@pytest.mark.parametrize(
    "file", ["checkpoint", "said/000000000000", "said/000000000002", "tile/0/000.p/4", "tile/entries/000.p/4"]
)
async def test_one_flipped_bit_in_any_file_is_named(command, log, folder, file):
    data = bytearray((folder / file).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / file).write_bytes(data)

    code, _, errors = await command("verify")

    assert code == 1
    assert errors.startswith("assent/assent/00: ")


async def test_a_proof_of_one_request_is_checked_without_assent(command, log, tmp_path):
    code, output, _ = await command("prove", "billing.a")
    assert code == 0
    (tmp_path / "proof.json").write_text(output)

    told = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, ROOT / "verifiers/assent_log.py", "prove", tmp_path / "proof.json", "--key", tmp_path / "ring.json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert told.returncode == 0, told.stderr
    assert output.count("billing.a") == 2
    assert "billing.b" not in output


async def test_what_was_erased_is_gone_and_the_log_says_where_it_was(command, log, folder, lane):
    code, output, errors = await command("erase", "billing.a", "--yes")

    assert (code, output) == (0, "erased 2 entries about billing.a; the audit trail says that you did\n")
    assert "after 7 days" in errors
    assert b"billing.a" not in b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    code, output, _ = await command("verify")
    assert (code, "erased 0, 2, and no entry says by whom" in output) == (0, True)
    code, _, errors = await command("prove", "billing.a")
    assert (code, "it may be erased" in errors) == (1, True)
    written(log, "e")
    assert (await command("verify"))[0] == 0


async def test_an_erasure_is_an_entry_that_is_sealed_and_says_who_when_and_why(
    command, log, key, lane, redis, tmp_path
):
    """It is not erased with the rest, also not by a second erasure."""
    await command("erase", "billing.a", "--yes", "--reason", "asked for by Ann")
    await seal(redis, tmp_path, key)

    code, output, _ = await command("verify")
    assert code == 0
    assert re.search(
        r"an entry says: erased 0, 2, about billing\.a, by \S+@\S+ on 20\d\d-\d\d-\d\d \d\d:\d\d UTC: asked for by Ann\.",
        output,
    )
    assert "no entry says by whom" not in output
    _, output, _ = await command("show", "billing.a", "--as", "jsonl")
    (entry,) = map(json.loads, output.splitlines())
    assert (entry["event"], entry["places"], entry["reason"]) == ("erased", "0, 2", "asked for by Ann")
    assert (await command("erase", "billing.a", "--yes"))[0] == 1
    assert (await command("prove", "billing.a"))[0] == 0


async def test_entries_that_somebody_erased_beside_the_command_are_told_apart(
    command, log, key, lane, redis, tmp_path
):
    """Who can write to the folder can erase, and cannot make the log say that somebody else did."""
    await command("erase", "billing.a", "--yes")
    await seal(redis, tmp_path, key)
    erase(log, 0, 1)

    code, output, _ = await command("verify")

    assert code == 0
    assert "erased 0, 2, about billing.a, by " in output
    assert "erased 1, and no entry says by whom" in output


async def test_an_entry_explains_no_erasure_of_what_came_after_it(command, log, key, lane, redis, tmp_path):
    """Who can write to Redis can write such an entry beforehand. So it counts for what was there, and only as what it says."""
    forged = {"event": "erased", "id": "billing.d", "by": "ann@office", "places": "0-999999999", "seq": "5"}
    await redis.xadd(lane.audit, forged)
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.d", "seq": "6"})
    await seal(redis, tmp_path, key)
    erase(log, 0, 1)
    erase(log, 4, 7)

    code, output, _ = await command("verify")

    assert code == 0
    assert "an entry says: erased 1, about billing.d, by ann@office on" in output
    assert "erased 7, and no entry says by whom" in output


@pytest.mark.parametrize("url", ["redis://localhost:1/0", None], ids=["away", "of nobody"])
async def test_what_cannot_be_entered_is_not_erased(command, log, folder, redis, url):
    """Neither without Redis, nor in one where no bot would seal it."""
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    code, output, errors = await command("erase", "billing.a", "--yes", **({"REDIS_URL": url} if url else {}))

    assert code in {1, 2}
    assert output == ""
    assert errors
    assert before == {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert await redis.keys() == []


async def test_what_a_user_of_redis_may_not_enter_is_not_erased(command, log, redis, redis_url, lane):
    """An operator reads the trail, and writes nothing into it."""
    (operator,) = [each for each in users_of(Keys("assent"), [], []) if each.name == "assent-operator"]
    await redis.execute_command("ACL", "SETUSER", operator.name, "on", ">secret", *operator.rules)
    try:
        url = redis_url.replace("://", "://assent-operator:secret@", 1)
        code, _, errors = await command("erase", "billing.a", "--yes", REDIS_URL=url)
    finally:
        await redis.execute_command("ACL", "DELUSER", operator.name)

    assert code == 1
    assert errors
    assert (await command("prove", "billing.a"))[0] == 0
    assert await redis.xlen(lane.audit) == 0


async def seal(redis, tmp_path, key):
    trail = AuditStore(redis, Keys("assent"), str(tmp_path / "trail"))
    await Sealer(trail, trail.logs, key, Health(), "one").seal(trail.keys)


async def test_what_lies_beside_the_log_is_named(command, log, folder, tmp_path):
    """Nobody signed it, so nobody should take it for a part of the story."""
    (folder / "said" / "000000000099").write_text("{}")
    for day in ("2026-11-01", "2030-01-01"):
        (tmp_path / "trail" / f"{day}.jsonl").write_text("")

    code, output, _ = await command("verify")

    assert code == 0
    assert "not checked, because no checkpoint covers them: said/000000000099." in output
    assert "not sealed, though newer than its first entry: 2030-01-01.jsonl." in output


async def test_a_sealed_entry_of_an_impossible_time_ends_no_command(command, log, key, lane, redis, tmp_path):
    await redis.xadd(lane.audit, {"event": "x", "id": "y", "seq": "9"}, id=f"{2**64 - 1}-{2**64 - 1}")
    await seal(redis, tmp_path, key)

    for arguments in ((), ("--since", "1d"), ("verify",), ("show", "y"), ("prove", "y")):
        assert (await command(*arguments))[::2] == (0, "")


async def test_a_log_that_begins_at_an_impossible_time_is_checked(
    command, key, folder, lane, redis, tmp_path
):
    await redis.xadd(lane.audit, {"event": "x", "id": "y", "seq": "1"}, id=f"{2**64 - 1}-0")
    await seal(redis, tmp_path, key)

    assert (await command("verify"))[0] == 0


async def test_nothing_is_erased_without_a_yes(command, log):
    code, _, _ = await command("erase", "billing.a")

    assert code == 1
    assert (await command("prove", "billing.a"))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "changed", "said"),
    [
        (["verify"], {"ASSENT_RING": ""}, "ASSENT_RING is not set"),
        (["verify"], {"ASSENT_AUDIT_DIR": ""}, "ASSENT_AUDIT_DIR is not set"),
        (["verify"], {"ASSENT_NAMESPACE": "other"}, "not signed with a key of the log assent/other/00"),
        (["prove", "billing.z"], {}, "no sealed log has an entry about billing.z"),
        (["erase", "billing.z", "--yes"], {}, "no sealed log has an entry about billing.z"),
    ],
)
async def test_what_is_missing_is_named(command, log, arguments, changed, said):
    code, _, errors = await command(*arguments, **changed)

    assert code in {1, 2}
    assert said in errors


async def test_an_anchor_that_cannot_be_read_is_no_finding_about_the_log(command, log, tmp_path):
    """Nothing was checked, and the exit code says so, as that of the verifier that stands alone."""
    code, output, errors = await command("verify", "--against", str(tmp_path / "missing.txt"))

    assert (code, output) == (2, "")
    assert "missing.txt: No such file or directory: name a file with the text of an anchor" in errors


async def test_an_empty_anchor_proves_nothing(command, log, tmp_path):
    (tmp_path / "anchor.txt").write_text("\n")

    code, output, errors = await command("verify", "--against", str(tmp_path / "anchor.txt"))

    assert (code, output) == (2, "")
    assert "anchor.txt is empty: name a file with the text of an anchor" in errors


async def test_an_anchor_with_a_heading_is_no_finding_about_the_log(command, log, tmp_path):
    (tmp_path / "anchor.txt").write_text("From #audit, on Monday:\n" + log.file(CHECKPOINT).decode())

    code, output, errors = await command("verify", "--against", str(tmp_path / "anchor.txt"))

    assert (code, output) == (2, "")
    assert "has something else than signed checkpoints: keep only their lines" in errors


async def test_a_log_whose_key_was_revoked_is_said_to_be_unproven_and_why(command, log, key, tmp_path):
    (tmp_path / "ring.json").write_text(ring_of(key, revoked=True))

    code, output, errors = await command("verify")

    assert (code, output) == (1, "")
    assert f"The ring has revoked {kid_of(key.public)}: nothing that such a key signed counts" in errors


async def test_a_folder_without_a_log_is_named(command):
    code, _, errors = await command("verify")

    assert (code, "there is no sealed log in" in errors) == (1, True)


def test_erasing_twice_at_once_loses_no_erasure(log, folder):
    """A batch is exchanged only if it is as it was read."""

    class Slow(Folder):
        def swap(self, path, before, after):
            if not getattr(self, "done", False):
                self.done = True
                LaneLog(Folder(folder)).erase("billing.b")
            return super().swap(path, before, after)

    LaneLog(Slow(folder)).erase("billing.a")

    left = [entry["id"] for entry in LaneLog(Folder(folder)).read(0, 2**60)]
    assert left == ["billing.c"]
    assert Mark.parse(log.head().mark).seq == 4
