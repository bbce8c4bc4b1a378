"""Pauses of a program's own: any JSON value, answered as the caller says that it is read."""

import pytest

from agent_adapter.dialects import DIALECTS, answering, custom
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.testing import approve, reject, respond

TEXT = DIALECTS["text"]
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
        ("boolean", approve(), True),
        ("boolean", reject("approve"), False),
        ("approve_reject", approve(), "approve"),
        ("approve_reject", reject(), "reject"),
        ("approve_reject", reject(" APPROVE "), "reject"),
        ("text", respond("42"), "42"),
        ("text", respond("approve"), "approve"),
    ],
)
def test_answers_are_what_the_program_reads(name, decision, answer):
    """A rejection never reads as an approval, and nothing is answered with null."""
    written = DIALECTS[name].to_resume([decision], "Shall I?")

    assert (written, type(written)) == (answer, type(answer))


@pytest.mark.parametrize("decision", [approve(), reject(), reject("no")])
def test_text_takes_words_only(decision):
    """Neither an approval nor a rejection becomes a sentence."""
    with pytest.raises(DecisionNotAllowedError, match="is not one of respond"):
        TEXT.to_resume([decision], "Shall I?")


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
        TEXT.to_request(value)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_no_edit(name):
    """Nobody knows what the program would do with one."""
    edit = {"type": "edit", "edited_action": {"name": "interrupt", "args": {"value": "x"}}}

    with pytest.raises(DecisionNotAllowedError, match="edit is not one of"):
        DIALECTS[name].to_resume([edit], "Shall I?")


def test_a_rejection_without_a_reason_is_a_bare_type():
    """As the programs that take these objects compare it."""
    assert DIALECTS["accept_reject"].to_resume([reject()], "Shall I?") == {"type": "reject"}


@pytest.mark.parametrize("allowed", [(), ("edit",), ("approve", "maybe")])
def test_custom_answers_offer_what_can_be_answered(allowed):
    """And nothing else."""
    with pytest.raises(InvalidRequestError, match="pass some of approve, reject, respond"):
        custom(lambda decision: decision.type, allowed_decisions=allowed)


@pytest.mark.parametrize(("decision", "answer"), [(approve(), "approve"), (respond("42"), "42")])
def test_record_of_an_earlier_version_is_still_answered_with_words(decision, answer):
    """What was asked as `generic` is not lost by an upgrade."""
    assert answering("generic").to_resume([decision], "Shall I?") == answer


def test_rejection_of_an_earlier_version_is_not_handed_over_as_words():
    """Where it was read as truth, it meant yes."""
    with pytest.raises(DecisionNotAllowedError, match="only be answered with typed words"):
        answering("generic").to_resume([reject("no")], "Shall I?")
