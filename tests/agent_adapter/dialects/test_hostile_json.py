"""Whatever JSON comes in, the dialects answer or refuse with a sentence of their own."""

import copy
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.dialects import DIALECTS, RECOGNISED, detect
from agent_adapter.dialects.naming import Naming
from agent_adapter.errors import AgentAdapterError, InvalidRequestError, UnknownDialectError
from tests.agent_adapter.dialects.conformance import EXAMPLES, LANGUAGES
from tests.support.properties import bounded


def words_in(value):
    """Give all keys and short texts of a payload."""
    if isinstance(value, dict):
        yield from value
    elif isinstance(value, str):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from words_in(child)


WORDS = sorted({word for word in words_in(EXAMPLES) if len(word) < 20})
NUMBERS = st.integers() | st.floats() | st.integers(min_value=2**53)
LEAVES = st.none() | st.booleans() | NUMBERS | st.text() | st.sampled_from(WORDS)
KEYS = st.sampled_from(WORDS) | st.text()
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@st.composite
def nearly_a_pause(draw):
    """Take a good pause and put any JSON in some of its places."""
    payload = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    for _ in range(draw(st.integers(1, 3))):
        place = payload
        while isinstance(place, dict | list) and place:
            key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
            if draw(st.booleans()) or not isinstance(place[key], dict | list):
                place[key] = draw(ANY_JSON)
                break
            place = place[key]
    return payload


PAYLOADS = ANY_JSON | nearly_a_pause()
DECISIONS = st.lists(
    st.sampled_from(
        [
            {"type": "approve"},
            {"type": "reject"},
            {"type": "respond", "message": "x"},
            {"type": "edit", "edited_action": {"name": "delete_file", "args": {"path": "x"}}},
        ]
    )
    | ANY_JSON,
    max_size=3,
)


@given(PAYLOADS)
def test_any_json_is_named_or_refused(payload):
    """`detect` names a dialect that reads its own pauses, or says what it looked for."""
    with suppress(UnknownDialectError):
        assert detect(payload) in RECOGNISED


@given(PAYLOADS, st.sampled_from(sorted(DIALECTS)))
def test_a_named_dialect_is_used_only_for_what_it_may_be(payload, named):
    """Otherwise the keys tell, or nothing does."""
    with suppress(UnknownDialectError):
        assert Naming.of(named).dialect(payload).recognises(payload)


@pytest.mark.parametrize("name", DIALECTS)
@bounded(60)
@given(payload=PAYLOADS, decisions=DECISIONS)
def test_any_json_is_read_and_answered_or_refused(name, payload, decisions):
    """Nothing but our own errors leaves a dialect, whatever it is given; and no answer is one that LangGraph drops."""
    dialect = DIALECTS[name]
    with suppress(InvalidRequestError):
        request = dialect.to_request(payload)
        assert len(request.action_requests) == len(request.review_configs) > 0
    with suppress(AgentAdapterError):
        assert dialect.to_resume(decisions, payload) not in ({}, None)


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_arguments_that_nest_without_end_are_refused(language):
    """By our limit, before Python's own recursion limit is met."""
    payload, deep = copy.deepcopy(language.pauses(1)[0]), []
    for _ in range(5_000):
        deep = [deep]
    places = list(arguments_in(payload))
    for place in places:
        place["x"] = deep

    with pytest.raises(InvalidRequestError, match="nested deeper than"):
        DIALECTS[language.dialect].to_request(payload if places else deep)


def arguments_in(payload):
    """Find the arguments of the calls, wherever a dialect keeps them."""
    if isinstance(payload, dict):
        for key, value in payload.items():
            if key == "args" and "type" not in value:
                yield value
            else:
                yield from arguments_in(value)
    if isinstance(payload, list):
        for value in payload:
            yield from arguments_in(value)
