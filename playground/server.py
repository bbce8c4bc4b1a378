"""The stand-in as one server on loopback."""

import os
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import ClientSession, web

# Importing them is what registers their methods.
from playground import chat, conversations, people, view_methods  # noqa: F401  # as said above
from playground.act_api import ActApi
from playground.control import routes
from playground.delivery import Outbox
from playground.feed import Feed
from playground.http_delivery import HttpDelivery
from playground.interactions import Interactions
from playground.journal import Delivery, Journal
from playground.rate_limits import RateLimits
from playground.read_api import ReadApi
from playground.response_urls import ResponseUrls
from playground.sockets import Sockets
from playground.state import SIGNING_SECRET, Credentials, State
from playground.switches import Switches
from playground.timing import Timing
from playground.web_api import WebApi

STATIC = Path(__file__).parent / "static"
REAL_TOKEN = re.compile(r"xoxb-\d+-")
LOOPBACK = ("127.0.0.1", "localhost")
OWN_REQUESTS = ("same-origin", "none")
"""How browsers mark (`Sec-Fetch-Site`) what our page sends, and what a person types. Other programs do not send it."""
_PAGE_HEADERS = {
    "cache-control": "no-store",
    # A browser takes `frame-ancestors` from a header only, not from the page.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}


class Playground:
    """A strict local Slack, as an async context manager.

    Args:
        host: `127.0.0.1` or `localhost`.
        port: 0 for any free port.
        events_url: Where the app takes signed HTTP; without it everything goes over Socket Mode.
        signing_secret: What those requests are signed with.
        limits: Whether Slack's rate limits hold; the control API can switch them.
        timing: Slack's waits, shorter for tests.
        hint: What the page says above the first card.
        lines: What the page shows to paste where no card is yet.

    Raises:
        ValueError: `host` is not loopback, or a real Slack token is in the environment.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        events_url: str | None = None,
        signing_secret: str = SIGNING_SECRET,
        *,
        limits: bool = True,
        timing: Timing | None = None,
        hint: str = "",
        lines: str = "",
    ) -> None:
        refuse_to_be_mistaken(host)
        self._address = (host, port)
        self._events_url = events_url
        self._credentials = Credentials(signing_secret=signing_secret)
        self._timing = timing or Timing()
        self._limits = limits
        self._on_page = (hint, lines)
        self.url = ""

    @property
    def api_url(self) -> str:
        """The base of the Web API, with the slash that the SDK needs."""
        return f"{self.url}/api/"

    @property
    def bot_token(self) -> str:
        """The bot's token."""
        return self._credentials.bot_token

    @property
    def app_token(self) -> str:
        """The app-level token, for Socket Mode."""
        return self._credentials.app_token

    @property
    def signing_secret(self) -> str:
        """What signed HTTP is signed with."""
        return self._credentials.signing_secret

    async def __aenter__(self) -> Self:
        # Bound first: the address is part of what the stand-in hands out.
        listening = socket.create_server(self._address)
        host, port = listening.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        self._http = ClientSession()
        self._build()
        self._runner = web.AppRunner(
            self._application(), handle_signals=False, access_log=None, shutdown_timeout=1
        )
        await self._runner.setup()
        await web.SockSite(self._runner, listening).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._state.feed.close()
        await self._outbox.close()
        await self._sockets.close()
        await self._runner.cleanup()
        await self._http.close()

    def deliver_to(self, events_url: str | None) -> None:
        """Deliver by signed HTTP from now on, or with `None` over Socket Mode."""
        http = HttpDelivery(self._http, events_url, self.signing_secret) if events_url else None
        self._outbox.transport = http or self._sockets

    def _build(self) -> None:
        self._state = State(self._timing, Feed(), RateLimits(enabled=self._limits), *self._on_page)
        journal = Journal()
        self._sockets = Sockets(self._timing, self._state.socket_tickets, self._state.changed)
        self._outbox = Outbox(self._sockets, journal, self._timing, self._delivery_changed)
        self.deliver_to(self._events_url)
        interactions = Interactions(self._state, self._outbox, self.url)
        self._web_api = WebApi(self._state, self._credentials, journal)
        self._response_urls = ResponseUrls(self._state, interactions, journal)
        self._handlers = {
            **ReadApi(self._state, journal, self._sockets).handlers(),
            **ActApi(self._state, interactions).handlers(),
            **Switches(self._state, self._outbox, self._sockets, self.deliver_to).handlers(),
        }

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=4 << 20, middlewares=[_only_from_here])
        application.add_routes(
            [
                web.get("/", _page),
                web.route("*", "/api/{method}", self._web_api.handle),
                web.post("/response/{key}", self._response_urls.handle),
                web.get("/socket", self._sockets.handle),
                *routes(self._handlers, self._state.feed),
            ]
        )
        application.router.add_static("/static", STATIC)
        return application

    def _delivery_changed(self, delivery: Delivery) -> None:
        if self._state.feed.watched:
            self._state.feed.publish({"type": "delivery", "delivery": delivery.to_control()})


def refuse_to_be_mistaken(host: str) -> None:
    """Refuse to listen to others, and to run where a real bot would.

    Raises:
        ValueError: Either is the case.
    """
    if host not in LOOPBACK:
        raise ValueError(
            f"The playground listens on loopback only: give {' or '.join(LOOPBACK)}, not {host}."
        )
    if REAL_TOKEN.match(os.environ.get("SLACK_BOT_TOKEN", "")):
        raise ValueError("SLACK_BOT_TOKEN holds a real Slack token: unset it, the playground has its own.")


@web.middleware
async def _only_from_here(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse what another site's page sends through the person's browser."""
    host = request.url.host or ""
    origin = request.headers.get("Origin")
    # An image of another site's page comes without an origin. A link to our page may stand anywhere.
    is_own = request.path == "/" or request.headers.get("Sec-Fetch-Site", "none") in OWN_REQUESTS
    if host not in LOOPBACK or (origin and origin != f"http://{request.host}") or not is_own:
        return web.json_response({"error": "The playground answers pages of its own only."}, status=403)
    return await handler(request)


async def _page(_: web.Request) -> web.StreamResponse:
    return web.FileResponse(STATIC / "index.html", headers=_PAGE_HEADERS)
