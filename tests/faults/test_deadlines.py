"""Deciding and expiring at the same moment, and a bot that was away when the time was up."""

import asyncio
import random
from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.record import dump_recorded
from bot.domain.admission import Place
from bot.domain.errors import StoreUnavailableError
from bot.domain.messages import Remark
from bot.domain.schedule import Extension
from bot.jobs.deadlines import Deadlines
from playground.errors import ControlError
from tests.conftest import until
from tests.support.builders import an_action, an_admission
from tests.support.faults import CHANNEL, asking, eventually, nothing_owed, rounds, settled_card, take

SECOND = timedelta(seconds=1)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("extends", [False, True], ids=["click and clock", "with more time"])
async def test_in_the_same_millisecond_only_one_of_them_happens(extends, client, store):
    """A click, the clock and a press for more time reach the scripts at the deadline: one order holds for all."""
    outcomes: list[str] = []
    for _ in range(rounds(4, 20)):
        outcomes += await asyncio.gather(
            *(race_at_deadline(client, store, extends=extends) for _ in range(50))
        )
    assert {"decided", "expired"} == set(outcomes)


async def race_at_deadline(client, store, *, extends):
    """Press, sweep and perhaps extend at the deadline of a record; give how it ended."""
    interrupt = client.interrupt(asking(an_action()))
    await client.publish(interrupt)
    places = (Place(channel=CHANNEL, actions=(0,)),)
    extension = Extension(by=SECOND / 20)
    admission = an_admission(approvers=("U0DANA",), places=places, extension=extension)
    await store.admit(await store.load(interrupt.id), admission, life=400)
    state = await store.load(interrupt.id)
    remark = Remark(kind="extend", places=(0,), by="U0ERIK")
    left = (state.deadline - state.now).total_seconds()

    async def decide():
        # On a busy machine, all of them come later than they should.
        await asyncio.sleep(left + random.uniform(-0.1, 0.02))
        return await store.record_decision(
            state.id,
            {
                0: dump_recorded(
                    ApproveDecision(), fingerprint=state.actions[0].fingerprint, decided_by="U0DANA"
                )
            },
            token="click",
            person="U0DANA",
            deadline=5,
        )

    async def extend():
        await asyncio.sleep(left + random.uniform(-0.02, 0.02))
        if not extends:
            return "closed"
        try:
            return await store.extend(state, remark, by=extension.by)
        except StoreUnavailableError:
            # On a busy machine the person gets no answer in time. The record says what became of it.
            return "extended" if (await store.load(state.id)).extended else "closed"

    async def sweep():
        await asyncio.sleep(left - 0.01)
        while (await store.load(state.id)).status == "pending":
            await Deadlines(store).on_due(state.id)
            await asyncio.sleep(0.001)

    decided, extended, _ = await asyncio.gather(decide(), extend(), sweep())
    ended = await store.load(state.id)
    assert (ended.status, decided[0]) in {("decided", "recorded"), ("expired", "closed")}
    assert (ended.recorded[0] is not None) == (ended.status == "decided")
    assert (ended.deadline - state.deadline == extension.by) == (extended == "extended")
    assert len(ended.remarks) == int(extended == "extended")
    if ended.status == "decided":
        assert ended.recorded[0].decided_at < ended.deadline
    else:
        assert ended.settled_at >= ended.deadline
    return ended.status


@pytest.mark.timeout(900)
async def test_click_at_the_deadline_decides_or_expires(start_bot, client, slack, store, watcher):
    """Decided or expired, never both; record, card and agent say the same, and so does what the person hears."""
    for _ in range(2):
        await start_bot(sweep_seconds=0.1)
    outcomes = []
    for _ in range(rounds(1, 34)):
        async with asyncio.timeout(120):
            # Some well before, some after, and many that nobody could tell.
            moments = [-1.0, -0.5, 0.02, 0.05, *(random.uniform(-0.1, 0.01) for _ in range(26))]
            outcomes += await asyncio.gather(*(press_at(m, client, slack, store, watcher) for m in moments))
    assert {"decided", "expired"} == set(outcomes)
    await nothing_owed(store)


async def press_at(moment, client, slack, store, watcher):
    """Press so many seconds after the deadline; give how it ended."""
    interrupt = client.interrupt(asking(an_action()), expires_in=3 * SECOND)
    agent = asyncio.create_task(take(client, interrupt))
    await until(lambda: watcher.cards(interrupt.id) or agent.done(), within=60)
    if not (cards := watcher.cards(interrupt.id)):
        # On a busy machine no bot could post it in time, and a card that nobody needs is not posted.
        assert (await agent).status == "expired"
        return "expired"
    [card] = cards
    state = await store.load(interrupt.id)
    left = (state.deadline - state.now).total_seconds()
    await asyncio.sleep(left + moment)
    try:
        pressed = (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
    except ControlError:
        # The card said that it is over before the person could press.
        pressed = False

    resume = await agent
    # On a busy machine the agent may see the deadline and its grace pass before a bot has settled the record.
    state = await settled_card(store, watcher, interrupt.id, stage="resumed")

    assert resume.status == state.status
    if resume.status == "decided":
        assert pressed
        assert (resume.decisions[0].type, state.recorded[0].decided_by) == ("approve", "U0DANA")
        assert resume.records[0].decided_at < state.deadline
    else:
        assert (resume.status, resume.decisions[0].type, state.recorded[0]) == ("expired", "reject", None)
        assert "Expired" in watcher.cards(interrupt.id)[0]["text"]
    return resume.status


async def ended(store, interrupt_id):
    """Wait until a bot has ended the request; give its record."""

    async def is_over():
        state = await store.load(interrupt_id)
        return None if state.status in {"new", "pending"} else state

    return await eventually(is_over, within=60)


async def test_deadline_that_passed_while_no_bot_ran_ends_a_card_that_was_shown(
    start_bot, client, store, watcher, slack
):
    """The next bot redraws it: the buttons are gone."""
    bot = await start_bot()
    interrupt = client.interrupt(asking(an_action()), expires_in=2 * SECOND)
    async with asyncio.timeout(120):
        agent = asyncio.create_task(take(client, interrupt))
        await watcher.card(interrupt.id)
        await bot.stop()
        assert (await agent).decisions[0].type == "reject"

        await start_bot()

        assert (await settled_card(store, watcher, interrupt.id)).status == "expired"
        await nothing_owed(store)
