"""Who is on call, as Slack knows them. When a schedule does not answer, nobody is."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import aiohttp

from bot.domain.errors import SlackError
from bot.domain.person import Schedule
from bot.on_call.sources import UnansweredError, by_calendar, by_pagerduty
from bot.runtime.health import Health

logger = logging.getLogger(__name__)

WARNING = "schedule "
"""The start of the name of a warning about a schedule."""
MOST_PEOPLE = 50
"""Of one schedule at one moment."""


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
        """Name the people who are on call.

        Raises:
            UnansweredError: when the schedule does not say.
            SlackError: when Slack does not say who they are.
        """
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
