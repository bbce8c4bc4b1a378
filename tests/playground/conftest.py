"""A playground with short waits, and a real Bolt app on the other side."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from playground import Control, Playground, Timing
from tests.support.web import served


@pytest.fixture
def timing() -> Timing:
    """Slack's own deadlines, so that a busy machine misses none; a test about a deadline parametrizes its own."""
    return Timing(retries=(0.0, 0.01, 0.02), disconnect_warning=0.05)


@pytest.fixture
async def playground(timing: Timing) -> AsyncIterator[Playground]:
    """The stand-in, without rate limits."""
    async with Playground(limits=False, timing=timing) as running:
        yield running


@pytest.fixture
async def control(playground: Playground) -> AsyncIterator[Control]:
    """Everybody's hands and eyes."""
    async with Control(playground.url) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    """For requests that the SDK would never send."""
    async with ClientSession() as running:
        yield running


@pytest.fixture
def slack(playground: Playground, http: ClientSession) -> AsyncWebClient:
    """The real Web API client, without retries."""
    return AsyncWebClient(playground.bot_token, base_url=playground.api_url, session=http, retry_handlers=[])


@pytest.fixture
def app(playground: Playground, slack: AsyncWebClient) -> AsyncApp:
    """A real Bolt app, connected to nothing yet."""
    return AsyncApp(client=slack, signing_secret=playground.signing_secret, process_before_response=True)


@pytest.fixture
async def over_sockets(app: AsyncApp, playground: Playground) -> AsyncIterator[AsyncSocketModeHandler]:
    """The app, connected over Socket Mode."""
    handler = AsyncSocketModeHandler(app, playground.app_token)
    await handler.connect_async()
    yield handler
    await handler.close_async()


@pytest.fixture
async def over_http(app: AsyncApp, control: Control) -> AsyncIterator[str]:
    """The app, reached by signed HTTP; yields its URL."""

    async def receive(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    async with served(web.post("/slack/events", receive)) as address:
        url = f"{address}/slack/events"
        await control.deliver_to(url)
        yield url
        await control.deliver_to(None)
