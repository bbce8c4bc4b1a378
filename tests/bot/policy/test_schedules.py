"""On-call schedules in the policy file."""

import pytest

from bot.domain.person import Schedule
from bot.policy.file import PolicyFileError, read_policy

FILE = """
default: {{channel: C0TEAM, approvers: [{entry}]}}
schedules:
  payments: {schedule}
"""


def read(schedule="{pagerduty: P1A2B3C}", entry="oncall:payments"):
    return read_policy(FILE.format(schedule=schedule, entry=entry), "policy.yaml").policy


def test_a_schedule_is_kept_in_pagerduty_or_in_a_calendar():
    """The key and the address are settings, so that the file has no secret."""
    assert read().schedules == {"payments": Schedule("pagerduty", "P1A2B3C")}
    assert read().default.approvers == ("oncall:payments",)
    found = read("{calendar: rota, people: {Dana Park: U0DANA}}").schedules["payments"]
    assert found == Schedule("calendar", "rota", {"Dana Park": "U0DANA"})


@pytest.mark.parametrize(
    ("schedule", "entry", "says"),
    [
        ("{pagerduty: P1A2B3C}", "oncall:payment", "there is no such schedule: did you mean 'payments'?"),
        ("{pagerduty: P1A2B3C}", "oncall:night", "there is no such schedule: describe it under schedules"),
        ("{pagerduty: P1A2B3C}", "'oncall:'", "is not an approver"),
        ("{}", "oncall:payments", "write pagerduty or calendar"),
        ("{pagerduty: P1A2B3C, calendar: rota}", "oncall:payments", "kept in one place"),
        ("{pagerduty: ../users}", "oncall:payments", "is not the id of a schedule"),
        ("{calendar: 'https://a.example/s3cret.ics'}", "oncall:payments", "never its address"),
        ("{calendar: rota, people: {Dana: S0OPS}}", "oncall:payments", "is not a person"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_refused_with_its_cure(schedule, entry, says):
    """Before the bot starts, like any mistake of the file."""
    with pytest.raises(PolicyFileError, match=r"policy\.yaml, line") as refused:
        read(schedule, entry)

    assert says in str(refused.value)


def test_an_escalation_may_go_to_whoever_is_on_call():
    """As to any other approver, and it has to be described, too."""
    text = """
default:
  channel: C0TEAM
  approvers: [U0DANA]
  escalation: {after: 10m, approvers: ["oncall:night"]}
"""
    with pytest.raises(PolicyFileError, match="oncall:night: there is no such schedule"):
        read_policy(text, "policy.yaml")

    found = read_policy(text + "schedules: {night: {calendar: rota}}\n", "policy.yaml")
    assert found.policy.default.escalation.approvers == ("oncall:night",)
