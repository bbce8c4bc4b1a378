"""The gateway between a client and a server of the official package, with people who decide in a real Redis."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from agent_adapter.testing import ScriptedReviewer, approve, edit, reject, respond
from tests.conftest import an_agent
from tests.support.deciding import person
from tests.support.lanes import require_mcp

require_mcp()

from mcp import Client, MCPError  # noqa: E402  # after the check that it is there
from mcp.server import Server  # noqa: E402

from agent_adapter.mcp.call import Caller  # noqa: E402
from agent_adapter.mcp.gateway import Gateway, Rules  # noqa: E402
from agent_adapter.mcp.upstream import Upstream  # noqa: E402
from tests.agent_adapter.mcp.shop import PAY, PICTURE, Shop  # noqa: E402

ORDER = {"order": 7}
SOON = Rules(expires_in=timedelta(seconds=1))


class Counter:
    """A shop, the gateway before it, and what people are asked about."""

    def __init__(self, approvals):
        self.approvals = approvals
        self.done = []
        self.shop = Shop(self.done.append)
        self.gateway = None

    @asynccontextmanager
    async def open(self, rules=Rules(), principal="U0NOOR", run="run-1", mode="legacy", **options):
        """Connect a client through a gateway of its own."""
        async with Client(self.shop.server, mode="legacy", cache=None) as upstream:
            caller = Caller(principal, run, can_return=True)
            self.gateway = Gateway(self.approvals, Upstream("shop", upstream), rules, lambda _: caller)
            served = Server(
                "shop", on_list_tools=self.gateway.list_tools, on_call_tool=self.gateway.call_tool
            )
            async with Client(served, mode=mode, **options) as client:
                yield client


@pytest.fixture
async def counter(redis_url):
    async with an_agent(redis_url) as approvals:
        yield Counter(approvals)


def words(result):
    (part,) = result.content
    return part.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_approved_call_runs_as_it_was_shown(counter, redis_url, mode):
    """For clients of both generations of the protocol. The card has the tool as Claude Code calls it, and its schema."""
    reviewer = ScriptedReviewer([approve()])
    async with person(redis_url, reviewer), counter.open(mode=mode) as client:
        result = await client.call_tool("pay", ORDER)

    assert words(result) == "pay: done"
    assert counter.done == ['pay {"order": 7}']
    assert [(asked.name, asked.args) for asked in reviewer.asked] == [("mcp__shop__pay", ORDER)]
