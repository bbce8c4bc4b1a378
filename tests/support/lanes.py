"""Tests that need something of this machine: a browser, a server, another Python."""

import importlib.util
import os
import sys
import warnings

import pytest


def require(name: str, available: object, reason: str, *, possible: bool = True) -> None:
    """Skip with the reason when something is missing; fail instead where `ASSENT_REQUIRE_LANES` is set, as in CI.

    What is not `possible` here is another lane's, and is skipped there too.
    """
    if available:
        return
    if possible and os.environ.get("ASSENT_REQUIRE_LANES"):
        pytest.fail(f"{name} is required here, but {reason}", pytrace=False)
    pytest.skip(f"{name}: {reason}", allow_module_level=True)


def require_spoonai() -> None:
    """Skip on Python 3.11, for which SpoonAI's package is not made."""
    # SpoonAI reads the folder's .env when it is imported; a developer's settings of a bot have no place in tests.
    os.environ.setdefault("PYTHON_DOTENV_DISABLED", "1")
    possible = sys.version_info >= (3, 12)
    require(
        "SpoonAI",
        possible and importlib.util.find_spec("spoon_ai"),
        "its package is not installed; it needs Python 3.12: `make versions ON=312`",
        possible=possible,
    )
    with warnings.catch_warnings(record=True):  # fastmcp 2 uses a part of authlib that is deprecated
        importlib.import_module("spoon_ai.agents")


def require_claude() -> None:
    """Skip where the Claude Agent SDK is not, which brings the program of Claude Code: `make claude` installs it."""
    reason = "claude-agent-sdk is not installed, because it has 360 MB: `make claude`"
    possible = "ASSENT_TESTS_CLAUDE" in os.environ
    require("Claude Code", importlib.util.find_spec("claude_agent_sdk"), reason, possible=possible)


def require_mcp() -> None:
    """Skip where the MCP package of the gateway is not: SpoonAI's pins want an older one."""
    found = importlib.util.find_spec("mcp_types")
    require("The MCP gateway", found, "mcp 2 is not installed", possible=sys.version_info < (3, 12))


def require_fastmcp() -> None:
    """Skip where FastMCP is not: only its client is tested, so it is no part of the development environment."""
    found = importlib.util.find_spec("fastmcp")
    require(
        "FastMCP", found, "it is not installed: `make claude`", possible="ASSENT_TESTS_CLAUDE" in os.environ
    )
