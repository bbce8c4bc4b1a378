"""What Slack delivers counts once, and only when it is for this app and this workspace."""

import asyncio
from contextlib import ExitStack

import pytest

from tests.support.builders import review
from tests.support.faults import eventually
from tests.support.people import words
from tests.support.topologies import each_primary


@pytest.fixture(params=["socket", "http"])
async def start(request, start_bot, slack):
    """Start a bot that Slack reaches either way: `await start(setting=…)`."""

    async def started(**changed):
        if request.param == "socket":
            return await start_bot(**changed)
        bot = await start_bot(SLACK_APP_TOKEN=None, **changed)
        await slack.deliver_to(f"http://127.0.0.1:{bot.http.port}/slack/events")
        return bot

    return started


@pytest.mark.parametrize("start", ["socket"], indirect=True)
async def test_a_click_that_comes_twice_opens_one_form_and_says_nothing(start, slack, client, dana):
    """The trigger is used up by the first delivery, also where another bot gets the second one."""
    for _ in range(2):
        await start()
    reviewing = review(client)
    card = await dana.card()
    await slack.delivery(duplicate=True)
    await dana.press(card, "edit:0")
    await slack.wait_for_view("U0DANA")
    async with asyncio.timeout(30):
        while sum(d["outcome"] == "acked" for d in await slack.deliveries("block_actions")) < 2:
            await asyncio.sleep(0.05)

    assert len(await slack.views("U0DANA")) == 1
    assert not [m for m in await slack.messages(as_user="U0DANA") if m.get("ephemeral_for")]
    await slack.delivery(duplicate=False)
    reviewing.cancel()


async def test_a_click_that_failed_half_way_can_be_sent_again(start, client, slack, dana, redis_url):
    """Redis does not take the first one, so it is not acknowledged; the same click is then recorded as if it were the first."""
    await start()
    reviewing = review(client)
    card = await dana.card()
    await slack.fault("users.info", "delay", seconds=0.5)
    pressing = asyncio.create_task(dana.press(card, "approve:0"))
    await asyncio.sleep(0.2)
    with ExitStack() as stack:
        servers = [stack.enter_context(each) for each in each_primary(redis_url)]
        for server in servers:
            server.client_pause(2_000, all=False)
        failed = await pressing
        for server in servers:
            server.client_unpause()
    assert not failed["ack"]["ok"]
    assert failed["ack"]["error"] != "timeout", "Slack still listened"
    await dana.notice("may *not* be recorded")

    assert (await slack.deliver_again(failed["delivery"]))["ack"]["ok"]
    assert (await reviewing).records[0].decided_by == "U0DANA"


FOREIGN = [
    {"api_app_id": "A0OTHER"},
    {"api_app_id": None},
    {"team": {"id": "T0OTHER"}},
    {"team": None},
    {"team": None, "enterprise": {"id": "E0OTHER"}, "is_enterprise_install": True},
]


@pytest.mark.parametrize("start", ["http"], indirect=True)
async def test_a_click_for_another_app_or_workspace_decides_nothing(start, client, slack, dana):
    """It is not acknowledged, so Slack shows that it failed. Who acts from another workspace decides only where they are named."""
    await start(approvers="S0OPS")
    reviewing = review(client)
    card = await dana.card()
    form = await dana.opened(card, "reject:0")
    for forged in FOREIGN:
        await slack.delivery(forge=forged)
        assert not (await dana.press(card, "approve:0"))["ack"]["ok"]
        assert (await dana.fill(form, reason="no"))["result"] == "failed"

    async def acknowledged():
        return (await dana.press(card, "approve:0"))["ack"]["ok"]

    await slack.delivery(forge={"user": {"team_id": "T0OTHER"}})
    # A busy bot may have no time to tell them, and then does not acknowledge.
    await eventually(acknowledged)
    await dana.notice("People of other workspaces may not decide here")
    filled = await dana.fill(form, reason="no")
    assert "People of other workspaces" in words(filled["views"][-1]["blocks"])
    assert not reviewing.done()
    reviewing.cancel()
