"""The audit log of a real bot: everything that happened is in it, and others can check it."""

import asyncio
import subprocess
import sys

import pytest

from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from bot.jobs.audit_mover import FULL, AuditMover
from tests.conftest import keys_of, until
from tests.support.builders import an_action, review
from tests.support.topologies import scanned


@pytest.fixture
def signed(signing, tmp_path):
    """The settings of a bot with a key for receipts and one for the log."""
    signer = new_signer()
    key = RingKey.of(public_of(signer), "log", namespace="assent")
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return keys_of(signing) | {"log_key": signer.private_bytes.decode(), "audit_dir": str(tmp_path / "trail")}


@pytest.fixture
async def bot(start_bot, signed):
    return await start_bot(**signed, audit_channel="C0APPROVALS")


def verify(folder, *options):
    """Check a copy of the log as an auditor does. Gives the exit code and what is said."""
    command = [sys.executable, "verifiers/assent_log.py", str(folder), *map(str, options)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


async def write(bot):
    """Write what is new into the log, as the bot does once a minute."""
    await AuditMover(bot.audit, bot.health, bot.process, 10**9, 365).tidy()


async def test_what_people_decided_is_in_a_log_that_others_can_check_with_a_head_from_slack(
    bot, client, dana, slack, signing, tmp_path
):
    """The one who cuts it back can write to the folder, and not to Slack."""
    folder, heads = tmp_path / "trail", tmp_path / "heads.txt"
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    card = await dana.card()
    await write(bot)
    before = {file: file.read_bytes() for file in folder.glob("*.jsonl")}
    await dana.press(card, "approve:0")
    await reviewing
    await write(bot)

    (day,) = bot.audit.log.days()
    assert [entry["event"] for entry in bot.audit.log.read(day)][:3] == ["published", "admitted", "decided"]
    post = AuditMover(bot.audit, bot.health, bot.process, 10**9, 365, bot_post(bot))
    await post.tidy()
    message = await slack.wait_for_message(lambda each: each["text"].startswith("Head of the audit log"))

    heads.write_text(message["blocks"][1]["elements"][0]["elements"][0]["text"])
    code, told = verify(folder, "--key", signing.ring_path, "--against", heads)
    assert code == 0, told
    for file, text in before.items():
        file.write_bytes(text)
    assert verify(folder, "--key", signing.ring_path)[0] == 0
    code, told = verify(folder, "--key", signing.ring_path, "--against", heads)
    assert (code, "it was cut" in told) == (1, True)


def bot_post(bot):
    from bot.jobs.audit_mover import posting_to

    return posting_to(bot.slack, "C0APPROVALS")


async def test_a_running_bot_writes_its_log_by_itself(bot, tmp_path):
    """Its first look comes at once."""
    await until(lambda: "audit" in {loop.name for loop in bot.health.loops})
    await until(lambda: bot.health.audit_unsealed == 0)
    assert not bot.health.warnings


async def test_while_too_much_is_not_in_the_log_nobody_is_asked_and_the_agent_learns_why(
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
