"""Errors that nobody expected, in the loops of a bot and of an agent: they go on, or say that they cannot."""

import asyncio
import time

import aiohttp
import pytest

from agent_adapter import loops
from agent_adapter.errors import LoopBrokenError
from bot.app import main
from bot.domain.errors import StoreUnavailableError
from bot.runtime.offload import LATE
from bot.store.records import ApprovalStore
from tests.conftest import settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, eventually, take
from tests.support.topologies import scanned


async def test_a_wait_that_nobody_would_wake_ends_with_an_error_and_may_be_repeated(
    start_bot, client, redis, slack, watcher, monkeypatch
):
    """The agent's process goes on; its next wait starts the loops anew and brings the answer."""
    monkeypatch.setattr(loops, "FIRST_PAUSE", 0.001)
    await start_bot()
    interrupt = an_interrupt()
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)

    [replies] = await eventually(lambda: scanned(redis, "{assent}:replies:*"))
    for _ in range(loops.FEW):
        await redis.xadd(replies, {"unknown": "1"})
    with pytest.raises(
        LoopBrokenError, match=r"this wait was given up, wait again: the loop 'replies' failed 5"
    ):
        await asyncio.wait_for(agent, 60)

    agent = asyncio.create_task(take(client, interrupt))
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")
    resume = await asyncio.wait_for(agent, 60)
    assert [decision.type for decision in resume.decisions] == ["approve"]


@pytest.fixture
def claiming_fails(monkeypatch: pytest.MonkeyPatch):
    """Let each claim of work fail as no part of ours does: `claiming_fails(times)`."""
    claim, left = ApprovalStore.lease_work, 0

    async def fail(self, kind, *args, **named):
        nonlocal left
        if kind == "undrawn" and left:
            left -= 1
            raise RuntimeError("the handler is closed")
        return await claim(self, kind, *args, **named)

    def begin(times: int) -> None:
        nonlocal left
        left = times

    monkeypatch.setattr(ApprovalStore, "lease_work", fail)
    return begin


async def test_a_bot_whose_loop_keeps_failing_ends_with_a_sentence(
    playground, redis_url, claiming_fails, monkeypatch
):
    """Whoever supervises it starts another; nobody is left with a bot that looks well and does nothing."""
    monkeypatch.setattr(loops, "FIRST_PAUSE", 0.001)
    claiming_fails(1_000)

    with pytest.raises(
        LoopBrokenError, match=r"the loop 'drawing' failed 5 times in a row, at last with RuntimeError"
    ):
        await asyncio.wait_for(main(settings_for(playground, redis_url)), 60)


async def test_a_loop_that_hangs_turns_both_probes_red(start_bot, monkeypatch):
    """Redis and Slack answer, and yet nothing is drawn: whoever restarts bots has to know."""
    monkeypatch.setattr(loops, "SHORTEST_PATIENCE", 0.3)
    bot = await start_bot(sweep_seconds=0.1)

    async def hang(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(bot.store, "lease_work", hang)
    answers, said = {}, None
    async with aiohttp.ClientSession(f"http://127.0.0.1:{bot.http.port}") as http:
        async with asyncio.timeout(120):
            while answers.get("/healthz") != 503 or "drawing" not in (said or {"faults": {}})["faults"]:
                for probe in ("/healthz", "/readyz"):
                    async with http.get(probe) as answer:
                        answers[probe], said = (
                            answer.status,
                            await answer.json(content_type=None) if answer.status == 503 else None,
                        )
                await asyncio.sleep(0.05)

    assert answers == {"/healthz": 503, "/readyz": 503}
    assert "no progress for" in said["faults"]["drawing"]


async def test_a_bot_that_has_too_much_to_do_does_not_blame_redis(start_bot, monkeypatch):
    """Its own work leaves no turn for the answers of an idle Redis: `/readyz` and a click say so, and it recovers."""
    monkeypatch.setattr(loops, "SHORTEST_PATIENCE", 0.6)
    bot = await start_bot(sweep_seconds=0.1)

    async def work() -> None:
        while True:
            time.sleep(LATE)  # noqa: ASYNC251  # this is the fault
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    await until(lambda: "seconds late itself" in bot.health.faults.get("redis", ""), within=60)
    monkeypatch.setattr("bot.store.commits.WITHIN", 0.0)
    with pytest.raises(StoreUnavailableError, match="seconds late itself"):
        await bot.store.note_click("billing.x", "U0DANA", button="approve", code="refused")
    working.cancel()

    await until(lambda: bot.health.ready, within=60)


async def test_a_redis_that_does_not_answer_does_not_cause_a_restart(start_bot, redis, monkeypatch):
    """`/readyz` says so; `/healthz` stays green, since no restart would help."""
    monkeypatch.setattr(loops, "SHORTEST_PATIENCE", 0.6)
    bot = await start_bot(sweep_seconds=0.1)
    await redis.client_pause(2_000)

    await until(lambda: not bot.health.ready, within=60)
    async with asyncio.timeout(120):
        while not bot.health.ready:
            assert bot.health.stuck == {}
            await asyncio.sleep(0.05)


async def test_a_bot_that_has_nothing_to_do_asks_redis_little(start_bot, redis, monkeypatch):
    """In the time of 18 heartbeats it opens no connection. On a busy machine, a PING may be answered too late: then once more."""
    monkeypatch.setattr("bot.jobs.inboxes.QUIET", 0.3)
    bot = await start_bot(sweep_seconds=0.1)

    async def opened_within(beats):
        await redis.config_resetstat()
        last = int(await redis.get(bot.store.keys.epoch)) + beats
        while int(await redis.get(bot.store.keys.epoch)) < last:
            await asyncio.sleep(0.01)
        return (await redis.info("stats"))["total_connections_received"]

    async with asyncio.timeout(60):
        await opened_within(6)
        while await opened_within(18):
            pass

    assert (await redis.info("commandstats"))["cmdstat_ping"]["calls"] > 1
