"""Who is on call, as Slack knows them: by PagerDuty, or by the guests of an event of now in a calendar. Events may repeat.

When a schedule does not answer, nobody is on call. Nothing of an address or an answer is in an error.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp

from bot.domain.errors import BotError, SlackError
from bot.domain.person import Schedule
from bot.runtime.health import Health

logger = logging.getLogger(__name__)

WARNING = "schedule "
"""The start of the name of a warning about a schedule."""
MOST_PEOPLE = 50
"""Of one schedule at one moment."""
WITHIN = 5.0
"""Seconds for the whole answer, and for finding the events of now in it."""
MOST = 2_000_000
"""Bytes of an answer."""
NOT_INSTALLED = "calendars cannot be read without two packages: pip install icalendar recurring-ical-events"
_ACCEPT = "application/vnd.pagerduty+json;version=2"
_MOMENT = timedelta(seconds=1)


class UnansweredError(BotError):
    """A schedule does not say who is on call. The message says why."""


@dataclass(frozen=True, slots=True)
class Schedules:
    """Looks up who is on call. The caller keeps the answer for a while."""

    session: aiohttp.ClientSession
    known: Callable[[], Mapping[str, Schedule]]
    """Gives the schedules of the policy that is in force."""
    find_person: Callable[[str], Awaitable[str | None]]
    """Gives Slack's id of the person with an e-mail address."""
    health: Health
    pagerduty_url: str = ""
    pagerduty_token: str | None = None
    calendars: Mapping[str, str] = field(default_factory=dict)
    """Addresses, by name."""

    def names(self) -> Iterable[str]:
        """Name the schedules."""
        return self.known()

    async def people(self, name: str) -> frozenset[str]:
        """Name the people who are on call; nobody when the schedule, or Slack, does not say."""
        try:
            found = await self.ask(name)
        except (UnansweredError, SlackError) as error:
            logger.warning("on_call.unanswered", extra={"schedule": name, "reason": str(error)})
            self.health.warnings[WARNING + name] = f"nobody can decide as on call: {error}"
            return frozenset()
        self.health.warnings.pop(WARNING + name, None)
        if not found:
            logger.warning("on_call.nobody", extra={"schedule": name})
        return found

    async def ask(self, name: str) -> frozenset[str]:
        """Name the people who are on call. Raises UnansweredError or SlackError when the schedule or Slack does not say."""
        schedule = self.known().get(name)
        if schedule is None:
            raise UnansweredError("the policy has no such schedule any more")
        names = list(dict.fromkeys(await self._names(schedule)))
        if len(names) > MOST_PEOPLE:
            raise UnansweredError(f"it names more than {MOST_PEOPLE} people")
        known = {said.lower(): person for said, person in schedule.people.items()}
        found = [known.get(each.lower()) or await self._person(name, each) for each in names]
        return frozenset(filter(None, found))

    async def _names(self, schedule: Schedule) -> list[str]:
        now = datetime.now(UTC)
        if schedule.kind == "pagerduty":
            if not self.pagerduty_token:
                raise UnansweredError("ASSENT_PAGERDUTY_TOKEN is not set")
            return await by_pagerduty(
                self.session, self.pagerduty_url, self.pagerduty_token, schedule.key, now
            )
        address = self.calendars.get(schedule.key)
        if not address:
            raise UnansweredError(f"ASSENT_CALENDARS has no {schedule.key}")
        return await by_calendar(self.session, address, now)

    async def _person(self, name: str, said: str) -> str | None:
        person = await self.find_person(said) if "@" in said else None
        if person is None:
            # Not who it is: a name in a calendar may be any text.
            logger.warning("on_call.person_unknown", extra={"schedule": name})
        return person


async def by_pagerduty(
    session: aiohttp.ClientSession, url: str, token: str, schedule: str, now: datetime
) -> list[str]:
    """Give the e-mail addresses of those who are on call by a schedule of PagerDuty."""
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
    """Give the e-mail addresses of those who are on call by a calendar. Of an event without guests, its title."""
    text = await _read(session, address)
    try:
        async with asyncio.timeout(WITHIN):
            return await asyncio.to_thread(people_at, text, now)
    except TimeoutError as error:
        raise UnansweredError(f"its events are not found within {WITHIN:g} s") from error


def people_at(text: bytes, now: datetime) -> list[str]:
    """Give the people of the events of this moment."""
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
