"""The control API: every path, how it is asked, and how it answers. Loopback only."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from playground.errors import ControlError
from playground.feed import Feed

Json = dict[str, Any]
SECONDS_BETWEEN_SIGNS_OF_LIFE = 15


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the control API: the body, the query and the variable parts of the path in one."""

    fields: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """A field, or `None`."""
        return self.fields.get(name)

    def text(self, name: str) -> str:
        """A field that must be there as text.

        Raises:
            ControlError: It is not.
        """
        value = self.fields.get(name)
        if not isinstance(value, str) or not value:
            raise ControlError(f"{name} is missing; give it as text.")
        return value

    def texts(self, name: str) -> list[str] | None:
        """A field that is a list of texts, if it is there.

        Raises:
            ControlError: It is something else.
        """
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ControlError(f"{name} is a list of texts.")
        return value

    def flag(self, name: str, default: bool) -> bool:  # noqa: FBT001 - the value that a missing field has
        """A field that is true or false.

        Raises:
            ControlError: It is something else.
        """
        value = self.fields.get(name, default)
        if not isinstance(value, bool):
            raise ControlError(f"{name} is true or false.")
        return value

    def object(self, name: str) -> Json:
        """A field that is an object; empty when it is missing.

        Raises:
            ControlError: It is something else.
        """
        value = self.fields.get(name)
        if not isinstance(value, dict | None):
            raise ControlError(f"{name} is an object.")
        return value or {}

    def only(self, *known: str) -> None:
        """Refuse any other field.

        Raises:
            ControlError: There is one.
        """
        if unknown := sorted(set(self.fields) - set(known)):
            raise ControlError(f"There is no {', '.join(unknown)} here; there are {', '.join(known)}.")


Handler = Callable[[Asked], Awaitable[Json]]


def routes(handlers: Mapping[str, Handler], feed: Feed) -> list[web.RouteDef]:
    """The paths of `handlers`, each named as `POST click`, and the stream of changes."""
    found = [web.get("/control/stream", _streaming(feed))]
    for name, handler in handlers.items():
        verb, _, path = name.partition(" ")
        found.append(web.route(verb, f"/control/{path}", _answering(handler)))
    return found


def _answering(handler: Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return web.json_response(await handler(await _read(request)))
        except ControlError as error:
            return web.json_response({"error": str(error)}, status=error.status)

    return answer


async def _read(request: web.Request) -> Asked:
    text = await request.text()
    try:
        body = json.loads(text) if text else {}
    except ValueError as error:
        raise ControlError("The body is not JSON.") from error
    if not isinstance(body, dict):
        raise ControlError("The body is not a JSON object.")
    return Asked({**request.query, **body, **request.match_info})


def _streaming(feed: Feed) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Server-sent events: every change from now on."""

    async def stream(request: web.Request) -> web.StreamResponse:
        headers = {"content-type": "text/event-stream", "cache-control": "no-store"}
        response = web.StreamResponse(headers=headers)
        watcher = feed.join()
        try:
            await response.prepare(request)
            await response.write(b": watching\n\n")
            while (change := await _next(watcher)) is not None:
                line = f"data: {json.dumps(change)}" if change else ": still here"
                await response.write(f"{line}\n\n".encode())
        except ConnectionError:
            pass
        finally:
            feed.leave(watcher)
        return response

    return stream


async def _next(watcher: asyncio.Queue[Json | None]) -> Json | None:
    """The next change; empty when it is time for a sign of life."""
    try:
        async with asyncio.timeout(SECONDS_BETWEEN_SIGNS_OF_LIFE):
            return await watcher.get()
    except TimeoutError:
        return {}
