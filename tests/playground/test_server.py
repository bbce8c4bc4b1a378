"""How the stand-in starts, where it listens, and whom it answers."""

import asyncio
import json
import signal
import sys

import pytest
from aiohttp import ClientSession

from playground import Playground
from tests.support.commands import program


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.4", "::"])
def test_only_loopback_is_listened_on(host):
    """Nobody else can press buttons."""
    with pytest.raises(ValueError, match="listens on loopback only"):
        Playground(host)


def test_it_does_not_start_beside_a_real_token(monkeypatch):
    """Somebody meant the real Slack. Its own one is what the environment of a demo holds."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-playground")
    assert Playground().bot_token == "xoxb-playground"
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-123456789-abc")

    with pytest.raises(ValueError, match="holds a real Slack token"):
        Playground()


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}], ids=["origin", "rebinding"]
)
async def test_pages_of_other_sites_are_refused(playground, http, headers):
    """A browser on this machine is not a way in. The page itself is linked from anywhere, and framed nowhere."""
    reset = f"{playground.url}/control/reset"
    async with http.post(reset, headers=headers) as response:
        assert response.status == 403
    async with http.post(reset, headers={"Origin": playground.url}) as response:
        assert response.status == 200
    async with http.get(playground.url, headers={"Sec-Fetch-Site": "cross-site"}) as page:
        assert (page.status, page.content_type) == (200, "text/html")
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    async with http.get(f"{playground.url}/static/app.js") as part:
        assert part.status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_an_image_on_another_page_calls_no_method(playground, http, control, site):
    """A browser sends no origin with it, and says how far away the page is."""
    url = f"{playground.api_url}chat.postMessage"
    said = {"channel": "C0APPROVALS", "text": "hi", "token": playground.bot_token}
    async with http.get(url, params=said, headers={"Sec-Fetch-Site": site}) as response:
        assert response.status == 403
    assert await control.messages("C0APPROVALS") == []

    async with http.get(url, params=said) as response:
        assert (await response.json())["ok"]


async def test_it_runs_as_a_process_of_its_own():
    """The first line says how to connect; a signal ends it."""
    command = (sys.executable, "-m", "playground", "--no-limits")
    async with program(*command, errors=asyncio.subprocess.PIPE) as process:
        connect = json.loads(await asyncio.wait_for(process.stdout.readline(), 60))
        async with ClientSession() as http, http.get(f"{connect['url']}/control/state") as response:
            assert (await response.json())["limits"] is False
        assert connect["SLACK_API_URL"] == f"{connect['url']}/api/"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0
