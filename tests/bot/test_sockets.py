"""Socket Mode: what keeps the connections closed is said in words, and ends nothing."""

import pytest
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.sockets import Sockets


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/json"])
@pytest.mark.parametrize("status", [200, 503])
async def test_a_page_of_something_in_between_is_said_and_ends_nothing(content_type: str, status: int):
    """A proxy's page, or Slack's own while it is down, is neither the token's fault nor the end of the bot."""

    async def blocked(_: web.Request) -> web.Response:
        return web.Response(text="<html>Try again later</html>", content_type=content_type, status=status)

    site = web.Application()
    site.router.add_route("*", "/api/{method}", blocked)
    runner = web.AppRunner(site)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/api/"
    sockets = Sockets(AsyncApp(client=AsyncWebClient("xoxb", base_url=address)), "xapp")

    said = await sockets.connect()

    await sockets.close()
    await runner.cleanup()
    assert said is not None
    assert said.startswith("Socket Mode: what answers apps.connections.open is not Slack")
