"""The OpenAI Agents SDK: a real agent pauses, people decide in Slack, exactly that runs."""

import sys

import pytest

from tests.support.model_api import ModelApi
from tests.support.pages import start_page

FILES = """
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # mcp 1
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("files")

def tool(path: str) -> str:
    return f"{path} is written"

for name in ("write_file", "edit_file", "create_directory", "move_file", "list_directory"):
    server.add_tool(tool, name=name)

server.run()
"""
"""A server with tools of the names that the page's has."""


@pytest.mark.nightly
async def test_the_page_about_it_runs_as_it_stands(everything_is_approved, redis_url, tmp_path):
    """As one program with a real client of a model: every e-mail of the page is sent once it is approved, and the file is written."""
    calls = {"send_email": {"to": "dana@example.com", "body": "Due."}, "write_file": {"path": "open.txt"}}
    script = tmp_path / "files.py"
    script.write_text(FILES)
    npx = '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}'
    server = {npx: repr({"command": sys.executable, "args": [str(script)]})}

    async with ModelApi(**calls).serving() as api:
        printed = await start_page("docs/how-to/use-from-openai-agents.md", redis_url, api.url, server)

    lines = printed.splitlines()
    assert lines[:4] == ["done", "done", "done", "['sent to dana@example.com']"]
    assert lines[-4:] == ["done", "['send_email']", "done", "done"]
    answers = [
        str(item["output"])
        for conversation in api.asked
        for item in conversation
        if isinstance(item, dict) and "output" in item
    ]
    assert "open.txt is written" in answers.pop(2)
    assert answers == ["sent to dana@example.com"] * 6
