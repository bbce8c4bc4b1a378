"""The JSON Schema of policy files, by which editors complete, explain and underline."""

from pathlib import Path

import jsonschema_rs
import pytest

from bot.policy.file import read_policy
from bot.policy.keys import json_schema
from bot.policy.yaml_values import read_yaml
from tests.support.commands import ROOT

EXAMPLES = [ROOT / "deploy/policy.example.yaml", *sorted(ROOT.glob("docs/policies/*.yaml"))]
EDITOR = jsonschema_rs.validator_for(json_schema())


def mistakes(text: str) -> list[list[str | int]]:
    """Give the places that an editor underlines."""
    return [list(error.instance_path) for error in EDITOR.iter_errors(read_yaml(text).value)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_editor_underlines_nothing_in_an_example(path: Path):
    """What the bot takes, an editor takes, too."""
    assert mistakes(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ("{aprovers: [U0DANA]}", []),
        ("{approvers: []}", ["approvers"]),
        ("{approvers: [dana]}", ["approvers"]),
        ("{channel: '#finance'}", ["channel"]),
        ("{time_limit: soon}", ["time_limit"]),
        ("{quorum: 21}", ["quorum"]),
        ("{requester_may_decide: yes}", ["requester_may_decide"]),
        ("{risk: medium}", ["risk"]),
        ("{match: {tools: pay}}", ["match"]),
        ("{escalation: {channel: C0LEADS}}", ["escalation"]),
        ("{quiet_hours: {from: 22:00, to: 24:00, zone: UTC}}", ["quiet_hours", "to"]),
        ("{extend: {by: 30m, times: 11}}", ["extend"]),
        ("{standing: {scope: everywhere}}", ["standing", "scope"]),
    ],
)
def test_an_editor_underlines_a_mistake_while_it_is_typed(rule: str, place: list[str]):
    """Where it is, before any check."""
    text = f"default: {{channel: C0APPROVALS, approvers: [U0DANA]}}\nrules: [{rule}]"

    assert mistakes(text) == [["rules", 0, *place]]


@pytest.mark.parametrize("rule", ["{match: {args: true}}", "{assign: 1h}", "{standing: {lasts: 1h}}"])
def test_an_editor_underlines_nothing_that_the_bot_reads(rule: str):
    """The schema that everything fits, too."""
    text = f"default: {{channel: C0APPROVALS, approvers: [U0DANA]}}\nrules: [{rule}]"

    assert read_policy(text, "policy.yaml")
    assert mistakes(text) == []
