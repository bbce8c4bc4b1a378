"""Arguments are read by people: keys, values and lines, each kind of value recognisable."""

from itertools import product

import pytest

from bot.rendering.arguments import argument_lines, change_lines, text_lines, value_lines
from bot.text.literal import visible


def lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def test_keys_stand_in_a_column_and_types_are_honest():
    """A text stands in quotes, everything else does not."""
    args = {
        "to": "dana@example.com",
        "count": 1,
        "code": "1",
        "note": "",
        "cc": None,
        "urgent": True,
        "rate": 1.0,
    }

    assert argument_lines(args) == lines("""
to:     "dana@example.com"
count:  1
code:   "1"
note:   ""
cc:     null
urgent: true
rate:   1.0
""")


def test_nested_values_are_indented():
    """Objects and lists show their shape; empty ones are told apart."""
    args = {
        "order": {"id": 7, "lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]},
        "tags": ["x", ["y"]],
        "none": [],
        "nothing": {},
    }

    assert argument_lines(args) == lines("""
order:
  id:    7
  lines:
    - sku: "a"
      n:   1
    - sku: "b"
      n:   2
tags:
  - "x"
  - - "y"
none:    []
nothing: {}
""")


def test_text_of_several_lines_stands_behind_a_bar():
    """Lines are lines, and spaces at the end of one can be seen."""
    assert argument_lines({"body": "Dear Dana,\n\n  pay  \n"}) == [
        "body:",
        "  │ Dear Dana,",
        "  │ ",
        "  │   pay\\{2 spaces}",
        "  │ ",
    ]


def test_a_line_stays_one_line_unless_no_page_of_a_reading_holds_it():
    """Slack wraps it as wide as the window. Such a cut is behind a mark, and never within the spelling of a character."""
    for text in ("We paid 64.95 EUR back. " * 300, "select=" * 1_200, "\u21aa no"):
        assert value_lines(text) == [f'"{text}"']

    for word, mark in (
        ("1", "\u21aa\u21aa same word: "),
        ("x ", "\u21aa "),
        ("\u200b\u200c", "\u21aa\u21aa same word: "),
    ):
        first, *others = found = value_lines(word * 20_000)
        assert max(map(len, found)) < 9_020
        assert all(line.startswith(mark) for line in others)
        assert all(line.endswith(("1", "x ", "}", '"')) for line in found)
        assert first + "".join(line.removeprefix(mark) for line in others) == f'"{visible(word * 20_000)}"'


def test_different_arguments_never_look_alike():
    """Over every short name and value of the characters that our own marks are made of."""
    alphabet = ["a", '"', ": ", "\\", "\n", "- ", "│ ", "↪ ", "{}", " ", "1"]
    texts = ["", *alphabet, *map("".join, product(alphabet, repeat=2))]
    values = [
        *texts,
        1,
        1.0,
        True,
        None,
        [],
        {},
        [1],
        [[]],
        [{}],
        ["a", "a"],
        {"a": {}},
        [{"a": 1}],
        {"a": [1]},
    ]
    seen: dict[str, object] = {}

    for args in ({name: value} for name in texts for value in values):
        text = "\n".join(argument_lines(args))
        assert seen.setdefault(text, args) is args

    for pair in ({"k": one, "l": other} for one in texts for other in texts):
        text = "\n".join(argument_lines(pair))
        assert seen.setdefault(text, pair) is pair


def test_an_edit_shows_what_it_changed_and_nothing_else():
    """Before and after, by path; what stayed is left out."""
    before = {"to": "dana", "same": [1, 2], "opts": {"retries": 1, "mode": "fast"}, "rows": [1, 2], "old": 5}
    after = {
        "to": "erik",
        "same": [1, 2],
        "opts": {"retries": "1", "mode": "fast"},
        "rows": [1, 3],
        "new": None,
    }

    assert change_lines(before, after) == lines("""
to: "dana" → "erik"
opts.retries: 1 → "1"
rows[1]: 2 → 3
old: removed
- 5
new: added
+ null
""")


def test_a_name_with_a_dot_is_not_a_path():
    """Whoever agrees with a change sees which of two arguments it is about."""
    asked = {"a.b": 1, "a": {"b": 1}}

    assert change_lines(asked, {**asked, "a.b": 2}) == ['"a.b": 1 → 2']
    assert change_lines(asked, {**asked, "a": {"b": 2}}) == ["a.b: 1 → 2"]


def test_an_edit_of_the_order_alone_is_said():
    """A change that no value shows is named."""
    assert change_lines({"a": 1, "b": 2}, {"b": 2, "a": 1}) == ["(only the order of the arguments changed)"]


@pytest.mark.parametrize(
    ("asked", "edited"),
    [("\u05d0\u05d1\u05d2", "\u05d3\u05d4\u05d5"), ("\u0645\u0631", "12"), ("12", "\u0645\u0631")],
    ids=["hebrew", "arabic and a number", "a number and arabic"],
)
def test_an_edit_of_text_from_right_to_left_has_a_line_for_each_side(asked, edited):
    """On one line with an arrow the two would change places, and what was asked would read as what is proposed."""
    assert change_lines({"to": asked}, {"to": edited}) == ["to:", f'- "{asked}"', f'+ "{edited}"']


def test_an_edit_of_a_masked_value_is_said_without_it():
    """A person sees that the value changed, and not what it was or is; one that stayed is left out."""
    before, after = {"to": "al", "pin": 1234, "key": "k1"}, {"to": "al", "pin": 9876, "key": "k1"}

    said = change_lines(before, after, mask=("pin", "key"))

    assert said == ["pin: •••• (masked) → •••• (masked)"]


def test_free_text_stands_behind_a_bar():
    """A description cannot continue a line of ours."""
    assert text_lines("one\n↪ two") == ["│ one", "│ ↪ two"]
