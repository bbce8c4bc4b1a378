"""Signed HTTP delivery to a real Bolt app behind one route."""

import asyncio

import pytest
from aiohttp import web

from tests.playground.builders import actions
from tests.support.web import served

CHANNEL = "C0APPROVALS"


@pytest.fixture
async def endpoint(control):
    """A route of ours that records requests and answers as it is told."""
    requests, answers = [], []

    async def receive(request):
        requests.append((dict(request.headers), await request.text()))
        return answers.pop(0) if answers else web.Response()

    async with served(web.post("/", receive)) as url:
        await control.deliver_to(f"{url}/")
        yield requests, answers
        await control.deliver_to(None)


async def settle(control, count):
    """Wait until so many deliveries have an outcome."""
    async with asyncio.timeout(30):
        while True:
            deliveries = await control.deliveries()
            if len(deliveries) >= count and all(each["outcome"] != "pending" for each in deliveries):
                return deliveries
            await asyncio.sleep(0.01)


async def test_url_is_verified_by_challenge(over_http, control):
    """Bolt echoes the challenge of a signed request; what has no listener fails visibly."""
    assert await control.verify_url()
    assert (await control.command("U0DANA", CHANNEL, "/approvals"))["ack"]["error"] == "the app answered 404"


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
