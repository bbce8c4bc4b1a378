"""A bot gets its first signing key and a ring, while answers are there that nobody has taken and nothing signs."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bot.app import running
from tests.conftest import keys_of, settings_for, until
from tests.support.builders import an_action
from tests.support.faults import asking, settled_card
from tests.support.people import Someone, buttons, words


@pytest.fixture
def with_key(signing):
    return keys_of(signing)


@pytest.mark.parametrize("accepts", [False, True], ids=["its card stays as it was", "accepted for a while"])
async def test_what_was_decided_before_is_not_taken_for_lost(
    playground, redis_url, with_key, slack, client, watcher, store, accepts
):
    """The record stays as it is: an agent without a ring gets its answer."""
    if accepts:
        with_key["unsigned_until"] = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
    interrupt = client.interrupt(asking(an_action("pay"), an_action("send")))
    await client.publish(interrupt)
    async with running(settings_for(playground, redis_url)):
        dana = Someone(slack, "U0DANA")
        for button in ("approve:0", "approve:1"):
            card = await watcher.card(interrupt.id)
            await dana.press(card, button)
        await settled_card(store, watcher, interrupt.id, stage="ended")

    async with running(settings_for(playground, redis_url, **with_key)) as bot:
        await until(lambda: bot.health.ready, within=60)
        await asyncio.sleep(2)
        async with client.resuming(interrupt.id) as resume:
            assert [each.type for each in resume.decisions] == ["approve", "approve"]
        if accepts:
            await until(lambda: "the agent has resumed" in shown(watcher, interrupt.id), within=60)
        assert "Approved" in shown(watcher, interrupt.id)
        assert bot.health.warnings == {}


def shown(watcher, interrupt_id):
    [card] = watcher.cards(interrupt_id)
    return words(card["blocks"])


async def test_a_standing_approval_given_before_is_not_taken_for_lost(
    playground, redis_url, with_key, slack, client, watcher, tmp_path
):
    """It approves nothing any more, so the next call is asked."""
    path = tmp_path / "policy.yaml"
    path.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], standing: {same: arguments, scope: agent, lasts: 1h, uses: 5}}\n"
    )
    given = {"policy": str(path), "approvers": "", "channel": None}
    async with running(settings_for(playground, redis_url, **given)):
        dana = Someone(slack, "U0DANA")
        first = client.interrupt(asking(an_action("pay")), run="first")
        await client.publish(first)
        view = await dana.opened(await watcher.card(first.id), "sticky:0")
        await slack.submit("U0DANA", view["id"])
        await dana.card("standing approval for later calls")

    async with running(settings_for(playground, redis_url, **given, **with_key)) as bot:
        await until(lambda: bot.health.ready, within=60)
        again = client.interrupt(asking(an_action("pay")), run="again")
        await client.publish(again)
        assert "approve:0" in buttons(await watcher.card(again.id))
        await asyncio.sleep(2)
        assert bot.health.warnings == {}
