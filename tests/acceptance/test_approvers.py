"""Who may decide, as an operator names them."""

import asyncio
import time
from types import SimpleNamespace

from agent_adapter import HITLRequest
from tests.support.builders import an_action
from tests.support.people import Someone, words


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
    assert "Approvers are <!subteam^S0OPS>" in await noor.notice("not an approver")

    await slack.group("S0OPS", users=["U0DANA", "U0NOOR"])
    await slack.event({"type": "subteam_members_changed", "subteam_id": "S0OPS"})
    await noor.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0NOOR"


async def test_somebody_taken_out_of_a_group_decides_no_more_within_a_minute(
    start_bot, slack, client, monkeypatch
):
    """Likewise, while the card is open and their membership is still remembered."""
    shift = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + shift)
    monkeypatch.setattr("bot.slack.directory.time", clock)
    await start_bot(approvers="S0OPS")
    erik, dana = Someone(slack, "U0ERIK"), Someone(slack, "U0DANA")
    reviewing = review(client)
    card = await erik.card()
    form = await erik.opened(card, "reject:0")
    await slack.group("S0OPS", users=["U0DANA"])

    shift = 61.0
    await erik.fill(form, reason="no")
    [said] = await slack.views("U0ERIK")
    assert "You are not an approver of this" in words(said["blocks"])
    await dana.press(card, "approve:0")

    assert (await reviewing).records[0].decided_by == "U0DANA"


async def test_members_of_the_channel_decide(start_bot, slack, client):
    """With `channel` every full member of the card's channel may, and a guest there may not."""
    await start_bot(approvers="channel")
    noor, guest = Someone(slack, "U0NOOR"), Someone(slack, "U0GUEST")
    reviewing = review(client)
    card = await noor.card()
    await guest.press(card, "approve:0")
    await guest.notice("Guests may not decide here")
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
