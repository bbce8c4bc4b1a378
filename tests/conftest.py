"""Real parts for every test: a private Redis, the stand-in for Slack, bots and agents between them."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings as hypothesis_settings
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.receipts.ring import Ring
from agent_adapter.redis.pool import freeze_meta, open_redis
from bot.app import running
from bot.runtime.settings import Settings
from bot.store.records import ApprovalStore
from bot.wiring import Bot
from playground.client import Control
from playground.clusters import Cluster
from playground.demo.keys import Signing, make_signing
from playground.errors import ControlError
from playground.redis_server import RedisServer
from playground.sentinels import Sentinels
from playground.server import Playground
from playground.wait_until import wait_until
from playground.workspace import TEAM
from tests.support.distributions import build
from tests.support.lanes import require
from tests.support.people import buttons
from tests.support.postgres import PostgresServer, binaries
from tests.support.properties import FULL, bounded
from tests.support.redis_users import address_for
from tests.support.topologies import ON, connected

APPROVERS = "U0DANA,U0ERIK,U0MIRA"
Service = TypeVar("Service", Cluster, PostgresServer, RedisServer, Sentinels)
SERVERS = {
    "redis_server", "redis_url", "started_cluster", "started_sentinels", "playground", "postgres_server",
}  # fmt: skip
"""Fixtures that start something beside the test."""
ONLY_AT_NIGHT = {"distributions"}
"""Fixtures that take long to make."""
DOWN_AFTER = 1_000 if ON == "server" else 4_000
"""Milliseconds of silence after which servers take each other for dead: longer where any test may run on a machine that stalls."""

# For properties that do not say how often they are tried.
hypothesis_settings.register_profile("assent", bounded(100))
hypothesis_settings.load_profile("assent")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="also run what only refines, and takes long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a server, which `make unit` leaves out, and what `make faults` runs beside the properties.

    What is for the night is left out, unless it is asked for by its file.
    """
    for item in items:
        if SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker("server")
        if "/tests/faults/" in item.path.as_posix():
            item.add_marker("faults")
        # Hypothesis sets its marker after this.
        if FULL and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.timeout(600))
        if ONLY_AT_NIGHT & set(getattr(item, "fixturenames", ())):
            item.add_marker("nightly")
    if not (FULL or config.getoption("nightly") or any(".py" in asked for asked in config.args)):
        late = [item for item in items if item.get_closest_marker("nightly")]
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=late)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One real Redis for the whole run."""
    yield from serving(RedisServer(Path(tmp_path_factory.mktemp("redis"))))


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty Redis, of the kind that `ASSENT_TESTS_ON` names."""
    match ON:
        case "cluster":
            return str(request.getfixturevalue("cluster").url)
        case "sentinel":
            return str(request.getfixturevalue("sentinels").url)
    server: RedisServer = request.getfixturevalue("redis_server")
    with connected(server.url) as redis:
        redis.flushall()
    return server.url


def serving(service: Service) -> Iterator[Service]:
    """Start a server, or a service of several, and stop it in the end."""
    try:
        service.start()
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="session")
def started_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One real Redis Cluster for the whole run."""
    yield from serving(Cluster(Path(tmp_path_factory.mktemp("c")), down_after=DOWN_AFTER))


@pytest.fixture
def cluster(started_cluster: Cluster) -> Cluster:
    """It, emptied, with all its servers running."""
    started_cluster.mend()
    started_cluster.empty()
    return started_cluster


@pytest.fixture(scope="session")
def started_sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    """A primary, two replicas and three Sentinels for the whole run."""
    yield from serving(Sentinels(Path(tmp_path_factory.mktemp("s")), down_after=DOWN_AFTER))


@pytest.fixture
def sentinels(started_sentinels: Sentinels) -> Sentinels:
    """They, over empty servers."""

    def emptied() -> bool:
        with connected(started_sentinels.url) as redis:
            redis.flushall()
        return started_sentinels.takes_writes()

    # The test before may have ended with a failover.
    wait_until(emptied, "the server that the Sentinels name takes no writes")
    return started_sentinels


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    """A connection, to look and to break things."""
    async with open_redis(redis_url) as redis:
        yield redis


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[ApprovalStore]:
    """The records, to look at."""
    redis = open_redis(redis_url)
    yield ApprovalStore(redis, await freeze_meta(redis, "assent", begins=True))
    await redis.aclose()


@pytest.fixture
async def playground() -> AsyncIterator[Playground]:
    """Slack's stand-in, over Socket Mode."""
    async with Playground(limits=False) as started:
        yield started


@pytest.fixture
async def slack(playground: Playground) -> AsyncIterator[Control]:
    """The hands and eyes of the people in Slack."""
    async with Control(playground.url) as control:
        yield control


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One real PostgreSQL for the whole run."""
    found = binaries()
    require("PostgreSQL", found, "its server is not installed (Debian: apt install postgresql)")
    assert found
    yield from serving(PostgresServer(found))


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that is published."""
    return build(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(params=["sqlite", "postgres"])
def threads_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database for the threads of graphs, of each kind that the documentation names."""
    if request.param == "sqlite":
        return str(tmp_path / "threads.db")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.new_database()


@pytest.fixture
def signing(tmp_path_factory: pytest.TempPathFactory) -> Signing:
    """A key for receipts of the stand-in's workspace, and a ring with it, in two files."""
    return make_signing(tmp_path_factory.mktemp("signing"), team=TEAM["id"])


def keys_of(signing: Signing) -> dict[str, str]:
    """Settings of a bot that signs and seals."""
    return {
        "signing_key": signing.key_path.read_text(),
        "seal_key": signing.seal_path.read_text(),
        "ring": str(signing.ring_path),
    }


def settings_for(playground: Playground, redis_url: str, **changed: object) -> Settings:
    """Settings of a bot beside the stand-in, with leases and sweeps of a second."""
    given: dict[str, object] = {
        "SLACK_BOT_TOKEN": playground.bot_token,
        "SLACK_APP_TOKEN": playground.app_token,
        "SLACK_SIGNING_SECRET": playground.signing_secret,
        "SLACK_API_URL": playground.api_url,
        "REDIS_URL": address_for(redis_url, "bot"),
        # With a policy file, they are said there.
        **({} if changed.get("policy") else {"approvers": APPROVERS, "channel": "C0APPROVALS"}),
        "http_host": "127.0.0.1",
        "http_port": 0,
        "lease_seconds": 1.5,
        "sweep_seconds": 0.5,
        "pace": False,
        **changed,
    }
    return Settings(_env_file=None, **given)


@pytest.fixture
async def start_bot(playground: Playground, redis_url: str) -> AsyncIterator[Callable[..., Awaitable[Bot]]]:
    """Start a bot and wait until it is ready: `await start_bot(setting=…)`."""
    async with AsyncExitStack() as stack:

        async def start(**changed: object) -> Bot:
            bot = await stack.enter_async_context(running(settings_for(playground, redis_url, **changed)))
            await until(lambda: bot.health.ready)
            return bot

        yield start


@pytest.fixture
async def everything_is_approved(
    start_bot: Callable[..., Awaitable[Bot]], slack: Control
) -> AsyncIterator[None]:
    """A bot, and somebody who presses every Approve that appears."""

    async def approve() -> None:
        while True:
            for message in await slack.messages("C0APPROVALS"):
                for action in buttons(message) if message.get("blocks") else ():
                    if action.startswith(("approve:", "approve_all:")):
                        # Somebody may have been quicker: this very loop, before the card was drawn again.
                        with suppress(ControlError):
                            await slack.click("U0DANA", message["channel"], message["ts"], action)
            await asyncio.sleep(0.05)

    await start_bot()
    task = asyncio.create_task(approve())
    yield
    task.cancel()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[ApprovalClient]:
    """An agent's client, with reconciling every second."""
    async with an_agent(redis_url) as client:
        yield client


def an_agent(redis_url: str, agent: str = "billing", *, ring: Ring | None = None) -> ApprovalClient:
    """Make another agent's client."""
    second = timedelta(seconds=1)
    return ApprovalClient.from_url(
        address_for(redis_url, "agent", agent),
        agent=agent,
        grace=second,
        claim_lease=second,
        reconcile_every=second,
        ring=ring,
    )


async def until(condition: Callable[[], object], *, within: float = 30.0) -> None:
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
async def unnoticed() -> AsyncIterator[list[str]]:
    """Collect what Python says about errors of tasks that nobody looked at."""
    found: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: found.append(context["message"]))
    yield found
    loop.set_exception_handler(None)


async def forgotten() -> None:
    """Let go of tasks that have ended: only then does Python complain about their errors."""
    await asyncio.sleep(0.05)
    gc.collect()
