"""Signed HTTP delivery to a real Bolt app behind one route."""

import asyncio

import pytest
from aiohttp import web

from playground import Control, Playground
from tests.playground.builders import actions

CHANNEL = "C0APPROVALS"


@pytest.fixture
async def endpoint(control):
    """A route of ours that records requests and answers as it is told."""
    requests, answers = [], []

    async def receive(request):
        requests.append((dict(request.headers), await request.text()))
        return answers.pop(0) if answers else web.Response()

    site = web.Application()
    site.add_routes([web.post("/", receive)])
    runner = web.AppRunner(site, handle_signals=False, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await control.deliver_to(f"http://127.0.0.1:{runner.addresses[0][1]}/")
    yield requests, answers
    await control.deliver_to(None)
    await runner.cleanup()


async def settle(control, count):
    """Wait until so many deliveries have an outcome."""
    async with asyncio.timeout(30):
        while True:
            deliveries = await control.deliveries()
            if len(deliveries) >= count and all(each["outcome"] != "pending" for each in deliveries):
                return deliveries
            await asyncio.sleep(0.01)


async def test_wrong_secret_fails_bolts_verification(slack, app, playground, over_http, control):
    """An app with another secret refuses, and the person sees a failure."""
    async with (
        Playground(events_url=over_http, signing_secret="another", limits=False) as stranger,
        Control(stranger.url) as hands,
    ):
        answer = await hands.command("U0DANA", CHANNEL, "/approvals")

    assert answer["ack"] == {"ok": False, "ms": None, "error": "the app answered 401"}


async def test_url_is_verified_by_challenge(over_http, control):
    """Bolt echoes the challenge of a signed request; what has no listener fails visibly."""
    assert await control.verify_url()
    assert (await control.command("U0DANA", CHANNEL, "/approvals"))["ack"]["error"] == "the app answered 404"


async def test_event_is_tried_again_until_it_is_acknowledged(endpoint, control):
    """Each further attempt says which it is and why."""
    requests, answers = endpoint
    answers += [web.Response(status=500), web.Response(status=503), web.Response()]

    first = await control.event({"type": "app_home_opened", "user": "U0DANA"})
    deliveries = await settle(control, 3)

    assert first["ack"]["ok"] is False
    assert [each["outcome"] for each in deliveries] == ["failed", "failed", "acked"]
    assert [headers.get("x-slack-retry-num") for headers, _ in requests] == [None, "1", "2"]
    assert [headers.get("x-slack-retry-reason") for headers, _ in requests] == [
        None,
        "http_error",
        "http_error",
    ]
    assert len({body for _, body in requests}) == 1


@pytest.mark.parametrize(
    ("does", "headers", "attempts"),
    [("an event", {}, 4), ("an event", {"x-slack-no-retry": "1"}, 1), ("a click", {}, 1)],
)
async def test_a_click_is_never_tried_again_and_an_event_three_times(
    endpoint, slack, control, does, headers, attempts
):
    """Unless the app says that it wants no more."""
    requests, answers = endpoint
    answers += [web.Response(status=500, headers=headers) for _ in range(9)]

    if does == "an event":
        await control.event({"type": "app_home_opened", "user": "U0DANA"})
    else:
        posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])
        answer = await control.click("U0DANA", CHANNEL, posted["ts"], "approve")
        assert answer["ack"]["error"] == "the app answered 500"
    await settle(control, attempts)
    await asyncio.sleep(0.1)

    assert len(requests) == attempts
