"""What drawing a card of three actions costs the processor: the first time, and again after a decision about one of them."""

import gc
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.record import Recorded
from benchmarks.cards import REVIEWER, interrupt, pending
from benchmarks.figures import Bound, Row
from bot.domain.approval import Approval
from bot.rendering.card.card import render_card

ROUNDS = 5
EACH = 200


def measure() -> dict[str, list[float]]:
    """Measure both in milliseconds of processor time a card, in some rounds."""
    found: dict[str, list[float]] = {"first": [], "again": []}
    _draw(_records())
    for _ in range(ROUNDS):
        records = _records()
        found["first"].append(_draw(records))
        found["again"].append(median(_again(records) for _ in range(ROUNDS)))
    return found


def _records() -> list[Approval]:
    return [pending(interrupt()) for _ in range(EACH)]


def _again(records: Sequence[Approval]) -> float:
    """Draw them as a bot reads them once somebody has approved the first call: with what it has kept of the card before."""
    for record in records:
        for _, kept in record.kept.values():
            kept.clear()
    _draw(records)
    return _draw([_decided(record) for record in records])


def _decided(record: Approval) -> Approval:
    first = record.actions[0]
    recorded = Recorded(
        fingerprint=first.fingerprint,
        decision=ApproveDecision(),
        decided_by=REVIEWER,
        decided_at=record.now,
    )
    return replace(record, recorded=(recorded, *record.recorded[1:]))


def _draw(records: Sequence[Approval]) -> float:
    gc.collect()
    started = time.process_time()
    for record in records:
        render_card(record)
    return (time.process_time() - started) / len(records) * 1e3


def rows(found: dict[str, list[float]]) -> list[Row]:
    """Compare them with fixed numbers."""
    return [
        Row("processor time to draw a card, first", "ms", "less", Bound(3), Bound(0.7), found["first"], {}),
        Row("processor time to draw a card, again", "ms", "less", Bound(3), Bound(0.7), found["again"], {}),
    ]
