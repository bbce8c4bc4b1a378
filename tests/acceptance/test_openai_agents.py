"""The OpenAI Agents SDK: a real agent pauses, people decide in Slack, exactly that runs."""

import asyncio
import sys

import pytest

from agent_adapter.integrations.openai_agents import run
from tests.agent_adapter.integrations.desk import DONE, MAIL, Desk, says
from tests.support.model_api import ModelApi
from tests.support.pages import start_page
from tests.support.people import Someone, buttons

CANCEL = ("cancel_order", {"order": 7, "reason": "late"})


@pytest.fixture
def dana(slack, bot):
    return Someone(slack, "U0DANA")


async def test_a_decision_for_the_run_is_asked_once(dana, client):
    """Given a tool that may be decided for good, when it is approved for the run, then its next call is not asked about."""
    desk = Desk()
    again = says(("cancel_order", {"order": 8, "reason": "x"}), first_call=2)
    agent = desk.agent(says(CANCEL), again, says(("send_email", MAIL), first_call=3), DONE)
    running = asyncio.create_task(run(agent, "go", approvals=client, allow_always=["cancel_order"]))

    form = await dana.opened(await dana.card("cancel_order"), "for_run:0")
    await dana.slack.submit("U0DANA", form["id"])
    mail = await dana.card("send_email")
    assert desk.ran == [CANCEL, ("cancel_order", {"order": 8, "reason": "x"})]
    assert "for_run:0" not in buttons(mail)
    await dana.press(mail, "approve:0")
    await running

    assert desk.names() == ["cancel_order", "cancel_order", "send_email"]


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
