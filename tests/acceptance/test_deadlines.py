"""While nobody decides: reminders, more people, more time, and somebody who is looking."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from agent_adapter import HITLRequest
from playground.errors import ControlError
from tests.support.builders import an_action
from tests.support.people import Someone, buttons, words

SECOND = timedelta(seconds=1)


@pytest.fixture
async def finance(slack):
    """A second channel, where the bot is."""
    return await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA", "U0DANA"])


@pytest.fixture
def start(start_bot, finance, tmp_path) -> Callable:
    """Start bots by a default with these keys."""

    async def start(*keys: str, replicas: int = 1):
        path = tmp_path / "policy.yaml"
        given = {"channel": "C0APPROVALS", "approvers": "[U0DANA, U0ERIK]"}
        lines = [f"  {name}: {value}" for name, value in given.items()] + [f"  {key}" for key in keys]
        path.write_text("\n".join(["default:", *lines]))
        return [await start_bot(policy=str(path), approvers="", channel=None) for _ in range(replicas)]

    return start


def review(client, *actions, **fields):
    requests, configs = zip(*(actions or (an_action("pay"),)), strict=True)
    batch = HITLRequest(action_requests=requests, review_configs=configs)
    return asyncio.create_task(client.review(batch, **fields))


async def remarks(slack, channel="C0APPROVALS"):
    """Give what the bot said in the threads of a channel."""
    return [
        message["text"]
        for message in await slack.messages(channel)
        if message["user"] == "U0BOT" and message.get("thread_ts") not in {None, message["ts"]}
    ]


async def remark(slack, saying, channel="C0APPROVALS"):
    """Wait for a word in a thread."""
    async with asyncio.timeout(30):
        while not (found := [text for text in await remarks(slack, channel) if saying in text]):
            await asyncio.sleep(0.02)
    return found[0]


async def card_in(slack, channel, saying=""):
    """Wait for the card of a channel."""
    async with asyncio.timeout(30):
        while True:
            for message in await slack.messages(channel):
                if message.get("thread_ts") in {None, message["ts"]} and saying in words(
                    message.get("blocks")
                ):
                    return message
            await asyncio.sleep(0.02)


async def test_nobody_answers_and_it_is_escalated_after_a_reminder(start, slack, client):
    """Once, however many replicas run: a call in the thread, then a card elsewhere, for more people; each can decide."""
    await start(
        "reminders: [1s]",
        "escalation: {after: 3s, approvers: [U0MIRA], channel: C0FINANCE}",
        replicas=2,
    )
    mira = Someone(slack, "U0MIRA")
    reviewing = review(client)
    card = await card_in(slack, "C0APPROVALS")
    await mira.press(card, "approve:0")
    await mira.notice("can decide this")

    asked = 'pay "dana@example.com"'
    assert await remark(slack, "Still") == f"Still waiting: {asked}. Approvers: <@U0DANA>, <@U0ERIK>."
    escalated = await card_in(slack, "C0FINANCE")
    assert "<@U0DANA>, <@U0ERIK> or <@U0MIRA> decides" in words(escalated["blocks"])
    assert "also asked in <#C0APPROVALS>" in words(escalated["blocks"])
    assert "so it is asked in <#C0FINANCE> as well" in await remark(slack, f"Nobody has decided {asked} yet")
    await card_in(slack, "C0APPROVALS", "also asked in <#C0FINANCE>")
    await mira.press(escalated, "approve:0")
    resume = await reviewing

    assert (resume.decisions[0].type, resume.records[0].decided_by) == ("approve", "U0MIRA")
    for channel in ("C0APPROVALS", "C0FINANCE"):
        assert "approve:0" not in buttons(await card_in(slack, channel, "the agent has resumed"))
    assert (len(await remarks(slack)), len(await remarks(slack, "C0FINANCE"))) == (2, 0)


async def test_people_give_themselves_more_time_and_the_agent_waits(start, slack, client):
    """The button comes late, works once for each time that it is shown, and moves the agent's own deadline too."""
    await start("extend: {by: 20s, times: 2}")
    dana, noor = Someone(slack, "U0DANA"), Someone(slack, "U0NOOR")
    reviewing = review(client, expires_in=8 * SECOND)
    assert "extend:0" not in buttons(await card_in(slack, "C0APPROVALS"))
    card = await card_in(slack, "C0APPROVALS", "Extend by 20 seconds")
    await noor.press(card, "extend:0")
    await noor.notice("can decide this")
    await asyncio.gather(dana.press(card, "extend:0"), dana.press(card, "extend:0"))

    assert "<@U0DANA> moved the deadline of pay" in await remark(slack, "moved the deadline")
    with pytest.raises(ControlError):
        await dana.press(await card_in(slack, "C0APPROVALS"), "extend:0")
    await dana.press(await card_in(slack, "C0APPROVALS"), "approve:0")

    assert (await reviewing).decisions[0].type == "approve"
    assert len(await remarks(slack)) == 1


async def test_somebody_looks_and_others_may_still_decide(start, slack, client):
    """The card says who; it is over by itself."""
    await start("assign: 4s")
    dana, erik, noor = (Someone(slack, user) for user in ("U0DANA", "U0ERIK", "U0NOOR"))
    reviewing = review(client)
    card = await card_in(slack, "C0APPROVALS")
    await noor.press(card, "claim:0")
    await noor.notice("can decide this")

    await dana.press(card, "claim:0")

    claimed = await card_in(slack, "C0APPROVALS", "<@U0DANA> is looking at this, until")
    assert "claim:0" not in buttons(claimed)
    await erik.press(claimed, "hand_over:0")
    await erik.notice("Only <@U0DANA>, who is looking at this, can hand it over.")
    free = await card_in(slack, "C0APPROVALS", "I am looking at this")
    assert "is looking at this, until" not in words(free["blocks"])
    await dana.press(free, "claim:0")
    await erik.press(await card_in(slack, "C0APPROVALS", "is looking at this, until"), "approve:0")

    assert (await reviewing).records[0].decided_by == "U0ERIK"
    done = await card_in(slack, "C0APPROVALS", "the agent has resumed")
    assert "is looking" not in words(done["blocks"])


async def test_the_assigned_person_hands_it_over_to_somebody_who_may_decide(start, slack, client):
    """They are called in the thread, and the card says so."""
    await start("assign: 10m")
    dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
    reviewing = review(client, an_action("pay"), an_action("mail"))
    await dana.press(await card_in(slack, "C0APPROVALS"), "claim:0")
    form = await dana.opened(await card_in(slack, "C0APPROVALS", "Hand over…"), "hand_over:0")
    await dana.fill(form, who="U0NOOR")
    refused = await slack.wait_for_view("U0DANA")
    assert "<@U0NOOR> may not decide this, so it stays with you." in words(refused["blocks"])
    await slack.close_view("U0DANA", refused["id"], clear=True)

    form = await dana.opened(await card_in(slack, "C0APPROVALS", "Hand over…"), "hand_over:0")
    await dana.fill(form, who="U0ERIK")

    said = await remark(slack, "hands pay")
    asked = 'pay "dana@example.com", mail "dana@example.com"'
    assert said == f"<@U0DANA> hands {asked} over to <@U0ERIK>. Everybody who may decide still can."
    card = await card_in(slack, "C0APPROVALS", "<@U0ERIK> is looking at this")
    await erik.press_one(card, "approve:0")
    # Whoever decides is not looking any more.
    card = await card_in(slack, "C0APPROVALS", "I am looking at this")
    await erik.press(card, "approve:1")
    assert [record.decided_by for record in (await reviewing).records] == ["U0ERIK", "U0ERIK"]
