"""Filled-in forms, from the button to the agent: with a client that trims what is typed, and one that does not."""

import asyncio

import pytest

from agent_adapter import HITLRequest
from bot.rendering.modal.inputs import EMPTY
from tests.support.builders import an_action
from tests.support.people import Someone, block_of, has_input, words


@pytest.fixture(params=[False, True], ids=["as typed", "trimmed"])
async def trims(request, slack):
    """Slack's client may trim texts; the stand-in does either."""
    await slack.delivery(trim=request.param)
    return request.param


@pytest.fixture
async def dana(start_bot, slack, trims):
    await start_bot()
    return Someone(slack, "U0DANA")


def review(client, args, schema=None):
    request, config = an_action(args=args, schema=schema)
    batch = HITLRequest(action_requests=(request,), review_configs=(config,))
    return asyncio.create_task(client.review(batch))


async def edited(reviewing):
    return (await reviewing).decisions[0].edited_action.args


async def test_an_emptied_text_comes_back_with_a_box_that_asks_what_it_means(client, dana):
    """Nothing runs without a text, or with an empty one, that nobody meant. Each emptied field gets its tick."""
    texts = {"type": "object", "properties": {"body": {"type": "string"}, "to": {"type": "string"}}}
    reviewing = review(client, {"body": "Dear Al", "to": "dana"}, texts)
    form = await dana.opened(await dana.card(), "edit:0")

    assert not has_input(form, EMPTY.label)
    asked = (await dana.fill(form, body="", to="erik"))["views"][-1]
    assert "You emptied a field." in words(asked["blocks"])
    both = (await dana.fill(asked, to=""))["views"][-1]
    assert not reviewing.done()

    filled = await dana.fill(both, **{EMPTY.label: [block_of(form, name) for name in ("body", "to")]})
    assert filled["result"] == "clear"
    assert await edited(reviewing) == {"body": "", "to": ""}


async def test_what_nobody_touched_runs_byte_for_byte(client, dana):
    """Also what the client would trim, and an empty text of the agent."""
    args = {"code": "\n    x = 1\r\n\n", "note": "", "blank": "  ", "to": "dana"}
    reviewing = review(client, args)
    form = await dana.opened(await dana.card(), "edit:0")

    assert (await dana.fill(form, to="erik"))["result"] == "clear"
    assert await edited(reviewing) == {**args, "to": "erik"}
