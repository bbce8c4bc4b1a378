"""The weekly digest: what is counted, and which rules are proposed from history."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.audit_entry import AuditEntry
from bot.domain.digest import ENOUGH, Digest, last_end
from bot.domain.policy import Policy
from bot.domain.standing import StandingLimits
from bot.policy.file import read_policy

END = datetime(2026, 11, 23, 8, tzinfo=UTC)
WEEK = timedelta(days=7)
HOUR = timedelta(hours=1)

RULES = """
default:
  channel: C0OPS
  approvers: [U0DANA]
rules:
  - name: staging
    match: {agent: ops, tool: restart_service}
"""


def policy(**terms):
    """The rules above; the terms are those of `staging`."""
    lines = "".join(f"    {name}: {value}\n" for name, value in terms.items())
    return read_policy(RULES + lines, "policy.yaml").policy


def entry(event, ago=HOUR, **said):
    """Something that happened so long before the end of the week."""
    at = int((END - ago).timestamp() * 1000)
    return AuditEntry("00", f"{at}-0", {"event": event, "id": "ops.1", **said})


def approvals(rules, count=23, different=3, ago=HOUR, **said):
    """People approve `restart_service` so often, with so many different arguments."""
    facts = {
        "decision": "approve",
        "how": "click",
        "tool": "restart_service",
        "rule": "staging",
        "policy": rules.version,
    }
    for number in range(count):
        yield entry("decided", ago, **{**facts, "asked": f"digest {number % different}", **said})


def digest(rules, *entries):
    found = Digest(END - WEEK, END, rules)
    for each in entries:
        found.add(each)
    return found


@pytest.mark.parametrize(
    ("now", "end"),
    [
        (datetime(2026, 11, 23, 8, 0, tzinfo=UTC), END),
        (datetime(2026, 11, 23, 7, 59, tzinfo=UTC), END - WEEK),
        (datetime(2026, 11, 29, 23, 59, tzinfo=UTC), END),
        (datetime(2026, 11, 30, 8, 0, tzinfo=UTC), END + WEEK),
    ],
)
def test_a_week_ends_on_monday_at_eight(now, end):
    assert last_end(now) == end


def test_people_the_deadline_and_standing_approvals_are_counted_apart():
    """The shares are those of people's decisions."""
    found = digest(
        policy(),
        entry("admitted"),
        entry("admitted"),
        *(entry("decided", how="click", decision="approve", waited=1000 * n) for n in range(1, 8)),
        entry("decided", how="form", decision="edit", waited=60_000),
        entry("decided", how="form", decision="reject", waited=120_000),
        entry("decided", how="form", decision="respond", waited=7_200_000),
        entry("decided", how="standing", decision="approve"),
        entry("decided", how="silence", decision="approve"),
        entry("decided", how="silence", decision="reject", tool="pay"),
        entry("expired"),
        entry("resumed"),
    )

    assert found.requests == 2
    assert dict(found.kinds) == {"approve": 7, "edit": 1, "reject": 1, "respond": 1}
    assert (found.standing, found.silent, found.expired, dict(found.late)) == (1, 1, 1, {"pay": 1})
    assert found.within(0.5) == timedelta(seconds=5)
    assert found.within(0.9) == timedelta(minutes=2)


def test_only_the_week_is_counted():
    """What is older counts for proposals only, and what is newer belongs to the next digest."""
    found = digest(policy(), entry("admitted", ago=WEEK + HOUR), entry("admitted", ago=timedelta(0)))

    assert found.is_empty


def test_what_was_always_approved_unchanged_is_proposed():
    """Only for the very same call, and for some hours."""
    rules = policy()
    (found,) = digest(rules, *approvals(rules)).proposals()

    assert (found.tools, found.approved, found.repeated) == (("restart_service",), 23, 20)
    assert found.rule.line == 6
    assert found.standing == StandingLimits(scope="agent", lasts=timedelta(hours=8), uses=10)


def test_history_of_earlier_weeks_counts_for_proposals():
    rules = policy()

    assert digest(rules, *approvals(rules, ago=timedelta(days=20))).proposals()


@pytest.mark.parametrize(
    "terms",
    [
        {"risk": "high"},
        {"confirm": "true"},
        {"mask": "[token]"},
        {"mask_random": "[token]"},
        {"modal_only": "[body]"},
        {"quorum": 2, "approvers": "[U0DANA, U0ERIK]"},
        {"reject_quorum": 2, "approvers": "[U0DANA, U0ERIK]"},
        {"standing": "{same: arguments}"},
    ],
)
def test_where_care_was_asked_for_nothing_is_proposed(terms):
    """Never for a high risk, and never where something is masked."""
    rules = policy(**terms)

    assert digest(rules, *approvals(rules)).proposals() == []


def test_a_mask_of_the_default_counts_for_every_rule():
    text = RULES.replace("  approvers: [U0DANA]\n", "  approvers: [U0DANA]\n  mask: [token]\n")
    rules = read_policy(text, "policy.yaml").policy

    assert digest(rules, *approvals(rules)).proposals() == []


@pytest.mark.parametrize(
    "other",
    [
        {"how": "form", "decision": "edit"},
        {"how": "form", "decision": "reject"},
        {"how": "form", "decision": "respond"},
        {"how": "silence", "decision": "reject"},
        {"how": "silence", "decision": "approve"},
        {"how": "click", "decision": "approve", "tool": "stop_service"},
    ],
)
def test_one_other_decision_under_the_rule_is_enough_for_no_proposal(other):
    """An approved call of a tool that the rule does not name exactly is such a decision, too."""
    rules = policy()

    assert digest(rules, *approvals(rules), *approvals(rules, count=1, **other)).proposals() == []


def test_one_call_that_nobody_decided_in_time_is_enough_for_no_proposal():
    """People may not have wanted it. A call that its agent took back says nothing."""
    rules = policy()
    asked = [{"tool": "restart_service", "rule": "staging"}] * 2

    def ended(event):
        yield entry("admitted", id="ops.2", actions=asked)
        yield entry("decided", id="ops.2", index=0, how="standing", decision="approve", rule="staging")
        yield entry(event, id="ops.2", policy=rules.version)

    assert digest(rules, *approvals(rules), *ended("expired")).proposals() == []
    assert digest(rules, *approvals(rules), *ended("expired")).late == {"restart_service": 1}
    assert digest(rules, *approvals(rules), *ended("withdrawn")).proposals()


def test_what_expired_before_the_week_is_not_late_in_it():
    asked = [{"tool": "pay", "rule": "staging"}]
    old = (entry(event, ago=WEEK + HOUR, actions=asked) for event in ("admitted", "expired"))

    assert not +digest(policy(), *old).late


@pytest.mark.parametrize(
    "history",
    [
        {"count": ENOUGH - 1},
        {"different": 23},
        {"policy": "an earlier version"},
        {"rule": "another"},
        {"how": "standing"},
    ],
)
def test_history_that_says_too_little_is_no_proposal(history):
    """Too few, never the same call, by other rules, or not decided by people."""
    rules = policy()

    assert digest(rules, *approvals(rules, **history)).proposals() == []


@pytest.mark.parametrize("match", ["{tool: 'restart_*'}", "{tool: [restart_service, stop_service]}"])
def test_a_rule_that_matches_tools_that_nobody_called_is_not_proposed(match):
    """They would be approved with less care without any history."""
    text = RULES.replace("{agent: ops, tool: restart_service}", match)
    rules = read_policy(text, "policy.yaml").policy

    assert digest(rules, *approvals(rules)).proposals() == []


def test_two_rules_with_one_name_are_not_told_apart():
    text = RULES + "  - name: staging\n    match: {tool: pay}\n    risk: high\n"
    rules = read_policy(text, "policy.yaml").policy

    assert digest(rules, *approvals(rules)).proposals() == []


def test_without_a_policy_file_there_is_nothing_to_paste_into():
    rules = Policy.of_settings(["U0DANA"], "C0OPS")

    assert digest(rules, *approvals(rules, rule="default")).proposals() == []
