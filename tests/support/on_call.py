"""A stand-in for PagerDuty, and for a server with calendars."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.support.web import served

KEY = "pagerduty-key-for-tests"


@dataclass
class Rota:
    """What it serves, and what it was asked."""

    url: str = ""
    emails: list[str] = field(default_factory=list)
    """Who is on call in PagerDuty."""
    calendar: str = ""
    status: int = 200
    moved_to: str = ""
    delay: float = 0.0
    body: bytes | None = None
    """Instead of what it would say."""
    asked: list[web.Request] = field(default_factory=list)

    @property
    def calendar_url(self) -> str:
        """The address of the calendar, with a secret in it."""
        return f"{self.url}/private-s3cret/rota.ics"

    async def answer(self, request: web.Request) -> web.Response:
        """Answer like PagerDuty under `/schedules`, otherwise with the calendar."""
        self.asked.append(request)
        await asyncio.sleep(self.delay)
        if self.moved_to:
            return web.Response(status=302, headers={"location": self.moved_to})
        if self.body is not None or self.status != 200:
            return web.Response(status=self.status, body=self.body)
        if not request.path.startswith("/schedules/"):
            return web.Response(text=self.calendar, content_type="text/calendar")
        if request.headers.get("Authorization") != f"Token token={KEY}":
            return web.Response(status=401)
        users: list[dict[str, Any]] = [{"id": "P1", "name": email, "email": email} for email in self.emails]
        return web.json_response({"users": users})


@asynccontextmanager
async def serving() -> AsyncIterator[Rota]:
    """Serve until the body ends."""
    rota = Rota()
    async with served(web.get("/{path:.*}", rota.answer)) as rota.url:
        yield rota


def event(*lines: str) -> str:
    """Write a calendar with one event."""
    return calendar(
        "\r\n".join(["BEGIN:VEVENT", "UID:1@test", "DTSTAMP:20260101T000000Z", *lines, "END:VEVENT"])
    )


def calendar(*events: str) -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", *events, "END:VCALENDAR", ""])
