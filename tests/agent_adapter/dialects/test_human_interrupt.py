"""HumanInterrupt: one flag per decision, two forms, two shapes of an edit."""

import pytest

from agent_adapter.dialects import DIALECTS
from agent_adapter.testing import reject

ALL = {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": True}
CALL = {"action": "pay", "args": {"to": "al", "amount": 5}}


def pause(config=ALL, **changes):
    return {"action_request": CALL, "config": config, "description": None, **changes}


def allowed_by(payload, name="human_interrupt"):
    (config,) = DIALECTS[name].to_request(payload).review_configs
    return config.allowed_decisions, config.effects


@pytest.mark.parametrize(
    ("flags", "allowed", "effects"),
    [
        ({"allow_accept": True}, ("approve",), ()),
        ({"allow_accept": True, "allow_ignore": True}, ("approve", "reject"), ()),
        ({"allow_accept": True, "allow_ignore": False}, ("approve",), ()),
        ({"allow_accept": True, "allow_respond": True}, ("approve", "reject", "respond"), ("reject_as_answer",)),
        ({"allow_ignore": True, "allow_respond": True}, ("reject", "respond"), ()),
        ({"allow_edit": True, "allow_ignore": False, "allow_accept": True}, ("approve", "edit"), ()),
        ({"allow_edit": True, "allow_accept": True}, ("approve",), ()),
        (ALL, ("approve", "edit", "reject", "respond"), ()),
    ],
)  # fmt: skip
def test_flags_say_what_is_offered(flags, allowed, effects):
    """What is not allowed is not offered; a missing flag allows nothing."""
    assert allowed_by(pause(flags)) == (allowed, effects)


def test_words_that_only_repeat_the_call_are_dropped():
    """langchain-dev-utils names the tool, LangChain's template name and arguments; the card does both."""
    says_nothing = ["Please review tool call: pay", f"P\n\nTool: pay\nArgs: {CALL['args']}", "", None]
    texts = [
        DIALECTS["human_interrupt"].to_request(pause(description=text)).action_requests[0].description
        for text in [*says_nothing, "Please review tool call: pay it"]
    ]

    assert texts == [None, None, None, None, "Please review tool call: pay it"]


def test_a_rejection_without_a_reason_asks_the_model_not_to_try_again():
    """The model reads the answer of a tool, so the words have to say what it was."""
    answer = DIALECTS["dev_utils"].to_resume([reject()], pause({"allow_respond": True}))

    assert answer == {
        "type": "response",
        "args": "A person rejected this call of pay, and it was not executed. Do not repeat it unless asked to.",
    }
