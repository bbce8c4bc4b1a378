"""A look at Slack that began before a failover says nothing about what the new server knows."""

import asyncio

import pytest

from agent_adapter.contract.hitl import RejectDecision
from tests.conftest import until
from tests.support.builders import an_action
from tests.support.failover import Failover
from tests.support.faults import asking, eventually, settled_card
from tests.support.people import Someone


@pytest.fixture
def redis_url(failover: Failover) -> str:
    """All parts of these tests use it."""
    return failover.proxy.url


POLICY = """
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules:
  - {match: {tool: sweep}, risk: low, time_limit: 10s, on_timeout: approve}
  - {match: {tool: tidy}, risk: low, time_limit: 14s, on_timeout: approve}
"""


@pytest.mark.timeout(120)
async def test_silence_does_not_approve_what_somebody_rejected_before_a_failover(
    failover, start_bot, client, slack, store, watcher, tmp_path
):
    """A bot had seen the card a moment before the click, when it looked for another one at its deadline."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    bot, ended = await start_bot(policy=str(policy)), asyncio.Event()

    async def others_ask():
        while not ended.is_set():
            await client.publish(client.interrupt(asking(an_action("other"))))
            await asyncio.sleep(1)

    first, interrupt = (client.interrupt(asking(an_action(tool))) for tool in ("sweep", "tidy"))
    await client.publish(first)
    await settled_card(store, watcher, first.id)
    await client.publish(interrupt)
    card = await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)
    await until(lambda: bot.slack_watch._seen, within=15)
    failover.replicate()
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
    assert "Approved" not in " ".join(watcher.shown[card["ts"]]).replace("Approved at", "")
