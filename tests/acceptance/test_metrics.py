"""What `/metrics` measures of a request on its way."""

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.support.builders import review
from tests.support.faults import eventually

NAMES = [f"assent_time_to_{what}_seconds_{of}" for of in ("count", "sum") for what in ("card", "agent")]


async def test_the_times_to_the_card_and_to_the_agent_are_measured_once(start_bot, client, dana):
    """However often the card is drawn. The numbers are those of all bots of this process."""
    bot = await start_bot()

    async def measured():
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{bot.http.port}/metrics") as answer,
        ):
            families = text_string_to_metric_families(await answer.text())
            samples = {sample.name: sample.value for each in families for sample in each.samples}
        return [samples[name] for name in NAMES]

    before = await measured()
    reviewing = review(client)
    await dana.press(await dana.card("if nobody"), "approve:0")
    await reviewing

    async def took():
        more = [now - was for now, was in zip(await measured(), before, strict=True)]
        return more if all(more[:2]) else None

    cards, answers, to_card, to_agent = await eventually(took)
    assert (cards, answers) == (1, 1)
    assert 0 < to_card < 20
    assert 0 <= to_agent < 20
