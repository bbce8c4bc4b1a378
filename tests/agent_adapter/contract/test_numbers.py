"""Numbers of JSON text: what was sent is what is shown, compared and handed on, digit by digit."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import decode, decode_arguments, encode, encode_indented, has_numbers
from agent_adapter.contract.hitl import ActionRequest, EditDecision, EditedAction, HITLRequest, ReviewConfig
from agent_adapter.contract.numbers import Number, as_decimals, as_floats, is_exact
from agent_adapter.contract.record import dump_decision
from agent_adapter.contract.wire import dump_interrupt, load_decision, load_interrupt
from agent_adapter.dialects import DIALECTS
from agent_adapter.errors import InvalidRequestError
from tests.support.builders import an_interrupt
from tests.support.properties import bounded

ODD = [
    "9007199254740993.99", "1.10", "1.0e5", "1E5", "1e5", "100000.00", "-0", "-0.00", "0.10", "0e5", "1e-7", "1.5E+300",
    "0.1000000000000000055511151231257827", "123456789012345678901234567890.123456789", "4.9e-324", "-1E-05",
]  # fmt: skip
"""Texts that a Python float would not write back."""

digits = st.text("0123456789", min_size=1, max_size=25)
written = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{int(whole)}{fraction}{exponent}",
    st.sampled_from(["", "-"]),
    digits,
    st.just("") | digits.map(lambda found: f".{found}"),
    st.just("")
    | st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 99)),
)


@pytest.mark.parametrize("text", ODD)
def test_a_number_is_written_as_it_was_sent(text):
    """Shown, stored and compared is the text, wherever it is read and written again."""
    sent = f'{{"amount":{text},"rows":[{text}]}}'
    args = decode_arguments(sent)

    assert encode(args) == sent
    assert encode(decode(encode(args))) == sent
    assert f'"amount": {text},' in encode_indented(args)
    assert encode(copy.deepcopy(args)) == encode(pickle.loads(pickle.dumps(args))) == sent


@bounded(300)
@given(written)
def test_any_number_of_json_comes_back_or_is_refused(text):
    """Whole, with decimals, with an exponent: no digit of it changes, and Python reads the same number."""
    try:
        found = decode(f"[{text}]")
    except InvalidRequestError:
        assert float(text) == 0
        return
    assert encode(found) == f"[{text}]"
    assert as_floats(found) == json.loads(f"[{text}]")


@pytest.mark.parametrize("text", ["64.95", "1.0", "-0.0", "1e+16", "5e-324", "0.1", "12"])
def test_what_python_writes_itself_stays_pythons_own(text):
    """Where a framework has made floats, nothing else is ever handed on."""
    (found,) = decode(f"[{text}]")

    assert type(found) in {int, float}
    assert encode(found) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1e400", "a number is too large for JSON; send it as a string"),
        ("-1e400", "a number is too large for JSON; send it as a string"),
        ("1e-400", "a number is too close to zero for JSON; send it as a string"),
        ("0e99999", "an exponent beyond 9,999; send the number as a string"),
        ("0e-" + "9" * 3_000, "an exponent beyond 9,999; send the number as a string"),
        ("0." + "1" * 4_000, "a number of more than 4,000 characters; send it as a string"),
    ],
    ids=lambda text: text[:20],
)
def test_a_number_that_readers_would_make_endless_or_nothing_is_refused(text, sentence):
    """`json.loads` reads infinity in 1e400 and zero in 1e-400: that would run, and another number would be shown."""
    with pytest.raises(InvalidRequestError, match="args: ") as caught:
        decode_arguments(f'{{"a":[{text}]}}')
    assert str(caught.value) == f"args: {sentence}"


def test_a_record_and_a_decision_keep_the_text():
    """Through the models and the texts that are stored."""
    args = decode_arguments('{"amount":9007199254740993.99}')
    asked = an_interrupt(
        (ActionRequest(name="pay", args=args), ReviewConfig(action_name="pay", allowed_decisions=("edit",)))
    )
    edited = EditDecision(edited_action=EditedAction(name="pay", args=args))

    assert '"amount":9007199254740993.99' in dump_interrupt(asked)
    assert encode(load_interrupt(dump_interrupt(asked)).request.action_requests[0].args) == encode(args)
    stored = encode(dump_decision(edited))
    assert encode(load_decision(decode(stored)).edited_action.args) == encode(args)


def test_other_libraries_get_numbers_of_their_own():
    """Floats for a framework that made floats, decimals for one that computes exactly."""
    args = decode('{"a":[1.10,{"b":-0}],"c":1.5}')

    assert has_numbers(args)
    assert not has_numbers(as_floats(args))
    assert encode(as_floats(args)) == '{"a":[1.1,{"b":0}],"c":1.5}'
    assert [type(value).__name__ for value in as_decimals(args)["a"][:1]] == ["Decimal"]
    assert [is_exact(Number(text)) for text in ("1.10", "1E5", "9007199254740993.99")] == [True, True, False]


@pytest.mark.parametrize("text", ["NaN", "1_000", " 1", "1.", ".5", "01", "+1", "Infinity", '1"', ""])
def test_nothing_else_is_a_number(text):
    """Whatever makes one, its text is what is written into JSON."""
    with pytest.raises(ValueError, match="is not a JSON number"):
        Number(text)


@pytest.mark.parametrize(
    ("number", "runs"), [("1.10", True), ("9007199254740993.99", False), ("0.1000000000000000001", False)]
)
def test_javascript_is_asked_about_no_number_that_it_would_change(number, runs):
    """What JavaScript runs is its own copy: a number of which it keeps all digits, however it is written."""
    pause = decode(
        f'{{"actionRequests":[{{"name":"pay","args":{{"amount":{number}}}}}],'
        '"reviewConfigs":[{"actionName":"pay","allowedDecisions":["approve"]}]}'
    )
    dialect = DIALECTS["camel_case"]

    if runs:
        request: HITLRequest = dialect.to_request(pause)
        assert encode(request.action_requests[0].args) == f'{{"amount":{number}}}'
    else:
        with pytest.raises(
            InvalidRequestError, match=r"args\.amount: JavaScript does not keep all digits of "
        ):
            dialect.to_request(pause)
