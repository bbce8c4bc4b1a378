"""A bot's records in Redis, and the people whom Slack knows."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientSession, ClientTimeout
from redis.asyncio import Redis

from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.slack.client import SlackClient
from bot.slack.directory import Directory
from bot.store.records import ApprovalStore
from playground import Playground


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with open_redis(redis_url) as redis:
        yield redis


@pytest.fixture
async def store(redis: Redis) -> ApprovalStore:
    return ApprovalStore(redis, await freeze_meta(redis, "assent"), address="here")


@pytest.fixture
async def directory(playground: Playground) -> AsyncIterator[Directory]:
    async with ClientSession(timeout=ClientTimeout(total=5)) as session:
        slack = SlackClient(playground.bot_token, playground.api_url, session)
        await slack.who_am_i()
        yield Directory(slack)
