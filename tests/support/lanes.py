"""Tests that need something of this machine: a browser, a server, another Python."""

import os

import pytest


def require(name: str, available: object, reason: str) -> None:
    """Skip with the reason when something is missing; fail instead where `ASSENT_REQUIRE_LANES` is set, as in CI."""
    if available:
        return
    if os.environ.get("ASSENT_REQUIRE_LANES"):
        pytest.fail(f"{name} is required here, but {reason}", pytrace=False)
    pytest.skip(f"{name}: {reason}")
