"""How many approvals a minute one channel carries, with Slack's limits on."""

import asyncio
import time
from contextlib import AsyncExitStack

from benchmarks.cards import CHANNEL, REVIEWER
from benchmarks.figures import Bound, Row
from benchmarks.processes import app, child, private_redis
from playground.client import Control

K = 5
"""Actions on a card."""
EDITS = 50
"""Edits a minute of one workspace: with one for each card, K times as many approvals can be shown."""
MOST = K * EDITS
START = 20.0
"""Seconds until the first burst that Slack allows is used up."""
DONE = "Approved"


async def measure(window: float) -> dict[str, float]:
    """Have more cards asked than Slack takes and approve each as it appears; count what the cards show in the window."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(private_redis())
        slack = await stack.enter_async_context(child("-m", "playground"))
        known = await slack.answer()
        control = await stack.enter_async_context(Control(known["url"]))
        names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
        settings = {name: known[name] for name in names}
        await stack.enter_async_context(app("bot", url, known["SLACK_API_URL"], over_socket=True, **settings))
        agent = await stack.enter_async_context(child("-m", "benchmarks.agents", "resumes", url))
        approving = asyncio.create_task(_approve_all_that_appears(control))
        await agent.ask(count=int((START + window) * 1.2), actions=K)
        await asyncio.sleep(START)
        started = time.time()
        await asyncio.sleep(window)
        approving.cancel()
        edits, posts = await control.calls("chat.update"), await control.calls("chat.postMessage")
        in_window = [call for call in edits if call["ok"] and started <= call["at"] < started + window]
        finished = {call["args"]["ts"] for call in in_window if call["args"]["text"].startswith(DONE)}
        return {
            "approvals": K * len(finished) * 60 / window,
            "edits": len(in_window) * 60 / window,
            "refused": sum(call["http_status"] == 429 for call in [*edits, *posts]),
        }


async def _approve_all_that_appears(control: Control) -> None:
    pressed: set[str] = set()
    while True:
        for message in await control.messages(CHANNEL):
            if message["ts"] not in pressed and message.get("blocks"):
                pressed.add(message["ts"])
                await control.click(REVIEWER, CHANNEL, message["ts"], "approve_all:0")
        await asyncio.sleep(0.2)


def rows(found: dict[str, float]) -> list[Row]:
    """Compare with the most that Slack's limits allow."""
    return [
        Row(f"approvals a minute, limits on, {K} on a card", "", "more", Bound(0.9, "limit"), Bound(0.97, "limit"),
            [found["approvals"]], {"limit": [MOST]}),
        Row("refused by Slack's limits (429)", "", "less", Bound(0), Bound(0), [found["refused"]], {}),
    ]  # fmt: skip
