"""Agents, each in a process of its own. `python -m benchmarks.agents floor|asks|waits|resumes REDIS_URL [--memory]`.

It reads one JSON object a line and answers each with one. Times are of the machine's monotonic clock.
"""

import asyncio
import contextlib
import gc
import json
import sys
import time
import tracemalloc
from typing import Any

from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from benchmarks.cards import AGENT, PRESSED, interrupt
from benchmarks.floors import REPLIES

QUIET = 0.02
"""Share of a core below which a process has settled down."""


class Agent:
    """Holds the coroutines that wait, and notes when each goes on."""

    def __init__(self) -> None:
        self.ran: dict[str, float] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self._grown = 0

    def report(self) -> dict[str, Any]:
        """Say what ran, what this process has used so far, and what a waiting coroutine holds."""
        return {"ran": self.ran, "cpu": time.process_time(), "at": time.monotonic(), "grown": self._grown}

    async def settle(self) -> None:
        """Return once every coroutine waits."""
        share = 1.0
        while share > QUIET:
            started, used = time.monotonic(), time.process_time()
            await asyncio.sleep(0.4)
            share = (time.process_time() - used) / (time.monotonic() - started)

    @contextlib.asynccontextmanager
    async def measured(self):
        """Note what is allocated in the body and kept."""
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        yield
        gc.collect()
        self._grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()


def _entries(answer: Any) -> list[tuple[str, dict[str, str]]]:
    return [entry for _, entries in answer or () for entry in entries]


async def floor(agent: Agent, url: str) -> None:
    """One XREAD, one coroutine per click."""
    waiting: dict[str, asyncio.Future[None]] = {}

    async def wait(record: str) -> None:
        await waiting[record]
        agent.ran[record] = time.monotonic()

    async def read() -> None:
        cursor = "0-0"
        while True:
            for entry, fields in _entries(await redis.xread({REPLIES: cursor}, block=5_000)):
                cursor = entry
                waiting[fields["id"]].set_result(None)

    async with Redis.from_url(url, decode_responses=True, socket_timeout=10, protocol=2) as redis:
        asked = await command()
        for record in asked["ids"]:
            waiting[record] = asyncio.get_running_loop().create_future()
            agent.tasks.append(asyncio.create_task(wait(record)))
        reading = asyncio.create_task(read())
        await agent.settle()
        await serve(agent, {})
        reading.cancel()


async def asks(agent: Agent, client: ApprovalClient) -> None:
    """Publish so many interrupts, each in a channel of its own, and wait for all of them."""
    asked = await command()
    ids = [await client.publish(interrupt(PRESSED, apart=True)) for _ in range(asked["count"])]
    agent.tasks = [asyncio.create_task(wait(agent, client, record)) for record in ids]
    await agent.settle()
    await serve(agent, {"ids": ids})


async def waits(agent: Agent, client: ApprovalClient, *, memory: bool) -> None:
    """Wait for interrupts that others published."""
    ids = (await command())["ids"]
    async with agent.measured() if memory else contextlib.nullcontext():
        agent.tasks = [asyncio.create_task(wait(agent, client, record)) for record in ids]
        await agent.settle()
    await serve(agent, {})


async def resumes(agent: Agent, client: ApprovalClient) -> None:
    """Ask and resume, as an integration does."""
    asked = await command()

    async def run() -> None:
        async with client.reviewing(interrupt(asked["actions"])) as resume:
            agent.ran[resume.interrupt_id] = time.monotonic()

    agent.tasks = [asyncio.create_task(run()) for _ in range(asked["count"])]
    await serve(agent, {})


async def wait(agent: Agent, client: ApprovalClient, record: str) -> None:
    await client.wait(record)
    agent.ran[record] = time.monotonic()


async def command() -> dict[str, Any]:
    line = await asyncio.to_thread(sys.stdin.readline)
    found: dict[str, Any] = json.loads(line) if line else {}
    return found


async def serve(agent: Agent, ready: dict[str, Any]) -> None:
    """Say that all is set up, then report whenever asked, until the input ends."""
    say(ready)
    while await command():
        say(agent.report())


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()


async def main(kind: str, url: str, *, memory: bool) -> None:
    agent = Agent()
    if kind == "floor":
        await floor(agent, url)
    else:
        async with ApprovalClient.from_url(url, agent=AGENT) as client:
            match kind:
                case "asks":
                    await asks(agent, client)
                case "waits":
                    await waits(agent, client, memory=memory)
                case _:
                    await resumes(agent, client)
            for task in agent.tasks:
                task.cancel()
            await asyncio.gather(*agent.tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], memory="--memory" in sys.argv))
