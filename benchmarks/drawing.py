"""What drawing a card of three actions costs the processor: the first time, and again after a change."""

import gc
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.cards import interrupt, pending
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
        found["again"].append(median(_draw(records) for _ in range(ROUNDS)))
    return found


def _records() -> list[Approval]:
    return [pending(interrupt()) for _ in range(EACH)]


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
