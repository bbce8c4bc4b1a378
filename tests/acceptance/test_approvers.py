"""Who may decide, as an operator names them."""

import asyncio

from agent_adapter import HITLRequest
from tests.support.builders import an_action
from tests.support.people import Someone


def review(client):
    request, config = an_action()
    return asyncio.create_task(
        client.review(HITLRequest(action_requests=(request,), review_configs=(config,)))
    )


async def test_members_of_a_user_group_decide(start_bot, slack, client):
    """With a group as approver its members may, others not, and a new member may once Slack says so."""
    await start_bot(approvers="S0OPS")
    mira, noor = Someone(slack, "U0MIRA"), Someone(slack, "U0NOOR")
    reviewing = review(client)
    card = await mira.card()
    await noor.press(card, "approve:0")
    assert "Only <!subteam^S0OPS>" in await noor.notice("can decide this")

    await slack.group("S0OPS", users=["U0DANA", "U0NOOR"])
    await slack.event({"type": "subteam_members_changed", "subteam_id": "S0OPS"})
    await noor.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0NOOR"


async def test_slack_not_saying_who_somebody_is_decides_nothing(start_bot, slack, client):
    """When people cannot be looked up, a click is refused and can be repeated, and a form keeps what was typed."""
    await start_bot(approvers="S0OPS")
    dana = Someone(slack, "U0DANA")
    reviewing = review(client)
    card = await dana.card()
    form = await dana.opened(card, "reject:0")
    await slack.event({"type": "subteam_members_changed", "subteam_id": "S0OPS"})
    await slack.fault("usergroups.users.list", "error", error="fatal_error", times=None)
    await dana.press(card, "approve:0")
    await dana.notice("Slack did not say in time who you are")
    kept = await dana.fill(form, reason="no")
    assert kept["result"] == "errors"
    await slack.clear_faults()
    await dana.fill(form, reason="no")

    assert (await reviewing).decisions[0].message == "no"


async def test_a_copy_of_a_button_elsewhere_decides_nothing(start_bot, slack, client, playground):
    """A genuine button value in another message, even of our own app, is no card of this record."""
    bot = await start_bot(approvers="channel")
    noor = Someone(slack, "U0NOOR")
    reviewing = review(client)
    card = await noor.card()
    forged = [{"type": "actions", "block_id": "x", "elements": [button_of(card, "approve:0")]}]
    await slack.channel("C0SHARED", members=["U0BOT", "U0NOOR"])
    ts = (await bot.slack.posting.chat_postMessage(channel="C0SHARED", text="Lunch?", blocks=forged))["ts"]
    await slack.click("U0NOOR", "C0SHARED", ts, "approve:0")
    await noor.notice("no longer has the record of this card")
    await noor.fill(await noor.opened(card, "reject:0"))

    assert (await reviewing).decisions[0].type == "reject"


def button_of(card, action_id):
    return next(
        e
        for b in card["blocks"]
        if b["type"] == "actions"
        for e in b["elements"]
        if e["action_id"] == action_id
    )
