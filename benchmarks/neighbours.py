"""What one agent, or a stranger, does to the others: the victim's time with and without the neighbour."""

import asyncio
import gzip
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from statistics import quantiles
from typing import Any

from agent_adapter import ActionRequest, ApprovalClient, Context, HITLRequest, Interrupt, ReviewConfig
from agent_adapter.contract.identity import interrupt_id
from agent_adapter.contract.interrupt import Route
from agent_adapter.contract.wire import dump_interrupt
from agent_adapter.errors import InvalidRequestError
from benchmarks import clicks
from benchmarks.cards import CHANNEL, channel_of
from benchmarks.figures import Bound, Row
from benchmarks.processes import app, child, private_redis
from benchmarks.slack import Slack, Timed, at_rate
from playground.client import Control

RATE = 50.0
SECONDS = 5.0
PROBE_EVERY = 0.002
FLOOD = 400
HALF_OPEN = 400
LARGE = 60_000
"""Characters of one call: four of them fill a record."""
POLICY = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK, U0MIRA]}
rules:
  - {match: {tool: "*"}, channel: thread, mask: [secret], modal_only: [body]}
limits:
  - {pending: 10000}
"""

Neighbour = Callable[[int, str], Awaitable[None]]
"""What somebody else does meanwhile, with the bot's port and the address of its Redis."""


async def measure(slack: Slack, *, quick: bool) -> dict[str, dict[str, float]]:
    """Time a person's clicks, and how long the loop is held, alone and beside each neighbour."""
    # Large calls are drawn for a while, so they come last.
    neighbours = {"alone": _nobody, "compressed bodies": _compressed_bodies,
                  "half-open connections": _half_open, "large calls": _large_calls}  # fmt: skip
    _bomb()
    count = RATE * SECONDS * (len(neighbours) + 1)
    with tempfile.TemporaryDirectory(prefix="assent-bench-") as folder:
        policy = Path(folder) / "policy.yaml"
        policy.write_text(POLICY)
        async with clicks.stage("bot", slack, hurried=count, policy=str(policy)) as made:
            found = {name: await _beside(made, neighbour) for name, neighbour in neighbours.items()}
            found["memory"] = await _memory(made, 100 if quick else 400)
    return found


async def _beside(made: clicks.Stage, neighbour: Neighbour) -> dict[str, float]:
    pressed = made.clicks(RATE * SECONDS)
    async with _probing(made.port) as held, _running(neighbour(made.port, made.url)):
        timed: Sequence[Timed] = await at_rate(made.press, made.prepare, pressed, RATE)
    acks = [1000 * (click.acked - click.sent) for click in timed]
    return {"held": 1000 * max(held), "ack": quantiles(acks, n=100)[98]}


@asynccontextmanager
async def _probing(port: int):
    """Ask for the health again and again, which takes the loop no time: how long it takes is how long the loop is held."""
    held: list[float] = []

    async def probe() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while True:
                asked = time.perf_counter()
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: bot\r\n\r\n")
                await reader.readuntil(b"\r\n\r\n")
                await reader.read(1024)
                held.append(time.perf_counter() - asked)
                await asyncio.sleep(PROBE_EVERY)
        finally:
            writer.close()

    async with _running(probe()):
        yield held


@asynccontextmanager
async def _running(work: Awaitable[None]):
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _nobody(_port: int, _url: str) -> None:
    """Nothing."""


async def _large_calls(_port: int, url: str) -> None:
    """Publish one record of each kind that takes longest, from a process of its own."""
    async with child("-m", "benchmarks.neighbours", "publish", url) as agent:
        await agent.answer()


@cache
def _bomb() -> bytes:
    """Give half a megabyte that unpacks to five hundred."""
    return gzip.compress(bytes(500 << 20), 9)


async def _compressed_bodies(port: int, _url: str) -> None:
    body = _bomb()
    head = (
        "POST /slack/events HTTP/1.1\r\nHost: bot\r\nContent-Encoding: gzip\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(ConnectionError):
            writer.write(head.encode() + body)
            await reader.readline()
        writer.close()


async def _half_open(port: int, _url: str) -> None:
    opened = []
    try:
        for _ in range(HALF_OPEN):
            opened.append(await asyncio.open_connection("127.0.0.1", port))  # noqa: PERF401  # those that are open are closed
        await asyncio.sleep(SECONDS)
    finally:
        for _, writer in opened:
            writer.close()


async def _memory(made: clicks.Stage, count: int) -> dict[str, float]:
    """Have large records asked and drawn, and note what the bot has grown by."""
    before = made.app.rss
    async with ApprovalClient.from_url(made.url, agent="large") as agent:
        for number in range(count):
            calls = [{"text": chr(97 + n) * LARGE} for n in range(4)]
            await agent.publish(_interrupt("large", calls, run=f"{number}", channel=_own_channel(number)))
    await clicks.all_looked_at(made.url)
    return {"grown": (made.app.rss - before) / (1 << 20)}


async def channel() -> dict[str, float]:
    """Time how soon an agent's card is in a channel, alone and while another one's four hundred wait there."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(private_redis())
        slack = await stack.enter_async_context(child("-m", "playground"))
        known = await slack.answer()
        control = await stack.enter_async_context(Control(known["url"]))
        names = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
        settings = {name: known[name] for name in names}
        await stack.enter_async_context(app("bot", url, known["SLACK_API_URL"], over_socket=True, **settings))
        victim = await stack.enter_async_context(ApprovalClient.from_url(url, agent="victim"))
        flood = await stack.enter_async_context(ApprovalClient.from_url(url, agent="flood"))
        alone = await _until_shown(control, victim, "alone")
        for number in range(FLOOD):
            await flood.publish(_interrupt("flood", [{"number": number}], run=f"{number}", channel=CHANNEL))
        beside = []
        for number in range(3):
            await asyncio.sleep(3)
            beside.append(await _until_shown(control, victim, f"beside {number}"))
        return {"alone": alone, "beside": max(beside)}


async def _until_shown(control: Control, agent: ApprovalClient, text: str) -> float:
    asked = time.perf_counter()
    await agent.publish(_interrupt("victim", [{"text": text}], run=text, channel=CHANNEL))
    async with asyncio.timeout(120):
        while not any(
            f'"{text}"' in str(message.get("blocks")) for message in await control.messages(CHANNEL)
        ):
            await asyncio.sleep(0.02)
    return time.perf_counter() - asked


def _interrupt(agent: str, calls: Sequence[dict[str, Any]], *, run: str, **fields: Any) -> Interrupt:
    described = fields.pop("description", None)
    tool = fields.pop("tool", "tool")
    pauses = tuple(f"pause-{number}" for number in range(len(calls)))
    return Interrupt(
        id=interrupt_id(agent, run, pauses),
        agent=agent,
        request=HITLRequest(
            action_requests=[ActionRequest(name=tool, args=args, description=described) for args in calls],
            review_configs=[
                ReviewConfig(action_name=tool, allowed_decisions=["approve", "edit", "reject"],
                             args_schema=fields.get("schema")) for _ in calls
            ],
        ),
        pauses=pauses,
        run=run,
        route=Route(channel=fields.pop("channel", None)),
        context=fields.get("context", Context()),
    )  # fmt: skip


def _own_channel(number: int) -> str:
    return channel_of(f"{number:010d}")


def _hostile() -> list[Interrupt]:
    """Give a record of each kind that once took the bot longest: all of them within the limits of a publish."""
    hidden, marks = "\u00ad\u200b" * 10_000, "\u0316\u0300" * 15_000
    masked = [{"secret": [f"{n:04x}" for n in range(4_900)]} for _ in range(5)]
    many = [{"values": [0] * 4_900} for _ in range(20)]
    nested: Any = {"n": 1}
    for _ in range(24):
        nested = {"n": nested, "x": []}
    deep = [{f"k{n}": nested for n in range(90)} for _ in range(12)]
    wide = [{f"key {n}": n for n in range(990)} for _ in range(12)]
    kinds: list[tuple[Sequence[dict[str, Any]], dict[str, Any]]] = [
        *((masked, {"description": f"{n:04x} " * 2_000}) for n in range(12)),
        (many, {}),
        (deep, {}),
        (wide, {}),
        ([{"text": hidden}] * 3, {}),
        ([{"text": marks}] * 3, {}),
        ([{"text": "1"}], {"description": hidden * 2}),
        ([{"text": "1"}], {"context": Context(title=hidden * 2)}),
        ([{f"k{n}": 1 for n in range(40)} for _ in range(50)], {}),
    ]
    return [
        _largest("hostile", calls, run=f"{number}", channel=_own_channel(number), **fields)
        for number, (calls, fields) in enumerate(kinds)
    ]


def _largest(agent: str, calls: Sequence[dict[str, Any]], **fields: Any) -> Interrupt:
    """Ask about as many of these calls as one record holds."""
    while True:
        interrupt = _interrupt(agent, calls, **fields)
        try:
            dump_interrupt(interrupt)
        except InvalidRequestError:
            calls = calls[:-1]
        else:
            return interrupt


async def _publish(url: str) -> None:
    made = _hostile()
    async with ApprovalClient.from_url(url, agent="hostile") as agent:
        for interrupt in made:
            await agent.publish(interrupt)
    print("{}", flush=True)


def rows(found: dict[str, dict[str, float]], channels: dict[str, float]) -> list[Row]:
    """Compare each victim with itself alone."""
    alone = found["alone"]
    held = [
        Row(f"longest hold of the loop beside {name}", "ms", "less", Bound(50), Bound(20), [of["held"]],
            {"alone": [alone["held"]]})
        for name, of in found.items() if name not in {"alone", "memory"}
    ]  # fmt: skip
    acks = [
        Row(f"ack p99 at 50/s beside {name}", "ms", "less", Bound(5, "alone"), Bound(2, "alone"), [of["ack"]],
            {"alone": [alone["ack"]]})
        for name, of in found.items() if name not in {"alone", "memory"}
    ]  # fmt: skip
    return [
        *held,
        *acks,
        Row("memory of large records", "MiB", "less", Bound(192), Bound(128), [found["memory"]["grown"]], {}),
        Row(f"card beside {FLOOD} of another agent in the channel", "s", "less", Bound(5, "alone"), Bound(2, "alone"),
            [channels["beside"]], {"alone": [channels["alone"]]}),
    ]  # fmt: skip


if __name__ == "__main__":
    import sys

    asyncio.run(_publish(sys.argv[2]))
