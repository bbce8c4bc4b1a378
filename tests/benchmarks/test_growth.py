"""Growth is measured in steps, and what a folder has is not measured again."""

import json

import pytest

from benchmarks import growth
from benchmarks.growth import TooLargeError, chart, page, run

FIGURES = {
    "bytes": 2_600, "body": 1_200, "click_ms": 2.0, "click_bot_us": 900, "click_redis_us": 300, "ask_bot_us": 4_000,
    "ask_redis_us": 900, "rest_percent": 0.4, "rest_redis_percent": 0.2, "start_redis_s": 1.0,
}  # fmt: skip
TWICE = {**FIGURES, "click_redis_us": 600}


async def test_a_folder_that_has_all_figures_gives_its_page_at_once(tmp_path):
    """A run that was stopped goes on where it ended; one that is complete only reports."""
    for count, figures in {1_000: FIGURES, 10_000: TWICE}.items():
        (tmp_path / f"pending-{count}.json").write_text(json.dumps(figures))
    waits = {"count": 500, "each": 1_500, "rss": 90, "rest_percent": 0.01}
    (tmp_path / "waits-500.json").write_text(json.dumps(waits))

    text = await run(tmp_path, most=10_000, waits=500)

    assert "| 10,000 | 2,600 | 1.00 | 1.00 | 1.00 | 2.00 |" in text
    assert "500 waits in one process: 1,500 bytes each" in text
    assert (tmp_path / "growth.md").read_text() == text
    assert (tmp_path / "growth.svg").read_text().startswith("<svg")


def test_each_step_is_compared_with_the_first():
    """Ratios, not times: those of another machine say little."""
    text = page({1_000: FIGURES, 100_000: TWICE}, None)

    assert "| 1,000 | 2,600 | 1.00 | 1.00 | 1.00 | 1.00 |" in text
    assert "| 100,000 | 2,600 | 1.00 | 1.00 | 1.00 | 2.00 |" in text
    assert "Redis, a click" in chart({1_000: FIGURES, 100_000: TWICE})


def test_a_machine_that_is_too_small_is_said_so_before_anything_is_written():
    """With what is needed and what there is."""
    with pytest.raises(
        TooLargeError, match=r"1,000,000 pending records need 9000000\.0 GB more, and this machine has"
    ):
        growth._check_memory(1_000_000, 9e15)
