"""The people who press the buttons, the policy file that a module of tests is about, and the keys that sign."""

import asyncio
import base64
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis as AsyncRedis

from agent_adapter.receipts.key_files import read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import new_signer, public_of
from agent_adapter.redis.pool import SCHEMA
from bot.wiring import Bot
from playground.client import Control
from playground.clusters import Cluster
from playground.demo.keys import Signing
from playground.redis_server import RedisServer
from playground.sentinels import Sentinels
from playground.wait_until import wait_until
from tests.conftest import keys_of, until
from tests.support.people import Someone
from tests.support.redis_users import has_users, under_users
from tests.support.signing import verified
from tests.support.topologies import KEYS, ON, close_to_strangers, connected, hand_over, kill_primary, opened

ENCRYPTED = {
    "test_deciding", "test_editing", "test_http_api", "test_langgraph", "test_proposals", "test_quorum", "test_review",
}  # fmt: skip
"""The modules that show: with encryption, agents and people meet nothing else. The others find what Redis keeps as text."""

FAILOVERS: dict[str, Callable[[Sentinels | Cluster], None]] = {
    "test_audit": hand_over,
    "test_deciding": kill_primary,
    "test_functions": hand_over,
    "test_http_api": kill_primary,
    "test_editing": hand_over,
}
"""On Sentinels and in a cluster, what happens to the primary in each of these modules. None is about silence, standing
approvals or buttons for several calls: for a while after a failover, nothing is approved by them."""


ONLY_ON_ONE_SERVER = {"test_accessibility", "test_page"}
"""The modules that only draw."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out where a server may be replaced: what only draws, and silence, whose deadlines a failover outlasts."""
    if ON == "server":
        return
    left_out = [item for item in items if item.path.stem in ONLY_ON_ONE_SERVER or "silence" in item.name]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One real Redis for these tests. It lets nobody in without a user, if it knows the users that `python -m bot acl` makes."""
    server = RedisServer(Path(tmp_path_factory.mktemp("users")))
    server.start()
    if has_users(server.url):
        close_to_strangers(server.url)
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def redis_users() -> Iterator[None]:
    """Bots, agents, workers and operators have users of their own in Redis, so a right that is missing there fails a test."""
    with under_users():
        yield


@pytest.fixture
def redis_url(redis_url: str) -> str:
    """A bot has been here before: an agent may not begin a namespace."""

    def begun() -> bool:
        with connected(redis_url) as redis:
            redis.hset(KEYS.meta, mapping={"schema": SCHEMA})
        return True

    # The test before may have ended with a failover.
    wait_until(begun, "Redis takes no writes")
    return redis_url


@pytest.fixture(scope="session")
def to_fail_over() -> set[str]:
    """The modules whose failover is still to come in this process."""
    return set(FAILOVERS) if ON in {"sentinel", "cluster"} else set()


@pytest.fixture
def failover(request: pytest.FixtureRequest, to_fail_over: set[str]) -> Callable[[], None]:
    """Fail over once in each module of `FAILOVERS`, when the agent of the test is connected."""
    module: str = request.path.stem
    if module not in to_fail_over:
        return lambda: None
    service = request.getfixturevalue("sentinels" if ON == "sentinel" else "cluster")
    if "client" in request.fixturenames:
        request.getfixturevalue("client")

    def fail_over() -> None:
        if module in to_fail_over:
            to_fail_over.remove(module)
            FAILOVERS[module](service)

    return fail_over


@pytest.fixture
async def start_bot(
    start_bot: Callable[..., Awaitable[Bot]], failover: Callable[[], None]
) -> Callable[..., Awaitable[Bot]]:
    """Start a bot and wait until it is ready: `await start_bot(setting=…)`.

    Where a failover is to come, it happens then. So all connections of the bot and of the agent lead to a former primary,
    and the test goes on as if nothing had been: each press is made once.
    """

    async def start(**changed: object) -> Bot:
        bot = await start_bot(**changed)
        await asyncio.to_thread(failover)
        await until(lambda: bot.health.ready)
        return bot

    return start


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[AsyncRedis]:
    """A connection of somebody who may do everything, to look and to break things."""
    async with opened(redis_url) as redis:
        yield redis


@pytest.fixture
def dana(slack: Control) -> Someone:
    return Someone(slack, "U0DANA")


@pytest.fixture
def erik(slack: Control) -> Someone:
    return Someone(slack, "U0ERIK")


@pytest.fixture
def mira(slack: Control) -> Someone:
    return Someone(slack, "U0MIRA")


@pytest.fixture
def noor(slack: Control) -> Someone:
    return Someone(slack, "U0NOOR")


@pytest.fixture
def policy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The policy file with the `RULES` of the module; `policy.write_text` changes it."""
    path = tmp_path / "policy.yaml"
    path.write_text(request.module.RULES)
    return path


@pytest.fixture
async def bot(request: pytest.FixtureRequest, start_bot: Callable[..., Awaitable[Bot]]) -> Bot:
    """A bot by the `RULES` of the module, or by none."""
    if not hasattr(request.module, "RULES"):
        return await start_bot()
    return await start_bot(policy=str(request.getfixturevalue("policy")))


@pytest.fixture(autouse=True)
def signed(request: pytest.FixtureRequest, signing: Signing, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Bots sign and seal, and agents check, except in tests that are marked as `unsigned`."""
    if getattr(request, "param", True):
        for name, value in keys_of(signing).items():
            monkeypatch.setenv(f"ASSENT_{name.upper()}", value)
        # With a ring, states of runs need a key.
        monkeypatch.setenv("ASSENT_STATE_KEY", base64.b64encode(os.urandom(32)).decode())
        return True
    return False


@pytest.fixture(autouse=True)
def statements(request: pytest.FixtureRequest, signing: Signing) -> Iterator[Callable[[], list[bytes]]]:
    """Give the payloads of all that was signed in this test so far. At its end, another library verifies each."""
    url = request.getfixturevalue("redis_url") if "redis_url" in request.fixturenames else None

    def so_far() -> list[bytes]:
        return verified(url, signing.ring_path) if url else []

    yield so_far
    so_far()


@pytest.fixture
def known_agent(signing: Signing, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent `billing` signs what it asks, so that its questions are read over HTTP where bots sign."""
    signer = new_signer()
    key = RingKey.of(public_of(signer), "agent", namespace="assent", agent="billing")
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    monkeypatch.setenv("ASSENT_AGENT_KEY", signer.private_bytes.decode())


@pytest.fixture(autouse=True)
def encrypted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked and decided is encrypted in Redis: in the modules of `ENCRYPTED`, with `ASSENT_TESTS_ENCRYPTED=1` in all.

    Not in tests that are marked as `unencrypted`: they read or rewrite what is stored.
    """
    is_one = request.path.stem in ENCRYPTED or os.environ.get("ASSENT_TESTS_ENCRYPTED")
    if is_one and not request.node.get_closest_marker("unencrypted"):
        for name in ("ASSENT_RECORD_KEY", "ASSENT_STATE_KEY"):
            monkeypatch.setenv(name, base64.b64encode(os.urandom(32)).decode())
