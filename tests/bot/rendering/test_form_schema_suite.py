"""The official tests of JSON Schema (draft 2020-12): a form takes what they call valid, and nothing else.

Their files are in this repository, so every machine and every run of CI has them, also without a network.
"""

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from agent_adapter.contract.arguments import encode
from bot.domain.drafts import Draft
from bot.rendering.modal.argument_form import Edited, Errors, form_of, schema_problem
from tests.bot.rendering.filling import CannotBeTypedError, filled_in
from tests.support.properties import FULL

SUITE = Path(__file__).parents[2] / "json_schema_suite" / "draft2020-12"
GROUPS = [
    pytest.param(group, id=f"{path.stem}: {group['description']}")
    for path in sorted(SUITE.glob("*.json"))
    for group in json.loads(path.read_text(encoding="utf-8"))
]

# Draft 2020-12 leaves it open whether a format is checked. A form checks these, and the suite expects that nobody does.
CHECKED_FORMATS = {
    "invalid ipv4 string is only an annotation by default",
    "invalid ipv6 string is only an annotation by default",
    "invalid uuid string is only an annotation by default",
}
# A form checks with every keyword that it knows, also where a schema says that one of them means nothing.
CHECKED_ANYWAY = {"no validation: invalid number, but it still validates"}
STRICTER = CHECKED_FORMATS | CHECKED_ANYWAY

BEFORE = None if FULL else 2
"""From how many calls of a group somebody goes to each of the others."""


def schema_of(group: dict[str, Any]) -> dict[str, Any]:
    """The schema of a call whose argument `value` has the schema of this group."""
    value = _moved(group["schema"])
    if isinstance(value, dict):
        value.pop("$id", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"value": value, "other": {"type": "integer"}},
        "required": ["value"],
    }


def _moved(node: Any) -> Any:
    """Write references as they are one level further in. Those by name stay as they are."""
    if isinstance(node, list):
        return [_moved(each) for each in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for name, each in node.items():
        if name == "$ref" and isinstance(each, str) and (each == "#" or each.startswith("#/")):
            found[name] = f"#/properties/value{each[1:]}"
        elif name != "$schema":
            found[name] = each if name in {"const", "enum"} else _moved(each)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_what_the_suite_calls_valid_is_taken_and_everything_else_is_an_error(group):
    """The value goes through its inputs while somebody changes another argument, and comes out byte for byte."""
    schema = schema_of(group)
    if schema_problem(schema):
        return
    for case in group["tests"]:
        asked = {"value": case["data"], "other": 1}
        found = form_of(asked, schema, (), Draft(typed={"f:/other": "2"})).read(asked, schema)
        if case["valid"] and case["description"] not in STRICTER:
            assert encode(found.args) == encode({"value": case["data"], "other": 2}), case
        else:
            assert isinstance(found, Errors), case


NOT_USED = {
    "a reference that leaves it": 52,
    "$dynamicRef is not supported": 3,
    "references in a circle": 2,
    "references beside a part with an $id of its own": 2,
}
"""The groups whose schemas are not used, by reason. All others go through both tests."""

# What a form has no input for, though the tool might take it. docs/reference/forms.md gives the reasons.
NO_INPUT = {
    "another type",
    "a new name",
    "none of the forms",
    "an argument that cannot be left out",
    "an object or a list that cannot be left out or null",
    "an empty list where none was given",
}


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_typed_into_its_inputs_is_taken_exactly_where_the_suite_calls_it_valid(group):
    """Whatever the agent had asked: rows are added and removed, forms chosen, texts emptied, arguments left out."""
    schema = schema_of(group)
    if schema_problem(schema):
        return
    for asked, case in product(group["tests"][:BEFORE], group["tests"]):
        wanted = {"value": case["data"], "other": 2}
        try:
            found = filled_in({"value": asked["data"], "other": 1}, schema, wanted)
        except CannotBeTypedError as reason:
            if str(reason) in NO_INPUT:
                continue
            raise
        if case["valid"] and case["description"] not in STRICTER:
            # An input that holds 1 does not tell who typed 1.0 there.
            assert same(found.args) == same(wanted), (asked, case)
        else:
            assert isinstance(found, Errors), (asked, case)


def same(value: Any) -> str:
    """Write a value as everything that counts as the same value is written."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def test_what_the_suite_says_about_schemas_that_are_not_used_is_counted():
    """The form says that such a schema is not used, and why. So it takes what the suite calls invalid there."""
    groups, cases, taken = Counter(), Counter(), Counter()
    for group in (param.values[0] for param in GROUPS):
        schema = schema_of(group)
        if problem := schema_problem(schema):
            groups[problem] += 1
            cases[problem] += len(group["tests"])
            for case in group["tests"]:
                asked = {"value": case["data"], "other": 1}
                found = form_of(asked, schema, (), Draft(typed={"f:/other": "2"})).read(asked, schema)
                taken[problem] += not case["valid"] and isinstance(found, Edited)

    assert groups == NOT_USED
    assert (sum(groups.values()), sum(cases.values()), sum(taken.values())) == (59, 130, 65)
