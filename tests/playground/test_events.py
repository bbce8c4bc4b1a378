"""Events over Socket Mode: acknowledged, repeated, doubled."""

import asyncio

import pytest

from playground import Timing
from tests.support.faults import eventually

OPENED = {"type": "app_home_opened", "user": "U0DANA", "channel": "C0SHARED"}


@pytest.mark.parametrize("timing", [Timing(acknowledge=0.3, retries=(0.0,))])
async def test_repeated_envelope_says_which_attempt_it_is(playground, http, control):
    """And why it comes again."""
    headers = {"Authorization": f"Bearer {playground.app_token}"}
    async with http.post(f"{playground.api_url}apps.connections.open", headers=headers) as response:
        url = (await response.json())["url"]
    async with http.ws_connect(url) as socket:
        await socket.receive_json()
        sending = asyncio.create_task(control.event(OPENED))
        first, second = await socket.receive_json(), await socket.receive_json()
        await socket.send_json({"envelope_id": second["envelope_id"]})
        await sending

    assert (first["retry_attempt"], first["retry_reason"]) == (0, "")
    assert (second["retry_attempt"], second["retry_reason"]) == (1, "timeout")
    assert first["payload"] == second["payload"]


async def test_event_waits_for_an_app_that_comes_later(app, playground, control):
    """An event that found nobody is delivered again, and says so."""
    attempts = asyncio.Queue()

    @app.event("app_home_opened")
    async def opened(event):
        attempts.put_nowait(event["user"])

    lost = await control.event(OPENED)

    async def tried_four_times():
        return len(await control.deliveries()) == 4

    await eventually(tried_four_times)

    assert lost["ack"]["error"] == "the app has no open socket"
    assert [each["retry"] for each in await control.deliveries()] == [0, 1, 2, 3]
    assert len({each["payload"]["event_id"] for each in await control.deliveries()}) == 1
