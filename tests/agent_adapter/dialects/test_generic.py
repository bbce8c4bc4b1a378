"""Pauses of a program's own: any JSON value, answered as the caller says that it is read."""

import pytest

from agent_adapter.dialects import DIALECTS, custom
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve, reject, respond

NAMES = ("boolean", "approve_reject", "text", "accept_reject", "accept_reject_response")
VALUES = ["Shall I?", "", 0, 1.5, True, None, [], {}, [1, {"a": None}], {"question": "x", "options": ["a"]}]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", VALUES)
def test_any_value_is_shown_whole(name, value):
    """As the one argument of a call that is named after what it is."""
    request = DIALECTS[name].to_request(value)

    assert [(action.name, action.args) for action in request.action_requests] == [
        ("interrupt", {"value": value})
    ]
    assert request.review_configs[0].effects == ("words_only",)


@pytest.mark.parametrize(
    ("name", "decision", "answer"),
    [
        ("boolean", reject("approve"), False),
        ("approve_reject", reject(" APPROVE "), "reject"),
        ("text", respond("approve"), "approve"),
    ],
)
def test_answers_are_what_the_program_reads(name, decision, answer):
    """A rejection never reads as an approval, and nothing is answered with null."""
    written = DIALECTS[name].to_resume([decision], "Shall I?")

    assert (written, type(written)) == (answer, type(answer))


def test_a_rejection_without_a_reason_is_a_bare_type():
    """As the programs that take these objects compare it."""
    assert DIALECTS["accept_reject"].to_resume([reject()], "Shall I?") == {"type": "reject"}


@pytest.mark.parametrize("allowed", [(), ("edit",), ("approve", "maybe")])
def test_custom_answers_offer_what_can_be_answered(allowed):
    """And nothing else."""
    with pytest.raises(InvalidRequestError, match="pass some of approve, reject, respond"):
        custom(lambda decision: decision.type, allowed_decisions=allowed)


@pytest.mark.parametrize(
    ("write", "says_what"),
    [
        (lambda decision: None, "null"),
        (lambda decision: {1, 2}, "set is not a JSON value"),
        (lambda decision: decision.nothing, "the callable raised"),
    ],
)
def test_an_answer_that_a_callable_cannot_write_is_none(write, says_what):
    """Nothing that a program would read in its own way."""
    with pytest.raises(DecisionNotAllowedError, match=says_what):
        custom(write).to_resume([approve()], "Shall I?")
