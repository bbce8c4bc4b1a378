"""Signed HTTP delivery to a real Bolt app behind one route."""

import asyncio

import pytest
from aiohttp import web

from playground import Control, Playground, Timing
from tests.playground.builders import actions, button, input_block, modal

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


async def test_signed_click_passes_bolts_verification(slack, app, over_http, control):
    """The signature is Slack's."""

    @app.action("approve")
    async def approve(ack, body, client):
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=modal(input_block()))

    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])
    answer = await control.click("U0DANA", CHANNEL, posted["ts"], "approve")

    assert answer["ack"]["ok"]
    assert answer["views"][0]["callback_id"] == "form"
    assert (await control.deliveries())[0]["transport"] == "http"


async def test_wrong_secret_fails_bolts_verification(slack, app, playground, over_http, control):
    """An app with another secret refuses, and the person sees a failure."""
    async with (
        Playground(events_url=over_http, signing_secret="another", limits=False) as stranger,
        Control(stranger.url) as hands,
    ):
        answer = await hands.command("U0DANA", CHANNEL, "/approvals")

    assert answer["ack"] == {"ok": False, "ms": None, "error": "the app answered 401"}


async def test_submission_is_answered_in_the_acknowledgement(slack, app, over_http, control):
    """Errors come back as JSON in the body."""

    @app.action("open")
    async def open_view(ack, body, client):
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=modal(input_block()))

    @app.view("form")
    async def submit(ack):
        await ack(response_action="errors", errors={"words": "Say more."})

    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions(button("open"))])
    view = (await control.click("U0DANA", CHANNEL, posted["ts"], "open"))["views"][0]
    answer = await control.submit("U0DANA", view["id"], {"words": "no"})

    assert answer["errors"] == {"words": "Say more."}


async def test_command_is_answered_with_text(app, over_http, control):
    """A plain body is what the person reads."""

    @app.command("/approvals")
    async def approvals(ack):
        await ack("nothing waits")

    answer = await control.command("U0DANA", CHANNEL, "/approvals")

    assert answer["messages"][0]["text"] == "nothing waits"


async def test_listener_that_does_not_exist_fails_visibly(slack, over_http, control):
    """Bolt answers 404."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])

    answer = await control.click("U0DANA", CHANNEL, posted["ts"], "approve")

    assert answer["ack"]["error"] == "the app answered 404"


async def test_url_is_verified_by_challenge(over_http, control):
    """Bolt echoes the challenge of a signed request."""
    assert await control.verify_url()


async def test_url_that_does_not_echo_is_not_verified(endpoint, control):
    """An empty 200 is no answer to a challenge."""
    assert not await control.verify_url()


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


@pytest.mark.parametrize("timing", [Timing(acknowledge=0.3)])
async def test_app_that_answers_late_fails_visibly(slack, app, over_http, control):
    """The click was heard; the person is told of a failure all the same."""

    @app.action("approve")
    async def approve(ack):
        await asyncio.sleep(0.6)
        await ack()

    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])
    answer = await control.click("U0DANA", CHANNEL, posted["ts"], "approve")

    assert answer["ack"]["error"] == "no acknowledgement within 0.3 seconds"
    assert (await control.deliveries())[0]["outcome"] == "timeout"


async def test_event_is_given_up_after_three_retries(endpoint, control):
    """Four attempts in all."""
    requests, answers = endpoint
    answers += [web.Response(status=500) for _ in range(9)]

    await control.event({"type": "app_home_opened", "user": "U0DANA"})
    await settle(control, 4)
    await asyncio.sleep(0.1)

    assert len(requests) == 4


async def test_event_is_not_tried_again_when_the_app_says_so(endpoint, control):
    """`x-slack-no-retry: 1`."""
    requests, answers = endpoint
    answers += [web.Response(status=500, headers={"x-slack-no-retry": "1"})]

    await control.event({"type": "app_home_opened", "user": "U0DANA"})
    await asyncio.sleep(0.1)

    assert len(requests) == 1


async def test_click_is_never_tried_again(endpoint, slack, control):
    """Whatever the app answers."""
    requests, answers = endpoint
    answers += [web.Response(status=500)]
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])

    answer = await control.click("U0DANA", CHANNEL, posted["ts"], "approve")
    await asyncio.sleep(0.1)

    assert answer["ack"]["error"] == "the app answered 500"
    assert len(requests) == 1


async def test_app_that_is_down_fails_visibly(slack, control):
    """Nothing listens there."""
    await control.deliver_to("http://127.0.0.1:9/")
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])

    answer = await control.click("U0DANA", CHANNEL, posted["ts"], "approve")

    assert answer["ack"]["error"].startswith("the app cannot be reached")
