"""The sealed audit trail of a real bot: everything that happened is in the log, and others can check it."""

import subprocess
import sys

import pytest

from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import LocalSigner
from bot.jobs.sealer import Sealer
from tests.support.builders import an_action, review


@pytest.fixture
async def bot(start_bot, signing, tmp_path):
    """A bot with a key for receipts and one for the log."""
    signer = LocalSigner.generate()
    key = RingKey.of(signer.public, "log", namespace="assent")
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    return await start_bot(
        signing_key=signing.key_path.read_text(),
        ring=str(signing.ring_path),
        log_key=signer.private_pem(),
        audit_dir=str(tmp_path / "trail"),
    )


async def test_what_people_decided_is_in_a_log_that_others_can_check(bot, client, dana, signing, tmp_path):
    reviewing = review(client, an_action("mail", {"to": "ann"}))
    card = await dana.card()
    await dana.press(card, "approve:0")
    await reviewing
    lane = bot.store.keys.lane(0)

    await Sealer(bot.audit, bot.audit.logs, bot.log_key, bot.health, "now").seal(lane)

    events = [entry["event"] for entry in bot.audit.logs.lane(lane).read(0, 2**60)]
    assert events[:3] == ["published", "admitted", "decided"]
    told = subprocess.run(  # noqa: ASYNC221
        [sys.executable, "verifiers/assent_log.py", "verify", str(tmp_path / "trail" / "log"), "--key", str(signing.ring_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "assent/assent/00" in told.stdout


async def test_a_running_bot_seals_by_itself(bot):
    """Its first look comes at once."""
    assert "sealing" in {loop.name for loop in bot.health.loops}
    assert bot.health.audit_unsealed == {"00": 0}
