"""What somebody typed into a form, as Redis keeps it."""

import json

import pytest

from bot.domain.drafts import Draft


def test_a_draft_is_read_as_it_was_written():
    """With rows and choices."""
    draft = Draft({"f:/a": "x", "bare": ["f:/a"]}, ("f:/a",), {"f:/l": (1, 0)}, {"f:/l": 1}, made=2)

    assert Draft.load(draft.dump()) == draft


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({"typed": {"f:/on": '"tomorrow"'}, "chosen": []}),
        json.dumps({"form": 1, "typed": {"f:/on": '"tomorrow"'}, "chosen": []}),
    ],
)
def test_what_another_form_held_is_typed_again(text):
    """Its quotes would be a part of the text."""
    assert Draft.load(text) == Draft()
