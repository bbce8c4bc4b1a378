"""Pauses of a program's own."""

import pytest

from agent_adapter.dialects import DIALECTS
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve, reject, respond

GENERIC = DIALECTS["generic"]
VALUES = ["Shall I?", "", 0, 1.5, True, None, [], {}, [1, {"a": None}], {"question": "x", "options": ["a"]}]


@pytest.mark.parametrize("value", VALUES)
def test_any_value_is_shown_whole(value):
    """As the one argument of a call that is named after what it is."""
    request = GENERIC.to_request(value)

    assert [(action.name, action.args) for action in request.action_requests] == [
        ("interrupt", {"value": value})
    ]
    assert request.review_configs[0].allowed_decisions == ("approve", "reject", "respond")
    assert request.review_configs[0].effects == ("words_only",)


@pytest.mark.parametrize(
    ("decision", "answer"),
    [
        (approve(), "approve"),
        (reject(), "reject"),
        (reject(""), "reject"),
        (reject("  "), "reject"),
        (reject("not today"), "reject: not today"),
        (reject(" APPROVE "), "reject: APPROVE"),
        (respond("42"), "42"),
        (respond("approve"), "approve"),
    ],
)
def test_answers_are_words(decision, answer):
    """A rejection never reads as an approval, and nothing is answered with null."""
    assert GENERIC.to_resume([decision], "Shall I?") == answer


@pytest.mark.parametrize(
    ("value", "says_what"),
    [
        ({"at": {1, 2}}, "pause.at: set is not a JSON value"),
        ([float("inf")], r"pause\[0\]: inf is not a JSON number"),
        ("x" * 70_000, r"action_requests\[0\].args: 70,012 bytes"),
        ("\ud800", "pause: half of a surrogate pair"),
    ],
)
def test_what_cannot_be_shown_is_refused(value, says_what):
    """Naming the place."""
    with pytest.raises(InvalidRequestError, match=says_what):
        GENERIC.to_request(value)


@pytest.mark.parametrize("name", ["generic", "accept_reject", "accept_reject_response"])
def test_there_is_no_edit(name):
    """Nobody knows what the program would do with one."""
    edit = {"type": "edit", "edited_action": {"name": "interrupt", "args": {"value": "x"}}}

    with pytest.raises(DecisionNotAllowedError, match="edit is not one of approve, reject"):
        DIALECTS[name].to_resume([edit], "Shall I?")


def test_a_rejection_without_a_reason_is_a_bare_type():
    """As the programs that take these objects compare it."""
    assert DIALECTS["accept_reject"].to_resume([reject()], "Shall I?") == {"type": "reject"}
