"""An MCP server behind the gateway: the page's own `.mcp.json`, the real bot, and Dana, who presses Approve."""

# ruff: noqa: E402  # where mcp 2 is not installed there is nothing to import

import json
import sys

import pytest

from tests.support.lanes import require_mcp
from tests.support.pages import fenced, page
from tests.support.redis_users import address_for

require_mcp()

from mcp import Client, StdioServerParameters

from tests.agent_adapter.mcp.places import ORDER, PAID, SHOP, Place, words

PAGE = "docs/how-to/use-from-mcp.md"


@pytest.mark.usefixtures("everything_is_approved")
async def test_what_the_page_writes_into_the_file_of_a_client_works(redis_url, tmp_path):
    """With this machine's Python, Redis and server in place of the reader's."""
    place = Place(address_for(redis_url, "agent", "mcp"), tmp_path)
    first, *_ = fenced(page(PAGE), "json")
    server = json.loads(first)["mcpServers"]["files"]
    own = server["args"][: server["args"].index("--") + 1]
    parameters = StdioServerParameters(
        command=sys.executable, args=[*own, *SHOP, str(place.book)], env=place.environment
    )

    async with Client(parameters) as client:
        result = await client.call_tool("pay", ORDER)

    assert words(result) == "pay: done"
    assert place.done == [PAID]
