"""What a card and a click take, in numbers that do not depend on the machine."""

import asyncio
import sys
from pathlib import Path

import pytest

import bot
from agent_adapter.redis.scripts import Scripts
from bot.domain.ids import MessageId
from bot.jobs import outdated
from bot.listeners.deliveries import Deliveries
from tests.conftest import until
from tests.support.builders import an_action, an_interrupt, review
from tests.support.people import Someone

ROOT = Path(bot.__file__).parents[1]
OURS = (f"{ROOT}/bot/", f"{ROOT}/agent_adapter/")
CALLS, FILES = 265, 25
"""The most calls of our own code for a click on *Approve*, and the most files of ours that it enters. The record that a bot
remembers may be from before the post of its card was noted: then a click takes ten calls more."""
MOST = 9
FIRST, LAST = "take_inbox", "saved"


async def test_a_card_is_posted_with_few_round_trips(start_bot, client, monkeypatch):
    """Counted are the scripts from the wake-up until it has noted what Slack shows. Looks for what is due are not for it."""
    bot = await start_bot(sweep_seconds=60, pace=True)
    trips, run, save = [], Scripts.__call__, bot.store.save_part

    async def noted(scripts, verb, names, *given, **more):
        trips.append("" if names.get("owed") == bot.store.keys.due else verb)
        return await run(scripts, verb, names, *given, **more)

    async def saved(*given, **more):
        is_saved = await save(*given, **more)
        trips.append(LAST)
        return is_saved

    monkeypatch.setattr(Scripts, "__call__", noted)
    monkeypatch.setattr(bot.store, "save_part", saved)
    await client.publish(an_interrupt())
    await until(lambda: LAST in trips)

    of_card = [trip for trip in trips[trips.index(FIRST) : trips.index(LAST)] if trip]
    assert len(of_card) <= MOST, of_card


@pytest.mark.parametrize("signed", [False], indirect=True)
@pytest.mark.usefixtures("signed")
async def test_a_click_is_short(start_bot, client, dana):
    """Counted is what one delivery calls, also after it has waited for Redis. The first click asks Slack who Dana is."""
    await start_bot()
    calls: list[str] = []

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(OURS) and _is_of_a_delivery(frame):
            calls.append(path)

    for tool in ("first_call", "second_call"):
        calls.clear()
        reviewing = review(client, an_action(tool))
        card = await dana.card(tool)
        sys.setprofile(note)
        await dana.press(card, "approve:0")
        sys.setprofile(None)
        await reviewing

    assert len(calls) <= CALLS
    assert len({*calls}) <= FILES, sorted({*calls})


def _is_of_a_delivery(frame):
    while frame and frame.f_code is not Deliveries.take.__code__:
        frame = frame.f_back
    return frame is not None


async def test_an_edit_is_decided_by_the_remembered_record(start_bot, client, dana, monkeypatch):
    """Its last step reads what was typed, and commits. Neither the record is read, nor does anybody wait until the draft is gone."""
    await start_bot(sweep_seconds=60)
    reviewing = review(client, an_action("pay", {"amount": 5}))
    view = await dana.opened(await dana.card("pay"), "edit:0")
    shown = await dana.submit(view, amount="7")
    trips, run = [], Scripts.__call__

    async def noted(scripts, verb, names, *given, **more):
        if _is_of_a_delivery(sys._getframe()):
            trips.append(verb)
        return await run(scripts, verb, names, *given, **more)

    monkeypatch.setattr(Scripts, "__call__", noted)
    await dana.submit(shown["views"][-1])

    assert (await reviewing).decisions[0].edited_action.args == {"amount": 7}
    assert trips == ["commit"]


async def test_a_card_is_drawn_once_for_each_change(start_bot, client, slack, monkeypatch):
    """Before its turn, under its lease and after the call it is the same picture."""
    drawn, render = [], outdated.render_message

    def counted(state, id):
        drawn.append(state.stage)
        return render(state, id)

    monkeypatch.setattr(outdated, "render_message", counted)
    bot, asked, erik = await start_bot(), an_interrupt(), Someone(slack, "U0ERIK")
    await client.publish(asked)
    await erik.press(await erik.showing("approve:0"), "approve:0")
    await until(lambda: (state := bot.store.recall(asked.id)) and state.shown[MessageId(0)].stage == "ended")
    async with asyncio.timeout(10):
        while (await bot.store.owed())["undrawn"]:
            await asyncio.sleep(0.02)

    assert drawn == ["open", "ended"]
