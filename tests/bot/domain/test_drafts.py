"""What somebody typed into a form, as Redis keeps it."""

from bot.domain.drafts import Draft


def test_a_draft_is_read_as_it_was_written():
    """With rows and choices."""
    draft = Draft({"f:/a": "x", "bare": ["f:/a"]}, {"f:/l": (1, 0)}, {"f:/l": 1}, made=2)

    assert Draft.load(draft.dump()) == draft
