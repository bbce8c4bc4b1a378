"""The people who press the buttons, the policy file that a module of tests is about, and the keys that sign."""

import base64
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from agent_adapter.contract.keys import Keys
from agent_adapter.receipts.key_files import Signing, read_keys, write_keys
from agent_adapter.receipts.ring import RingKey
from agent_adapter.receipts.signer import LocalSigner
from agent_adapter.redis.pool import SCHEMA
from playground.client import Control
from tests.conftest import keys_of
from tests.support.people import Someone
from tests.support.redis_users import under_users
from tests.support.signing import verified


@pytest.fixture(autouse=True)
def redis_users() -> Iterator[None]:
    """Bots and agents have users of their own in Redis, with the rights that `python -m bot acl` gives them."""
    with under_users():
        yield


@pytest.fixture
def redis_url(redis_url: str) -> str:
    """A bot has been here before: an agent may not begin a namespace."""
    with Redis.from_url(redis_url) as redis:
        redis.hset(Keys().meta, mapping={"schema": SCHEMA, "lanes": 1})
    return redis_url


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[AsyncRedis]:
    """A connection of somebody who may do everything, to look and to break things."""
    async with AsyncRedis.from_url(redis_url, decode_responses=True) as redis:
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
def policy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The policy file with the `RULES` of the module; `policy.write_text` changes it."""
    path = tmp_path / "policy.yaml"
    path.write_text(request.module.RULES)
    return path


@pytest.fixture(autouse=True)
def signed(request: pytest.FixtureRequest, signing: Signing, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Bots sign and seal, and agents check, except in tests that are marked as `unsigned`."""
    if getattr(request, "param", True):
        for name, value in keys_of(signing).items():
            monkeypatch.setenv(f"ASSENT_{name.upper()}", value)
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
    signer = LocalSigner.generate()
    key = RingKey.of(signer.public, "agent", namespace="assent", agent="billing")
    write_keys(signing.ring_path, [*read_keys(signing.ring_path), key])
    monkeypatch.setenv("ASSENT_AGENT_KEY", signer.private_pem())


@pytest.fixture(autouse=True)
def encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `ASSENT_TESTS_ENCRYPTED=1`, what is asked and decided is encrypted in Redis."""
    if os.environ.get("ASSENT_TESTS_ENCRYPTED"):
        for name in ("ASSENT_RECORD_KEY", "ASSENT_STATE_KEY"):
            monkeypatch.setenv(name, base64.b64encode(os.urandom(32)).decode())
