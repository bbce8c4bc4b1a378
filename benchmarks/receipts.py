"""What the check of a receipt costs a tool: the first time, and after that. `python -m benchmarks.receipts`."""

import sys
import time
from collections.abc import Callable
from statistics import median

from agent_adapter import requires_receipt, using_receipt, verify_receipt
from agent_adapter.receipts.dsse import load_envelope
from benchmarks.figures import Bound, Row, table
from tests.support.receipts import Signing

ARGS = {"order": 17, "to": "al@example.com", "amount": "12.50", "note": "for the chairs"}
ROUNDS = 5
EACH = 200
REPEATS = 5_000


def measure() -> dict[str, list[float]]:
    """Measure checks in microseconds, and the signature alone beside them."""
    found: dict[str, list[float]] = {"first": [], "signature": [], "bytes": [], "values": [], "decorated": []}
    for _ in range(ROUNDS):
        for name, value in _one_round().items():
            found[name].append(value)
    return found


def _one_round() -> dict[str, float]:
    bot = Signing()
    given = {"keys": bot.ring(), "audience": "billing", "tool": "pay"}
    receipts = [bot.receipt(ARGS, rec=f"billing.{number:032x}") for number in range(EACH)]
    one = receipts[0]
    envelope = load_envelope(one.envelopes[0])
    signature, signed = bytes.fromhex(envelope.signatures[bot.kid].signature), envelope.pae()
    public = bot.key.public_key()
    # Both in turn, so that a busy moment of the machine meets both.
    first, alone = [], []
    for receipt in receipts:
        first.append(
            _microseconds(lambda receipt=receipt: verify_receipt(receipt, args=receipt.args, **given))
        )
        alone.append(_microseconds(lambda: public.verify(signature, signed)))
    tool = requires_receipt(**given)(pay)
    with using_receipt(one):
        decorated = _microseconds(lambda: tool(**ARGS), REPEATS)
    return {
        "first": median(first),
        "signature": median(alone),
        "bytes": _microseconds(lambda: verify_receipt(one, args=one.args, **given), REPEATS),
        "values": _microseconds(lambda: verify_receipt(one, args=ARGS, **given), REPEATS),
        "decorated": decorated - _microseconds(lambda: pay(**ARGS), REPEATS),
    }


def pay(order: int, to: str, amount: str, note: str = "") -> None:
    """Do nothing: the call itself is taken off."""


def _microseconds(call: Callable[[], object], times: int = 1) -> float:
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times * 1e6


def rows(found: dict[str, list[float]]) -> list[Row]:
    """Compare the first check with its signature, and later ones with fixed numbers."""
    signature = {"signature": found["signature"]}
    return [
        Row("first check of a receipt in a tool", "us", "less", Bound(500), Bound(2, "signature"), found["first"], signature),
        Row("later checks, arguments as bytes", "us", "less", Bound(5), Bound(3), found["bytes"], {}),
        Row("later checks, arguments as values", "us", "less", Bound(10), Bound(5), found["values"], {}),
        Row("later calls of a decorated tool", "us", "less", Bound(25), Bound(10), found["decorated"], {}),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(f"{table(rows(measure()))}\n")
