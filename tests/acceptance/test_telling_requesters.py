"""The person for whom an agent acts reads the outcome, where the policy says so."""

import pytest

from agent_adapter import Context
from tests.conftest import an_agent
from tests.support.builders import an_action, review
from tests.support.people import words

RULES = """
default:
  channel: C0APPROVALS
  approvers: [U0DANA, U0ERIK]
  tell_requester: direct
rules:
  - name: in the thread
    match: {tool: deploy}
    tell_requester: thread
  - name: secrets
    match: {tool: connect}
    mask: [password]
    modal_only: [notes]
  - name: not told
    match: {tool: ping}
    tell_requester: "no"
agents:
  billing: {requester: agent}
"""
MIRA = Context(requested_by="U0MIRA")


@pytest.fixture
async def bot(start_bot, policy):
    """A bot by these rules."""
    return await start_bot(policy=str(policy), approvers="", channel=None)


async def told(slack, saying=""):
    """Wait for what a requester reads."""
    return await slack.wait_for_message(
        lambda m: "on your behalf" in words(m.get("blocks") or []) and saying in words(m["blocks"])
    )


async def all_told(slack):
    """Give every message for a requester."""
    return [m for m in await slack.messages() if "on your behalf" in words(m.get("blocks") or [])]


@pytest.mark.usefixtures("bot")
async def test_a_requester_reads_in_a_direct_message_who_decided_what(client, slack, dana):
    """With the words of who said no, and without any argument."""
    reviewing = review(client, an_action("pay", {"to": "ann"}), context=MIRA)
    await dana.fill(await dana.opened(await dana.card(), "reject:0"), Reason="Wrong account.")
    await reviewing

    message = await told(slack, "Rejected by Dana")

    assert message["channel"].startswith("D")
    assert "It did not run." in words(message["blocks"])
    assert "Wrong account." in words(message["blocks"])
    assert "ann" not in words(message["blocks"]) + message["text"]


@pytest.mark.usefixtures("bot")
async def test_in_a_thread_it_is_told_without_the_words_of_people(client, slack, dana):
    """Others read there; and nobody is notified by a mention."""
    await slack.channel("C0OTHER", members=["U0MIRA", "U0BOT"])
    first = await slack.message("U0MIRA", "C0OTHER", "Please deploy.")
    reviewing = review(client, an_action("deploy"), context=MIRA, channel="C0OTHER", thread_ts=first["ts"])
    await dana.fill(await dana.opened(await dana.card(), "reject:0"), Reason="Not on Friday.")
    await reviewing

    message = await told(slack, "Rejected by Dana")

    assert (message["channel"], message["thread_ts"]) == ("C0OTHER", first["ts"])
    assert "Friday" not in words(message["blocks"])
    assert "<@U0MIRA>" not in words(message["blocks"])


@pytest.mark.usefixtures("bot")
async def test_an_edit_tells_no_argument(client, slack, dana):
    """Neither the old value nor the new one, whether masked, only in a modal, or neither."""
    args = {"password": "hunter2", "notes": "patient 7", "host": "db-1"}
    reviewing = review(client, an_action("connect", args), context=MIRA)
    card = await dana.card()
    await dana.press_in(await dana.opened(card, "read:0"), "finish:0")
    await reviewing

    message = await told(slack, "Approved")

    shown = str(message)
    assert not [value for value in args.values() if value in shown]


async def test_a_requester_whom_only_the_agent_names_is_not_told(start_bot, policy, redis_url, slack, dana):
    """Otherwise an agent could have the bot write to anybody."""
    bot = await start_bot(policy=str(policy), approvers="", channel=None)
    async with an_agent(redis_url, "rogue") as client:
        reviewing = review(client, an_action("pay"), context=MIRA)
        await dana.press(await dana.card(), "approve:0")
        await reviewing
        [interrupt_id] = [each async for page in bot.store.all_ids() for each in page]

        assert not (await bot.store.admitted(interrupt_id)).told
        assert not await all_told(slack)


async def test_it_is_told_once_however_many_bots_there_are(start_bot, policy, client, slack, dana):
    """Also when Slack's answer to the post is lost: the next bot finds the message and keeps it."""
    for _ in range(2):
        await start_bot(policy=str(policy), approvers="", channel=None)
    reviewing = review(client, an_action("pay"), context=MIRA)
    card = await dana.card()
    await slack.fault("chat.postMessage", "accept_then_drop", times=1)
    await dana.press(card, "approve:0")
    await reviewing

    await told(slack, "Approved by Dana")
    assert len(await all_told(slack)) == 1
