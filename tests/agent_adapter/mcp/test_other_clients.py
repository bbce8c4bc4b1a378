"""Clients of others before the real command: FastMCP's, and Claude Code's real program, offline."""

# ruff: noqa: E402  # where mcp 2 is not installed there is nothing to import

import asyncio
import importlib
import sys

import pytest

from agent_adapter.claude import check
from agent_adapter.claude.messages import MessagesApi
from agent_adapter.claude.settings import write
from agent_adapter.testing import ScriptedReviewer, approve, edit, reject
from tests.support.deciding import person
from tests.support.lanes import require_claude, require_fastmcp, require_mcp

require_mcp()

from tests.agent_adapter.mcp.places import ORDER, PAID

DECISIONS = [
    (approve(), "pay: done", [PAID]),
    (edit({"order": 8}), "pay: done", ['pay {"order": 8}']),
    (reject("not today"), "mcp__shop__pay was rejected and did not run: not today", []),
]


@pytest.mark.parametrize(("answer", "text", "done"), DECISIONS)
async def test_the_client_of_fastmcp(place, redis_url, answer, text, done):
    """It starts the gateway, and reads what people decided."""
    require_fastmcp()
    fastmcp = importlib.import_module("fastmcp")
    server = {"command": sys.executable, "args": place.command(), "env": place.environment}
    config = {"mcpServers": {"shop": server}}
    async with person(redis_url, ScriptedReviewer([answer])), fastmcp.Client(config) as client:
        assert "pay" in {tool.name for tool in await client.list_tools()}
        result = await client.call_tool("pay", ORDER, raise_on_error=False)

    assert result.content[0].text == text
    assert place.done == done


@pytest.mark.parametrize(("answer", "text", "done"), DECISIONS)
async def test_claude_code(place, redis_url, tmp_path, answer, text, done):
    """From what the page writes into `.mcp.json`, with the tools of the gateway allowed."""
    require_claude()
    project, home = tmp_path / "project", tmp_path / "home"
    server = {"command": sys.executable, "args": place.command(), "env": place.environment}
    write(project / ".mcp.json", {"mcpServers": {"shop": server}})
    write(home / ".claude.json", {"projects": {str(project): {"hasTrustDialogAccepted": True}}})
    options = ("--mcp-config", ".mcp.json", "--allowedTools", "mcp__shop__*")
    async with person(redis_url, ScriptedReviewer([answer])):
        with MessagesApi([("mcp__shop__pay", ORDER)]) as api:
            await asyncio.to_thread(check.run_cli, check.find_cli(), project, home, api.url, options)

    assert text in api.results["toolu_00"]
    assert place.done == done
