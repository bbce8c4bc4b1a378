"""A deadline while the primary is replaced: silence approves nothing that somebody has rejected."""

import asyncio
from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import RejectDecision
from bot.jobs.deadlines import Deadlines
from bot.jobs.lost_clicks import LostClicks
from bot.jobs.presenter import Presenter
from bot.store.records import ApprovalStore
from tests.bot.store.test_votes import DANA, MIRA, SILENT, asked, for_several, is_shown, newest, press
from tests.bot.store.test_written_again import APPROVED, REJECTED, bots, replica
from tests.support.builders import an_action, an_interrupt

__all__ = ["bots", "replica"]
CALLS = {"by_silence": True, "life": 900}


@pytest.mark.parametrize("is_noticed", [True, False], ids=["noticed", "not noticed yet"])
async def test_silence_does_not_approve_over_a_rejection_that_a_failover_lost_while_slack_was_asked(
    client, bots, replica, store, is_noticed
):
    """Slack may take eight seconds to say whether the card is still there. Dana had rejected one of two calls."""
    drawing, clicks = bots
    drawing.scripts.journal.meet(("the former server",))
    state = await asked(client, drawing, 2, **CALLS)
    await is_shown(drawing, state)
    await replica.replicate()
    assert await press(clicks, state, DANA, REJECTED, 0) == ["recorded"]
    await asyncio.sleep(1.0)

    async def why_not(_seen):
        await replica.take_over(*(bots if is_noticed else [clicks]))
        return ""

    assert await Deadlines(drawing, why_not).on_due(state.id) is not None
    assert await clicks.scripts.write_again(within=0) == []

    found = await newest(store, state)
    assert found.status == "pending"
    assert [recorded and recorded.decision for recorded in found.recorded] == [REJECTED, None]


@pytest.mark.parametrize("why", ["no bot took clicks", "a click was missed"])
async def test_a_rejection_by_silence_stays_one(client, bots, replica, store, why):
    """What it was judged by was lost with it: that the bot for clicks had left, or that somebody could not press."""
    bot, clicks = bots
    await clicks.heartbeat("clicks")
    await bot.heartbeat("draw.one")
    state = await asked(client, bot, **SILENT)
    await is_shown(bot, state)
    await bot.heartbeat("bot", alive=False)
    await asyncio.sleep(0.45)
    await replica.replicate()
    if why == "a click was missed":
        await store.mark_missed(state.id)
    else:
        await clicks.heartbeat("clicks", alive=False)
    assert await bot.settle(state.id, "expired", why_not="") == "settled"

    await replica.take_over(bot)
    assert await bot.scripts.write_again() == []

    [recorded] = (await newest(store, state)).recorded
    assert isinstance(recorded.decision, RejectDecision)


async def test_a_bot_that_starts_keeps_no_deadline_while_another_one_may_have_lost_a_rejection(
    client, bots, replica, redis
):
    """It has not seen the failover that came right before it, and the bot that has is still looking."""
    clicks, _ = bots
    clicks.scripts.journal.kept = 0
    await clicks.heartbeat("clicks")
    state = await asked(client, clicks, 2, **CALLS)
    await is_shown(clicks, state)
    await replica.replicate()
    await press(clicks, state, DANA, REJECTED, 0)
    await asyncio.sleep(1.0)
    await replica.take_over(clicks)
    new = ApprovalStore(redis, clicks.keys, address="here")
    await new.begin_journal()

    assert await Deadlines(new, objecting_to_nothing).on_due(state.id) is not None

    assert (await newest(new, state)).status == "pending"


async def test_silence_waits_until_the_bots_have_looked_for_what_nobody_writes_again(
    client, bots, replica, monkeypatch
):
    """The rejection of two people was lost, and the bot that knew the first one has gone. The other one waits for it in vain."""
    clicks, drawing = bots
    state = await asked(client, drawing, reject_quorum=2, **CALLS)
    await is_shown(drawing, state)
    await replica.replicate()
    await press(clicks, state, DANA, REJECTED)
    assert await press(clicks, state, MIRA, REJECTED) == ["recorded"]
    await asyncio.sleep(1.0)
    await replica.take_over(*bots)
    # Eleven seconds later: nothing counts as unsettled any more.
    monkeypatch.setattr("agent_adapter.redis.journal.SETTLES", 0.1)
    await asyncio.sleep(0.2)

    assert not drawing.is_unsettled
    assert await Deadlines(drawing, objecting_to_nothing).on_due(state.id) is not None

    assert (await newest(drawing, state)).status == "pending"


async def objecting_to_nothing(_):
    return ""


@pytest.mark.parametrize("is_late", [False, True], ids=["before the deadline", "after the deadline"])
async def test_silence_does_not_approve_what_somebody_has_rejected_and_nothing_writes_again(
    client, bots, replica, store, is_late
):
    """Only the bot that took the rejection knows of it. It says so to people and agents, and another bot keeps the deadline."""
    drawing, clicks = bots
    clicks.scripts.journal.kept = drawing.scripts.journal.kept = 0
    state = await asked(client, drawing, 2, **CALLS)
    await is_shown(drawing, state)
    await replica.replicate()
    assert await press(clicks, state, DANA, REJECTED, 0) == ["recorded"]
    await replica.take_over(*bots)
    if is_late:
        await asyncio.sleep(1.0)
    await LostClicks(clicks, None).look()
    if not is_late:
        await asyncio.sleep(1.0)

    assert await drawing.settle(state.id, "expired", why_not="") == "settled"

    assert {found.decision.type for found in (await newest(store, state)).recorded} == {"reject"}


async def test_right_after_another_server_has_answered_silence_waits(client, bots, store):
    """What it has lost may be a rejection, and nobody has said so yet."""
    bot, _ = bots
    bot.scripts.journal.kept = 0
    state = await asked(client, bot, **SILENT)
    await is_shown(bot, state)
    await asyncio.sleep(0.45)
    bot.scripts.journal.note_outage()

    async def why_not(_seen):
        return ""

    assert await Deadlines(bot, why_not).on_due(state.id) is not None

    assert (await newest(store, state)).status == "pending"


async def test_a_request_is_not_ended_before_its_admission_and_its_decision_are_written_again(
    client, bots, replica
):
    """Its deadline passes meanwhile, and the bot that draws meets the new server first."""
    clicks, drawing = bots
    interrupt = an_interrupt(an_action(), run="run-of-a-second", expires_in=timedelta(seconds=1))
    asked_first = await clicks.load(await client.publish(interrupt))
    await replica.replicate()
    await clicks.admit(asked_first, for_several(1))
    state = await newest(clicks, asked_first)
    assert await press(clicks, state, DANA, APPROVED) == ["recorded"]
    await replica.take_over(*bots)
    await asyncio.sleep(1.1)

    assert await Presenter(drawing, None, None).present(state.id) is not None

    assert await clicks.scripts.write_again(within=0) == []
    [recorded] = (await newest(clicks, state)).recorded
    assert recorded.decision == APPROVED
