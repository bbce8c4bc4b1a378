"""Audit logs for tests: some days of a bot, with a key and a ring."""

from pathlib import Path

from agent_adapter.receipts.key_files import write_keys
from agent_adapter.receipts.ring import Ring, RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from bot.domain.audit_entry import AuditEntry, Mark
from bot.runtime.log_key import LogKey
from bot.store.audit_log import AuditLog

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


def make_key(folder: Path, *, namespace: str = "assent", **fields: object) -> LogKey:
    """Make a key of the log, and put it into `ring.json` beside others that are there."""
    signer, ring = new_signer(), folder / "ring.json"
    known = Ring.load(ring, purpose="log").keys.values() if ring.exists() else ()
    write_keys(ring, [*known, RingKey.of(public_of(signer), "log", namespace=namespace, **fields)])
    return LogKey(signer, Ring.load(ring, purpose="log"), namespace)


def make_log(folder: Path, key: LogKey | None = None) -> AuditLog:
    """Write two batches on one day and one on the next."""
    log = AuditLog(folder, "assent", key)
    for day, names, seq in ((0, "ab", 1), (0, "cd", 3), (1, "ef", 5)):
        written = entries(*names, seq=seq, at=NOON + day * DAY)
        log.append(written, Mark(written[-1].number, seq + 1), NOON + day * DAY + 1000)
    return log
