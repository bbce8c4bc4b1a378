"""A pause that is not quite one is refused with one sentence that names the place, before anything is stored."""

import pytest

from agent_adapter.dialects import DIALECTS
from agent_adapter.errors import InvalidRequestError
from tests.agent_adapter.dialects.test_single_dialects import changed as changed_at

ACTION, CONFIG = {"name": "t", "args": {}, "id": "c1"}, {"action_name": "t", "allowed_decisions": ["approve"]}
GOOD = {
    "langchain": {"action_requests": [ACTION], "review_configs": [CONFIG]},
    "spoon": {
        "action_requests": [ACTION, {**ACTION, "id": "c2"}],
        "review_configs": [{**CONFIG, "action_id": "c1"}, {**CONFIG, "action_id": "c2"}],
    },
    "camel_case": {
        "actionRequests": [{"name": "t", "args": {}}, {"name": "u", "args": {}}],
        "reviewConfigs": [{"actionName": name, "allowedDecisions": ["approve"]} for name in "tu"],
    },
    "langchain_per_call": {
        "type": "tool_approval", "tool_call_id": "c1", "name": "t", "args": {}, "description": "",
        "response_schema": {"type": "object", "properties": {"type": {"const": "approve"}}},
    },
    "human_interrupt": {"action_request": {"action": "pay", "args": {}}, "config": {"allow_accept": True}},
    "human_interrupt_list": [{"action_request": {"action": "pay", "args": {}}, "config": {"allow_accept": True}}],
    "text": {"value": "Shall I?"},
}  # fmt: skip
LOOP = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "oneOf": [{"$ref": "#/$defs/A"}]}


def changed(dialect, path, to):
    """Give a good pause with one place changed, or the new value where no place is named."""
    return changed_at(GOOD[dialect], *path, to=to) if path else to


@pytest.mark.parametrize(
    ("dialect", "path", "to", "says_what"),
    [
        ("langchain", (), "approve?", "pause"),
        ("langchain", (), {"action_requests": [ACTION]}, "pause.review_configs: Field required"),
        ("langchain", ("action_requests", 0), {"args": {}}, r"pause.action_requests\[0\].name: Field required"),
        ("langchain", ("action_requests", 0, "args"), {"at": {1}}, r"\[0\].args.at: set is not a JSON value"),
        ("langchain", ("review_configs", 0, "allowed_decisions"), ["maybe"], r"none of \['maybe'\]"),
        ("spoon", ("review_configs", 0, "action_id"), "c2", r"\[0\].action_id is 'c2', but action_requests\[0\].id is 'c1'"),
        ("spoon", ("review_configs",), [{**CONFIG, "action_id": "c1"}], "2 action_requests but 1 review_configs"),
        ("spoon", ("action_requests", 0, "id"), "", r"pause.action_requests\[0\].id"),
        ("spoon", ("review_configs", 0, "allowed_decisions"), ["respond"],
         r"none of \['respond'\] is one of approve, edit, reject"),
        ("spoon", (), {"action_requests": [ACTION] * 2, "review_configs": [{**CONFIG, "action_id": "c1"}] * 2},
         "2 calls have the id 'c1'; each needs its own"),
        ("camel_case", ("reviewConfigs", 0, "actionName"), "u", r"review_configs\[0\].action_name is 'u'"),
        ("camel_case", ("reviewConfigs", 0), CONFIG, r"pause.reviewConfigs\[0\].actionName: Field required"),
        ("camel_case", ("reviewConfigs", 0, "allowedDecisions"), ["respond"],
         r"pause.reviewConfigs\[0\].allowedDecisions: none of \['respond'\]"),
        ("langchain_per_call", ("response_schema",), None, "pause.response_schema"),
        ("langchain_per_call", ("response_schema",), {"type": "object"}, "no decision found"),
        ("langchain_per_call", ("response_schema",), LOOP, "no decision found"),
        ("langchain_per_call", ("response_schema", "properties", "type"), {"const": ["approve"]}, "no decision found"),
        ("langchain_per_call", ("response_schema", "properties", "type"), {"const": "maybe"}, r"none of \['maybe'\]"),
        ("langchain_per_call", ("args",), {"x": b""}, "args.x: bytes"),
        ("human_interrupt", (), {"action_request": {"action": "pay", "args": {}}}, "pause.config: Field required"),
        ("human_interrupt", ("config",), {"allow_accept": "yes"}, "pause.config.allow_accept: .* boolean"),
        ("human_interrupt", ("config",), {"allow_edit": True}, "name the dialect"),
        ("human_interrupt", ("action_request", "action"), "", r"action_requests\[0\].name: 0 characters"),
        ("human_interrupt_list", (), [], "pause: Tuple should have at least 1 item"),
        ("human_interrupt_list", (0,), "and?", r"pause\[0\]: Input should be a valid dictionary"),
        ("text", (), {"at": {1, 2}}, "pause.at: set is not a JSON value"),
        ("text", (), [float("inf")], r"pause\[0\]: inf is not a JSON number"),
        ("text", (), "x" * 70_000, r"action_requests\[0\].args: 70,012 bytes"),
        ("text", (), "\ud800", "pause: half of a surrogate pair"),
    ],
)  # fmt: skip
def test_broken_pause_is_refused_naming_the_place(dialect, path, to, says_what):
    """Whatever the framework, and whoever wrote it."""
    DIALECTS[dialect].to_request(GOOD[dialect])
    with pytest.raises(InvalidRequestError, match=says_what):
        DIALECTS[dialect].to_request(changed(dialect, path, to))
