"""Redis is killed and started again while agents ask and people decide."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.redis_server import RedisServer
from tests.conftest import serving
from tests.faults.flow import Flow
from tests.support.faults import nothing_owed, rounds


@pytest.fixture
def mortal_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of this test's own.

    With `everysec` an acknowledged write may wait in the server's memory for as long as the disk's last fsync takes.
    """
    yield from serving(RedisServer(tmp_path / "redis", ("--appendfsync", "always")))


@pytest.fixture
def redis_url(mortal_redis: RedisServer) -> str:
    """All parts of these tests use it."""
    return mortal_redis.url


@pytest.mark.timeout(900)
async def test_killed_redis_loses_nothing(mortal_redis, start_bot, client, slack, store, watcher):
    """Every click that Slack shows as accepted is in the record and reaches its agent; nothing stays owed."""
    for _ in range(2):
        await start_bot()

    async def kill_and_restart():
        mortal_redis.kill()
        await asyncio.sleep(random.uniform(0, 1))
        await asyncio.to_thread(mortal_redis.start)

    flow = Flow(client, slack, store, watcher)
    async with flow.breaking(kill_and_restart, pauses=(1, 3)) as killed:
        await flow.run(rounds(10, 300))

    await nothing_owed(store)
    assert killed
