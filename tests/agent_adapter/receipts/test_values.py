"""Values that a tool got, beside the JSON that was approved."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

import pytest
from pydantic import BaseModel

from agent_adapter.contract.arguments import decode
from agent_adapter.receipts.values import first_difference, is_approved, is_equal


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("1", 1), ("1.0", 1.0), ("true", True), ('"1"', "1"), ("null", None), ("[1,[2]]", [1, [2]]), ("[1,[2]]", (1, (2,))),
        ("1.10", 1.1), ("1E5", 1e5), ("-0", 0), ("-0.0", -0.0), ("123456789012345678901234567890", 123456789012345678901234567890),
        ('{"a":{"b":1}}', {"a": {"b": 1}}),
    ],
)  # fmt: skip
def test_a_value_is_what_was_approved_when_a_framework_reads_it_so(text, given):
    assert is_approved(decode(text), given)
    assert is_approved(decode(text), decode(text))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("1", 1.0), ("1", True), ("1", "1"), ("1.0", 1), ("true", 1), ("null", False), ("null", "null"), ("0.0", -0.0),
        ("0", -0.0), ("[]", {}), ("[1]", [1, 1]), ("[1]", {1}), ('{"a":1}', {"a": 1, "b": 1}), ('{"a":1}', {}),
        ('"é"', "e\u0301"), ("9007199254740993.99", 9007199254740994.0), ("1.10", 1.10000001),
    ],
)  # fmt: skip
def test_a_value_of_another_type_or_text_is_another_value(text, given):
    """Also a float that cannot hold the number which the person read."""
    assert not is_approved(decode(text), given)


def test_the_first_argument_that_differs_is_named():
    assert first_difference({"a": 1, "b": 2}, {"b": 2, "a": 1}) is None
    assert first_difference({"a": 1, "b": 2}, {"a": 1, "b": 3}) == "b"
    assert first_difference({"a": 1}, {"a": 1, "c": None}) == "c"
    assert first_difference({"a": None}, {}) == "a"


class Mode(Enum):
    FAST = 1
    SAFE = 2


class Order(BaseModel):
    number: int
    note: object = None


@dataclass
class Line:
    count: float


def test_python_values_are_equal_with_their_types_at_each_level():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    for one, other in [
        ({"a": [Mode.FAST]}, {"a": [Mode.FAST]}), (Order(number=1), Order(number=1)), (Line(1.0), Line(1.0)),
        (now, now), ({1, 2}, {2, 1}), ({(1,)}, {(1,)}), (b"a", b"a"), ((1,), (1,)),
    ]:  # fmt: skip
        assert is_equal(one, other)
    for one, other in [
        (Mode.FAST, Mode.SAFE), (Order(number=1), Order(number=2)), (Order(number=1, note=1), Order(number=1, note=True)),
        (Line(1.0), Line(1)), (Line(0.0), Line(-0.0)), ({1}, {1.0}), ({(1,)}, {(1.0,)}), ((1,), [1]), ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (object(), object()),
    ]:  # fmt: skip
        assert not is_equal(one, other)
