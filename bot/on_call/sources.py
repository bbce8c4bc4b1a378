"""Who is on call by PagerDuty, or by a calendar: the guests of an event of now. Events may repeat, with exceptions.

Nothing of an address or an answer is in an error.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import aiohttp

from bot.domain.errors import BotError

WITHIN = 5.0
"""Seconds for the whole answer, and for finding the events of now in it."""
MOST = 2_000_000
"""Bytes of an answer."""
NOT_INSTALLED = "calendars cannot be read without two packages: pip install icalendar recurring-ical-events"
_ACCEPT = "application/vnd.pagerduty+json;version=2"
_MOMENT = timedelta(seconds=1)


class UnansweredError(BotError):
    """A schedule does not say who is on call. The message says why."""


async def by_pagerduty(
    session: aiohttp.ClientSession, url: str, token: str, schedule: str, now: datetime
) -> list[str]:
    """Give the e-mail addresses of those who are on call by a schedule of PagerDuty.

    Raises:
        UnansweredError: when PagerDuty does not say.
    """
    answer = await _read(
        session,
        f"{url}/schedules/{schedule}/users",
        headers={"Authorization": f"Token token={token}", "Accept": _ACCEPT},
        query={"since": now.isoformat(), "until": (now + _MOMENT).isoformat()},
    )
    try:
        return [str(user["email"]) for user in json.loads(answer)["users"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UnansweredError("its answer is not a list of users with their e-mail addresses") from error


async def by_calendar(session: aiohttp.ClientSession, address: str, now: datetime) -> list[str]:
    """Give the e-mail addresses of those who are on call by a calendar. Of an event without guests, its title.

    Raises:
        UnansweredError: when the calendar cannot be read.
    """
    text = await _read(session, address)
    try:
        async with asyncio.timeout(WITHIN):
            return await asyncio.to_thread(people_at, text, now)
    except TimeoutError as error:
        raise UnansweredError(f"its events are not found within {WITHIN:g} s") from error


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
    for guest in guests if isinstance(guests, list) else [guests]:
        is_person = str(guest.params.get("CUTYPE", "INDIVIDUAL")).upper() == "INDIVIDUAL"
        if is_person and str(guest.params.get("PARTSTAT", "")).upper() != "DECLINED":
            yield str(guest).lower().removeprefix("mailto:")
    if not guests and (title := str(event.get("SUMMARY", "")).strip()):
        yield title


async def _read(
    session: aiohttp.ClientSession,
    address: str,
    *,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> bytes:
    """Read what is at an address. A redirect is not followed, since the other host would get the key."""
    found = bytearray()
    try:
        async with (
            asyncio.timeout(WITHIN),
            session.get(address, headers=headers, params=query, allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise UnansweredError(f"it answers with status {response.status}")
            async for chunk in response.content.iter_chunked(65_536):
                found += chunk
                if len(found) > MOST:
                    raise UnansweredError(f"its answer has more than {MOST:,} bytes")
    except TimeoutError as error:
        raise UnansweredError(f"no whole answer within {WITHIN:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # The text of some of these errors has the address in it, and the address of a calendar is enough to read it.
        raise UnansweredError(type(error).__name__) from None
    return bytes(found)
