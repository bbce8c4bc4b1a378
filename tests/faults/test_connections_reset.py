"""Idle connections to Redis are reset, as firewalls and load balancers do: nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvloop

from tests.conftest import an_agent
from tests.support.builders import an_interrupt
from tests.support.faults import CHANNEL, take
from tests.support.proxy import Proxy, proxied

pytestmark = pytest.mark.nightly

"""Seconds in which every process notices that its connections are gone, and none is in the middle of a command."""


@pytest.fixture
async def link(redis_url: str) -> AsyncIterator[Proxy]:
    """A way to Redis that can be reset."""
    async with proxied(redis_url) as link:
        yield link


async def test_an_agent_whose_idle_connections_are_reset_still_gets_its_answer(
    link, start_bot, slack, watcher
):
    """Its wait ends with what was decided, though no connection of it lived from the beginning to the end."""
    await start_bot()
    interrupt = an_interrupt()

    def agent() -> list[str]:
        async def ask() -> list[str]:
            async with an_agent(link.url) as approvals:
                resume = await take(approvals, interrupt)
                return [decision.type for decision in resume.decisions if decision]

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(ask())

    waiting = asyncio.create_task(asyncio.to_thread(agent))
    card = await watcher.card(interrupt.id)
    for _ in range(3):
        await link.reset()
        # Longer than between two looks at its records.
        await asyncio.sleep(1.2)
    await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0")

    assert await asyncio.wait_for(waiting, 60) == ["approve"]
