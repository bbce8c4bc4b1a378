"""What `/metrics` measures of a request on its way."""

import asyncio

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent_adapter import HITLRequest
from tests.support.builders import an_action
from tests.support.people import Someone


@pytest.fixture
def measured():
    """Give one value of a bot: `await measured(bot, name)`. The numbers are those of all bots of this process."""

    async def get(bot, name):
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{bot.http.port}/metrics") as answer,
        ):
            families = text_string_to_metric_families(await answer.text())
            return {sample.name: sample.value for each in families for sample in each.samples}[name]

    return get


async def test_the_times_to_the_card_and_to_the_agent_are_measured(start_bot, client, slack, measured):
    """Each request once, however often its card is drawn."""
    names = [f"assent_time_to_{what}_seconds_{ending}" for what in ("card", "agent") for ending in ("count", "sum")]  # fmt: skip
    bot = await start_bot()
    before = [await measured(bot, name) for name in names]
    action, config = an_action()
    request = HITLRequest(action_requests=(action,), review_configs=(config,))
    review = asyncio.create_task(client.review(request))
    dana = Someone(slack, "U0DANA")
    card = await dana.card("if nobody")
    await dana.press(card, "approve:0")
    await review

    async def all_are_counted():
        return [await measured(bot, name) for name in names[::2]] == [count + 1 for count in before[::2]]

    async with asyncio.timeout(20):
        while not await all_are_counted():
            await asyncio.sleep(0.1)
    took = [await measured(bot, name) - was for name, was in zip(names, before, strict=True)]
    assert took[0] == took[2] == 1
    assert 0 <= took[3] < 20
    assert 0 < took[1] < 20
