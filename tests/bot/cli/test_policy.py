"""The policy file as an operator meets it: the commands, the start, the signal."""

import asyncio
import json
import re
import signal

import pytest
from typer.testing import CliRunner

from bot.cli.commands import cli
from bot.policy.keys import SharedKeys

SOUND = """\
default:
  channel: C0APPROVALS
  approvers: [U0DANA, S0OPS]
rules:
  - name: large payments
    match:
      agent: billing
      tool: pay
      args: {properties: {amount: {type: number, minimum: 1000}}, required: [amount]}
    channel: U0ERIK
    approvers: [U0ERIK]
    decisions: [approve, reject]
    time_limit: 1h30m
    on_timeout: raise
"""
BROKEN = "default:\n  chanel: C0APPROVALS\n  approvers: []\n"
SAID = [
    "line 1: the default has no channel: add it, as in channel: C0123ABCD",
    "line 2: the default has no 'chanel': did you mean 'channel'?",
    "line 3: approvers is empty: write at least one entry, or leave the key out",
]


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(SOUND)
    return path


@pytest.fixture
def environment(environment, policy):
    """With the file in place of the settings."""
    return environment | {"ASSENT_POLICY": str(policy), "ASSENT_APPROVERS": None, "ASSENT_CHANNEL": None}


async def test_a_sound_policy_is_checked_with_slack(command, policy):
    """Everybody and everything that it names is there, and there is nothing to warn of."""
    policy.write_text(re.sub(" +args: .*\n", "", SOUND))
    code, output, errors = await command("policy", "check", str(policy))

    assert (code, errors) == (0, "")
    assert output.startswith(f"{policy}: 1 rule and a default, version ")
    assert output.endswith("; Slack knows everybody and every channel\n")


async def test_a_strict_rule_past_which_calls_fall_is_warned_of(command, policy):
    """The sentence says which rule gets them, in what it is weaker, and the cure; the file may be used as it is. A sum asks."""
    code, output, errors = await command("policy", "check", str(policy))

    assert code == 0
    assert output.startswith(f"{policy}: 1 rule and a default, version ")
    assert errors == (
        f"{policy}, line 5: warning: 'large payments' decides only where its args match. A call that leaves an argument "
        "out, or writes a number as text, meets a weaker rule: the default (approvers U0DANA, S0OPS, not named here). "
        "Safer: describe the harmless calls with args, in a rule before it, and give the strict rule no args\n"
        f"{policy}, line 5: suggestion: one tap approves any amount by 'large payments': with `confirm: true`, Slack asks "
        "once more\n"
    )


async def test_an_id_that_slack_does_not_know_is_reported_with_its_line(command, policy):
    """People, groups and channels, all in one run."""
    policy.write_text(SOUND.replace("U0DANA, S0OPS", "U0NOBODY, S0NONE").replace("C0APPROVALS", "C0NONE"))
    code, _, errors = await command("policy", "check")

    assert code == 1
    assert errors.splitlines() == [
        f"{policy}, line 2: Slack knows no C0NONE in this workspace: correct the id, or invite the bot there",
        f"{policy}, line 3: Slack knows no S0NONE in this workspace: correct the id, or take it out",
        f"{policy}, line 3: Slack knows no U0NOBODY in this workspace: correct the id, or take it out",
    ]


async def test_approvers_who_can_never_decide_are_named_with_their_line(command, policy):
    """Others on the list, or of its escalation, can decide, so the file may be used; with too few of them it may not."""
    policy.write_text(
        "default:\n  channel: C0APPROVALS\n  approvers: [U0LEFT, U0DANA]\n"
        "rules:\n  - {match: {tool: pay}, approvers: [U0ROBO]}\n"
        "  - {match: {tool: wire}, quorum: 2}\n"
        "  - {match: {tool: move}, approvers: [S0OPS, U0ERIK], quorum: 3}\n"
        "  - {match: {tool: mail}, approvers: [U0ROBO], escalation: {after: 1h, approvers: [U0ERIK]}}\n"
    )
    code, output, errors = await command("policy", "check")

    assert (code, output) == (1, "")
    assert errors.splitlines() == [
        f"{policy}, line 3: warning: U0LEFT is deactivated and can never decide: name somebody else",
        f"{policy}, line 5: warning: U0ROBO is a bot and can never decide: name somebody else",
        f"{policy}, line 8: warning: U0ROBO is a bot and can never decide: name somebody else",
        f"{policy}, line 5: nobody is left who can decide by 'rule 1': name a person or a group",
        f"{policy}, line 6: 'rule 2' has quorum 2, and only one person can decide: name more",
        f"{policy}, line 7: 'rule 3' has quorum 3, and only 2 of its approvers can decide: name more",
    ]

    policy.write_text(policy.read_text().partition("rules")[0])
    assert (await command("policy", "check"))[0] == 0


@pytest.mark.parametrize(
    ("changed", "expected", "said"),
    [
        ({"ASSENT_POLICY": None}, 2, "name the file, or set ASSENT_POLICY"),
        ({"ASSENT_POLICY": "/nowhere.yaml"}, 2, "ASSENT_POLICY: /nowhere.yaml: there is no such file: correct the path"),
        ({"SLACK_API_URL": "http://127.0.0.1:1/api/"}, 1, "the rules are sound, but Slack did not say"),
    ],
    ids=["no file", "no such file", "no Slack"],
)  # fmt: skip
async def test_a_check_that_cannot_be_made_fails(command, changed, expected, said):
    """Whoever deploys on success must not deploy on that."""
    code, output, errors = await command("policy", "check", **changed)

    assert (code, output) == (expected, "")
    assert said in errors
    assert "Traceback" not in errors


async def test_explaining_a_name_that_no_agent_can_have_is_a_mistake(command):
    """No rule would match it, and the default would seem to decide."""
    code, output, errors = await command("policy", "explain", "--agent", "Billing", "--tool", "pay")

    assert (code, output) == (2, "")
    assert "'Billing' cannot be the name of an agent" in errors


async def test_explaining_says_which_rule_decides_and_what_follows(command):
    """Lines that a script can read, since nobody sits at a terminal."""
    code, output, errors = await command(
        "policy", "explain", "--agent", "billing", "--tool", "pay", "--args", '{"amount": 5000}'
    )

    assert (code, errors) == (0, "")
    lines = output.splitlines()
    assert lines[:-1] == [
        "Rules, in order:",
        "  large payments (line 5): decides",
        "Result:",
        "  rule: large payments (line 5)",
        "  asked: U0ERIK, in a direct message",
        "  may decide: U0ERIK",
        "  requester: the person whom the agent names, if any; may only reject",
        "  refused: no, not by these rules",
        "Terms of this rule:",
        "  requester: optional",
        "  agent: any",
        "  tell_requester: no",
        "  tell_approvers: failures",
        "  decisions: [approve, reject]",
        "  time_limit: 1h30m",
        "  use_within: 1d",
        "  on_timeout: raise",
        "  quorum: 1",
        "  reject_quorum: 1",
        "  risk: normal",
    ]
    assert lines[-1].startswith("  policy version: ")


async def test_explaining_says_why_a_rule_does_not_decide(command):
    """What about the call is different from what the rule is about."""
    _, output, _ = await command(
        "policy", "explain", "--agent", "billing", "--tool", "pay", "--args", '{"amount": 5}'
    )

    assert output.splitlines()[1:3] == [
        "  large payments (line 5): no: the arguments differ",
        "  default (line 1): decides, since no rule matches",
    ]
    assert "  asked: in C0APPROVALS" in output


KEYS = {
    "requester": "required",
    "requester_may_decide": "true",
    "agent": "verified",
    "decisions": "[reject]",
    "notify": "[]",
    "tell_requester": "direct",
    "tell_approvers": "no",
    "time_limit": "3h",
    "use_within": "21d",
    "on_timeout": "raise",
    "quorum": "3",
    "reject_quorum": "2",
    "risk": "high",
    "confirm": "true",
    "type": "table, risk: high",
    "mask": "[password]",
    "mask_random": "[token]",
    "modal_only": "[report]",
    "headline": "[amount, payee]",
    "title": "'Pay {amount} to {payee}'",
    "reject_reasons": "[wrong recipient]",
    "reminders": "[7m]",
    "escalation": "{after: 9m, approvers: [U0ERIK]}",
    "quiet_hours": '{from: "18:00", to: "08:00", zone: Europe/Berlin}',
    "extend": "11m",
    "assign": "13m",
    "standing": "{same: arguments, lasts: 2h}",
}
"""A value of each key that rules may have, other than what holds without it."""


def test_every_key_of_rules_has_a_value_here():
    """Whoever adds a key adds it here, so that the next test looks for it."""
    # Where `agent_channel_may_decide` makes a difference, a file without it is refused.
    assert KEYS.keys() == SharedKeys.__annotations__.keys() - {"agent_channel_may_decide"}


@pytest.mark.parametrize("key", KEYS)
def test_explaining_shows_what_each_key_does(key, tmp_path, monkeypatch):
    """A key that changes nothing there may be one that nothing reads, which would look like protection."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")

    def explained(keys: str) -> list[str]:
        path = tmp_path / "policy.yaml"
        path.write_text(
            "default: {channel: C0APPROVALS, approvers: [channel]}\n"
            f"rules: [{{name: pays, match: {{tool: pay}}{keys}}}]\n"
        )
        result = CliRunner().invoke(
            cli, ["policy", "explain", str(path), "--agent", "billing", "--tool", "pay"]
        )
        assert result.exit_code == 0, result.output
        # The last line is the version of the file.
        return result.output.splitlines()[:-1]

    assert explained(f", {key}: {KEYS[key]}") != explained("")


@pytest.mark.parametrize(
    ("arguments", "ends_with", "text", "said"),
    [
        (("policy", "check"), 1, BROKEN, SAID),
        ((), 2, BROKEN, SAID),
        (
            (),
            2,
            "default: {channel: C0APPROVALS, approvers: [U0NOBODY, U0LEFT]}",
            [
                "line 1: Slack knows no U0NOBODY in this workspace: correct the id, or take it out",
                "line 1: U0LEFT is deactivated and can never decide: name somebody else",
                "line 1: nobody is left who can decide by 'default': name a person or a group",
            ],
        ),
    ],
    ids=["checked", "mistakes", "nobody left"],
)
async def test_a_broken_policy_never_starts_and_tells_every_mistake(
    command, policy, arguments, ends_with, text, said
):
    """Each in a line of its own, with the file and the line in it. A bot ends with the exit code of wrong settings."""
    policy.write_text(text)
    code, output, errors = await command(*arguments)

    written = [line for line in errors.splitlines() if not line.startswith("{")]
    assert (code, output) == (ends_with, "")
    assert written == [f"{policy}, {sentence}" for sentence in said]


async def test_a_hangup_has_the_bot_read_its_rules_again(start, policy):
    """It goes on with them, and its log says so."""
    process = await start()
    await line_with(process, "policy.in_force")
    policy.write_text(SOUND.replace("S0OPS", "U0MIRA"))
    process.send_signal(signal.SIGHUP)
    loaded = await line_with(process, "policy.loaded")
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        await process.communicate()

    assert json.loads(loaded)["path"] == str(policy)
    assert process.returncode == 0


async def line_with(process, event):
    async with asyncio.timeout(30):
        while line := (await process.stderr.readline()).decode():
            if event in line:
                return line
    raise AssertionError(f"the bot ended without {event}")
