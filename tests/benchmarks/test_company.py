"""The company plays a day, and its day can be planned."""

from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.company.__main__ import keep_plan
from benchmarks.company.checker import check, read_history
from benchmarks.company.day import IN_BURST, URGENT, Day
from benchmarks.company.report import write_report
from benchmarks.company.stage import Company, Stage

DAY = Day(minutes=60, agents=20, channels=10)


@pytest.mark.server
@pytest.mark.timeout(240)
async def test_a_company_of_two_agents_plays_a_short_day(tmp_path):
    """The bot and an agent are killed, Slack is down for a moment, and the checker finds nothing."""
    day = Day(minutes=0.2, agents=2, channels=1, per_minute=40)
    company = Company(agents=2, bots=1, channels=1, is_clustered=False, urgent_seconds=4)

    await Stage(company, day, (0.0, 0.2), tmp_path / "leg-1").run()

    history = read_history(tmp_path / "leg-1")
    findings = check(history)
    assert [finding.faults for finding in findings] == [[]] * len(findings)
    assert all(finding.looked for finding in findings)
    assert {"killed", "started_again", "slack_down", "slack_up", "ended"} <= {
        e["what"] for e in history.events
    }

    write_report(tmp_path, [tmp_path / "leg-1"])
    assert f"| questions | {len(history.asked)} |" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "day.svg").read_text().startswith("<svg")


def test_the_same_seed_is_the_same_day():
    """So a killed agent that starts again asks what it asked before."""
    assert DAY.questions("billing-1") == DAY.questions("billing-1")
    assert DAY.questions("billing-1") != replace(DAY, seed=2).questions("billing-1")
    assert DAY.questions("billing-1") != DAY.questions("billing-2")


def test_in_a_burst_the_agents_that_deploy_ask_much_more():
    """Nobody else does."""
    [burst] = [span for span in DAY.spans() if span.phase.name == "deploys"]
    many = replace(DAY, per_minute=100.0)

    def asked(agent):
        return sum(burst.begins <= question.minute < burst.ends for question in many.questions(agent))

    assert asked("deploys-0") == pytest.approx(IN_BURST * asked("billing-0"), rel=0.2)


def test_some_questions_are_urgent_and_some_have_several_calls():
    """Calls of one question differ in their tools, so each has its own buttons."""
    found = [question for agent in DAY.agent_names() for question in DAY.questions(agent)]

    assert {len(question.calls) for question in found} == {1, 2, 3}
    assert {question.calls[0]["name"] == URGENT for question in found} == {True, False}
    assert all(len({call["name"] for call in question.calls}) == len(question.calls) for question in found)


@pytest.mark.parametrize("longest", [1, 10, 25, 60, 100])
def test_the_legs_are_the_whole_day_and_end_where_a_phase_ends(longest):
    """So an outage is never cut in two."""
    legs = DAY.legs(longest)

    assert (legs[0][0], legs[-1][1]) == (0, 60)
    assert all(before[1] == after[0] for before, after in pairwise(legs))
    assert {ends for _, ends in legs} <= {span.ends for span in DAY.spans()}
    assert all(ends - begins >= min(longest, 5) for begins, ends in legs[:-1])


def test_agents_share_the_channels():
    """Each asks in one, and all channels are asked in."""
    channels = [DAY.channel_of(agent) for agent in DAY.agent_names()]

    assert len(set(channels)) == 10
    assert len(channels) == 20


def test_another_day_is_not_played_in_the_folder_of_the_first(tmp_path):
    """A second call with the same arguments goes on; with others it would mix two days."""
    keep_plan(tmp_path, {"minutes": 60})
    keep_plan(tmp_path, {"minutes": 60})

    with pytest.raises(SystemExit, match="another day was begun there"):
        keep_plan(tmp_path, {"minutes": 3})
