"""What goes into the sealed log says where something is missing, and where the count began anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.audit_entry import AuditEntry
from bot.domain.sealing import Mark, following

START = Mark(1, 3, "30-0")


def entry(seq, *, at=None, **said):
    counted = {} if seq is None else {"seq": str(seq)}
    return AuditEntry.of_stream(
        "00", f"{at or (seq or 0) * 10}-0", {"event": "decided", "id": "billing.1", **counted, **said}
    )


def sealed(mark, *entries):
    return [(each.entry["event"], str(each.mark)) for each in following(mark, entries)]


def test_entries_that_follow_go_in_as_they_are():
    assert sealed(START, entry(4), entry(5)) == [("decided", "1 4 40-0"), ("decided", "1 5 50-0")]


def test_the_first_entry_of_a_log_may_have_any_count():
    """What was before it left Redis before there was a log."""
    assert sealed(Mark(), entry(17)) == [("decided", "1 17 170-0")]


def test_entries_that_are_gone_are_named_before_the_next_one():
    """If sealing ends in between, the next one still comes."""
    found = [*following(START, [entry(7)])]

    assert [(each.entry["event"], str(each.mark)) for each in found] == [
        ("missing", "1 6 30-0"),
        ("decided", "1 7 70-0"),
    ]
    assert (found[0].entry["first"], found[0].entry["last"]) == ("4", "6")


def test_a_count_that_went_back_begins_an_epoch():
    assert sealed(START, entry(2, at=40), entry(3, at=50)) == [
        ("epoch_began", "2 1 30-0"),
        ("decided", "2 2 40-0"),
        ("decided", "2 3 50-0"),
    ]


def test_an_entry_of_a_version_that_did_not_count_goes_in():
    assert sealed(Mark(), entry(None, at=10), entry(1, at=20)) == [
        ("decided", "1 0 10-0"),
        ("decided", "1 1 20-0"),
    ]


def test_each_entry_says_its_epoch():
    (found,) = following(Mark(4, 3, "30-0"), [entry(4)])

    assert found.entry.said["epoch"] == 4


def test_an_entry_that_is_too_long_is_named_with_its_digest():
    (found,) = following(START, [entry(4, note="x" * 70_000)])

    assert len(found.entry.line) < 1000
    assert found.entry.said["too_long"] > 70_000
    assert len(found.entry["sha256"]) == 64
    assert (found.entry["event"], found.entry["id"], found.entry["seq"]) == ("decided", "billing.1", "4")


@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_somebody_writes_into_the_stream_is_sealed_once_and_can_be_followed(planted):
    entries = [
        AuditEntry.of_stream("00", f"{at}-{count}", {"event": "x", "id": "y", "seq": seq})
        for seq, at, count in planted
    ]

    found = [*following(START, entries)]

    assert [each.entry["event"] for each in found].count("x") == len(entries)
    assert all(Mark.parse(str(each.mark)) == each.mark for each in found)
    assert all(len(each.entry.line.encode()) <= 65_535 for each in found)
    assert all(AuditEntry.of_line(each.entry.line).written_at for each in found)


@pytest.mark.parametrize("text", ["1 2", "a b c", "1 2 3", "-1 2 3-0", "1 2 3-0 4", "1 2 3-0\n"])
def test_what_is_not_a_mark_is_refused(text):
    with pytest.raises(ValueError, match="where its last entry"):
        Mark.parse(text)
