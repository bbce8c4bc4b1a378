"""Several replicas of the bot between one stand-in and one Redis, in this process or in processes that can be killed."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from playground.client import Control
from playground.redis_server import RedisServer
from playground.server import Playground
from tests.conftest import settings_for
from tests.support.faults import Process, Watcher, environment_of, watching


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Start a server of this test's own: `serve("--option", …)`."""
    started: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        server = RedisServer(tmp_path / f"redis-{len(started)}", options)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
async def watcher(slack: Control) -> AsyncIterator[Watcher]:
    """Somebody who sees everything in Slack."""
    async with watching(slack) as watcher:
        yield watcher


@pytest.fixture
def bot_process(playground: Playground, redis_url: str, tmp_path) -> Iterator[Callable[..., Process]]:
    """Start a bot as a process of its own: `bot_process(setting=…)`; it may not be ready yet."""
    started = []

    def start(**changed: object) -> Process:
        environment = environment_of(settings_for(playground, redis_url, **changed))
        process = Process("tests.support.faults_bot", environment, tmp_path / f"bot-{len(started)}.log")
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
