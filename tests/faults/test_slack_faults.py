"""Slack fails in its own ways: what passes is waited for, what is final reaches the agent, what is ours turns red."""

import asyncio

import pytest

from agent_adapter.errors import InterruptRefusedError
from bot.runtime import health
from tests.conftest import until
from tests.support.builders import an_action, asking
from tests.support.faults import CHANNEL, nothing_owed, rounds, settled_card, take
from tests.support.http_api import speaking
from tests.support.people import Someone, buttons

PASSING = [
    {"kind": "ratelimited", "seconds": 1},
    {"kind": "status", "status": 500},
    {"kind": "accept_then_drop"},
    {"kind": "timeout", "seconds": 2},
    {"kind": "delay", "seconds": 0.9},
]

WATCHED = rounds(1, 3)
"""Seconds for which calls are counted."""


def named(fault):
    return " ".join(str(value) for value in fault.values())


@pytest.fixture
async def bot(start_bot):
    return await start_bot(lease_seconds=0.9)


@pytest.mark.usefixtures("bot")
@pytest.mark.parametrize("fault", PASSING, ids=named)
async def test_passing_fault_delays_a_card_and_never_doubles_it(fault, client, slack, store, watcher):
    """The card is posted and updated later, once, and in the end it shows what the record says."""
    for method in ("chat.postMessage", "chat.update"):
        await slack.fault(method, times=rounds(1, 3), **fault)
    interrupt = client.interrupt(asking(an_action("a"), an_action("b")))

    async with asyncio.timeout(120):
        agent = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        dana = Someone(slack, "U0DANA")
        review = await dana.opened(card, "review:0")
        for action_id in ("approve:0", "approve:1"):
            assert (await dana.press_in(review, action_id))["ack"]["ok"]
        resume = await agent

        assert [decision.type for decision in resume.decisions] == ["approve", "approve"]
        assert (await settled_card(store, watcher, interrupt.id)).stage == "resumed"
        if fault["kind"] == "delay":
            # The late call has arrived by then.
            await asyncio.sleep(1)
            assert watcher.agrees(await store.load(interrupt.id))


@pytest.mark.usefixtures("bot")
@pytest.mark.parametrize("code", ["channel_not_found", "msg_too_long"])
async def test_card_that_can_never_be_posted_is_refused_with_slacks_code(code, client, slack, store):
    """The waiting agent hears it at once, by Slack's own name for it; nothing stays owed."""
    await slack.fault("chat.postMessage", "error", error=code, times=None)

    with pytest.raises(InterruptRefusedError, match=code) as refused:
        async with asyncio.timeout(120):
            await client.review(asking(an_action()))

    assert refused.value.code == code
    await nothing_owed(store)


@pytest.mark.usefixtures("bot")
async def test_card_that_can_no_longer_be_changed_is_refused(client, slack, store, watcher):
    """Its channel is archived between two decisions: the first one stands on the record, and nothing is resumed."""
    interrupt = client.interrupt(asking(an_action("a"), an_action("b")))
    async with asyncio.timeout(120):
        agent = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        dana = Someone(slack, "U0DANA")
        review = await dana.opened(card, "review:0")
        await slack.channel(CHANNEL, is_archived=True)
        await dana.press_in(review, "approve:0")

        with pytest.raises(InterruptRefusedError, match="is_archived"):
            await agent

    state = await store.load(interrupt.id)
    assert [recorded and recorded.decided_by for recorded in state.recorded] == ["U0DANA", None]


RULES = """\
default: {channel: C0APPROVALS, approvers: [U0DANA]}
rules: [{match: {tool: b}, channel: C0FINANCE}]
"""


@pytest.mark.parametrize("closed", [{"is_archived": True}, {"members": ["U0DANA"]}], ids=str)
async def test_card_in_a_closed_channel_loses_its_buttons_once_the_channel_is_back(
    closed, start_bot, client, slack, store, watcher, tmp_path, caplog
):
    """A bot draws the card of another channel at once. This one stays owed, and the log says why; then it shows the decision."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(RULES)
    await slack.channel("C0FINANCE", members=["U0BOT", "U0DANA"])
    await start_bot(policy=str(policy))
    interrupt = client.interrupt(asking(an_action("a"), an_action("b")))
    async with asyncio.timeout(120):
        agent = asyncio.create_task(take(client, interrupt))
        await until(lambda: len(watcher.cards(interrupt.id)) == 2)
        await slack.click("U0DANA", CHANNEL, watcher.showing(interrupt.id, "approve:0")["ts"], "approve:0")
        other = watcher.showing(interrupt.id, "approve:1")["ts"]
        await settled_card(store, watcher, interrupt.id, stage="open")
        await slack.channel(CHANNEL, **closed)
        await slack.click("U0DANA", "C0FINANCE", other, "approve:1")
        await agent

        await until(lambda: "waiting" not in watcher.shown[other][-1])
        await until(lambda: "work.broken" in caplog.messages)
        assert (await store.owed())["undrawn"] == 1
        await slack.channel(CHANNEL, is_archived=False, members=["U0BOT", "U0DANA"])

        await settled_card(store, watcher, interrupt.id, stage="resumed")
        await nothing_owed(store)


@pytest.mark.parametrize(("times", "code"), [(1, "msg_too_long"), (2, "invalid_blocks")])
async def test_decided_card_whose_picture_slack_refuses_is_drawn_plainer(
    times, code, start_bot, client, slack, watcher
):
    """Its text alone, and a little later all of it again: it keeps no button, and says who decided."""
    await start_bot()
    interrupt_id = await client.publish(client.interrupt(asking(an_action())))
    card = await watcher.card(interrupt_id)
    await slack.fault("chat.update", "error", error=code, times=times)

    await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0")

    await until(lambda: "Approved by Dana" in watcher.shown[card["ts"]][-1])
    [drawn] = watcher.cards(interrupt_id)
    assert not buttons(drawn)
    shown = [block["block_id"] for block in drawn["blocks"]]
    assert shown == {1: [], 2: ["top", "who"]}[times]


async def test_lost_token_turns_the_bot_red_and_heals_by_itself(bot, client, slack, store, watcher, caplog):
    """Records stay pending, whoever waits is told why, Slack is left alone; then the card comes as if nothing was."""
    code = "token_revoked"
    await slack.revoke_token()
    agents = [asyncio.create_task(client.review(asking(an_action(f"tool-{n}")))) for n in range(3)]

    async with asyncio.timeout(100):
        await until(lambda: code in (bot.health.slack_fault or ""))
        async with speaking(bot.http.port) as anybody, anybody.session.get("/readyz") as response:
            assert response.status == 503
            assert code in (await response.json())["faults"]["slack"]
        await until(
            lambda: sum(" waits: " in text and code in text for text in caplog.messages) >= len(agents)
        )
        assert await calls_within(WATCHED, slack) <= 2 * WATCHED + len(agents)
        assert not any(agent.done() for agent in agents)

        await slack.revoke_token(revoked=False)

        await until(lambda: len(watcher.all_cards()) == len(agents), within=40)
        for card in watcher.all_cards():
            assert (await slack.click("U0ERIK", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
        assert {(await agent).decisions[0].type for agent in agents} == {"approve"}
        assert bot.health.ready
        await nothing_owed(store)


async def calls_within(seconds, slack):
    """Count what the bot calls while nobody does anything."""
    before = max((call["n"] for call in await slack.calls()), default=0)
    await asyncio.sleep(seconds)
    return len(await slack.calls(since=before))


@pytest.mark.parametrize(
    "fault", [{"kind": "ratelimited", "seconds": 1}, {"kind": "status", "status": 500}], ids=named
)
async def test_a_slack_that_takes_no_messages_is_reported_until_it_takes_one(
    fault, start_bot, client, slack, watcher, monkeypatch, caplog
):
    """Everything else works. `/readyz` warns, the log says it once, the agent hears it; the next message ends it."""
    monkeypatch.setattr(health, "LASTING", 2.0)
    bot = await start_bot()
    await slack.fault("chat.postMessage", times=None, **fault)
    interrupt = client.interrupt(asking(an_action()))
    agent = asyncio.create_task(client.wait(await client.publish(interrupt)))

    async with asyncio.timeout(120):
        await until(lambda: "chat.postMessage" in bot.health.warnings)
        async with speaking(bot.http.port) as anybody, anybody.session.get("/readyz") as response:
            assert response.status == 200
            assert "every try has failed" in (await response.json())["warnings"]["chat.postMessage"]
        await until(lambda: any("Slack takes no messages: every try" in text for text in caplog.messages))
        assert caplog.messages.count("slack.takes_nothing") == 1

        await slack.clear_faults()
        card = await watcher.card(interrupt.id)
        await until(lambda: not bot.health.warnings)
        assert (await slack.click("U0DANA", CHANNEL, card["ts"], "approve:0"))["ack"]["ok"]
        assert (await agent).status == "decided"
