"""The floors: the least that a click costs with these libraries. `python -m benchmarks.floors N|B|BS`.

The listener does one EVALSHA (HSETNX and XADD on a reply stream) and acknowledges. It knows no people, no rules and no
cards. N is Bolt over HTTP as documented, B the fastest way over HTTP with its public API alone, BS over Socket Mode.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop
from aiohttp import web
from redis.asyncio import Redis
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

REPLIES = "replies"
RECORD = """
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  redis.call('XADD', KEYS[2], '*', 'id', ARGV[3])
end
"""
_ANYTHING = re.compile(r".*")
Route = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def serve(variant: str) -> None:
    """Run one of them until it is killed."""
    redis = Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
    app = bolt_app(redis, waits_for_listener=variant != "N")
    if variant == "BS":
        await AsyncSocketModeHandler(app, os.environ["SLACK_APP_TOKEN"]).start_async()  # type: ignore[no-untyped-call]  # slack-bolt does not type it
        return
    site = web.Application()
    site.router.add_post("/slack/events", as_documented(app) if variant == "N" else own_route(app))
    runner = web.AppRunner(site, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", int(os.environ["ASSENT_HTTP_PORT"])).start()
    await asyncio.Event().wait()


def bolt_app(redis: Redis, *, waits_for_listener: bool) -> AsyncApp:
    """Make the app with its one listener."""
    client = AsyncWebClient(token=os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"])
    app = AsyncApp(
        client=client,
        signing_secret=os.environ["SLACK_SIGNING_SECRET"],
        process_before_response=waits_for_listener,
    )
    record = redis.register_script(RECORD)

    @app.action(_ANYTHING)
    async def press(ack: Callable[[], Awaitable[Any]], body: dict[str, Any]) -> None:
        pressed = body["actions"][0]
        name = pressed["value"].partition(" ")[0]
        await record(keys=[f"req:{name}", REPLIES], args=[pressed["action_id"], body["user"]["id"], name])
        await ack()

    return app


def as_documented(app: AsyncApp) -> Route:
    """Hand the request to Bolt as its adapter for aiohttp does."""

    async def route(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    return route


def own_route(app: AsyncApp) -> Route:
    """Verify the signature and read the form ourselves."""
    verifier = SignatureVerifier(os.environ["SLACK_SIGNING_SECRET"])

    async def route(request: web.Request) -> web.StreamResponse:
        body = await request.text()
        timestamp, signature = (
            request.headers[f"X-Slack-{name}"] for name in ("Request-Timestamp", "Signature")
        )
        if not verifier.is_valid(body, timestamp, signature):
            return web.Response(status=401)
        payload = json.loads(URL(f"?{body}", encoded=True).query["payload"])
        answer = await app.async_dispatch(AsyncBoltRequest(body=payload, mode="socket_mode"))
        return web.Response(status=answer.status, text=answer.body)

    return route


if __name__ == "__main__":
    # uvloop belongs to B alone: N and BS are what the documentation shows, BS with one switch.
    (uvloop.run if sys.argv[1] == "B" else asyncio.run)(serve(sys.argv[1]))
