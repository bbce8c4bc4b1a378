"""Bots and agents go from version to version while people decide."""

import pytest

from benchmarks.company.checker import check, read_history
from benchmarks.company.day import Day
from benchmarks.company.stage import Company, Stage
from benchmarks.company.upgrade import phases, unpack
from benchmarks.processes import ROOT


def test_bots_take_each_next_version_before_agents():
    """As the guide says."""
    events = [event for phase in phases(3) for event in phase.events]

    assert events == ["upgrade_bots", "upgrade_agents"] * 2


@pytest.mark.server
@pytest.mark.timeout(240)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git history")
async def test_nothing_is_lost_while_bots_and_agents_are_replaced(tmp_path):
    """Here by the same code, from the last commit. Earlier versions take minutes: `make upgrade`."""
    company = Company(agents=2, bots=2, channels=2, is_clustered=False, urgent_seconds=4)
    day = Day(minutes=0.25, agents=2, channels=2, per_minute=30, phases=phases(2))
    versions = [unpack("HEAD", tmp_path / "before"), ROOT]

    await Stage(company, day, (0.0, 0.25), tmp_path / "leg-1", versions).run()

    history = read_history(tmp_path / "leg-1")
    assert [event["name"] for event in history.events if event["what"] == "replaced"] == [
        "bot-0",
        "bot-1",
        "deploys-0",
        "billing-0",
    ]
    findings = check(history)
    assert [finding.faults for finding in findings] == [[]] * len(findings)
    assert all(finding.looked for finding in findings)
