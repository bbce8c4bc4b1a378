"""Socket Mode: connections come and go, and each envelope goes to one of them."""

import asyncio

import pytest

from playground import Timing
from tests.playground.builders import actions
from tests.support.faults import eventually

CHANNEL = "C0APPROVALS"


@pytest.fixture
async def address(playground, http):
    """A fresh `ws://` address at every call."""

    async def fresh():
        headers = {"Authorization": f"Bearer {playground.app_token}"}
        async with http.post(f"{playground.api_url}apps.connections.open", headers=headers) as response:
            return (await response.json())["url"]

    return fresh


async def connected(control, count):
    """Wait until that many sockets are open."""

    async def so_many():
        return (await control.state())["sockets"] == count

    await eventually(so_many)


async def reconnected(control, before):
    """Wait until a new socket was asked for and is open."""

    async def asked():
        return len(await control.calls("apps.connections.open")) > before

    await eventually(asked)
    await connected(control, 1)


async def test_click_on_a_socket_that_breaks_fails_at_once(slack, http, address, control):
    """It is not sent over another one."""
    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])
    async with http.ws_connect(await address()) as breaking:
        await breaking.receive_json()
        click = asyncio.create_task(control.click("U0DANA", CHANNEL, posted["ts"], "approve"))
        await breaking.receive_json()
        async with http.ws_connect(await address()) as other:
            await other.receive_json()
            await breaking.close()
            answer = await click

            assert answer["ack"] == {"ok": False, "ms": None, "error": "the socket closed"}
            with pytest.raises(TimeoutError):
                await other.receive(timeout=0.05)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", None])
@pytest.mark.parametrize("timing", [Timing(acknowledge=1.0, disconnect_warning=0.05)])
async def test_app_reconnects_when_told_to(slack, app, over_sockets, control, reason):
    """Or when its socket is closed without a warning: the next click goes to a new one, however slowly."""

    @app.action("approve")
    async def approve(ack):
        await ack()

    posted = await slack.chat_postMessage(channel=CHANNEL, text="x", blocks=[actions()])
    before = len(await control.calls("apps.connections.open"))
    await (control.delivery(disconnect=reason) if reason else control.close_sockets())
    await reconnected(control, before)
    # A delay before sending is not the app's time to answer.
    await control.delivery(delay=1.1 if reason is None else 0)

    assert (await control.click("U0DANA", CHANNEL, posted["ts"], "approve"))["ack"]["ok"]
