"""Who is on call by a calendar: the guests of an event of now. Events may repeat, with exceptions."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import aiohttp

from bot.on_call.reading import UnansweredError, read

NOT_INSTALLED = "calendars cannot be read without two packages: pip install icalendar recurring-ical-events"
PARSE_WITHIN = 5.0
"""Seconds to find the events of now."""
_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Reads one calendar."""

    session: aiohttp.ClientSession
    address: str

    async def on_call(self, now: datetime) -> list[str]:
        """Give the e-mail addresses of those who are on call. Of an event without guests, its title.

        Raises:
            UnansweredError: when the calendar cannot be read.
        """
        text = await read(self.session, self.address)
        try:
            async with asyncio.timeout(PARSE_WITHIN):
                return await asyncio.to_thread(people_at, text, now)
        except TimeoutError as error:
            raise UnansweredError(f"its events are not found within {PARSE_WITHIN:g} s") from error


def people_at(text: bytes, now: datetime) -> list[str]:
    """Give the people of the events of this moment.

    Raises:
        UnansweredError: when this is not a calendar.
    """
    try:
        import icalendar  # noqa: PLC0415  # an extra
        import recurring_ical_events  # noqa: PLC0415  # likewise
    except ImportError as error:
        raise UnansweredError(NOT_INSTALLED) from error
    try:
        calendar = icalendar.Calendar.from_ical(text)
        events = recurring_ical_events.of(calendar).between(now, now + _MOMENT)
        return [person for event in events for person in _people(event)]
    except Exception as error:  # noqa: BLE001  # the libraries raise many kinds for a broken file
        raise UnansweredError(f"it is not a calendar that can be read ({type(error).__name__})") from None


def _people(event: Any) -> Iterator[str]:
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    guests = event.get("ATTENDEE", [])
    guests = guests if isinstance(guests, list) else [guests]
    coming = [guest for guest in guests if _comes(guest)]
    yield from (str(guest).lower().removeprefix("mailto:") for guest in coming)
    if not guests and (title := str(event.get("SUMMARY", "")).strip()):
        yield title


def _comes(guest: Any) -> bool:
    """Whether this guest is a person who has not declined."""
    kind = str(guest.params.get("CUTYPE", "INDIVIDUAL")).upper()
    return kind == "INDIVIDUAL" and str(guest.params.get("PARTSTAT", "")).upper() != "DECLINED"
