"""A look at Slack that began before a failover says nothing about what the new server knows."""

import asyncio
import time

import pytest

from agent_adapter.contract.hitl import RejectDecision
from playground.errors import ControlError
from tests.conftest import until
from tests.support.builders import an_action
from tests.support.failover import Failover
from tests.support.faults import CHANNEL, asking, eventually, settled_card
from tests.support.people import Someone


@pytest.fixture
def redis_url(failover: Failover) -> str:
    """All parts of these tests use it."""
    return failover.proxy.url


async def test_a_card_that_was_looked_at_during_a_failover_is_compared_before_it_is_edited(
    failover, start_bot, client, slack, store, watcher
):
    """The new server lacks the first of two decisions. The second one does not erase the first one from the card."""
    bot = await start_bot()
    interrupt = client.interrupt(asking(an_action("pay"), an_action("mail")))
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)
    failover.replicate()
    await Someone(slack, "U0DANA").press(card, "approve:0")
    await settled_card(store, watcher, interrupt.id)
    look, begun, goes_on = bot.slack.look, asyncio.Event(), asyncio.Event()

    async def slow(*args):
        seen = await look(*args)
        if not begun.is_set():
            begun.set()
            await goes_on.wait()
        return seen

    bot.slack.look = slow
    await asyncio.wait_for(begun.wait(), 20)
    doubts = bot.restore_guard.doubts
    await failover.happen()
    await until(lambda: bot.restore_guard.doubts > doubts)
    goes_on.set()
    await asyncio.sleep(0.3)

    async def is_taken() -> bool:
        try:
            return (await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:1"))["ack"]["ok"]
        except ControlError:
            # On a busy machine, the bot has compared the card before he could press.
            return True

    await eventually(is_taken)

    async def is_refused() -> bool:
        return (await store.load(interrupt.id)).status == "refused"

    await eventually(is_refused)
    await until(lambda: "A technical fault lost what this card shows" in watcher.shown[card["ts"]][-1])


POLICY = """
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {match: {tool: tidy}, risk: low, time_limit: 14s, on_timeout: approve}
"""


@pytest.mark.timeout(120)
async def test_silence_does_not_approve_what_somebody_rejected_before_a_failover(
    failover, start_bot, client, slack, store, watcher, tmp_path
):
    """One of the bots had seen the card a moment before the click."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    drawing = await start_bot(sweep_seconds=5.0, policy=str(policy), approvers="", channel=None)
    await start_bot(policy=str(policy), approvers="", channel=None)
    watch, ended = drawing.served.slack_watch, asyncio.Event()

    async def others_ask():
        while not ended.is_set():
            await client.publish(client.interrupt(asking(an_action("other"))))
            await asyncio.sleep(1)

    asked_at = time.monotonic()
    interrupt = client.interrupt(asking(an_action("tidy")))
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)
    await asyncio.sleep(asked_at + 8.5 - time.monotonic())
    seen = watch._seen_at.get((CHANNEL, card["ts"]))
    failover.replicate()
    await until(lambda: watch._seen_at.get((CHANNEL, card["ts"])) not in {None, seen}, within=6)
    dana = Someone(slack, "U0DANA")
    form = await dana.opened(card, "reject:0")
    await slack.submit("U0DANA", form["id"], {"words": "no!"})
    await settled_card(store, watcher, interrupt.id, stage="ended")
    await failover.happen()
    asking_on = asyncio.create_task(others_ask())

    async def is_over() -> bool:
        return (await store.load(interrupt.id)).status != "pending"

    await eventually(is_over)
    ended.set()
    await asking_on
    state = await store.load(interrupt.id)
    assert all(not found or isinstance(found.decision, RejectDecision) for found in state.recorded)
    assert "Approved" not in " ".join(watcher.shown[card["ts"]])
