"""A failover that loses what people decided, where nothing is written again: they are told, and so are the agents."""

import asyncio
import contextlib
import logging
from datetime import timedelta

import pytest
from redis import Redis

from agent_adapter import ApprovalClient, Context, loops
from agent_adapter import client as client_module
from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.errors import InterruptRefusedError, LoopBrokenError, ServerUnreachableError
from agent_adapter.redis import journal
from agent_adapter.redis.replies import Replies
from bot.store import connected
from tests.conftest import until
from tests.support.builders import an_action
from tests.support.failover import Failover
from tests.support.faults import asking, eventually, nothing_owed, settled_card, take
from tests.support.people import Someone, buttons, words
from tests.support.proxy import Proxy

AGAIN = (
    "{person} approved action {action}, but a technical fault lost that. As far as the bot knows, none of it has run. "
    "Please decide again on the card."
)
TOO_EARLY = "Nothing was recorded: after a restart or a technical fault, the bot first checks what others have decided."
FOR_GOOD = (
    "{person} approved action {action}, but a technical fault lost that. "
    "Nobody can decide this a second time. Look at what has run before the agent asks again."
)


@pytest.fixture
def redis_url(failover: Failover) -> str:
    """All parts of these tests use it."""
    return failover.proxy.url


async def asked(client, watcher, store, *names):
    interrupt = client.interrupt(asking(*(an_action(name) for name in names)))
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)
    return interrupt, agent, card


def in_thread(watcher, interrupt_id):
    """What stands in the thread of the card."""
    _, *beside = watcher.cards(interrupt_id)
    return [each["text"] for each in beside]


async def test_a_decision_that_was_lost_before_its_card_said_it_is_told(
    failover, start_bot, client, slack, store, watcher, caplog
):
    """In the thread of the card, to the agent that waits, in the log and in the audit trail. Then it is decided again."""
    caplog.set_level(logging.INFO)
    bot = await start_bot()
    interrupt, agent, card = await asked(client, watcher, store, "pay", "note")
    failover.replicate()
    await slack.fault("chat.update", "ratelimited", seconds=3)
    await Someone(slack, "U0DANA").press(card, "approve:1")

    await failover.happen()

    await until(lambda: in_thread(watcher, interrupt.id))
    assert in_thread(watcher, interrupt.id) == [AGAIN.format(person="<@U0DANA>", action=2)]
    await until(
        lambda: "has lost a decision in a failover, and people are asked to decide again" in caplog.text
    )
    assert [
        entry.said["by"] async for entry in bot.audit.entries() if entry.said["event"] == "click_lost"
    ] == ["U0DANA"]
    assert "click.lost" in caplog.messages
    for index in range(2):
        await Someone(slack, "U0ERIK").press(card, f"approve:{index}")
    assert (await agent).decisions == (ApproveDecision(), ApproveDecision())
    await nothing_owed(store)


@pytest.mark.parametrize("bots", [1, 2])
async def test_what_somebody_had_rejected_is_not_approved_with_the_others(
    bots, failover, start_bot, client, slack, store, watcher
):
    """Not before the loss is told, and not after it. The person who approves the rest reads which call is left out."""
    for _ in range(bots):
        await start_bot()
    interrupt, agent, card = await asked(client, watcher, store, "pay", "note", "send")
    failover.replicate()
    await slack.fault("chat.update", "ratelimited", seconds=3)
    dana = Someone(slack, "U0DANA")
    await dana.submit(await dana.opened(card, "reject:1"), Reason="not this one")

    await failover.happen()

    erik, left_out = Someone(slack, "U0ERIK"), "Still open: action 2. Somebody wanted something else there"
    while not any(left_out in notice for notice in watcher.notices("U0ERIK")):
        await erik.press(card, "approve_all:0")
        await asyncio.sleep(0.1)
    assert any(TOO_EARLY in notice for notice in watcher.notices("U0ERIK"))
    await until(lambda: in_thread(watcher, interrupt.id))
    assert not agent.done()
    await erik.press(card, "approve:1")
    assert (await agent).decisions == (ApproveDecision(),) * 3


async def test_no_button_approves_several_calls_before_another_bot_had_time_to_reach_the_new_server(
    failover, start_bot, client, slack, store, watcher
):
    """The new server has none of its heartbeats, because it had just started. It may have taken a rejection."""
    bot = await start_bot()
    interrupt, agent, card = await asked(client, watcher, store, "pay", "note")
    failover.replicate()
    await start_bot()
    await failover.happen()
    await until(lambda: bot.store.unlooked)
    await until(lambda: not bot.store.unlooked)

    await Someone(slack, "U0ERIK").press(card, "approve_all:0")

    await until(lambda: any(TOO_EARLY in notice for notice in watcher.notices("U0ERIK")))
    assert not (await store.load(interrupt.id)).decided
    agent.cancel()


@pytest.fixture
def asks_at_once(monkeypatch):
    """Agents wait for no bot to write their questions again."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", "0")


async def test_who_submits_a_form_too_early_keeps_what_was_typed_and_reads_when_to_send_it_again(
    asks_at_once, failover, start_bot, client, slack, store, watcher
):
    """Its agent has asked again, and the bot that had admitted the question is slow to write that again."""
    bot = await start_bot(reassert_seconds=120)
    await until(lambda: not bot.store.is_unsettled)
    failover.replicate()
    interrupt, agent, card = await asked(client, watcher, store, "pay")
    dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
    rejecting, editing = await dana.opened(card, "reject:0"), await erik.opened(card, "edit:0")
    checking = (await erik.submit(editing, to="somebody.else@example.com"))["views"][-1]
    journal = bot.store.scripts.journal
    journal._writes.clear()
    await failover.happen()
    await until(lambda: bot.store.is_unsettled)
    await eventually(lambda: is_asked_again(bot, interrupt.id))

    rejected, edited = await dana.submit(rejecting, Reason="a long reason"), await erik.submit(checking)
    await Someone(slack, "U0MIRA").press(card, "approve:0")

    assert TOO_EARLY in str(rejected)
    assert TOO_EARLY in words(edited["views"][-1]["blocks"])
    await until(lambda: any(TOO_EARLY in notice for notice in watcher.notices("U0MIRA")))
    agent.cancel()


async def is_asked_again(bot, interrupt_id) -> bool:
    with contextlib.suppress(ServerUnreachableError):
        return await bot.store.load(interrupt_id) is not None
    return False


async def test_decisions_that_the_new_server_has_are_not_told(
    failover, start_bot, client, slack, store, watcher, caplog
):
    """Nobody decides it again."""
    bot = await start_bot()
    kept, _, first = await asked(client, watcher, store, "pay", "note")
    await Someone(slack, "U0DANA").press(first, "approve:0")
    await settled_card(store, watcher, kept.id)
    failover.replicate()

    await failover.happen()

    await eventually(lambda: looked(bot))
    assert in_thread(watcher, kept.id) == []
    assert "click.lost" not in caplog.messages


async def looked(bot) -> bool:
    """Whether the bot has looked after what it accepted."""
    guard = bot.restore_guard
    return guard.outages > 0 and guard.written_again == guard.doubts and bot.health.ready


async def test_a_call_that_may_have_run_is_not_approved_a_second_time(
    failover, start_bot, client, slack, store, watcher
):
    """Its agent has the answer, and the new server does not know that, so the request ends."""
    await start_bot()
    interrupt, agent, card = await asked(client, watcher, store, "pay")
    failover.replicate()
    await slack.fault("chat.update", "ratelimited", seconds=3)
    await Someone(slack, "U0DANA").press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)

    await failover.happen()

    await until(lambda: in_thread(watcher, interrupt.id))
    assert in_thread(watcher, interrupt.id) == [FOR_GOOD.format(person="<@U0DANA>", action=1)]
    ended, *_ = watcher.cards(interrupt.id)
    assert "It may have run" in words(ended["blocks"])
    assert buttons(ended) == []
    assert (await client.wait(interrupt.id)).code == "went_back"
    await nothing_owed(store)


async def test_a_request_that_the_new_server_never_had_keeps_its_card(
    failover, start_bot, client, slack, store, watcher, caplog
):
    """Its agent asks again at once. A second card would leave buttons on the first one that decide nothing."""
    await start_bot()
    failover.replicate()
    interrupt, agent, card = await asked(client, watcher, store, "pay")

    await failover.happen()

    await until(lambda: "interrupt.forgotten" in caplog.messages)
    await settled_card(store, watcher, interrupt.id)
    assert [each["ts"] for each in watcher.cards(interrupt.id)] == [card["ts"]]
    await Someone(slack, "U0DANA").press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)


@pytest.mark.parametrize("reassert", [0, 120], ids=["forgotten", "written again"])
async def test_a_request_that_the_new_server_never_had_keeps_its_card_after_a_long_outage(
    failover, start_bot, client, slack, store, watcher, reassert, monkeypatch
):
    """Longer than the time by which a replica can be behind: nothing was written meanwhile."""
    monkeypatch.setattr(journal, "UNREPLICATED", 2.0)
    monkeypatch.setattr(client_module, "COMES_WITHIN", 5.0)
    await start_bot(reassert_seconds=reassert)
    failover.replicate()
    interrupt, agent, card = await asked(client, watcher, store, "pay")

    await failover.go_away()
    await asyncio.sleep(8)
    failover.come_back()

    await settled_card(store, watcher, interrupt.id)
    await Someone(slack, "U0DANA").press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)
    assert [each["ts"] for each in watcher.cards(interrupt.id)] == [card["ts"]]


async def test_a_request_that_the_new_server_never_had_ends_when_its_card_shows_a_decision(
    failover, start_bot, client, slack, store, watcher
):
    """Nobody may decide it otherwise beside what the card says."""
    await start_bot()
    failover.replicate()
    interrupt, agent, card = await asked(client, watcher, store, "pay", "note")
    await Someone(slack, "U0DANA").press(card, "approve:0")
    await until(lambda: "1 of 2 open" in watcher.cards(interrupt.id)[0]["text"])

    await failover.happen()

    with pytest.raises(InterruptRefusedError, match="went back to an older state"):
        await agent
    await until(lambda: in_thread(watcher, interrupt.id))
    ended, *_ = watcher.cards(interrupt.id)
    assert ended["ts"] == card["ts"]
    assert "A technical fault lost what this card shows" in words(ended["blocks"])
    assert buttons(ended) == []


async def test_a_card_that_the_new_server_does_not_know_is_found(
    failover, start_bot, client, slack, store, watcher
):
    """The new server has the request, and not that its card was posted."""
    await start_bot()
    posting = await slack.fault("chat.postMessage", "ratelimited", seconds=2, times=None)
    interrupt = client.interrupt(asking(an_action("pay")))
    agent = asyncio.create_task(take(client, interrupt))
    await eventually(lambda: store.admitted(interrupt.id))
    failover.replicate()
    await slack.remove_fault(posting)
    card = await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)

    await failover.happen()

    await settled_card(store, watcher, interrupt.id)
    assert [each["ts"] for each in watcher.cards(interrupt.id)] == [card["ts"]]
    await Someone(slack, "U0DANA").press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)


async def test_a_vote_that_was_lost_is_told(failover, start_bot, client, slack, store, watcher, tmp_path):
    """Its person would wait for others, and they for nobody."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], quorum: 2}\n")
    await start_bot(policy=str(policy), approvers="", channel=None)
    interrupt, agent, card = await asked(client, watcher, store, "pay")
    failover.replicate()
    await slack.fault("chat.update", "ratelimited", seconds=3)
    await Someone(slack, "U0DANA").press(card, "approve:0")

    await failover.happen()

    await until(lambda: in_thread(watcher, interrupt.id))
    asked_again = AGAIN.format(person="<@U0DANA>", action=1)
    assert in_thread(watcher, interrupt.id) == [asked_again.replace("approved", "voted to approve")]
    for person in ("U0DANA", "U0ERIK"):
        await Someone(slack, person).press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)


async def test_who_presses_before_the_votes_of_others_are_known_again_reads_when_to_press(
    start_bot, client, slack, store, watcher, tmp_path
):
    """Nothing is stored, and Slack does not show that the click failed as well."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], quorum: 2, reject_quorum: 2}\n"
    )
    bot = await start_bot(policy=str(policy), approvers="", channel=None)
    interrupt, agent, card = await asked(client, watcher, store, "pay")
    erik = Someone(slack, "U0ERIK")
    await Someone(slack, "U0DANA").press(card, "approve:0")
    await until(lambda: "1 of 2" in words(watcher.cards(interrupt.id)[0]["blocks"]))
    journal = bot.store.scripts.journal
    journal.kept = 120
    journal.note_outage()

    pressed = await erik.press(card, "approve:0")

    assert pressed["ack"]["ok"]
    assert "Nothing was recorded" in await erik.notice("in 10 seconds")
    assert (await store.admitted(interrupt.id)).status == "pending"
    journal.begin((), is_settled=True)
    await erik.press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)


async def test_a_bot_that_has_lost_something_takes_no_decision_before_it_has_said_so(
    failover, start_bot, client, slack, store, watcher
):
    """What somebody decides then could contradict it."""
    bot = await start_bot()
    interrupt, agent, card = await asked(client, watcher, store, "pay", "note")
    failover.replicate()
    await slack.fault("chat.update", "ratelimited", seconds=3)
    dana, erik = Someone(slack, "U0DANA"), Someone(slack, "U0ERIK")
    await dana.press(card, "approve:0")

    await failover.happen()
    await until(lambda: bot.store.unlooked)
    await erik.press(card, "approve:0")

    assert TOO_EARLY in await erik.notice("Nothing was recorded")
    assert in_thread(watcher, interrupt.id) == []
    await until(lambda: in_thread(watcher, interrupt.id))
    assert not bot.store.unlooked
    agent.cancel()


async def test_a_click_that_waits_for_an_answer_while_another_server_takes_over_is_not_sent_there(
    failover, start_bot, client, slack, store, watcher
):
    """The link stalls, and what connects meanwhile finds the new server. An agent runs already what others approved."""
    await start_bot()
    requests = [await asked(client, watcher, store, f"pay{number}") for number in range(8)]
    failover.replicate()
    await slack.fault("chat.update", "ratelimited", seconds=5, times=None)
    for _, agent, card in requests:
        await Someone(slack, "U0DANA").press(card, "approve:0")
        await agent

    failover.proxy.lead_to(failover.second.url)
    failover.proxy.fall_silent()
    presses = [
        asyncio.create_task(Someone(slack, "U0ERIK").press(card, "approve:0")) for *_, card in requests
    ]
    await asyncio.sleep(0.4)
    await failover.happen()
    await asyncio.gather(*presses)

    for interrupt, _, _ in requests:
        await eventually(lambda found=interrupt: has_ended(store, found.id))
        state = await store.admitted(interrupt.id)
        assert (state.code, state.decided) == ("went_back", frozenset())


async def has_ended(store, interrupt_id) -> bool:
    with contextlib.suppress(ServerUnreachableError):
        state = await store.admitted(interrupt_id)
        return state is not None and state.status != "pending"
    return False


async def test_a_click_waits_a_moment_until_the_bot_has_looked(
    failover, start_bot, client, slack, store, watcher, monkeypatch
):
    """Where nothing is lost, the person only waits a moment."""
    # A busy machine needs longer.
    monkeypatch.setattr(connected, "LOOKS_WITHIN", 10.0)
    bot = await start_bot()
    _, agent, card = await asked(client, watcher, store, "pay")
    failover.replicate()

    await failover.happen()
    await until(lambda: bot.store.unlooked)
    await Someone(slack, "U0DANA").press(card, "approve:0")

    assert (await agent).decisions == (ApproveDecision(),)


async def test_no_standing_approval_is_used_before_all_bots_have_looked(
    failover, start_bot, client, slack, store, watcher, tmp_path
):
    """Somebody may have revoked it through another bot, and that is lost. So people are asked."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], standing: {same: arguments, scope: agent, lasts: 1h, uses: 5}}\n"
    )
    bots = [await start_bot(policy=str(policy), approvers="", channel=None) for _ in range(2)]
    first, second = (
        client.interrupt(asking(an_action("pay")), run="run", pauses=[pause], context=Context())
        for pause in ("first", "second")
    )
    dana, agent = Someone(slack, "U0DANA"), asyncio.create_task(take(client, first))
    view = await dana.opened(await watcher.card(first.id), "sticky:0")
    await dana.submit(view)
    await agent
    await settled_card(store, watcher, first.id, stage="resumed")
    failover.replicate()

    await failover.happen()
    await until(lambda: all(bot.store.may_still_tell for bot in bots))
    agent = asyncio.create_task(take(client, second))

    assert "approve:0" in buttons(await watcher.card(second.id))
    agent.cancel()


@pytest.mark.parametrize(
    ("pause", "leaves"), [(0, False), (6, False), (6, True)], ids=["just begun", "begun before", "left"]
)
async def test_an_agent_that_takes_each_decision_says_so_again_before_people_are_asked_again(
    failover, start_bot, slack, store, watcher, pause, leaves
):
    """Also when it waits for the rest by now. All its connections to the former server just go silent."""
    await start_bot()
    way = Proxy(failover.first.url.removeprefix("unix://"))
    await way.start()
    async with ApprovalClient.from_url(way.url, agent="billing") as following:
        interrupt = following.interrupt(asking(an_action("pay"), an_action("note")))
        await following.publish(interrupt)
        card = await watcher.card(interrupt.id)
        await settled_card(store, watcher, interrupt.id)
        failover.replicate()
        await slack.fault("chat.update", "ratelimited", seconds=3 + pause)
        await Someone(slack, "U0DANA").press(card, "approve:0")
        decisions = following.decisions(interrupt.id)
        assert (await anext(decisions)).index == 0
        if leaves:
            await decisions.aclose()
        rest = asyncio.create_task(following.wait(interrupt.id) if leaves else anext(decisions))
        await asyncio.sleep(pause)
        way.lead_to(failover.second.url)
        way.fall_silent()

        failover.proxy.lead_to(failover.second.url)
        await failover.proxy.reset()

        await until(lambda: in_thread(watcher, interrupt.id))
        assert in_thread(watcher, interrupt.id) == [FOR_GOOD.format(person="<@U0DANA>", action=1)]
        rest.cancel()
    await way.close()


async def test_a_connection_that_is_lost_while_somebody_begins_to_take_decisions_counts_as_lost(failover):
    """What the new server lacks is written again, also where nothing says which server it is."""
    for server in (failover.first, failover.second):
        with Redis.from_url(server.url) as redis:
            redis.execute_command("ACL", "SETUSER", "anyone", "on", "nopass", "~*", "&*", "+@all", "-info")
    url = failover.proxy.url.replace("://", "://anyone:x@")
    async with ApprovalClient.from_url(url, agent="billing", reassert=timedelta(seconds=120)) as following:
        interrupt = following.interrupt(asking(an_action("pay")))
        await following.publish(interrupt)
        waiting = asyncio.create_task(following.wait(interrupt.id))
        failover.replicate()
        await asyncio.sleep(1)
        await following.withdraw(interrupt.id, "not needed")
        first = asyncio.create_task(anext(following.decisions(interrupt.id)))
        await until(lambda: following._replies._is_hastened)

        await failover.happen()

        await until(lambda: following._journal.outages)
        waiting.cancel()
        first.cancel()


async def test_a_loop_that_broke_keeps_nobody_from_taking_decisions(client, monkeypatch):
    """The loops start again."""
    monkeypatch.setattr(loops, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr("agent_adapter.redis.replies.FIRST_LOOK", 0.01)
    look = Replies._look
    monkeypatch.setattr(Replies, "_look", lambda self: asyncio.sleep(0, 1 / 0))
    interrupt = client.interrupt(asking(an_action("pay")))
    await client.publish(interrupt)
    with pytest.raises(LoopBrokenError):
        await client.wait(interrupt.id)
    monkeypatch.setattr(Replies, "_look", look)
    await asyncio.sleep(0.1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await anext(client.decisions(interrupt.id))


async def test_an_agent_can_begin_to_take_decisions_while_redis_is_away(
    failover, start_bot, slack, store, watcher, caplog
):
    """It gets them when Redis is back."""
    await start_bot()
    way = Proxy(failover.first.url.removeprefix("unix://"))
    await way.start()
    async with ApprovalClient.from_url(way.url, agent="billing") as following:
        interrupt = following.interrupt(asking(an_action("pay")))
        await following.publish(interrupt)
        card = await watcher.card(interrupt.id)
        waiting = asyncio.create_task(following.wait(interrupt.id))
        way.lead_to("unix:///nowhere")
        await way.reset()
        await until(lambda: "replies.disconnected" in caplog.text)

        first = asyncio.create_task(anext(following.decisions(interrupt.id)))
        await asyncio.sleep(1)
        way.lead_to(failover.first.url)
        await Someone(slack, "U0DANA").press(card, "approve:0")

        assert (await first).decision == ApproveDecision()
        assert (await waiting).decisions == (ApproveDecision(),)
    await way.close()
