"""Audit logs for tests: some days of a bot, with a key and a ring."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter.receipts.key_files import write_keys
from bot.domain.audit_entry import AuditEntry, Mark
from bot.runtime.bot_keys import BotKeys
from bot.store.audit_log import AuditLog
from tests.support.receipts import bot_signing

NOON = 1_794_052_800_000
"""2026-11-07, 12:00 UTC."""
DAY = 86_400_000


def entries(*names: str, seq: int = 1, at: int = NOON, by: str = "U0DANA") -> list[AuditEntry]:
    """Give decisions about requests of these names, counted from `seq`."""
    return [
        AuditEntry.of_stream(
            f"{at + count}-0",
            {
                "event": "decided",
                "id": f"billing.{name}",
                "seq": str(count),
                "by": by,
                "facts": '{"name":"Dana","tool":"pay","channels":["C1"],"reason":"as agreed"}',
            },
        )
        for count, name in enumerate(names, seq)
    ]


def make_keys(folder: Path, **fields: object) -> BotKeys:
    """Make the keys of a bot, and put the public one into `ring.json`."""
    keys = bot_signing(Ed25519PrivateKey.generate(), "T0ACME", **fields)
    write_keys(folder / "ring.json", [keys.key])
    return keys


def make_log(folder: Path, keys: BotKeys | None = None) -> AuditLog:
    """Write two batches on one day and one on the next."""
    log = AuditLog(folder, "assent", keys)
    for day, names, seq in ((0, "ab", 1), (0, "cd", 3), (1, "ef", 5)):
        written = entries(*names, seq=seq, at=NOON + day * DAY)
        log.append(written, Mark(written[-1].number, seq + 1), NOON + day * DAY + 1000)
    return log
