"""Edits of calls whose schema people did not have: the agent checks them with its own."""

import pytest

from agent_adapter.edit_check import schema_problem

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["to"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"to": "al", "amount": 5}, ""),
        ({"to": 5}, "does not fit its tool: $.to: type"),
        ({}, "does not fit its tool: $: 'to' is a required property"),
        ({"to": "al", "cc": "bo"}, "does not fit its tool: $: Additional properties are not allowed ('cc' was unexpected)"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_named_without_their_value(args, problem):
    """The card may hide the value."""
    assert schema_problem(args, SCHEMA) == problem


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"properties": {"to": {"pattern": "("}}},
        {"$ref": "#"},
    ],
    ids=["wrong", "elsewhere", "pattern", "in circles"],
)
def test_a_schema_that_cannot_be_applied_lets_nothing_pass(schema):
    """None is fetched, and none that is broken is passed over."""
    assert schema_problem({"to": "al"}, schema).startswith("cannot be checked by the schema of its tool: ")
