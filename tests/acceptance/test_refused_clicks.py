"""Who pressed in vain is in the audit trail, with why, and without what the call is about."""

import asyncio

import pytest

from tests.support.builders import an_action, review
from tests.support.people import Someone


@pytest.fixture
async def bot(start_bot):
    return await start_bot()


async def entered(bot, event, count=1):
    """Wait for entries of a kind, and give them without what differs each time."""
    found = []
    async with asyncio.timeout(30):
        while len(found) < count:
            trail = await bot.store._redis.xrange(bot.store.keys.audit)
            found = [fields for _, fields in trail if fields["event"] == event]
            await asyncio.sleep(0.05)
    return [
        {name: text for name, text in each.items() if name not in {"event", "id", "seq"}} for each in found
    ]


async def test_a_click_of_somebody_who_may_not_decide_is_entered_once(bot, client, slack, dana):
    """The record is judged twice, from memory and anew."""
    await slack.channel("C0APPROVALS", members=["U0BOT", "U0DANA", "U0NOOR"])
    reviewing = review(client, an_action("pay", {"iban": "DE44"}))
    card = await dana.card()
    noor = Someone(slack, "U0NOOR")
    await noor.press(card, "approve:0")
    await noor.notice("can decide this")
    await dana.press(card, "approve:0")
    await reviewing

    assert await entered(bot, "click_refused") == [
        {"index": "0", "by": "U0NOOR", "button": "approve", "code": "not_allowed"}
    ]


async def test_a_click_that_comes_too_late_is_entered(bot, client, dana, erik):
    reviewing = review(client)
    card = await dana.card()
    await dana.press(card, "approve:0")
    await reviewing

    await erik.press(card, "approve:0")

    (found,) = await entered(bot, "click_refused")
    assert (found["by"], found["button"]) == ("U0ERIK", "approve")
    assert found["code"] in {"outdated", "refused"}


async def test_a_click_that_an_error_kept_from_being_stored_is_entered(bot, client, slack, dana):
    """Slack does not say who they are."""
    reviewing = review(client)
    card = await dana.card()
    await slack.fault("users.info", "error", times=None, error="internal_error")

    await slack.click("U0DANA", card["channel"], card["ts"], "approve:0")

    (found,) = await entered(bot, "click_failed")
    assert (found["by"], found["button"]) == ("U0DANA", "approve")
    assert found["code"].endswith("Error")
    reviewing.cancel()
