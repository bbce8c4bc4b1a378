"""What a policy file says about time and about who is on call, and what is told about every mistake in it."""

from datetime import time, timedelta

import pytest

from bot.domain.person import Schedule
from bot.domain.schedule import Escalation, Extension, QuietHours
from bot.policy.file import PolicyFileError, read_policy

MINUTE = timedelta(minutes=1)
DEFAULT = """\
default:
  channel: C0APPROVALS
  approvers: [U0DANA]
  time_limit: 8h
"""


def rule_with(text: str, default: str = ""):
    """Read a policy of one rule, whose text is in line 6."""
    more = f"  {default}\n" if default else ""
    return read_policy(f"{DEFAULT}{more}rules:\n  - {text}\n", "policy.yaml")


def problems(text: str, default: str = "") -> list[str]:
    with pytest.raises(PolicyFileError) as said:
        rule_with(text, default)
    return str(said.value).splitlines()


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("reminders: [2h, 30m, 5m, 30m, 3h]", "reminders", (5 * MINUTE, 30 * MINUTE, 120 * MINUTE, 180 * MINUTE)),
        ("reminders: 30m", "reminders", (30 * MINUTE,)),
        ("reminders: []", "reminders", ()),
        (
            "escalation: {after: 1h, approvers: [S0LEADS], channel: C0LEADS}",
            "escalation",
            Escalation(after=60 * MINUTE, approvers=("S0LEADS",), channel="C0LEADS"),
        ),
        ("escalation: {after: 1h, channel: U0MIRA}", "escalation", Escalation(after=60 * MINUTE, channel="U0MIRA")),
        ("quiet_hours: {from: 22:00, to: '07:30', zone: Europe/Berlin}", "quiet_hours", QuietHours(start=time(22), end=time(7, 30), zone="Europe/Berlin")),
        ("extend: 30m", "extend", Extension(by=30 * MINUTE)),
        ("extend: {by: 30m, times: 3}", "extend", Extension(by=30 * MINUTE, times=3)),
        ("assign: 10m", "assign", 10 * MINUTE),
        ("on_timeout: extend", "on_timeout", "extend"),
    ],
)  # fmt: skip
def test_what_a_rule_says_about_time(text, name, expected):
    """As people write it."""
    [rule] = rule_with(text).policy.rules

    assert getattr(rule, name) == expected


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("reminders: [soon]", "'soon' is not a valid duration: write 90s, 30m"),
        (f"reminders: [{', '.join(f'{n}m' for n in range(1, 12))}]", "reminders has more than 10 entries"),
        ("reminders: [8h]", "'rule 1' reminds when its time is up: make the reminders earlier"),
        ("escalation: 1h", "escalation has keys and values (after, approvers, channel)"),
        ("escalation: {channel: C0LEADS}", "escalation has no after: add it, as in after: 1h"),
        ("escalation: {after: 1h}", "escalation names neither approvers nor channel"),
        ("escalation: {after: 1h, approvers: []}", "approvers is empty"),
        ("escalation: {after: 1h, approvers: [channel]}", "'channel' is not another approver"),
        ("escalation: {after: 1h, channel: thread}", "'thread' is not another place to ask in"),
        ("escalation: {after: 1h, channel: C0APPROVALS}", "'rule 1' escalates to where it is asked first"),
        ("escalation: {after: 8h, channel: C0LEADS}", "'rule 1' escalates when its time is up"),
        ("quiet_hours: 22:00", "quiet_hours has keys and values (from, to, zone)"),
        ("quiet_hours: {from: 22:00, to: 07:00}", "quiet_hours has no zone: add it, as in zone: Europe/Berlin"),
        ("quiet_hours: {from: 22:00, to: 24:00, zone: UTC}", "'24:00' is not a time of day: write 22:00"),
        ("quiet_hours: {from: 22, to: 07:00, zone: UTC}", "22 is not a time of day"),
        ("quiet_hours: {from: 22:00, to: 22:00, zone: UTC}", "quiet_hours end when they begin"),
        ("quiet_hours: {from: 22:00, to: 07:00, zone: Europe/Berln}", "did you mean 'Europe/Berlin'?"),
        ("quiet_hours: {from: 22:00, to: 07:00, zone: 1}", "1 is not a time zone: write one of the IANA names"),
        ("extend: {times: 2}", "extend has no by: add it, as in by: 30m"),
        ("extend: {by: 30m, times: 11}", "11 is not a number of presses: write 1 to 10"),
        ("extend: {by: 30m, times: true}", "true is not a number of presses: write 1 to 10"),
        ("assign: often", "'often' is not a valid duration"),
    ],
)  # fmt: skip
def test_each_mistake_is_reported_with_its_line_and_cure(rule, said):
    """Also those that would only show when it matters."""
    [line] = [line for line in problems(rule) if said in line]

    assert line.startswith("policy.yaml, line 6: ")


# --- On-call schedules ------------------------------------------------------------------------------------------------

FILE = """
default: {{channel: C0TEAM, approvers: [{entry}]}}
schedules:
  payments: {schedule}
"""


def schedules(schedule="{pagerduty: P1A2B3C}", entry="oncall:payments"):
    return read_policy(FILE.format(schedule=schedule, entry=entry), "policy.yaml").policy


def test_a_schedule_is_kept_in_pagerduty_or_in_a_calendar():
    """The key and the address are settings, so that the file has no secret."""
    assert schedules().schedules == {"payments": Schedule("pagerduty", "P1A2B3C")}
    assert schedules().default.approvers == ("oncall:payments",)
    found = schedules("{calendar: rota, people: {Dana Park: U0DANA}}").schedules["payments"]
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
        schedules(schedule, entry)

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
