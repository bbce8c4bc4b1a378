"""Who is on call by a calendar, at one moment."""

from datetime import UTC, datetime

import pytest

from bot.on_call.schedules import UnansweredError, people_at
from tests.support.on_call import calendar, event

DANA = "ATTENDEE:mailto:dana@example.com"
WEEKLY = ("DTSTART;TZID=Europe/Berlin:20260105T090000", "DTEND;TZID=Europe/Berlin:20260112T090000")


def at(text, *moment):
    return people_at(text.encode(), datetime(*moment, tzinfo=UTC))


def test_whoever_is_invited_to_an_event_of_now_is_on_call():
    """From its start until its end. The address is read in small letters."""
    found = event(
        "DTSTART:20260105T090000Z", "DTEND:20260105T170000Z", "ATTENDEE;CN=Dana:MAILTO:Dana@Example.com"
    )

    assert at(found, 2026, 1, 5, 9) == ["dana@example.com"]
    assert at(found, 2026, 1, 5, 16, 59, 59) == ["dana@example.com"]
    assert at(found, 2026, 1, 5, 17) == []
    assert at(found, 2026, 1, 5, 8, 59, 58) == []


def test_an_event_repeats_in_its_own_time_zone():
    """Every second week from 09:00 in Berlin, which is 07:00 UTC in summer."""
    found = event(*WEEKLY, "RRULE:FREQ=WEEKLY;INTERVAL=2", DANA)

    assert at(found, 2026, 1, 20, 12) == ["dana@example.com"]
    assert at(found, 2026, 1, 13, 12) == []
    assert at(found, 2026, 7, 6, 6, 59) == []
    assert at(found, 2026, 7, 6, 7) == ["dana@example.com"]


def test_a_shift_that_somebody_takes_over_is_theirs():
    """One occurrence is changed, and another one is taken out."""
    weekly = event(*WEEKLY, "RRULE:FREQ=WEEKLY", "EXDATE;TZID=Europe/Berlin:20260126T090000", DANA)
    swapped = event(
        "RECURRENCE-ID;TZID=Europe/Berlin:20260119T090000",
        "DTSTART;TZID=Europe/Berlin:20260119T090000",
        "DTEND;TZID=Europe/Berlin:20260126T090000",
        "ATTENDEE:mailto:erik@example.com",
    )
    found = calendar(*(text.split("\r\n", 3)[3].rsplit("\r\nEND:VCALENDAR")[0] for text in (weekly, swapped)))

    assert at(found, 2026, 1, 13, 12) == ["dana@example.com"]
    assert at(found, 2026, 1, 20, 12) == ["erik@example.com"]
    assert at(found, 2026, 1, 27, 12) == []


@pytest.mark.parametrize(
    "lines",
    [
        ("ATTENDEE;PARTSTAT=DECLINED:mailto:dana@example.com",),
        ("ATTENDEE;CUTYPE=ROOM:mailto:room@example.com",),
        (DANA, "STATUS:CANCELLED"),
    ],
    ids=["declined", "a room", "cancelled"],
)
def test_who_does_not_come_is_not_on_call(lines):
    """An event with guests has no other people, whatever its title says."""
    assert at(event(*WEEKLY, "SUMMARY:Dana", *lines), 2026, 1, 6) == []


def test_an_event_without_guests_names_somebody_by_its_title():
    """As some services export their shifts."""
    assert at(event(*WEEKLY, "SUMMARY:On Call - Dana Park"), 2026, 1, 6) == ["On Call - Dana Park"]


@pytest.mark.parametrize("text", ["", "<html>Sign in</html>", "BEGIN:VCALENDAR", event("DTSTART:soon", DANA)])
def test_what_is_no_calendar_names_nobody(text):
    """The page of a sign-in has status 200, too."""
    with pytest.raises(UnansweredError):
        at(text, 2026, 1, 6)
