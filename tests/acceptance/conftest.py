"""The people who press the buttons, and the policy file that a module of tests is about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.client import Control
from tests.support.people import Someone
from tests.support.redis_users import under_users


@pytest.fixture(autouse=True)
def redis_users() -> Iterator[None]:
    """Bots and agents have users of their own in Redis, with the rights that `python -m bot acl` gives them."""
    with under_users():
        yield


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
