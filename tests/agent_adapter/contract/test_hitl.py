"""The models of the wire: LangChain's names, read tolerantly, answered strictly."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from agent_adapter.contract.hitl import Decision, HITLRequest, UnknownDecision
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import load_decision
from agent_adapter.errors import InvalidRequestError


def payload(*names, **config):
    """A batch as LangChain writes it."""
    return {
        "action_requests": [{"name": name, "args": {"n": 1}} for name in names],
        "review_configs": [
            {"action_name": name, "allowed_decisions": ["approve", "reject"], **config} for name in names
        ],
    }


def test_langchains_own_payload_is_a_request():
    """The field names are LangChain's, so its payload is read as it is; what a later version adds is passed over."""
    asked = payload("send", "pay", args_schema={"type": "object"}, severity="high") | {"batch_hint": 1}
    asked["action_requests"][0]["cost"] = 3

    request = HITLRequest.model_validate(asked)

    assert [action.name for action in request.action_requests] == ["send", "pay"]
    assert request.review_configs[1].allowed_decisions == ("approve", "reject")
    assert request.review_configs[1].args_schema == {"type": "object"}
    assert "severity" not in request.review_configs[0].model_dump()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (payload("a", "b") | {"review_configs": payload("a")["review_configs"]},
         "2 action_requests but 1 review_configs: they pair by index"),
        (payload("a", "b") | {"review_configs": payload("b", "a")["review_configs"]},
         "review_configs[0].action_name is 'b', but action_requests[0].name is 'a'"),
        (payload(), "at least 1 item"),
        (payload("a", allowed_decisions=[]), "at least 1 item"),
    ],
    ids=["count", "order", "no action", "no decision"],
)  # fmt: skip
def test_actions_and_configs_pair_by_index_and_name(wrong, sentence):
    """A decision offered for one tool can never land on another."""
    with pytest.raises(ValidationError, match=re.escape(sentence)):
        HITLRequest.model_validate(wrong)


@pytest.mark.parametrize(
    "decision",
    [
        {"type": "approve"},
        {"type": "edit", "edited_action": {"name": "pay", "args": {"n": 2**70, "none": None, "b": [], "a": 1.0}}},
        {"type": "reject"},
        {"type": "reject", "message": "not today"},
        {"type": "respond", "message": "it is Tuesday"},
        {"type": "escalate", "to": ["legal"], "deep": {"x": None}},
    ],
    ids=lambda decision: decision["type"],
)  # fmt: skip
def test_a_decision_comes_back_as_it_was_written(decision):
    """Every kind survives the store; one that is not known yet is none of those that anything is run on."""
    loaded = load_decision(decision)

    assert dump_decision(loaded) == decision
    assert isinstance(loaded, UnknownDecision) is (decision["type"] == "escalate")


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"type": "edit"}, "decision.edit.edited_action: Field required"),
        ({"type": "edit", "edited_action": {"name": "pay", "args": [1]}},
         "decision.edit.edited_action.args: Input should be a valid dictionary"),
        ({"type": "respond"}, "decision.respond.message: Field required"),
        ({"type": ["approve"]}, "decision.other.type: Input should be a valid string"),
        ({}, "decision.other.type: Field required"),
        ("approve", "decision.other: Input should be a valid dictionary"),
        (None, "decision.other: Input should be a valid dictionary"),
    ],
    ids=["edit", "edit args", "respond", "type", "empty", "text", "none"],
)  # fmt: skip
def test_a_value_that_is_not_a_decision_is_refused_with_its_path(value, sentence):
    """Nothing is read into a decision that is not there: least of all an approval."""
    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        load_decision(value)


def test_the_schema_of_a_decision_names_its_kinds():
    """A client of another language reads them there."""
    schema = TypeAdapter(Decision).json_schema()

    kinds = {shape["properties"]["type"].get("const") for shape in schema["$defs"].values()
             if "type" in shape["properties"]}  # fmt: skip
    assert kinds == {"approve", "edit", "reject", "respond", None}
