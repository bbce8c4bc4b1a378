"""A failover to a server that lacks what was accepted last: bots and agents write it again, and people notice nothing."""

import asyncio
from datetime import timedelta

import pytest

from agent_adapter import ApprovalClient, ClaimedError, ConsumedError
from agent_adapter.contract.hitl import ApproveDecision
from bot.jobs.wake_ups import WakeUps
from tests.conftest import an_agent, until
from tests.support.builders import an_action
from tests.support.failover import Failover
from tests.support.faults import CHANNEL, asking, eventually, nothing_owed, settled_card, take
from tests.support.people import Someone, buttons, words
from tests.support.redis_users import address_for


@pytest.fixture
def redis_url(failover: Failover) -> str:
    """All parts of these tests use it."""
    return failover.proxy.url


@pytest.fixture(autouse=True)
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bots and agents keep what they write for two minutes."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", "120")


async def asked_by_name(client, watcher, *names):
    interrupt = client.interrupt(asking(*(an_action(name) for name in names)))
    agent = asyncio.create_task(take(client, interrupt))
    card = await watcher.card(interrupt.id)
    return interrupt, agent, card


async def test_a_decision_that_was_taken_is_decided_and_taken_after_it(
    failover, start_bot, client, slack, store, watcher
):
    """The new server knew the question only. The card goes on saying what was decided, and nobody is asked again."""
    await start_bot()
    interrupt, agent, card = await asked_by_name(client, watcher, "pay")
    await settled_card(store, watcher, interrupt.id)
    failover.replicate()
    await Someone(slack, "U0DANA").press(card, "approve:0")
    resume = await agent
    await settled_card(store, watcher, interrupt.id, stage="resumed")

    await failover.happen()

    state = await settled_card(store, watcher, interrupt.id, stage="resumed")
    assert resume.decisions == (ApproveDecision(),)
    assert [recorded.decided_by for recorded in state.recorded] == ["U0DANA"]
    assert state.status == "decided"
    [shown] = watcher.cards(interrupt.id)
    assert "Approved" in words(shown["blocks"])
    await nothing_owed(store)


async def test_a_question_that_the_new_server_never_had_is_decided_on_the_card_that_is_there(
    failover, start_bot, client, slack, store, watcher
):
    """Its agent waits on, and gets the decision."""
    await start_bot()
    failover.replicate()
    interrupt, agent, card = await asked_by_name(client, watcher, "pay")
    await settled_card(store, watcher, interrupt.id)
    created = (await store.load(interrupt.id)).created_at

    await failover.happen()

    state = await settled_card(store, watcher, interrupt.id, stage="open")
    assert state.created_at == created
    await pressed(slack, card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)
    await settled_card(store, watcher, interrupt.id, stage="resumed")
    assert [each["ts"] for each in watcher.cards(interrupt.id)] == [card["ts"]]
    await nothing_owed(store)


async def test_all_that_happened_since_is_there_after_it(failover, start_bot, client, slack, store, watcher):
    """Two bots shared the work, so each knows a part: questions, a rejection, an approval, and what was taken."""
    for _ in range(2):
        await start_bot()
    failover.replicate()
    runs = [await asked_by_name(client, watcher, "pay", "note") for _ in range(6)]
    for number, (interrupt, agent, card) in enumerate(runs):
        await pressed(slack, card, "approve:0")
        if number % 2:
            await pressed(slack, card, "approve:1")
            await agent
            await settled_card(store, watcher, interrupt.id, stage="resumed")

    await failover.happen()

    for number, (interrupt, agent, card) in enumerate(runs):
        if not number % 2:
            await pressed(slack, card, "approve:1")
        assert (await agent).decisions == (ApproveDecision(), ApproveDecision())
        state = await settled_card(store, watcher, interrupt.id, stage="resumed")
        assert [recorded.decided_by for recorded in state.recorded] == ["U0DANA", "U0DANA"]
        assert [each["ts"] for each in watcher.cards(interrupt.id)] == [card["ts"]]
    await nothing_owed(store)


TWO_PEOPLE = "default: {channel: C0APPROVALS, approvers: [U0DANA, U0ERIK], quorum: 2}\n"


@pytest.mark.parametrize("before", [1, 2], ids=["one has voted", "both have voted"])
async def test_votes_count_after_it(failover, start_bot, client, slack, store, watcher, tmp_path, before):
    """Two people have to agree, and two bots share the clicks."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(TWO_PEOPLE)
    bots = [await start_bot(policy=str(policy), approvers="", channel=None) for _ in range(2)]
    await until(lambda: not any(bot.store.is_unsettled for bot in bots), within=60)
    interrupt, agent, card = await asked_by_name(client, watcher, "pay")
    await settled_card(store, watcher, interrupt.id)
    failover.replicate()
    people = ("U0DANA", "U0ERIK")
    for person in people[:before]:
        await Someone(slack, person).press(card, "approve:0")

    await failover.happen()

    for person in people[before:]:

        async def is_decided(person=person) -> bool:
            """Press, again if the card says that two have voted and it is open: the first vote came back after the second."""
            await slack.click(person, CHANNEL, card["ts"], "approve:0")
            state = await store.load(interrupt.id)
            return state is not None and state.status == "decided"

        await eventually(is_decided)
    assert (await agent).decisions == (ApproveDecision(),)
    state = await settled_card(store, watcher, interrupt.id, stage="resumed")
    assert state.recorded[0].agreed_by == people
    assert [each["ts"] for each in watcher.cards(interrupt.id)] == [card["ts"]]
    await nothing_owed(store)


async def test_a_decision_before_the_deadline_counts_also_when_it_is_written_again_after_it(
    failover, start_bot, redis_url, slack, store, watcher
):
    """Redis was away until the time was over."""
    await start_bot()
    async with an_agent(redis_url) as client:
        interrupt = client.interrupt(asking(an_action("pay")), expires_in=timedelta(seconds=6))
        agent = asyncio.create_task(take(client, interrupt))
        card = await watcher.card(interrupt.id)
        await settled_card(store, watcher, interrupt.id)
        failover.replicate()
        await Someone(slack, "U0DANA").press(card, "approve:0")
        assert (await agent).decisions == (ApproveDecision(),)
        await asyncio.to_thread(failover.first.stop)
        await asyncio.sleep(6)

        await failover.happen()

        state = await settled_card(store, watcher, interrupt.id, stage="resumed")
        assert state.status == "decided"
        assert "Expired" not in " ".join(watcher.shown[card["ts"]])


async def test_a_bot_that_takes_clicks_only_writes_again_what_it_accepted(
    failover, start_bot, client, slack, store, watcher
):
    """The bot that draws has none of it."""
    await start_bot(role="draw")
    await start_bot(role="clicks")
    interrupt, agent, card = await asked_by_name(client, watcher, "pay")
    await settled_card(store, watcher, interrupt.id)
    failover.replicate()
    await Someone(slack, "U0DANA").press(card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)

    await failover.happen()

    state = await settled_card(store, watcher, interrupt.id, stage="resumed")
    assert [recorded.decided_by for recorded in state.recorded] == ["U0DANA"]


async def test_a_bot_notices_a_failover_that_came_while_it_started(
    failover, start_bot, redis_url, monkeypatch
):
    """It has read the settings of one server, and hears the wake-ups of another. Nothing is settled there yet."""
    await start_bot()

    async def is_settled() -> bool:
        async with an_agent(redis_url) as agent:
            return agent._journal.settles_in == 0

    await eventually(is_settled)
    failover.replicate()
    run, goes_on = WakeUps.run, asyncio.Event()

    async def late(self, loop):
        await goes_on.wait()
        await run(self, loop)

    monkeypatch.setattr(WakeUps, "run", late)
    bot = await start_bot()
    await failover.happen()
    goes_on.set()
    await until(lambda: bot.restore_guard.doubts)

    assert bot.restore_guard.is_unsettled


async def test_right_after_a_failover_no_standing_approval_covers_a_call(
    failover, start_bot, client, slack, store, watcher, tmp_path
):
    """It may have been revoked, and the bot that knows that has not written it again yet. So people are asked."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "default: {channel: C0APPROVALS, approvers: [U0DANA], standing: {same: arguments, scope: agent, lasts: 1h, uses: 5}}\n"
    )
    await start_bot(policy=str(policy), approvers="", channel=None)
    interrupt, agent, card = await asked_by_name(client, watcher, "pay")
    dana = Someone(slack, "U0DANA")
    view = await dana.opened(card, "sticky:0")
    await slack.submit("U0DANA", view["id"])
    await agent
    await settled_card(store, watcher, interrupt.id, stage="resumed")
    failover.replicate()

    await failover.happen()
    _, agent, card = await asked_by_name(client, watcher, "pay")

    assert "approve:0" in buttons(card)
    await pressed(slack, card, "approve:0")
    assert (await agent).decisions == (ApproveDecision(),)


async def test_a_claim_comes_back_although_its_process_waits_for_nothing(
    failover, start_bot, redis_url, slack, store, watcher
):
    """It runs a tool that takes long, and sends nothing to Redis meanwhile."""
    await start_bot()
    address = address_for(redis_url, "agent", "billing")
    async with ApprovalClient.from_url(address, agent="billing") as client:
        interrupt = client.interrupt(asking(an_action("pay")))
        await client.publish(interrupt)
        await Someone(slack, "U0DANA").press(await watcher.card(interrupt.id), "approve:0")
        await settled_card(store, watcher, interrupt.id)
        failover.replicate()
        await claimed(client, interrupt.id)

        await failover.happen()

        async def is_back() -> bool:
            state = await store.load(interrupt.id)
            return state is not None and state.claimed_until is not None

        await eventually(is_back)
        await client.finish(interrupt.id, "worker")


async def test_agents_keep_what_they_write_also_when_the_new_server_never_heard_of_it(
    failover, start_bot, redis_url, monkeypatch
):
    """The bot says it again there."""
    monkeypatch.delenv("ASSENT_REASSERT_SECONDS")
    failover.replicate()
    await start_bot(reassert_seconds=90)

    await failover.happen()

    async def is_said() -> bool:
        async with ApprovalClient.from_url(redis_url, agent="payroll") as agent:
            return agent._journal.kept == 90

    await eventually(is_said)


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes wait for three seconds until all others have written again."""
    monkeypatch.setattr("agent_adapter.redis.journal.SETTLES", 3.0)


async def decided(client, slack, store, watcher):
    """Ask, and have it approved. Nobody waits for it."""
    interrupt = client.interrupt(asking(an_action("pay")))
    await client.publish(interrupt)
    await Someone(slack, "U0DANA").press(await watcher.card(interrupt.id), "approve:0")
    await settled_card(store, watcher, interrupt.id)
    return interrupt.id


async def test_a_run_whose_claim_was_lost_goes_on_once(
    failover, start_bot, redis_url, early, slack, store, watcher
):
    """The new server does not know the claim, and another process asks for the run at once. Neither of the two waits for anything."""
    await start_bot()
    async with an_agent(redis_url) as asker, an_agent(redis_url) as first, an_agent(redis_url) as second:
        interrupt_id = await decided(asker, slack, store, watcher)
        failover.replicate()
        ran, goes_on = [], asyncio.Event()

        async def run(name, process):
            async with process.resuming(interrupt_id, unchecked=True):
                ran.append(name)
                await goes_on.wait()

        running = asyncio.create_task(run("first", first))
        await until(lambda: ran)
        await failover.happen()
        with pytest.raises((ClaimedError, ConsumedError)):
            await run("second", second)

        goes_on.set()
        await running
        assert ran == ["first"]


async def test_a_thread_is_run_by_one_process_also_after_a_failover(failover, start_bot, redis_url, early):
    """The new server does not know that one runs it. Its process says so again before another one may take it."""
    await start_bot()
    async with an_agent(redis_url) as first, an_agent(redis_url) as second:
        failover.replicate()
        async with first.running("thread"):
            await failover.happen()

            with pytest.raises(ClaimedError):
                async with second.running("thread"):
                    raise AssertionError("it ran twice")
        async with second.running("thread"):
            pass


async def test_a_run_goes_on_after_an_outage_that_is_longer_than_its_claim(
    failover, start_bot, redis_url, early, slack, store, watcher
):
    """Nobody else has taken it meanwhile, so it is not cancelled."""
    await start_bot()
    async with an_agent(redis_url) as process:
        interrupt_id = await decided(process, slack, store, watcher)
        failover.replicate()

        async with process.resuming(interrupt_id, unchecked=True):
            await asyncio.to_thread(failover.first.stop)
            await asyncio.sleep(2)
            await failover.happen()
            await asyncio.sleep(6)

    await settled_card(store, watcher, interrupt_id, stage="resumed")


async def test_a_run_that_ended_while_redis_was_away_is_used(
    failover, start_bot, redis_url, early, slack, store, watcher
):
    """The new server knows neither its claim nor its end, and another process asks for it at once."""
    await start_bot()
    async with an_agent(redis_url) as first, an_agent(redis_url) as second:
        interrupt_id = await decided(first, slack, store, watcher)
        failover.replicate()

        async def run():
            async with first.resuming(interrupt_id, unchecked=True):
                await asyncio.to_thread(failover.first.stop)

        running = asyncio.create_task(run())
        await asyncio.sleep(5)
        await failover.happen()

        async def is_used() -> bool:
            try:
                async with second.resuming(interrupt_id, unchecked=True):
                    raise AssertionError("it went on twice")
            except ClaimedError:
                return False
            except ConsumedError:
                return True

        await eventually(is_used)
        await running


async def test_a_wait_does_not_end_as_expired_while_the_decision_may_come_back(
    failover, start_bot, redis_url, slack, store, watcher
):
    """It was in time, and the server that answers after the deadline does not know it yet."""
    await start_bot()
    async with an_agent(redis_url) as asker, an_agent(redis_url) as reader:
        interrupt = asker.interrupt(asking(an_action("pay")), expires_in=timedelta(seconds=4))
        await asker.publish(interrupt)
        card = await watcher.card(interrupt.id)
        await settled_card(store, watcher, interrupt.id)
        failover.replicate()
        await Someone(slack, "U0DANA").press(card, "approve:0")
        await asyncio.to_thread(failover.first.stop)
        await asyncio.sleep(6)

        await failover.happen()

        assert (await reader.wait(interrupt.id)).decisions == (ApproveDecision(),)


async def test_a_request_that_was_withdrawn_stays_withdrawn(failover, start_bot, client, store, watcher):
    """Its buttons do not come back."""
    await start_bot()
    interrupt = client.interrupt(asking(an_action("pay")))
    await client.publish(interrupt)
    await watcher.card(interrupt.id)
    await settled_card(store, watcher, interrupt.id)
    failover.replicate()
    await client.withdraw(interrupt.id, "not needed")
    await settled_card(store, watcher, interrupt.id, stage="ended")

    await failover.happen()

    state = await settled_card(store, watcher, interrupt.id, stage="ended")
    assert state.status == "withdrawn"
    [shown] = watcher.cards(interrupt.id)
    assert buttons(shown) == []


async def claimed(client, interrupt_id):
    """Claim a run as `worker`, once it is known that nobody holds it."""

    async def is_claimed() -> bool:
        try:
            await client.claim(interrupt_id, "worker", timedelta(minutes=5))
        except ClaimedError:
            return False
        return True

    await eventually(is_claimed)


async def pressed(slack, card, button):
    """Press as a person does: again, as long as Slack shows that it did not work."""

    async def is_taken() -> bool:
        answer = await slack.click("U0DANA", CHANNEL, card["ts"], button)
        return answer["ack"]["ok"]

    await eventually(is_taken)
