"""Bots and agents go from version to version while people decide."""

import subprocess
import sys

import pytest

from benchmarks.company import upgrade
from benchmarks.company.checker import check, read_history
from benchmarks.company.day import Day
from benchmarks.company.stage import Company, Stage
from benchmarks.company.upgrade import phases, unpack
from benchmarks.processes import ROOT


def test_bots_take_each_next_version_before_agents():
    """As the guide says."""
    events = [event for phase in phases(["a", "b", "c"]) for event in phase.events]

    assert events == ["upgrade_bots", "upgrade_agents"] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["deadbeef"], "no commit is called 'deadbeef' here: choose one that `git log --oneline` lists"),
        (["HEAD", "--minutes", "0"], "--minutes has to be more than 0"),
        (["HEAD", "--bots", "0"], "--bots has to be more than 0"),
    ],
)
def test_what_cannot_be_played_is_said_in_one_sentence(tmp_path, words, said):
    """Before anything is started."""
    command = [sys.executable, "-m", "benchmarks.company.upgrade", *words, "--folder", str(tmp_path)]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode
    assert ended.stderr.splitlines()[-1].endswith(said)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git history")
def test_a_commit_that_today_s_agents_do_not_run_with_is_named(tmp_path, monkeypatch):
    """Its code lacks what they import."""
    monkeypatch.setattr(upgrade, "_STARTS", "import bot.nothing")

    with pytest.raises(
        SystemExit, match=r"HEAD is too old .*No module named 'bot.nothing'.*: choose a later commit"
    ):
        unpack("HEAD", tmp_path / "old")


@pytest.mark.server
@pytest.mark.timeout(240)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git history")
async def test_nothing_is_lost_while_bots_and_agents_are_replaced(tmp_path):
    """Here by the same code, from the last commit. Earlier versions take minutes: `make upgrade`."""
    company = Company(agents=2, bots=2, channels=2, is_clustered=False, urgent_seconds=4)
    day = Day(minutes=0.25, agents=2, channels=2, per_minute=30, phases=phases(["HEAD", "here"]))
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
