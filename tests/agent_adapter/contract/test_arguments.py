"""Arguments of a call: strict JSON in, the same bytes out, limits that say where and what to do."""

import contextlib
import enum
import json
import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import (
    MAX_ARGUMENTS_BYTES,
    MAX_DEPTH,
    MAX_KEYS,
    MAX_NODES,
    check_arguments,
    decode,
    decode_arguments,
    encode,
)
from agent_adapter.errors import InvalidRequestError
from tests.support.properties import bounded

# Text with the characters that tempt a writer to escape or to normalise.
texts = st.text(st.sampled_from('aZ0 "\\/\n\t\x00\x7f\u2028é\u0301ß漢😀'), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
arguments = st.dictionaries(texts, values, max_size=4)
small = bounded(150)


@small
@given(arguments)
def test_what_is_accepted_comes_back_byte_for_byte(args):
    """Reading what was written and writing it again gives the same bytes, in the same order of keys."""
    written = encode(args)

    again = decode_arguments(written)

    assert encode(again) == written
    assert again == args
    assert list(again) == list(args)


@small
@given(st.text(st.sampled_from('[]{}":,\\ 1e-.NaInfytrul\ud800"x'), max_size=60) | st.binary(max_size=60))
def test_any_text_is_read_or_refused(text):
    """Nothing that a model writes raises anything but the one error."""
    with contextlib.suppress(InvalidRequestError):
        args = decode_arguments(text)
        assert decode(encode(args)) == args


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a":1,"a":1}', "args: key 'a' appears twice in one object; send it once"),
        ('{"in":[{"b":1,"c":2,"b":3}]}', "args: key 'b' appears twice in one object; send it once"),
        ('{"a":NaN}', "args: NaN is not JSON; send null or a string"),
        ('{"a":-Infinity}', "args: -Infinity is not JSON; send null or a string"),
        ('{"a":[1e999]}', "args: a number is too large for JSON; send it as a string"),
        ('{"a":1,}', "args: not JSON at line 1, column "),
        ("", "args: not JSON at line 1, column 1: Expecting value"),
        (b'{"a":"\xff"}', "args: not UTF-8 at byte 6"),
        ("[1]", "args: arguments must be a JSON object, not list"),
        ("null", "args: arguments must be a JSON object, not NoneType"),
        ('{"a":"\\ud83d"}', "args.a: half of a surrogate pair at character 0: this is not Unicode text"),
        ('{"x\\udc00":1}', r"args: key 'x\udc00': half of a surrogate pair at character 1"),
    ],
)
def test_text_that_is_not_strict_json_is_refused_with_its_place(text, sentence):
    """The sentence says where it is and what to send in its place."""
    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        decode_arguments(text)


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"to": ("a", "b")}, "args.to: tuple is not a JSON value; send a string, number, boolean, null, list"),
        ({"on": [date(2026, 1, 1)]}, "args.on[0]: date is not a JSON value"),
        ({"colour": Colour.RED}, "args.colour: Colour is not a JSON value"),
        ({"word": Word("x")}, "args.word: Word is not a JSON value"),
        ({"some": {1, 2}}, "args.some: set is not a JSON value"),
        ({"raw": b"x"}, "args.raw: bytes is not a JSON value"),
        ({"by id": {"x": {7: "seven"}}}, "args['by id'].x: key 7 is int; JSON keys are strings"),
        ({"rate": float("nan")}, "args.rate: nan is not a JSON number; send null or a string"),
        ({"n": 1 << 13_288}, "args.n: an integer of more than 4,000 digits; send it as a string"),
        ({"k" * 60_000: float("inf")}, f"args.{'k' * 40}…: inf is not a JSON number; send null or a string"),
        ("text", "args: arguments must be a JSON object, not str"),
    ],
)  # fmt: skip
def test_values_that_json_does_not_have_are_refused_with_their_path(value, sentence):
    """What would be shown as something else than it is never gets that far."""
    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        check_arguments(value)


def nested(levels):
    """Objects in one another, so many below the outermost."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"d": value}
    return value


@pytest.mark.parametrize(
    ("most", "too_many", "sentence"),
    [
        (
            nested(MAX_DEPTH),
            nested(MAX_DEPTH + 1),
            f"args{'.d' * (MAX_DEPTH + 1)}: nested deeper than 32 levels; send the inner part as a string",
        ),
        (
            {"a": [0] * (MAX_NODES - 2)},
            {"a": [0] * (MAX_NODES - 1)},
            "args: more than 5,000 values; pass a reference to the data",
        ),
        (
            {"a": dict.fromkeys(map(str, range(MAX_KEYS)))},
            {"a": dict.fromkeys(map(str, range(MAX_KEYS + 1)))},
            "args.a: 1,001 keys, at most 1,000; send a list, or pass a reference to the data",
        ),
        (
            {"a": "é" * ((MAX_ARGUMENTS_BYTES - 8) // 2)},
            {"a": "é" * ((MAX_ARGUMENTS_BYTES - 8) // 2) + "x"},
            "args: 65,537 bytes of arguments, at most 65,536: pass a reference to large content",
        ),
    ],
    ids=["depth", "nodes", "keys", "bytes"],
)
def test_limits_hold_exactly_and_say_the_cure(most, too_many, sentence):
    check_arguments(most)

    with pytest.raises(InvalidRequestError, match=re.escape(sentence)):
        check_arguments(too_many)


def itself():
    """An object that contains itself."""
    value: dict[str, Any] = {}
    value["me"] = value
    return value


def doubling():
    """A list that holds the next one twice: a billion values in thirty lists."""
    value: Any = 0
    for _ in range(30):
        value = [value, value]
    return {"a": value}


@pytest.mark.parametrize("bomb", [itself(), doubling()], ids=["itself", "doubling"])
def test_bombs_in_memory_end_at_a_limit(bomb):
    """Values that are endless or nearly so are counted, not written out."""
    with pytest.raises(InvalidRequestError, match=r"nested deeper than 32 levels|more than 5,000 values"):
        check_arguments(bomb)


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 200_000,
        '{"a":' * 200_000,
        "[" * 500 + "]" * 500,
        '{"n":' + "9" * 200_000 + "}",
        '{"n":-' + "9" * 4_301 + "}",
        # Looking for a string's start again inside a string that never ends takes quadratic time: minutes for this.
        '{"a":"' + '\\"' * 300_000,
        '{"a":"' + "[" * 300_000,
        '{"' + "k" * 60_000 + '":[' + "[]," * 20_000 + "[]]}",
    ],
    ids=["lists", "objects", "closed", "integer", "4,301 digits", "escapes", "unterminated", "wide"],
)
def test_bombs_in_text_end_in_the_same_error(bomb):
    """Neither Python's own limits nor much time or memory are reached."""
    with pytest.raises(InvalidRequestError):
        decode_arguments(bomb)


def test_brackets_inside_strings_do_not_nest():
    args = {"code": '"' + "[{" * 500 + '\\"', "more": "\\"}

    assert decode_arguments(json.dumps(args)) == args
