"""What waiting costs: an idle agent, ten thousand waits in one process, ten thousand pending records."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from redis import Redis

from benchmarks.cards import KEYS, all_drawn, ask_in_bulk, dump_interrupt, interrupt, show_in_bulk
from benchmarks.clicks import Stage, in_turn, stage
from benchmarks.figures import Bound, Row
from benchmarks.processes import child, private_redis
from benchmarks.slack import Slack

INSIDE = {
    "hget", "hset", "hsetnx", "hmget", "hkeys", "hexists", "exists", "pexpire", "zadd", "zrevrange", "zremrangebyscore",
    "xadd", "xtrim", "time", "info",
}  # fmt: skip
"""Commands that only scripts and this measurement send: what is left of the statistics are an agent's requests."""
SEEN_EVERY = 20.0
REST = 20.0
WINDOWS = 3


@asynccontextmanager
async def waiting_agent(count: int, *, memory: bool = False):
    """Run an agent whose process waits for so many pending records, with a bot that seems to live."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(private_redis())
        redis = stack.enter_context(Redis.from_url(url, decode_responses=True))
        ids = ask_in_bulk(redis, count)
        await show_in_bulk(url, ids)
        _beat(redis)
        options = ["--memory"] if memory else []
        agent = await stack.enter_async_context(child("-m", "benchmarks.agents", "waits", url, *options))
        await agent.ask(ids=ids)
        yield agent, redis


async def idle(seconds: float) -> dict[str, float]:
    """Give the share of a core and the requests a minute of an agent with 1,000 waits."""
    async with waiting_agent(1_000) as (agent, redis):
        redis.config_resetstat()
        first = await agent.ask(report=True)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            _beat(redis)
            await asyncio.sleep(min(left, SEEN_EVERY))
        last = await agent.ask(report=True)
        passed = last["at"] - first["at"]
        return {
            "share": 100 * (last["cpu"] - first["cpu"]) / passed,
            "requests": _requests(redis) * 60 / passed,
        }


async def crowd(count: int = 10_000) -> dict[str, float]:
    """Give the blocking connections, and the KB that each wait holds in its process."""
    async with waiting_agent(count, memory=True) as (agent, redis):
        grown = (await agent.ask(report=True))["grown"]
        blocked = redis.info("clients")["blocked_clients"]
        return {"blocking": blocked, "each": grown / 1024 / count}


async def pending(
    slack: Slack, count: int, rounds: int, *, rate: float = 50, seconds: float = 3
) -> dict[str, list[float]]:
    """Compare clicks beside many pending records with clicks beside 100, in turn; weigh a pending record, and the bot at rest."""
    few, many, clicks = 100, count, rate * seconds * rounds
    async with AsyncExitStack() as stack:
        stages: list[Stage] = []
        for beside in (few, many):
            url = stack.enter_context(private_redis())
            with Redis.from_url(url, decode_responses=True) as redis:
                weight = await _fill(url, redis, beside)
            stages.append(await stack.enter_async_context(stage("bot", slack, timed=clicks, redis_url=url)))
        found: dict[str, list[float]] = {"few": [], "many": [], "bytes": [weight]}
        found["rest"] = [await _at_rest(made) for made in stages]
        for _ in range(rounds):
            await in_turn(stages, rate, seconds)
            for name, made in zip(("few", "many"), stages, strict=True):
                found[name].append(made.figures[f"agent{rate:g}"])
        return found


async def _at_rest(made: Stage) -> float:
    """Give the share of a core that the bot takes while nobody asks or presses."""
    await all_drawn(made.url)
    found = []
    # Once after its start, the bot compares each card with Slack. The other windows are at rest.
    for _ in range(WINDOWS):
        before = made.app.cpu
        await asyncio.sleep(REST)
        found.append(100 * (made.app.cpu - before) / REST)
    return min(found)


async def _fill(url: str, redis: Redis, count: int) -> float:
    """Make so many pending records; answer the bytes that each takes over its body, the audit left aside."""
    # The first one brings the scripts, which take as much for one record as for all.
    await show_in_bulk(url, ask_in_bulk(redis, 1))
    before = _used(redis)
    await show_in_bulk(url, ask_in_bulk(redis, count))
    return (_used(redis) - before) / count - len(dump_interrupt(interrupt()))


def _used(redis: Redis) -> int:
    # The audit is a log of what happened, kept for some days whatever is pending.
    used: int = redis.info("memory")["used_memory"] - (redis.memory_usage(KEYS.audit, samples=0) or 0)
    return used


def _requests(redis: Redis) -> int:
    statistics = redis.info("commandstats")
    return sum(
        use["calls"] for name, use in statistics.items() if name.split("_")[1].split("|")[0] not in INSIDE
    )


def _beat(redis: Redis) -> None:
    redis.zadd(KEYS.bots, {"bench": int(time.time() * 1000)})


def rows(
    still: dict[str, float], many: dict[str, float], beside: dict[str, list[float]], count: int
) -> list[Row]:
    """Say what waiting must cost at the most."""

    def fixed(figure: str, unit: str, value: Sequence[float], must: float, aim: float) -> Row:
        return Row(figure, unit, "less", Bound(must), Bound(aim), value, {})

    return [
        fixed("idle agent, 1,000 waiting: CPU", "%", [still["share"]], 1.0, 0.5),
        fixed("idle agent, 1,000 waiting: Redis requests a minute", "", [still["requests"]], 12, 12),
        fixed("10,000 waiting: blocking connections", "", [many["blocking"]], 1, 1),
        fixed("10,000 waiting: memory each", "KB", [many["each"]], 1.5, 1.1),
        Row(f"click to agent p50, {count:,} pending", "ms", "less", Bound(1.2, "100 pending"), Bound(1.1, "100 pending"),
            beside["many"], {"100 pending": beside["few"]}),
        fixed("bytes over the body of a pending record", "B", beside["bytes"], 1_500, 1_100),
        Row(f"bot at rest, {count:,} pending: CPU", "%", "less", Bound(2), Bound(1), beside["rest"][1:],
            {"100 pending": beside["rest"][:1]}),
    ]  # fmt: skip
