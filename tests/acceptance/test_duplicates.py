"""A click that is delivered twice: it opens its form once, and nobody reads an error."""

import asyncio

import pytest

from agent_adapter import HITLRequest
from tests.support.builders import an_action
from tests.support.people import Someone


def review(client, **action):
    request, config = an_action(**action)
    batch = HITLRequest(action_requests=(request,), review_configs=(config,))
    return asyncio.create_task(client.review(batch))


@pytest.mark.parametrize("replicas", [1, 2])
async def test_a_click_that_comes_twice_opens_one_form_and_says_nothing(start_bot, slack, client, replicas):
    """The trigger is used up by the first delivery; the second has nothing to say, in this bot and in another."""
    for _ in range(replicas):
        await start_bot()
    dana = Someone(slack, "U0DANA")
    reviewing = review(client)
    card = await dana.card()
    await slack.delivery(duplicate=True)

    await dana.press(card, "edit:0")
    await slack.wait_for_view("U0DANA")
    await _delivered(slack, 2)

    assert len(await slack.views("U0DANA")) == 1
    assert await private_words(slack) == []
    await slack.delivery(duplicate=False)
    reviewing.cancel()
    await asyncio.gather(reviewing, return_exceptions=True)


async def _delivered(slack, count):
    async with asyncio.timeout(30):
        while sum(d["outcome"] == "acked" for d in await slack.deliveries("block_actions")) < count:
            await asyncio.sleep(0.05)


async def private_words(slack):
    return [
        message["text"]
        for message in await slack.messages("C0APPROVALS", as_user="U0DANA")
        if message.get("ephemeral_for")
    ]


async def test_a_click_whose_trigger_is_too_old_is_answered(start_bot, slack, client):
    """No delivery of it opened the form, so the person reads that they have to press again."""
    await start_bot()
    dana = Someone(slack, "U0DANA")
    reviewing = review(client)
    card = await dana.card()
    await slack.fault("views.open", "error", error="expired_trigger_id")

    await dana.press(card, "edit:0")

    await dana.notice("could not be opened")
    reviewing.cancel()
    await asyncio.gather(reviewing, return_exceptions=True)
