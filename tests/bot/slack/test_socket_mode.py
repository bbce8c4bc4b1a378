"""Socket Mode: what keeps the connections closed is said in words, and ends nothing."""

from typing import Any

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack.socket_mode import Sockets
from tests.support.web import served


async def unused(_: Any) -> Any:
    """Nothing arrives."""


async def said_of(text: str, content_type: str, status: int = 200) -> str | None:
    """Give what a bot says that gets this for an answer."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type=content_type, status=status)

    async with served(web.route("*", "/api/{method}", answer)) as url:
        sockets = Sockets("xapp", AsyncWebClient("xoxb", base_url=f"{url}/api/"), unused)
        said = await sockets.connect()
        await sockets.close()
    return said


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/json"])
@pytest.mark.parametrize("status", [200, 503])
async def test_a_page_of_something_in_between_is_said_and_ends_nothing(content_type: str, status: int):
    """A proxy's page, or Slack's own while it is down, is neither the token's fault nor the end of the bot."""
    said = await said_of("<html>Try again later</html>", content_type, status)

    assert said is not None
    assert said.startswith("Socket Mode: what answers apps.connections.open is not Slack")


@pytest.mark.parametrize(
    ("code", "cure"), [("invalid_auth", ": check SLACK_APP_TOKEN"), ("internal_error", "")]
)
async def test_the_token_is_blamed_only_for_what_is_its_fault(code: str, cure: str):
    """Slack's own trouble passes; a token is to be changed where Slack says so."""
    assert (
        await said_of(f'{{"ok": false, "error": "{code}"}}', "application/json")
        == f"Socket Mode: {code}{cure}"
    )
