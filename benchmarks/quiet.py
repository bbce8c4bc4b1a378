"""How much of a channel approvals take, with Slack's limits on. `python -m benchmarks.quiet [COUNT]` measures it alone."""

import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_adapter import ActionRequest, ApprovalClient, HITLRequest, ReviewConfig
from agent_adapter.redis.pool import open_redis
from benchmarks.cards import AGENT, CHANNEL, REVIEWER, is_drawing
from benchmarks.figures import Bound, Row, table
from benchmarks.processes import app, child, private_redis
from playground.client import Control

SINGLES, CALLS = 8, 5
"""How many requests of one call, and how many calls of one request."""
BURST = 3
"""How many of the requests have a card of their own, where further ones join a queue."""
MANY = 500
LOOK = "home:go.queue"
AT_A_TIME = 50


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask: how many requests of how many calls, and what the policy says more."""

    name: str
    requests: int
    calls: int
    keys: str = ""


WAYS = (
    Way(f"{SINGLES} requests", SINGLES, 1),
    Way(f"{SINGLES} of a run, thread_per_run", SINGLES, 1, ", thread_per_run: true"),
    Way(f"{SINGLES} requests, burst: {BURST} in 1m", SINGLES, 1, f", burst: {BURST} in 1m"),
    Way(f"a batch of {CALLS}", 1, CALLS),
)


async def measure(count: int) -> dict[str, list[float]]:
    """Count messages and edits for each way, and see how long the last of so many requests waits for its turn."""
    found: dict[str, list[float]] = {}
    for way in WAYS:
        counted = await _decided(way)
        found |= {f"{way.name}: {what}": [number] for what, number in counted.items()}
    found["alone"], found["queued"] = [await _last(count, "")], [await _last(count, ", burst: 5 in 1m")]
    return found


@asynccontextmanager
async def _stage(keys: str):
    """Run the stand-in, a Redis and a bot by such a policy; give the hands in Slack, and the address of Redis."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(private_redis())
        known = await (await stack.enter_async_context(child("-m", "playground"))).answer()
        control = await stack.enter_async_context(Control(known["url"]))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="assent-bench-"))
        policy = Path(folder) / "policy.yaml"
        policy.write_text(f"default: {{channel: {CHANNEL}, approvers: [{REVIEWER}]{keys}}}\n")
        names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
        settings = {name: known[name] for name in names} | {"ASSENT_POLICY": str(policy)}
        await stack.enter_async_context(app("bot", url, known["SLACK_API_URL"], over_socket=True, **settings))
        yield control, url


async def _decided(way: Way) -> dict[str, float]:
    """Approve everything as soon as it can be decided; count what that took until the cards say that the agent went on."""
    async with _stage(way.keys) as (control, url), ApprovalClient.from_url(url, agent=AGENT) as client:
        asking = [asyncio.create_task(_ask(client, number, way.calls)) for number in range(way.requests)]
        deciding = asyncio.create_task(_approve_all(control))
        await asyncio.gather(*asking)
        deciding.cancel()
        await _all_drawn(url)
        posts = [call for call in await control.calls("chat.postMessage") if call["ok"]]
        edits = [call for call in await control.calls("chat.update") if call["ok"]]
        approvals = way.requests * way.calls
        return {
            "in the channel": sum("thread_ts" not in call["args"] for call in posts),
            "messages": len(posts) / approvals,
            "edits": len(edits) / approvals,
        }


async def _ask(client: ApprovalClient, number: int, calls: int) -> None:
    actions = tuple(
        ActionRequest(name="pay", args={"amount": 100 * number + index}) for index in range(calls)
    )
    allowed = tuple(ReviewConfig(action_name="pay", allowed_decisions=("approve", "reject")) for _ in actions)
    pauses = [f"{number}-{index}" for index in range(calls)]
    request = HITLRequest(action_requests=actions, review_configs=allowed)
    async with client.reviewing(client.interrupt(request, run="bench", pauses=pauses)):
        pass


async def _approve_all(control: Control) -> None:
    """Press what approves, on cards and in the lists behind them, as a person who is quick."""
    pressed: set[tuple[str, str]] = set()
    while True:
        for message in await control.messages(CHANNEL):
            for button in _buttons(message):
                here = (message["ts"], button)
                if button.startswith(("approve:", "approve_all:")) and here not in pressed:
                    pressed.add(here)
                    await control.click(REVIEWER, CHANNEL, message["ts"], button)
                elif button == LOOK:
                    await _look_through(control, message["ts"])
        await asyncio.sleep(0.2)


async def _look_through(control: Control, ts: str) -> None:
    """Approve the first call of the list, in its review."""
    for view in reversed(await control.views(REVIEWER)):
        await control.close_view(REVIEWER, view["id"])
    await control.click(REVIEWER, CHANNEL, ts, LOOK)
    listed = await _view(control, 1, "review:")
    if not listed:
        return
    button = next(name for name in _buttons(listed) if name.startswith("review:"))
    await control.click_view(REVIEWER, listed["id"], button)
    review = await _view(control, 2, "approve:0")
    if review:
        await control.click_view(REVIEWER, review["id"], "approve:0")


async def _view(control: Control, depth: int, saying: str) -> dict[str, Any] | None:
    """Wait a moment for a view that says this."""
    for _ in range(50):
        stack = await control.views(REVIEWER)
        if len(stack) == depth and saying in json.dumps(stack[-1]["blocks"]):
            return stack[-1]
        await asyncio.sleep(0.02)
    return None


def _buttons(shown: dict[str, Any]) -> list[str]:
    groups = (block["elements"] for block in shown.get("blocks") or () if block["type"] == "actions")
    return [element["action_id"] for group in groups for element in group]


async def _last(count: int, keys: str) -> float:
    """Ask so much at once, and give how many seconds pass until the last of it can be decided."""
    async with _stage(keys) as (control, url), ApprovalClient.from_url(url, agent=AGENT) as client:
        started = time.monotonic()
        limited = asyncio.Semaphore(AT_A_TIME)

        async def ask(number: int) -> None:
            request = HITLRequest(
                action_requests=(ActionRequest(name="pay", args={"amount": number}),),
                review_configs=(ReviewConfig(action_name="pay", allowed_decisions=("approve", "reject")),),
            )
            async with limited:
                await client.publish(client.interrupt(request))

        await asyncio.gather(*(ask(number) for number in range(count)))
        while not await _all_offered(control, count):
            await asyncio.sleep(0.5)
        return time.monotonic() - started


async def _all_offered(control: Control, count: int) -> bool:
    messages = await control.messages(CHANNEL)
    cards = sum("approve:0" in _buttons(message) for message in messages)
    queued = [
        message["text"].split()[0].replace(",", "") for message in messages if LOOK in _buttons(message)
    ]
    return cards + sum(map(int, queued)) == count


async def _all_drawn(url: str) -> None:
    async with open_redis(url) as redis:
        while await is_drawing(redis):
            await asyncio.sleep(0.1)


def rows(found: dict[str, list[float]], count: int) -> list[Row]:
    """Count messages. Of the time, only how often it fits is compared."""
    in_channel = {
        WAYS[0]: SINGLES, WAYS[1]: 1, WAYS[2]: BURST + 1, WAYS[3]: 1
    }  # fmt: skip
    counted = [
        Row(f"{way.name}: messages in the channel", "", "less", Bound(most), Bound(most),
            found[f"{way.name}: in the channel"], {})
        for way, most in in_channel.items()
    ]  # fmt: skip
    each = [
        Row(f"{way.name}: {what} per approval", "", "less", Bound(most), Bound(most),
            found[f"{way.name}: {what}"], {})
        for way in WAYS
        for what, most in (("messages", 1), ("edits", 2))
    ]  # fmt: skip
    last = Row(f"until the last of {count} can be decided, burst: 5 in 1m", "s", "less", Bound(0.5, "no burst"),
               Bound(0.25, "no burst"), found["queued"], {"no burst": found["alone"]})  # fmt: skip
    return [*counted, *each, last]


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    sys.stdout.write(f"{table(rows(asyncio.run(measure(asked)), asked))}\n")
