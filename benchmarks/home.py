"""What a Home tab costs with 10,000 open requests and 200 user groups. `python -m benchmarks.home` measures it alone."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta

import aiohttp
from redis.asyncio import Redis

from agent_adapter import ActionRequest, ApprovalClient, HITLRequest, ReviewConfig
from agent_adapter.redis.pool import freeze_meta, open_redis
from benchmarks.cards import CHANNEL
from benchmarks.figures import Bound, Row, table
from benchmarks.processes import child, private_redis
from bot.domain.admission import Admission, Place, Terms
from bot.domain.home import Look
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.store.records import ApprovalStore
from bot.use_cases.home import ROWS, Home
from bot.use_cases.judge import Judge
from bot.use_cases.standing import StandingApprovals
from playground.client import Control

PENDING, GROUPS = 10_000, 200
READER = "U0DANA"
AT_A_TIME = 100
TIMES = 60


async def measure() -> dict[str, list[float]]:
    """Measure pages of a person who is in every group, beside the least that Redis has to read for one."""
    async with AsyncExitStack() as stack:
        url = stack.enter_context(private_redis())
        known = await (await stack.enter_async_context(child("-m", "playground"))).answer()
        control = await stack.enter_async_context(Control(known["url"]))
        groups = [f"S0G{number:03}" for number in range(GROUPS)]
        for group in groups:
            await control.group(group, handle=group.lower(), users=[READER])
        redis = await stack.enter_async_context(open_redis(url))
        store = ApprovalStore(redis, await freeze_meta(redis, "assent"), address="here")
        session = await stack.enter_async_context(aiohttp.ClientSession())
        slack = SlackClient(known["SLACK_BOT_TOKEN"], known["SLACK_API_URL"], session)
        await slack.who_am_i()
        await _fill(url, store, groups)
        directory = Directory(slack)
        judge = Judge(directory)
        home = Home(store, judge, directory, StandingApprovals(store, judge))
        page = await home.page(READER, Look())
        assert len(page.rows) == ROWS
        assert page.further
        return await _compare(home, redis, store, [READER, *groups, CHANNEL])


async def _compare(
    home: Home, redis: Redis, store: ApprovalStore, entries: list[str]
) -> dict[str, list[float]]:
    """Take turns, because a machine's pace changes."""
    found: dict[str, list[float]] = {"page": [], "floor": []}
    before = await _scans(redis)
    for _ in range(TIMES):
        found["page"].append(await _milliseconds(lambda: home.page(READER, Look())))
        found["floor"].append(await _milliseconds(lambda: _least(redis, store, entries)))
    found["scans"] = [await _scans(redis) - before]
    return found


async def _least(redis: Redis, store: ApprovalStore, entries: list[str]) -> None:
    """Read the first of each list, and the records of one page, with plain commands."""
    lane = store.keys
    async with redis.pipeline(transaction=False) as pipe:
        for entry in entries:
            pipe.zrange(lane.waiting(entry), 0, ROWS, withscores=True)
        lists = await pipe.execute()
    first = sorted((score, name) for each in lists for name, score in each)[: ROWS + 1]
    async with redis.pipeline(transaction=False) as pipe:
        for _, name in first:
            pipe.hgetall(lane.req(name))
            pipe.hgetall(lane.card(name))
        await pipe.execute()


async def _milliseconds(call: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await call()
    return (time.perf_counter() - started) * 1000


async def _scans(redis: Redis) -> float:
    stats = await redis.info("commandstats")
    return float(sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("scan", "keys")))


async def _fill(url: str, store: ApprovalStore, groups: list[str]) -> None:
    """Have as many requests pending as there are, each for one of the groups."""
    async with ApprovalClient.from_url(url, agent="billing") as client:
        for start in range(0, PENDING, AT_A_TIME):
            await asyncio.gather(
                *(_ask(client, store, n, groups[n % len(groups)]) for n in range(start, start + AT_A_TIME))
            )


async def _ask(client: ApprovalClient, store: ApprovalStore, number: int, group: str) -> None:
    request = HITLRequest(
        action_requests=[ActionRequest(name="pay", args={"amount": number, "to": "ACME Supplies"})],
        review_configs=[ReviewConfig(action_name="pay", allowed_decisions=["approve", "edit", "reject"])],
    )
    interrupt_id = await client.publish(client.interrupt(request, expires_in=timedelta(hours=1)))
    state = await store.load(interrupt_id)
    assert state
    places = (Place(channel=CHANNEL, actions=(0,)),)
    terms = (Terms(approvers=(group,)),)
    await store.admit(state, Admission(policy_version="1", terms=terms, places=places, pages=(0,)))


def rows(found: dict[str, list[float]]) -> list[Row]:
    """Compare with the least that Redis has to read."""
    page, floor = found["page"], {"reading": found["floor"]}
    return [
        Row(f"a page of the Home tab, {PENDING:,} pending, {GROUPS} groups", "ms", "less", Bound(5, "reading"),
            Bound(3, "reading"), page, floor),
        Row("commands that scan all keys, for such a page", "", "less", Bound(0), Bound(0), found["scans"], {}),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(f"{table(rows(asyncio.run(measure())))}\n")
