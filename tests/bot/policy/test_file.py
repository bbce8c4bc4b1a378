"""The policy file as people write it: what it means, and what they are told about every mistake."""

import re
from datetime import time, timedelta
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.person import Schedule
from bot.domain.policy import Limits, limits_for
from bot.domain.rules import Match, Rule
from bot.domain.schedule import Escalation, Extension, QuietHours
from bot.domain.standing import StandingLimits
from bot.policy.checks import unconfirmed
from bot.policy.file import Mention, PolicyFileError, read_policy

MINUTE = timedelta(minutes=1)
DEFAULT = """\
default:
  channel: C0APPROVALS
  approvers: [U0DANA]
"""


def read(text: str):
    return read_policy(text, "policy.yaml")


def problems(text: str) -> list[str]:
    """Give every line of what an operator is told."""
    with pytest.raises(PolicyFileError) as said:
        read(text)
    return str(said.value).splitlines()


def rule_with(text: str) -> str:
    """Write a policy of one rule, whose text begins in line 5."""
    return f"{DEFAULT}rules:\n  - {text.strip()}\n"


# --- What it means ------------------------------------------------------------------------------------------------


def test_a_rule_says_what_is_different_and_the_default_the_rest():
    """What a rule leaves out is as the default says."""
    file = read(
        dedent("""\
        rules:
          - name: large payments
            match:
              agent: billing-*
              tool: [pay, refund_*]
            channel: C0FINANCE
            approvers: [S0FINANCE, channel]
            decisions: [approve, reject]
            time_limit: 1h30m
            on_timeout: raise
          - match: {agent: ops}
            requester_may_decide: false
        default:
          channel: thread
          approvers: U0DANA
          requester_may_decide: true
          time_limit: 2d
        """)
    )

    assert file.policy.rules == (
        Rule(
            approvers=("S0FINANCE", "channel"),
            channel="C0FINANCE",
            match=Match(agents=("billing-*",), tools=("pay", "refund_*")),
            name="large payments",
            requester_may_decide=True,
            decisions=("approve", "reject"),
            time_limit=timedelta(hours=1, minutes=30),
            on_timeout="raise",
            line=2,
        ),
        Rule(("U0DANA",), "thread", Match(agents=("ops",)), "rule 2", time_limit=timedelta(days=2), line=11),
    )
    assert file.policy.default == Rule(
        ("U0DANA",), "thread", requester_may_decide=True, time_limit=timedelta(days=2), line=13
    )
    assert file.mentions == (
        Mention("C0FINANCE", 6, is_place=True),
        Mention("S0FINANCE", 7),
        Mention("U0DANA", 15),
    )


def test_the_version_names_the_content():
    """The same text has the same version anywhere, and any other text another one."""
    first, second = read(DEFAULT), read(DEFAULT + "# reviewed\n")

    assert re.fullmatch("[0-9a-f]{12}", first.policy.version)
    assert read(DEFAULT).policy.version == first.policy.version
    assert second.policy.version != first.policy.version


@pytest.mark.parametrize(
    "written", ["no", "off", "12:30", "2026-11-20", "0x10", "012", "1_000", "Yes", ".inf", "'12'"]
)
def test_a_text_stays_the_text_that_it_is(written: str):
    """YAML's other readers make booleans, times, dates and numbers of these."""
    file = read(rule_with(f"match: {{tool: {written}}}"))

    assert file.policy.rules[0].match.tools == (written.strip("'"),)


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
        ("{on_timeout: extend, time_limit: 8h}", "on_timeout", "extend"),
    ],
)  # fmt: skip
def test_what_a_rule_says_about_time(text, name, expected):
    """As people write it."""
    [rule] = read(rule_with(text)).policy.rules

    assert getattr(rule, name) == expected


# --- What is wrong with it ----------------------------------------------------------------------------------------


def test_what_people_see_in_other_scripts_is_no_fault():
    """Signs that are several characters, the mark with which some editors begin a file, and the line ends of Windows."""
    assert read(
        f"\ufeff{DEFAULT}# \u26a0\ufe0f \U0001f469\u200d\U0001f4bb große Beträge\t金額\n".replace(
            "\n", "\r\n"
        )
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: a policy has keys and values (default, rules, limits, agents, schedules, look_alikes), not an empty value"),
        ("# rules follow\n", "line 1: a policy has keys and values"),
        ("rules: []\n", "line 1: a policy has no default: add it, as in default: {channel: C0123ABCD, approvers: [U0123ABCD]}"),
        ("hello\n", "line 1: a policy has keys and values (default, rules, limits, agents, schedules, look_alikes), not 'hello'"),
        ("a: [\n", "line 2: this is not YAML: while parsing a flow node"),
        ("\ta: 1\n", "line 1: there is a tab: indent with spaces"),
        ("default:\n\tchannel: C0A\n", "line 2: there is a tab: indent with spaces"),
        (f"{DEFAULT}---\n{DEFAULT}", "line 4: a second document begins here"),
        (f"{DEFAULT}rules: &all []\nx: *all\n", "line 5: the alias *all is not read here"),
        (f"{DEFAULT}rules: !!set {{}}\n", "line 4: the tag tag:yaml.org,2002:set is not read here"),
        *((f"{DEFAULT}# All is well.{unseen}rules: []\n", f"line 4: U+{ord(unseen):04X} is there, which nobody sees: take it out")
          for unseen in "\r\x07\x85\xa0\xad\u061c\u200b\u2028\u2029\u202e\u2066\u3164\ufe0f\ufeff\U000e0041"),
        (f"{DEFAULT}# pay\u2800\ufe0f\n", "line 4: U+2800 is there, which nobody sees: take it out"),
        (f"{DEFAULT}rules: {'[' * 60}", "line 4: nested deeper than 40 levels"),
        (DEFAULT + "#" * 300_000, "line 1: more than 256 KB: this is not a policy file"),
        (DEFAULT + "rules: {}\n", "line 4: rules takes a list: each entry begins with a hyphen"),
        (DEFAULT + "rule: []\n", "line 4: a policy has no 'rule': did you mean 'rules'?"),
        (DEFAULT + DEFAULT, "line 4: 'default' is here twice, first in line 1: take one out"),
        ("default: {approvers: [U0DANA]}\n", "line 1: the default has no channel: add it, as in channel: C0123ABCD"),
        ("default: {channel: C0X}\n", "line 1: the default has no approvers: add it, as in approvers: [U0123ABCD]"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_a_policy_is_reported_with_the_line(text: str, said: str):
    """Whatever it holds, an operator reads where to look."""
    assert any(line.startswith(f"policy.yaml, {said}") for line in problems(text))


def test_later_calls_are_approved_only_by_the_rule_that_says_so():
    """What approves without asking is not inherited, and is narrow where nothing is said."""
    file = read(
        dedent("""\
        rules:
          - match: {tool: pay}
          - match: {tool: look_up}
            risk: low
            standing: {same: tool, scope: agent, lasts: 8h, uses: 100, approvers: [U0ERIK]}
        default:
          channel: C0OPS
          approvers: [U0DANA]
          standing: {}
        """)
    )

    assert file.policy.rules[0].standing is None
    assert file.policy.rules[1].standing == StandingLimits(
        same="tool", scope="agent", lasts=timedelta(hours=8), uses=100, approvers=("U0ERIK",)
    )
    usual = file.policy.default.standing
    assert usual == StandingLimits(same="arguments", scope="run", lasts=timedelta(hours=1), uses=10)
    assert Mention("U0ERIK", line=5) in file.mentions


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("people: 2", "a rule has no 'people': there are agent_channel_may_decide, requester"),
        ("deadline: 1h", "a rule has no 'deadline': there are agent_channel_may_decide, requester"),
        ("approver: [U0DANA]", "a rule has no 'approver': did you mean 'approvers'?"),
        ("pay", "a rule has keys and values"),
        ("name: 12", "12 is not a name: write a text, in quotes if it looks like something else"),
        ("12: x", "a key is a word: write quotes"),
        ("channel: '#finance'", "'#finance' is not a place to ask in: write a channel id (C…) or a user id (U…, to ask in a direct message)"),
        ("channel: S0OPS", "'S0OPS' is not a place to ask in"),
        ("{channel: U0DANA, approvers: [channel]}", "'rule 1' asks in a direct message, which has no members"),
        ("approvers: []", "approvers is empty: write at least one entry, or leave the key out"),
        ("approvers:", "an empty value is not an approver"),
        ("approvers: {U0DANA: x}", "{…} is not an approver"),
        ("approvers: [dana]", "'dana' is not an approver: write a user id (U…) or a user group id (S…)"),
        ("approvers: [U0DANA, U0DANA]", "U0DANA is here twice: take one out"),
        ("requester_may_decide: yes", "requester_may_decide takes true or false, not 'yes'"),
        ("requester: yes", "'yes' is not known here: write 'optional' or 'required'"),
        ("agent_channel_may_decide: yes", "agent_channel_may_decide takes true or false"),
        ("{channel: thread, approvers: [U0DANA, channel]}", "'rule 1' asks where the agent says, and lets the members of that channel decide"),
        ("decisions: [aprove]", "'aprove' is not known here: write 'approve', 'edit', 'reject' or 'respond'"),
        ("decisions: []", "decisions is empty: write at least one entry, or leave the key out"),
        ("time_limit: 30", "30 is not a valid duration: write 90s, 30m, 2h, 1d or 1h30m"),
        ("time_limit: soon", "'soon' is not a valid duration"),
        ("time_limit: ''", "'' is out of range"),
        ("time_limit: 0s", "'0s' is out of range: write 1s to 7d"),
        ("time_limit: 8d", "'8d' is out of range: write 1s to 7d"),
        ("on_timeout: approve", "'rule 1' approves by silence, which only risk: low allows"),
        ("{on_timeout: approve, risk: high}", "approves by silence, which only risk: low allows"),
        ("{on_timeout: approve, risk: low, approvers: [U0DANA, U0ERIK], quorum: 2}", "'rule 1' approves by silence what takes several people"),
        ("{on_timeout: approve, risk: low}", "'rule 1' approves by silence and says no time, so an agent could say a minute: give it a time_limit"),
        (
            "{on_timeout: approve, risk: low, time_limit: 1h, decisions: [approve, edit]}",
            "'rule 1' approves by silence, and decisions does not offer reject, so nobody could object: add it",
        ),
        ("on_timeout: ignore", "'ignore' is not known here: write 'reject', 'raise', 'approve' or 'extend'"),
        ("quorum: 0", "0 is not a number of people: write 1 to 20"),
        ("quorum: 21", "21 is not a number of people"),
        ("quorum: 1.5", "1.5 is not a number of people"),
        ("quorum: true", "true is not a number of people"),
        ("quorum: two", "'two' is not a number of people"),
        ("quorum: 2", "'rule 1' has quorum 2, and only 1 may decide: name more, or lower it"),
        ("{approvers: [U0DANA, U0ERIK], reject_quorum: 3}", "'rule 1' has reject_quorum 3, and only 2 may decide"),
        ("risk: medium", "'medium' is not known here: write 'low', 'normal' or 'high'"),
        ("mask: [auth.token]", "'auth.token': write the name alone: it is meant at any depth"),
        ("mask: ['tok*']", "if an argument has this very name, write {exactly: 'tok*'}"),
        ("mask: ''", "'': write the name alone"),
        ("mask: [{exact: a}]", "{…} is not the name of an argument: write a text, or {exactly: the name}"),
        ("mask: [{}]", "write a text, or {exactly: the name}"),
        ("mask: [{exactly: 1}]", "write a text, or {exactly: the name}"),
        ("mask: [[a]]", "[…] is not the name of an argument"),
        ("mask: [1]", "1 is not the name of an argument"),
        ("{mask: [a, b], mask_random: [b]}", "'rule 1' has b in mask and in mask_random"),
        ("{mask_random: [b], modal_only: [b]}", "'rule 1' masks b and shows it in a modal, too"),
        ("{mask: [a, b], modal_only: [b]}", "'rule 1' masks b and shows it in a modal, too"),
        ("{type: table}", "'rule 1' says what is typed, which only risk: high asks for"),
        ("{risk: high, type: a, mask: [a]}", "'rule 1' has a in type, and does not show it on the card"),
        ("{risk: high, type: a, modal_only: [a]}", "'rule 1' has a in type, and does not show it on the card"),
        ("standing: true", "standing has keys and values (approvers, same, scope, lasts, uses), not true"),
        ("standing: {for: 1h}", "standing has no 'for'"),
        ("standing: {same: args}", "'args' is not known here: write 'arguments' or 'tool'"),
        ("standing: {scope: everywhere}", "'everywhere' is not known here: write 'run' or 'agent'"),
        ("standing: {lasts: 9h}", "standing approvals last 8h at most"),
        ("standing: {uses: 0}", "0 is not a number of uses: write 1 to 100"),
        ("standing: {uses: 101}", "101 is not a number of uses"),
        ("standing: {uses: true}", "true is not a number of uses"),
        ("standing: {approvers: []}", "approvers is empty"),
        ("{standing: {}, risk: high}", "'rule 1' has risk: high, where nothing is approved for later calls"),
        ("{standing: {}, approvers: [U0DANA, U0ERIK], quorum: 2}", "'rule 1' takes several people, so none of them can approve later calls"),
        ("standing: {same: tool}", "'rule 1' approves later calls whatever their arguments are, which only risk: low"),
        ("match: pay", "match has keys and values (agent, tool, args), not 'pay'"),
        ("match: {tools: pay}", "match has no 'tools': did you mean 'tool'?"),
        ("match: {tool: 12}", "12 is not the name of a tool"),
        ("match: {tool: ' pay'}", "' pay' is not the name of a tool: no brackets, and no spaces around it; * is any characters, ? is one"),
        ("match: {tool: []}", "tool is empty: write at least one entry"),
        ("match: {agent: []}", "agent is empty: write at least one entry"),
        ("mask: [{exactly: a, b: 1}]", "{…} is not the name of an argument"),
        ("standing: {usess: 3}", "standing has no 'usess': did you mean 'uses'?"),
        ("match: {tool: ''}", "'' is not the name of a tool"),
        ("match: {tool: 'pay[0-9]'}", "'pay[0-9]' is not the name of a tool"),
        ("match: {agent: Billing}", "'Billing' is not the name of an agent: they have small letters, digits and hyphens"),
        ("reminders: [soon]", "'soon' is not a valid duration: write 90s, 30m"),
        (f"reminders: [{', '.join(f'{n}m' for n in range(1, 12))}]", "reminders has more than 10 entries"),
        ("{reminders: [8h], time_limit: 8h}", "'rule 1' reminds when its time is up: make the reminders earlier"),
        ("escalation: 1h", "escalation has keys and values (after, approvers, channel)"),
        ("escalation: {channel: C0LEADS}", "escalation has no after: add it, as in after: 1h"),
        ("escalation: {after: 1h}", "escalation names neither approvers nor channel"),
        ("escalation: {after: 1h, approvers: []}", "approvers is empty"),
        ("escalation: {after: 1h, approvers: [channel]}", "'channel' is not another approver"),
        ("escalation: {after: 1h, channel: thread}", "'thread' is not another place to ask in"),
        ("escalation: {after: 1h, channel: C0APPROVALS}", "'rule 1' escalates to where it is asked first"),
        ("{escalation: {after: 8h, channel: C0LEADS}, time_limit: 8h}", "'rule 1' escalates when its time is up"),
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
def test_each_mistake_in_a_rule_is_reported_with_its_line_and_cure(rule: str, said: str):
    """Also those that would only show when it matters."""
    (line,) = [line for line in problems(rule_with(rule)) if said in line]

    assert line.startswith("policy.yaml, line 5: ")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("name: all", "match: {tool: pay}"),
        ("match: {}", "name: other"),
        ("match: {tool: '*'}", "match: {agent: ops, tool: pay}"),
        ("match: {tool: pay*}", "match: {tool: [pay, payout]}"),
        ("match: {tool: [pay, refund]}", "match: {tool: refund}"),
        ("match: {tool: pay}", "match: {tool: pay, args: {properties: {a: {const: 1}}, required: [a]}}"),
        ("match: {args: {enum: [{}]}}", "match: {args: {enum: [{}]}}"),
        ("match: {tool: 'p?y'}", "match: {tool: 'p?y'}"),
    ],
)
def test_a_rule_that_is_never_reached_is_reported(first: str, second: str):
    """An earlier one takes everything that it matches."""
    (line,) = problems(f"{rule_with(first)}  - {second}\n")

    assert line.startswith("policy.yaml, line 6: ")
    assert "is never reached" in line
    assert "in line 5 matches all that it matches: put the narrower rule first, or take it out" in line


@pytest.mark.parametrize("name", ["pays", "rule 2", "default"])
def test_two_rules_have_two_names(name: str):
    """Cards and the audit trail say by the name which rule decided."""
    second = "match: {tool: pay}" if name == "rule 2" else "{name: pays, match: {tool: pay}}"
    (line,) = problems(f"{rule_with(f'{{name: {name}, match: {{tool: wire}}}}')}  - {second}\n")

    assert f"{name!r} is a name in line 5, too: change one of them" in line


@given(
    st.text()
    | st.text(alphabet=" -:[]{}\n'\"#&*!|>%@`,?abc01").map(lambda text: f"{DEFAULT}rules:\n - {text}")
)
def test_any_text_is_a_policy_or_a_list_of_problems(text: str):
    """Nothing else is ever raised, and each problem has a line of the text."""
    lines = []
    try:
        read(text)
    except PolicyFileError as error:
        lines = [problem.line for problem in error.problems] or [0]

    assert all(1 <= line <= text.count("\n") + 2 for line in lines)


# --- How much an agent may ask ------------------------------------------------------------------------------------


def test_limits_hold_for_the_agents_that_an_entry_names():
    """The first entry that names an agent holds. An agent that none names has a hundred open at most, and no other limit."""
    limits = read(
        DEFAULT
        + dedent("""\
        limits:
          - {agent: [batch-*, nightly], pending: 20, bytes: 512KB}
          - {pending: 200, per_minute: 60, bytes: 4MB}
        """)
    ).policy.limits

    assert limits_for(limits, "batch-1") == Limits(("batch-*", "nightly"), 20, None, 512 << 10)
    assert limits_for(limits, "billing") == Limits(("*",), 200, 60, 4 << 20)
    assert limits_for(limits[:1], "billing") == Limits(("*",), 100, None, None)


def test_a_question_is_suggested_where_one_tap_approves_any_sum():
    """Not where something else stands in the way."""
    price, sums = (
        "headline: [to, total_price]",
        "{properties: {amount: {type: number, %s: 9}}, required: [amount]}",
    )
    asks = [price, "title: 'Pay {Amount}'", f"match: {{args: {sums % 'minimum'}}}"]
    others = ["confirm: true", "risk: high", "quorum: 2, approvers: [U0DANA, U0ERIK]", "decisions: [respond]"]
    does_not = [
        f"match: {{args: {sums % 'maximum'}}}",
        "headline: [to]",
        *(f"{price}, {other}" for other in others),
    ]

    for rule in (*asks, *does_not):
        whole = rule if "match" in rule else f"match: {{tool: pay}}, {rule}"
        found = [problem.line for problem in unconfirmed(read(rule_with(f"{{{whole}}}")).policy)]
        assert found == [5] * (rule in asks), rule


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
