"""Telling the dialects apart."""

import pytest

from agent_adapter.dialects import DIALECTS, detect
from agent_adapter.dialects.naming import Naming
from agent_adapter.errors import InvalidRequestError, UnknownDialectError


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        ("approve?", "found str, not an object"),
        (None, "found NoneType, not an object"),
        ({}, "found an empty object"),
        ({"question": "x", "options": []}, "found the keys 'question', 'options'"),
        ({"type": "something_else"}, "found the keys 'type'"),
        (dict.fromkeys(map(str, range(25))), "'18', '19' and 5 more"),
        ({"k" * 1000: 1}, f"found the keys '{'k' * 39}. Dialects"),
        ([], "found list, not an object"),
        ([{"question": "x"}], "found list, not an object"),
    ],
)
def test_unknown_pause_says_what_was_looked_for_and_what_was_found(payload, found):
    """So that whoever writes the pause can see what is missing."""
    with pytest.raises(UnknownDialectError) as caught:
        detect(payload)

    assert found in str(caught.value)
    assert all(name in str(caught.value) for name in DIALECTS)
    assert "'action_requests'" in str(caught.value)


LANGCHAIN = {"action_requests": [], "review_configs": []}
CAMEL = {"actionRequests": [], "reviewConfigs": []}
ONE = {"action_request": {"action": "pay", "args": {}}, "config": {"allow_accept": True}}


@pytest.mark.parametrize(
    ("payload", "named", "chosen"),
    [
        (ONE, None, "human_interrupt"),
        (ONE, "dev_utils", "dev_utils"),
        (ONE, "accept_reject", "human_interrupt"),
        (ONE, "dev_utils_0_1", "human_interrupt"),
        ([ONE], "dev_utils", "human_interrupt_list"),
        ([ONE], "dev_utils_0_1", "dev_utils_0_1"),
        (CAMEL, "langchain_js", "langchain_js"),
        (CAMEL, "text", "camel_case"),
        (LANGCHAIN, "dev_utils", "langchain"),
        (LANGCHAIN, "accept_reject", "langchain"),
        ({"type": "tool_approval"}, "boolean", "langchain_per_call"),
        ("Shall I?", "accept_reject", "accept_reject"),
        ("Shall I?", "text", "text"),
    ],
)
def test_a_named_dialect_is_for_the_pauses_that_may_be_of_it(payload, named, chosen):
    """One name serves a run with pauses of several kinds: what the keys tell stays as it is."""
    assert Naming.of(named).dialect(payload) is DIALECTS[chosen]


def test_what_an_integration_knows_counts_where_the_caller_says_nothing():
    """Keys that tell it go after both."""
    for named, chosen in ((None, "accept_reject"), ("boolean", "boolean")):
        naming = Naming.of(named, otherwise=lambda payload: "accept_reject")
        assert naming.dialect("Shall I?") is DIALECTS[chosen]


def test_a_name_that_does_not_exist_is_refused_with_those_that_do():
    """It is a mistake of the caller, not of the pause."""
    with pytest.raises(
        InvalidRequestError,
        match=r"'camelCase' is not the name of a dialect \(did you mean 'camel_case'\?\); the names are ",
    ) as caught:
        Naming.of("camelCase")

    assert not isinstance(caught.value, UnknownDialectError)


@pytest.mark.parametrize(
    ("dialect", "says_what"),
    [
        ({"ask": "text"}, "is neither a name nor a function of the payload"),
        ("generic", "'generic' is not the name of a dialect"),
        (lambda payload: "yes", "'yes' is not the name of a dialect"),
        (lambda payload: True, "a callable gave True"),
        (lambda payload: payload.nothing, "the callable raised .*; nobody was asked"),
    ],
)
def test_what_names_no_dialect_is_refused(dialect, says_what):
    """The error says what was given, or what the caller's own function gave."""
    with pytest.raises(InvalidRequestError, match=says_what):
        Naming.of(dialect).dialect("Shall I?")


REVIEW = {
    "action_requests": [{"name": "wipe", "args": {}}],
    "review_configs": [{"action_name": "wipe", "allowed_decisions": ["approve"]}],
}


@pytest.mark.parametrize(
    ("payload", "says_what"),
    [
        ({**REVIEW, "hint": 1}, "looks like langchain.*'hint'"),
        ({**ONE, "hint": 1}, "looks like human_interrupt.*'hint'"),
        ([{**ONE, "hint": 1}], "looks like human_interrupt_list.*'hint'"),
        ({**CAMEL, "hint": 1}, "looks like camel_case.*'hint'"),
        ({"type": "tool_approval", "tool": "send"}, "looks like langchain_per_call.*'tool'"),
    ],
)
def test_what_only_looks_like_a_known_form_is_of_none(payload, says_what):
    """An answer in the wrong form would break the thread for good, so one name for all pauses is not meant for it."""
    for name in (None, "boolean"):
        with pytest.raises(UnknownDialectError, match=says_what):
            Naming.of(name).dialect(payload)


@pytest.mark.parametrize(
    "payload",
    [
        {"action_requests": 3},
        {"type": "tool_approval"},
        {**REVIEW, "action_requests": []},
        {"review_configs": []},
        {"reviewConfigs": []},
        {"action_request": None},
        [None, {"action_request": 1}],
        {"review_configs": [None, {"action_id": 1}]},
    ],
)
def test_a_broken_pause_is_still_recognised(payload):
    """So that it is refused with what is wrong about it, and never asked about as a program's own question."""
    with pytest.raises(InvalidRequestError, match=r"^pause"):
        DIALECTS[detect(payload)].to_request(payload)
