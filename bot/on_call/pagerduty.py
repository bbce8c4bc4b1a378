"""Who is on call by a schedule of PagerDuty."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

import aiohttp

from bot.on_call.reading import UnansweredError, read

_ACCEPT = "application/vnd.pagerduty+json;version=2"
_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class PagerDuty:
    """Asks PagerDuty's API."""

    session: aiohttp.ClientSession
    url: str
    token: str

    async def on_call(self, schedule: str, now: datetime) -> list[str]:
        """Give the e-mail addresses of those who are on call.

        Raises:
            UnansweredError: when PagerDuty does not say.
        """
        answer = await read(
            self.session,
            f"{self.url}/schedules/{schedule}/users",
            headers={"Authorization": f"Token token={self.token}", "Accept": _ACCEPT},
            query={"since": now.isoformat(), "until": (now + _MOMENT).isoformat()},
        )
        try:
            return [str(user["email"]) for user in json.loads(answer)["users"]]
        except (ValueError, KeyError, TypeError) as error:
            raise UnansweredError("its answer is not a list of users with their e-mail addresses") from error
