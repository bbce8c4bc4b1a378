"""Approved once for later calls: no wider than it was given, counted, shown, revoked."""

import asyncio

import pytest

from agent_adapter import Context, Outcome
from tests.support.builders import an_action, asking
from tests.support.faults import eventually
from tests.support.people import Someone, buttons, words

PAY = an_action("pay", {"amount": 5, "to": "ACME"})
RULES = """
default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], standing: {scope: agent, lasts: 8h, uses: 20}}
"""


@pytest.fixture
async def review(bot, client):
    """Ask for a batch, in a run of its own; what is not decided is given up at the end."""
    waiting = []

    def ask(*actions, **given):
        waiting.append(asyncio.create_task(client.review(asking(*(actions or (PAY,))), **given)))
        return waiting[-1]

    yield ask
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def give(person: Someone, **chosen: str):
    """Approve the newest card's first action for later calls, too."""
    form = await person.opened(await person.card("rejected at"), "sticky:0")
    await person.fill(form, **chosen)


async def said(slack, saying: str = "standing approval for later calls"):
    """Wait for the message in the thread that says what holds for later calls."""
    return await slack.wait_for_message(
        lambda m: m["user"] == "U0BOT" and m.get("thread_ts") not in {None, m["ts"]} and saying in m["text"]
    )


async def cards(slack):
    """Give the cards, without what stands in their threads."""
    return [
        m
        for m in await slack.messages("C0APPROVALS")
        if m["user"] == "U0BOT" and m.get("thread_ts") in {None, m["ts"]} and m.get("blocks")
    ]


async def is_asked(slack, reviewing, *, card: int):
    """Tell whether a call was asked about, and not run by what was approved before."""

    async def is_there():
        return len(await cards(slack)) >= card

    await eventually(is_there)
    return not reviewing.done()


async def test_the_same_call_runs_without_asking_until_it_is_used_up(slack, review, dana, caplog):
    """The agent gets its answer, no card is posted, and the thread of the first card shows each use; the log, too."""
    caplog.set_level("INFO")
    first = review()
    await give(dana, Where="agent", How_many="2")
    given = (await first).records[0]
    assert (await said(slack))["text"].startswith(
        "<@U0DANA> gave a standing approval for later calls of pay: with the same"
    )

    second = await review(context=Context(requested_by="U0NOOR"))
    third = await review()

    assert [resume.decisions[0].type for resume in (second, third)] == ["approve", "approve"]
    assert given.sticky is None
    assert third.records[0].sticky == f"{(await first).interrupt_id}:0"
    assert third.records[0].decided_by == "U0DANA"
    over = await said(slack, "Used 2 of 2.")
    assert "it was used up" in over["text"]
    assert "for <@U0NOOR>" in words(over["blocks"])
    assert buttons(over) == []
    assert len(await cards(slack)) == 1
    used = [entry.standing for entry in caplog.records if entry.message == "standing.used"]
    assert used == [third.records[0].sticky] * 2
    assert await is_asked(slack, review(), card=2)


async def test_another_call_is_asked_and_one_for_the_giver_and_the_rest_of_a_batch(
    bot, client, slack, review, dana, erik
):
    """So is what was refused and then lost by Redis. A card of a batch says which of its calls run without asking."""
    first = review()
    await give(dana, Where="agent")
    await first

    assert await is_asked(slack, review(context=Context(requested_by="U0DANA")), card=2)
    lost = {"run": "refused", "pauses": ["p"]}
    bot.store.refused.add(client.interrupt(asking(PAY), **lost).id, 0, is_final=True)
    assert await is_asked(slack, review(**lost), card=3)
    batch = review(an_action("pay", {"amount": 5, "to": "ACME "}), PAY)
    card = await erik.card("1 of 2 open")
    assert "Approved* without asking, as <@U0DANA> said before" in words(card["blocks"])
    assert [name for name in buttons(card) if name.startswith("approve")] == ["approve:0"]
    await erik.press(card, "approve:0")
    assert [bool(record.sticky) for record in (await batch).records] == [False, True]


async def test_somebody_revokes_it_in_the_thread(slack, review, dana, erik, noor):
    """Whoever may approve such a call may; others are told that they may not."""
    first = review()
    await give(dana, Where="agent")
    await first
    await noor.press(await said(slack), "revoke:0.0")
    assert "Only <@U0DANA> and people who may approve this" in await noor.notice("can revoke it")

    await erik.press(await said(slack), "revoke:0.0")

    assert "revoked by <@U0ERIK>" in (await said(slack, "Ended"))["text"]
    assert await is_asked(slack, review(), card=2)


async def test_approvals_rules_lists_what_holds_and_revokes_it(slack, review, dana, erik, noor):
    """Each person sees what they may revoke, and nothing else."""
    first = review()
    await give(dana, Where="agent")
    await first
    await slack.command("U0NOOR", "C0APPROVALS", "/approvals", "rules")
    await noor.view("There are no standing approvals that you can revoke")
    await slack.command("U0ERIK", "C0APPROVALS", "/approvals", " Rules ")
    view = await erik.view("<@U0DANA> gave a standing approval for later calls of `pay`")
    assert "Given in <#C0APPROVALS>" in words(view["blocks"])

    await erik.press_in(view, "revoke:0.0")

    await erik.view("There are no standing approvals that you can revoke")
    assert "revoked by <@U0ERIK>" in (await said(slack, "Ended"))["text"]
    await slack.command("U0NOOR", "C0APPROVALS", "/approvals", "help")
    assert "/approvals rules" in await noor.notice("lists the standing approvals")


async def test_who_gave_it_is_called_about_the_calls_that_fail_once_an_hour(slack, review, dana, client):
    """Each of these calls gets a card once it has failed, and only the first one mentions Dana."""
    first = review()
    await give(dana, Where="agent")
    await first
    told = []
    for number in range(2):
        failed = await review()
        await client.report(failed.interrupt_id, 0, Outcome.failed(f"error {number}"))
        told.append(
            await slack.wait_for_message(
                lambda m, number=number: (
                    m.get("thread_ts") not in {None, m["ts"]} and f"error {number}" in words(m.get("blocks"))
                )
            )
        )

    assert [m["text"].startswith("<@U0DANA> ❌ Failed: pay") for m in told] == [True, False]
    assert "<@U0DANA>" not in words(told[1]["blocks"])
    assert ["<@U0DANA>" in words(card["blocks"]) for card in (await cards(slack))[1:]] == [False, False]
