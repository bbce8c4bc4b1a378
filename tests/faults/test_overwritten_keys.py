"""Something else writes over a key that everybody shares: it is named everywhere, and nothing is lost once it is gone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import pytest
from redis.asyncio import Redis

from agent_adapter import Resume
from agent_adapter.contract.keys import SHARED, Keys
from agent_adapter.errors import ServerRefusesError
from agent_adapter.redis.pool import open_redis
from bot.app import running
from bot.cli.doctor import examine
from tests.conftest import an_agent, settings_for, until
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, take

pytestmark = pytest.mark.nightly

KEYS = Keys().shared()
_T = TypeVar("_T")


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with open_redis(redis_url) as redis:
        yield redis


async def overwrite(redis: Redis, key: str) -> None:
    """Put something of another type in the place of a key. The bot writes to it all the time, so this is one step."""
    async with redis.pipeline(transaction=True) as pipe:
        pipe.delete(key)
        pipe.rpush(key, "foreign") if KEYS[key] == "string" else pipe.set(key, "foreign")
        await pipe.execute()


async def sentence_of(work: Awaitable[_T]) -> str:
    """Give the sentence of the error that this ends with; empty where it works."""
    try:
        await work
    except ServerRefusesError as error:
        return str(error)
    return ""


async def test_each_overwritten_key_is_named_everywhere(redis, redis_url, start_bot, playground):
    """A running bot is not ready until the key is gone; neither another bot nor an agent starts; doctor says the same."""
    bot, settings = await start_bot(sweep_seconds=0.1), settings_for(playground, redis_url)
    for key, kind in KEYS.items():
        await overwrite(redis, key)

        await until(lambda: "redis" in bot.health.reasons)
        said = {bot.health.reasons["redis"]}
        said.add(await sentence_of(running(settings).__aenter__()))
        said.add(await sentence_of(an_agent(redis_url).__aenter__()))
        said |= {found.sentence async for found in examine(settings) if found.subject == "redis"}
        [sentence] = said
        found = "list" if kind == "string" else "string"
        assert f"the key {key} was overwritten: it is a {found} and should be a {kind}. Stop" in sentence
        assert sentence.endswith(f"restore the key from a backup, or delete it (DEL {key})")

        await redis.delete(key)
        await until(lambda: bot.health.ready)


@pytest.mark.parametrize("name", sorted({*SHARED} - {"meta", "keys", "keys:used"}))
async def test_nothing_is_lost_by_an_overwritten_key_once_it_is_gone(
    name, redis, redis_url, start_bot, slack, client, watcher
):
    """Meanwhile an agent asks, a person clicks, an agent goes on: each is done or told, and can be repeated."""
    key, bot = f"{{assent}}:{name}", await start_bot(sweep_seconds=0.1)
    interrupt, another = an_interrupt(), an_interrupt(agent="office")
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    async with an_agent(redis_url, "office") as office:
        await overwrite(redis, key)
        await until(lambda: not bot.health.ready)

        refused = await sentence_of(office.publish(another))
        assert not refused or f"the key {key} was overwritten" in refused
        is_stored = (await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
        if not is_stored:
            await until(lambda: "may *not* be recorded" in "".join(watcher.notices("U0ERIK")))
        await asyncio.sleep(0.3)

        await redis.delete(key)
        await until(lambda: bot.health.ready)
        if not is_stored:
            assert (await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
        resume = await answer_of(agent, client, interrupt)
        await office.publish(another)
        await watcher.card(another.id)
    assert [decision.type for decision in resume.decisions] == ["approve"]
    assert not await redis.exists("{assent}:failing")
    trail = await redis.xrange("{assent}:audit")
    assert [fields["id"] for _, fields in trail if fields["event"] == "decided"] == [interrupt.id]


async def answer_of(agent: asyncio.Task[Resume], client, interrupt) -> Resume:
    """Give what an agent gets, which asks again where it was told the sentence."""
    async with asyncio.timeout(120):
        return await (take(client, interrupt) if await sentence_of(agent) else agent)
