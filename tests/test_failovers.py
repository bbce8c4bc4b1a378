"""A campaign of failovers is taken up again where it was stopped."""

import argparse
import json

import pytest

from benchmarks.failovers import Campaign, table

FOUND = {"accepted": 40, "reached": 39, "lost": 1, "untold": 0, "doubled": 0, "wrong": 0, "longest": 2.5}


@pytest.fixture
def campaign(tmp_path):
    def campaign(planned=2, unplanned=1, **options):
        given = {"folder": tmp_path, "planned": planned, "unplanned": unplanned, "rate": 20.0, **options}
        return Campaign(tmp_path, argparse.Namespace(**given))

    return campaign


def test_what_is_written_down_is_not_tried_again(campaign, tmp_path):
    """A line that a stopped command did not finish counts as not tried."""
    stopped = campaign()
    stopped.begin()
    stopped.note({"kind": "planned", **FOUND})
    with (tmp_path / "failovers.jsonl").open("a") as lines:
        lines.write('{"kind": "unplanned", "acce')

    again = campaign()
    again.begin()
    assert sorted(again.left()) == ["planned", "unplanned"]

    again.note({"kind": "unplanned", **FOUND})
    again.note({"kind": "planned", **FOUND})
    assert again.left() == []
    assert campaign(planned=3).left() == ["planned"]
    assert [each["kind"] for each in again.done()] == ["planned", "unplanned", "planned"]


def test_one_folder_has_one_kind_of_campaign(campaign, tmp_path):
    """Otherwise its sums would say nothing."""
    campaign().begin()
    kept = json.loads((tmp_path / "settings.json").read_text())

    with pytest.raises(SystemExit, match="choose another --folder"):
        campaign(rate=5.0).begin()
    assert json.loads((tmp_path / "settings.json").read_text()) == kept == {"rate": 20.0}


def test_the_table_sums_up_each_kind():
    """As it can be pasted into a page."""
    last = table([{"kind": "planned", **FOUND}, {"kind": "planned", **FOUND}]).splitlines()[-1]

    assert last == "| 2 | planned | 80 | 78 | 2 | 0 | 0 | 0 | 2.5 (at most 2.5) |"
