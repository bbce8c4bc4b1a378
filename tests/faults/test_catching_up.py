"""A bot that was away for an hour: what fell due meanwhile happens once, in order, and nobody is called for what is over."""

import asyncio
import re
from datetime import timedelta

import pytest

from tests.faults.test_bot_killed import nothing_undrawn
from tests.support.builders import an_action
from tests.support.faults import asking, eventually, settled_card

pytestmark = pytest.mark.nightly

HOUR = 3_600_000
"""In milliseconds."""
DAY = timedelta(days=1)
RULES = """\
default:
  channel: C0APPROVALS
  approvers: [U0DANA]
  time_limit: 8h
  reminders: [5m, 10m, 20m, 50m]
  escalation: {after: 30m, approvers: [U0MIRA], channel: C0FINANCE}
rules:
  - {match: {tool: soon}, time_limit: 40m, reminders: [5m], assign: 10m}
"""


@pytest.fixture
def start(start_bot, slack, tmp_path):
    """Start a bot by these rules."""

    async def start():
        await slack.channel("C0FINANCE", members=["U0BOT", "U0MIRA"])
        path = tmp_path / "policy.yaml"
        path.write_text(RULES)
        return await start_bot(policy=str(path), approvers="", channel=None)

    return start


async def an_hour_passes(store, ids):
    """Move everything that these records know of time an hour back."""
    redis = store._redis
    for interrupt_id in ids:
        lane = store.keys
        await redis.hincrby(lane.req(interrupt_id), "created", -HOUR)
        await redis.hincrby(lane.req(interrupt_id), "deadline", -HOUR)
        await redis.hincrby(lane.card(interrupt_id), "deadline", -HOUR)
        await redis.zincrby(lane.due, -HOUR, interrupt_id)


async def ask(client, watcher, store, tool, count):
    interrupts = [client.interrupt(asking(an_action(tool)), expires_in=DAY) for _ in range(count)]
    for interrupt in interrupts:
        await client.publish(interrupt)
        await watcher.card(interrupt.id)
        await settled_card(store, watcher, interrupt.id)
    return [interrupt.id for interrupt in interrupts]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("replicas", [1, 2])
async def test_an_hour_is_caught_up_with_in_order_and_without_a_storm(
    replicas, start, client, store, watcher, slack
):
    """Of four reminders one is said, before it the escalation; what expired or was withdrawn is closed, and calls nobody."""
    bot = await start()
    asked = await ask(client, watcher, store, "pay", 12)
    expired = await ask(client, watcher, store, "soon", 4)
    withdrawn, decided = await ask(client, watcher, store, "pay", 2)
    card = watcher.cards(decided)[0]
    await slack.click("U0DANA", card["channel"], card["ts"], "approve:0")
    await bot.stop()
    await client.withdraw(withdrawn, "not needed")
    await an_hour_passes(store, [*asked, *expired, withdrawn])
    before = len(await slack.calls("chat.postMessage"))

    await asyncio.gather(*(start() for _ in range(replicas)))
    await eventually(lambda: all_reached(store, asked))
    await nothing_undrawn(store)
    for interrupt_id in [*asked, *expired, withdrawn, decided]:
        await settled_card(store, watcher, interrupt_id)

    for interrupt_id in asked:
        said = [(m["channel"], re.split(":| wants", m["text"])[0]) for m in watcher.cards(interrupt_id)]
        assert said == [
            ("C0APPROVALS", "billing"),
            ("C0FINANCE", "billing"),
            ("C0APPROVALS", "Nobody has decided action 1 yet, so it is asked in <#C0FINANCE> as well."),
            ("C0APPROVALS", "Still to be decided"),
        ]
    for interrupt_id, headline in [*((id, "Expired") for id in expired), (withdrawn, "Withdrawn")]:
        [message] = watcher.cards(interrupt_id)
        assert message["text"].startswith(headline)
    # And nothing of it comes again.
    await asyncio.sleep(1.5)
    assert len(await slack.calls("chat.postMessage")) - before == 3 * len(asked)


async def all_reached(store, ids):
    return all([len((await store.load(interrupt_id)).reached) == 5 for interrupt_id in ids])
