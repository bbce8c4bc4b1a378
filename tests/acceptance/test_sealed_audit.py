"""The sealed audit trail of a real bot: everything that happened is in the log, and others can check it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import LocalSigner
from bot.cli.doctor import examine
from bot.jobs.audit_mover import FULL
from bot.jobs.sealer import Sealer
from bot.store.audit_log import number_of
from bot.tlog.note import size_in
from tests.conftest import keys_of, until
from tests.support.builders import an_action, review
from tests.support.topologies import KEYS, scanned


@pytest.fixture
def sealing(signing, tmp_path):
    """The settings of a bot with a key for receipts and one for the log."""
    signer = LocalSigner.generate()
    key = RingKey.of(signer.public, "log", namespace="assent")
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return keys_of(signing) | {"log_key": signer.private_pem(), "audit_dir": str(tmp_path / "trail")}


@pytest.fixture
async def bot(start_bot, sealing):
    return await start_bot(**sealing)


def verify(folder, *options):
    """Check a copy of the log as an auditor does. Gives the exit code and what is said."""
    command = [sys.executable, "verifiers/assent_log.py", "verify", str(folder), *map(str, options)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


async def test_what_people_decided_is_in_a_log_that_others_can_check(bot, client, dana, signing, tmp_path):
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await reviewing
    lane = bot.store.keys

    await seal(bot, lane)

    events = [entry["event"] for entry in bot.audit.logs.lane(lane).read(0, 2**60)]
    assert events[:3] == ["published", "admitted", "decided"]
    code, told = verify(tmp_path / "trail" / "log", "--key", signing.ring_path)
    assert code == 0, told
    assert f"assent/assent/{number_of(KEYS)}" in told


async def test_an_anchor_in_a_channel_shows_that_the_log_was_cut_back(
    bot, start_bot, sealing, client, dana, slack, signing, tmp_path
):
    """The one who cuts it back can write to the folder, and not to Slack."""
    lane, log, anchor = (
        bot.store.keys,
        tmp_path / "trail" / "log",
        tmp_path / "anchor.txt",
    )
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    card = await dana.card()
    before = await seal(bot, lane)
    await dana.press(card, "approve:0")
    await reviewing
    await seal(bot, lane)

    await start_bot(**sealing, anchor="slack:C0APPROVALS")
    message = await slack.wait_for_message(lambda each: each["text"].startswith("Anchor of the audit log"))

    anchor.write_text(message["blocks"][1]["elements"][0]["elements"][0]["text"])
    assert verify(log, "--key", signing.ring_path, "--against", anchor)[0] == 0
    (log / number_of(KEYS) / "checkpoint").write_bytes(before)
    assert verify(log, "--key", signing.ring_path)[0] == 0
    code, told = verify(log, "--key", signing.ring_path, "--against", anchor)
    assert code == 1
    assert "was cut" in told


async def seal(bot, lane):
    """Seal what is there now, and give the checkpoint."""
    await Sealer(bot.audit, bot.audit.logs, bot.log_key, bot.health, "now").seal(lane)
    return bot.audit.logs.lane(lane).storage.read("checkpoint")


async def test_a_running_bot_seals_by_itself(bot):
    """Its first look comes at once."""
    assert "sealing" in {loop.name for loop in bot.health.loops}
    nothing_left = {number_of(lane): 0 for lane in [KEYS]}
    await until(lambda: bot.health.audit_unsealed == nothing_left)


async def test_doctor_notices_a_log_that_is_not_the_one_of_the_other_bots(bot, client, dana, tmp_path):
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    await dana.card()
    reviewing.cancel()
    await Sealer(bot.audit, bot.audit.logs, bot.log_key, bot.health, "now").seal(bot.store.keys)
    apart = bot.settings.model_copy(update={"audit_dir": str(tmp_path / "apart")})

    here = [str(finding) async for finding in examine(bot.settings) if finding.subject == "log"]
    elsewhere = [str(finding) async for finding in examine(apart) if finding.subject == "log"]

    assert all(sentence.startswith("ok") for sentence in here)
    assert any(
        f"is behind what another bot has sealed ({number_of(KEYS)})" in sentence for sentence in elsewhere
    )


async def test_while_too_much_is_not_sealed_nobody_is_asked_and_the_agent_learns_why(
    bot, client, slack, dana
):
    """Open cards can still be decided. New ones come once the log can be written."""
    first = review(client, an_action("mail", {"to": "ann"}))
    card = await dana.card()
    bot.health.fault(FULL, "the log cannot be written")
    second = review(client, an_action("pay", {"to": "bob"}))

    async with asyncio.timeout(30):
        while "the audit trail is full" not in str([await noticed(bot, key) for key in await records(bot)]):
            await asyncio.sleep(0.1)
    await dana.press(card, "approve:0")
    assert (await first).decisions[0].type == "approve"
    assert not second.done()
    bot.health.recover(FULL)
    await dana.press(await dana.card("pay"), "approve:0")

    assert (await second).decisions[0].type == "approve"


async def records(bot):
    return await scanned(bot.store._redis, "*:card:*")


async def noticed(bot, key):
    return await bot.store._redis.hgetall(key)


async def test_whoever_reads_the_trail_is_told_what_is_not_sealed(bot, client, dana, redis, tmp_path):
    """An entry that somebody wrote into Redis. A batch that no checkpoint covers is not read at all."""
    lane = bot.store.keys
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    await dana.press(await dana.card(), "approve:0")
    await reviewing
    note = await seal(bot, lane)
    said = tmp_path / "trail" / "log" / number_of(KEYS) / "said"
    (said / f"{size_in(note):012d}").write_bytes((said / "000000000000").read_bytes())
    await redis.xadd(lane.audit, {"event": "decided", "id": "billing.forged", "by": "U0ERIK"})

    code, told, errors = show_all(bot, tmp_path)

    assert (code, told.count('"published"'), "billing.forged" in told) == (0, 1, True)
    assert "are not in the sealed log: they were erased from it, are from before it" in errors
    assert "or no bot wrote them" in errors


async def test_a_batch_that_was_changed_is_told_to_whoever_reads_the_trail(bot, client, dana, tmp_path):
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    await dana.press(await dana.card(), "approve:0")
    await reviewing
    await seal(bot, bot.store.keys)
    first = tmp_path / "trail" / "log" / number_of(KEYS) / "said" / "000000000000"
    first.write_text(first.read_text().replace("U0DANA", "U0ERIK"))

    code, _, errors = show_all(bot, tmp_path)

    assert code == 1
    assert "entries are missing here" in errors


def show_all(bot, folder):
    """Run `python -m bot audit`. Gives the exit code, what it prints, and what it warns of."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path.cwd()),
        "REDIS_URL": bot.settings.redis_url,
        "ASSENT_AUDIT_DIR": bot.settings.audit_dir,
    }
    command = [sys.executable, "-m", "bot", "audit", "--as", "jsonl"]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr
