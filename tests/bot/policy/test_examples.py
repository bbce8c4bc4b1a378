"""The policies that the documentation shows say what it says about them."""

import re
import shlex
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from bot.cli.commands import cli
from bot.policy.checks import gaps
from bot.policy.file import PolicyFileError, read_policy
from tests.support.commands import ROOT

EXAMPLES = {
    path.stem: path for path in [ROOT / "deploy/policy.example.yaml", *ROOT.glob("docs/policies/*.yaml")]
}

CASES = [
    ("policy.example", "support-eu", "refund_item", {"amount": 50, "currency": "EUR"}, "small refunds", "thread"),
    ("policy.example", "support-eu", "refund_item", {"amount": 51, "currency": "EUR"}, "all other refunds", "C0FINANCE"),
    ("policy.example", "support-eu", "refund_item", {"amount": 50}, "all other refunds", "C0FINANCE"),
    ("policy.example", "sales", "refund_item", {"amount": 1, "currency": "EUR"}, "all other refunds", "C0FINANCE"),
    ("policy.example", "sales", "ask_dana", {}, "questions to Dana", "U0DANA"),
    ("policy.example", "sales", "mail", {}, "default", "C0APPROVALS"),
    ("payments", "billing", "pay_invoice", {"amount": 999.99, "currency": "EUR"}, "small payments", "C0ACCOUNTS"),
    ("payments", "billing", "pay_invoice", {"amount": 1000, "currency": "EUR"}, "all other payments", "C0FINANCE"),
    ("payments", "billing", "pay_invoice", {"amount": 5, "currency": "XAU"}, "all other payments", "C0FINANCE"),
    ("payments", "billing", "pay_invoice", {"amount": "5", "currency": "EUR"}, "all other payments", "C0FINANCE"),
    ("payments", "billing", "pay_invoice", {"amount": -5000, "currency": "EUR"}, "all other payments", "C0FINANCE"),
    ("database", "ops", "sql_execute", {"sql": " Select 1;\n"}, "a single select", "C0ONCALL"),
    ("database", "ops", "sql_execute", {"sql": "select 1; drop table users"}, "other statements", "C0DATABASE"),
    ("database", "ops", "sql_execute", {"sql": ["select 1"]}, "other statements", "C0DATABASE"),
    ("database", "ops", "sql_execute", {}, "other statements", "C0DATABASE"),
    ("database", "ops", "run_migration", {"sql": "select 1"}, "other statements", "C0DATABASE"),
    ("database", "ops", "backup", {}, "default", "C0ONCALL"),
    ("mails", "support", "send_email", {"to": "dana@example.com"}, "to one colleague", "thread"),
    ("mails", "support", "send_email", {"to": "x@y.z"}, "to a few people", "thread"),
    ("mails", "support", "send_email", {"to": ["x@y.z"] * 9}, "to a few people", "thread"),
    ("mails", "support", "send_email", {"to": ["x@y.z"] * 10}, "all other mails", "C0SUPPORT"),
    ("mails", "support", "send_email", {"to": "x@y.z,a@b.c"}, "all other mails", "C0SUPPORT"),
    ("mails", "support", "send_email", {"to": ["x@y.z, a@b.c"]}, "all other mails", "C0SUPPORT"),
    ("mails", "support", "send_email", {"to": "x@y.z", "bcc": "a@b.c"}, "all other mails", "C0SUPPORT"),
    ("deploys", "deploy-web", "deploy", {"environment": "staging"}, "staging", "C0DEPLOYS"),
    ("deploys", "deploy-web", "deploy", {"environment": "production"}, "production", "C0ONCALL"),
    ("deploys", "chat", "deploy", {"environment": "staging"}, "production", "C0ONCALL"),
    ("deploys", "deploy-web", "rollback", {}, "production", "C0ONCALL"),
    ("refunds", "support", "refund", {"amount": 50}, "refunds up to 50", "thread"),
    ("refunds", "support", "refund", {"amount": 50.01}, "refunds above 50", "C0SUPPORT"),
    ("refunds", "support", "refund", {"amount": "20"}, "refunds above 50", "C0SUPPORT"),
    ("refunds", "support", "refund", {"amount": -500}, "refunds above 50", "C0SUPPORT"),
    ("questions", "sales", "ask_person", {"topic": "prices"}, "questions about prices", "U0PRICES"),
    ("questions", "sales", "ask_person", {"topic": "weather"}, "other questions", "thread"),
]  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_no_mistakes_and_each_of_its_rules_is_shown_to_decide(name: str):
    """Whoever copies it starts from something that works."""
    policy = read_policy(EXAMPLES[name].read_text(encoding="utf-8"), name).policy

    assert {rule.name for rule in policy.rules} <= {case[4] for case in CASES if case[0] == name}


@pytest.mark.parametrize(
    ("name", "agent", "tool", "args", "decides", "channel"), CASES, ids=[f"{case[0]}-{n}" for n, case in enumerate(CASES)]
)  # fmt: skip
def test_an_example_decides_as_its_words_say(name, agent, tool, args, decides, channel):
    """By agent, tool and arguments; what does not fit an exception meets the strict rule."""
    rule = read_policy(EXAMPLES[name].read_text(encoding="utf-8"), name).policy.rule_for(agent, tool, args)

    assert (rule.name, rule.channel) == (decides, channel)


def test_no_example_lets_calls_fall_to_a_weaker_rule_where_it_does_not_say_why():
    """What people copy describes the harmless calls, and is strict about the rest."""
    found = {
        (name, gap.line): gap.sentence
        for name, path in EXAMPLES.items()
        for gap in gaps(read_policy(path.read_text(encoding="utf-8"), name).policy)
    }

    assert [name for name, _ in found] == ["questions"]
    assert "# policy check warns that" in EXAMPLES["questions"].read_text(encoding="utf-8")


def test_the_example_explains_every_key_that_a_rule_may_have():
    """Whoever reads it needs no other list."""
    with pytest.raises(PolicyFileError) as said:
        read_policy("rules: [{x: 1}]", "policy.yaml")
    [sentence] = [line for line in str(said.value).splitlines() if "a rule has no 'x'" in line]
    keys = sentence.partition("there are ")[2].split(", ")

    example = EXAMPLES["policy.example"].read_text(encoding="utf-8")

    assert {"approvers", "quorum", "mask", "assign"} < {*keys}
    assert [key for key in keys if not re.search(rf"^ *(# |- )?{key}:", example, re.MULTILINE)] == []


def test_examples_have_to_know_for_whom_an_agent_acts_except_at_low_risk():
    """What people copy lets nobody approve their own request by leaving their name out."""
    rules = {
        (name, rule.name): rule
        for name, path in EXAMPLES.items()
        for policy in [read_policy(path.read_text(encoding="utf-8"), name).policy]
        for rule in (*policy.rules, policy.default)
    }

    assert [key for key, rule in rules.items() if rule.risk != "low" and rule.requester != "required"] == []


def test_the_page_about_policies_shows_what_its_commands_say(tmp_path, monkeypatch):
    """The file at its top is sound and warns of nothing, and `policy explain` says what stands there."""
    page = (ROOT / "docs/how-to/policy.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    found = re.search(r"   \$ \S*python -m bot (policy explain .*)\n((?:   .*\n)*?)   \.\.\.\n", page)
    ran = CliRunner().invoke(cli, shlex.split(found[1]))
    checked = CliRunner().invoke(cli, ["policy", "check", "policy.yaml"])

    assert ran.output.startswith(dedent(found[2]))
    assert (checked.exit_code, checked.stderr) == (0, "")


def test_two_people_who_agree_on_the_page_are_there_and_neither_is_the_requester():
    """With one of its approvers as the requester, enough are left; and no agent can leave the requester out."""
    page = (ROOT / "docs/how-to/policy-people.md").read_text(encoding="utf-8")
    rules = re.search(r"```yaml\n(  - name.*?)```", page, re.DOTALL)[1]
    (rule,) = read_policy(
        f"default: {{channel: C0OPS, approvers: [U0NOOR]}}\nrules:\n{rules}", "page"
    ).policy.rules

    assert (rule.quorum, len(rule.approvers) > rule.quorum, rule.requester) == (2, True, "required")
