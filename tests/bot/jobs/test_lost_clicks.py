"""Who is told that a decision is lost, and who is not."""

import asyncio
from base64 import b64encode
from contextlib import asynccontextmanager

import pytest

from agent_adapter import ApprovalClient
from agent_adapter.contract.identity import interrupt_id
from agent_adapter.contract.keys import Keys
from agent_adapter.contract.record import dump_recorded
from agent_adapter.errors import ServerUnreachableError
from agent_adapter.loops import Loop
from agent_adapter.redis.pool import end_task, freeze_meta
from agent_adapter.redis.private import RecordCipher
from bot.domain.admission import Terms
from bot.domain.errors import StoreUnavailableError, TooEarlyError
from bot.domain.ids import MessageId
from bot.domain.messages import Remark
from bot.domain.standing import StandingTerms
from bot.jobs import lost_clicks
from bot.jobs.lost_clicks import LostClicks
from bot.jobs.redis_restore import RestoreGuard
from bot.rendering.card.times import remark_text
from bot.runtime.health import Health
from bot.slack.client import SlackClient
from bot.store import accepted
from bot.store.accepted import Accepted, AcceptedLately
from bot.store.audit import AuditStore
from bot.store.codec import body_digest
from bot.store.records import ApprovalStore
from tests.bot.store.test_votes import DANA, ERIK, MIRA, asked, for_several, newest, press
from tests.bot.store.test_written_again import APPROVED, REJECTED, bots, replica
from tests.bot.use_cases.test_propose import a_proposal, agree, propose
from tests.support.builders import an_action, an_interrupt
from tests.support.faults import eventually

__all__ = ["bots", "replica"]


@pytest.fixture(autouse=True)
def forgetful(bots):
    """Bots that write nothing again."""
    for bot in bots:
        bot.scripts.journal.kept = 0


def looking(bot) -> LostClicks:
    """Give what looks once. It is told nothing about doubts here."""
    return LostClicks(bot, None)


async def told(store, state) -> list[Remark]:
    remarks = (await newest(store, state)).remarks.values()
    return [remark for remark in remarks if remark.kind.startswith("lost")]


async def test_one_click_on_several_actions_is_told_in_one_message(client, bots, replica):
    """It names those that are open."""
    bot, other = bots
    state = await asked(client, bot, 4)
    await replica.replicate()
    assert await press(bot, state, DANA, APPROVED, 0, 1, 2) == ["recorded"] * 3
    await replica.take_over(*bots)
    await press(other, state, ERIK, REJECTED, 1)

    await looking(bot).look()

    [remark] = await told(bot, state)
    assert (remark.kind, remark.by, remark.actions, remark.decision) == ("lost", DANA, (0, 2), "approve")


@pytest.mark.parametrize("decision", [APPROVED, REJECTED])
async def test_a_request_whose_agent_may_have_gone_on_is_not_decided_again(client, bots, replica, decision):
    """All was decided, so the agent was told. It would run the calls twice, or run what somebody has rejected."""
    bot, other = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(other, state, ERIK, APPROVED, 0)
    await press(bot, state, DANA, decision, 1)
    await replica.take_over(*bots)

    await looking(bot).look()

    assert await press(other, state, ERIK, APPROVED, 1) == ["closed"]
    [remark] = await told(bot, state)
    assert (remark.kind, remark.by, remark.actions) == ("lost_for_good", DANA, (1,))
    answer = await client.wait(state.id)
    assert (answer.status, answer.code, answer.decisions) == ("refused", "went_back", (None, None))


async def test_an_agent_that_follows_each_decision_may_have_gone_on_with_the_first_one(client, bots, replica):
    """It runs each call as soon as that is decided."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    following = asyncio.create_task(anext(client.decisions(state.id)))
    await eventually(lambda: follows(bot, state))
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0)
    assert (await following).index == 0
    await replica.take_over(*bots)

    await looking(bot).look()

    assert [remark.kind for remark in await told(bot, state)] == ["lost_for_good"]
    assert (await newest(bot, state)).status == "refused"


async def follows(store, state) -> bool:
    fields = await store._redis.hkeys(store.keys.lane_for(state.id).req(state.id))
    return any(name.startswith("f:") for name in fields)


async def test_after_a_request_has_ended_nobody_is_asked_to_decide_it_again(client, bots, replica):
    """The first of two clicks left a call open, and the second one did not."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, ERIK, APPROVED, 0)
    await press(bot, state, DANA, APPROVED, 1)
    await replica.take_over(*bots)

    await looking(bot).look()

    remarks = [(remark.kind, remark.by, remark.actions) for remark in await told(bot, state)]
    assert remarks == [("lost_for_good", DANA, (1,)), ("lost_for_good", ERIK, (0,))]


async def test_nobody_is_asked_again_on_a_request_that_was_refused_for_another_reason(client, bots, replica):
    """Its card has no buttons any more."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, ERIK, APPROVED, 0)
    await replica.take_over(*bots)
    await bot.refuse_rewound(state.id, MessageId(0, "card"), code="seal", reason="somebody changed it")

    await looking(bot).look()

    assert [remark.kind for remark in await told(bot, state)] == ["lost_for_good"]


async def test_who_judged_a_click_before_a_loss_was_told_judges_it_again(client, bots, replica):
    """Another bot remembers the record of before. There, nothing was in dispute, and a green button approved the call."""
    bot, other = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, REJECTED, 0)
    await replica.take_over(*bots)
    await looking(bot).look()

    assert await press(other, state, ERIK, APPROVED, 0, losses=0) == ["judge_again"]
    assert await press(other, state, ERIK, APPROVED, 0, losses=1) == ["recorded"]


async def test_that_a_loss_was_told_can_be_lost_as_well(client, bots, replica):
    """Until it is told again, nobody decides: the next server knows of no dispute."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, REJECTED, 0)
    await replica.take_over(*bots)
    looks = looking(bot)
    await looks.look()
    await replica.take_over(*bots)

    assert (await looks.look(ends_only=True)).will_ask == {state.id}

    await looks.look()
    assert (await newest(bot, state)).actions[0].is_disputed


@pytest.mark.parametrize("first", ["told", "written again"])
async def test_an_earlier_approval_does_not_count_whenever_another_bot_writes_it_again(
    client, bots, replica, first
):
    """Who rejected in the end must not count as agreeing, also where only their approval is written again."""
    bot, other = bots
    other.scripts.journal.kept = 120
    state = await asked(client, bot, 2, quorum=2)
    await replica.replicate()
    assert await press(other, state, DANA, APPROVED) == ["counted"]
    assert await press(bot, state, DANA, REJECTED) == ["recorded"]
    await replica.take_over(*bots)

    if first == "told":
        await looking(bot).look()
    await other.scripts.write_again(within=0)
    if first == "written again":
        await looking(bot).look()

    found = await newest(bot, state)
    assert not found.votes.get(0)
    assert found.actions[0].is_disputed


async def test_an_earlier_approval_from_a_clock_that_was_ahead_does_not_count_either(
    client, bots, replica, redis
):
    """The server on which it was given went away, and the next one's clock is two seconds behind."""
    bot, _ = bots
    state = await asked(client, bot, 2, quorum=2)
    await press(bot, state, DANA, APPROVED)
    card = bot.keys.lane_for(state.id).card(state.id)
    who, position, token, when, said = (await redis.hget(card, "votes:0")).split(" ", 4)
    await redis.hset(card, "votes:0", f"{who} {position} {token} {int(when) + 2_000} {said}")
    await replica.replicate()
    assert await press(bot, state, DANA, REJECTED) == ["recorded"]
    await replica.take_over(*bots)

    await looking(bot).look()

    found = await newest(bot, state)
    assert not found.votes.get(0)
    assert found.actions[0].is_disputed


async def test_what_two_parts_of_a_bot_find_out_at_once_ends_a_request_once(client, bots, replica):
    """One looked for lost clicks, the other saw what the card shows. The trail says it once, with the reason that people read."""
    bot, _ = bots
    state = await asked(client, bot, 1)
    await replica.replicate()
    await press(bot, state, ERIK, APPROVED, 0)
    await replica.take_over(*bots)
    await looking(bot).look()
    reason = (await newest(bot, state)).reason

    await bot.refuse_rewound(state.id, MessageId(0, "card"), code="went_back", reason="it was shown")

    assert reason
    assert (await newest(bot, state)).reason == reason
    entries = await bot._redis.xrange(bot.keys.lane_for(state.id).audit)
    assert [fields["event"] for _, fields in entries].count("refused") == 1


async def test_what_a_card_has_ended_first_is_told_as_well(client, bots, replica, caplog):
    """The card already showed the decision, so the request was refused before anybody looked for lost clicks."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, ERIK, APPROVED, 0)
    await replica.take_over(*bots)
    await bot.refuse_rewound(state.id, MessageId(0, "card"), code="went_back", reason="it was shown")

    await looking(bot).look()

    [remark] = await told(bot, state)
    assert (remark.kind, remark.by, remark.actions) == ("lost_for_good", ERIK, (0,))
    [entry] = await entered(bot)
    assert (entry["by"], entry["decision"], entry.tools) == (ERIK, "approve", ("pay",))
    [line] = [each for each in caplog.records if each.message == "click.lost"]
    assert line.ended is True


async def test_the_name_of_the_tool_is_not_readable_where_records_are_encrypted(redis, redis_url, replica):
    """The audit trail shows it to those who have the key."""
    cipher = RecordCipher.from_setting(b64encode(bytes(32)).decode())
    bot = ApprovalStore(redis, await freeze_meta(redis, "assent"), cipher=cipher)
    async with ApprovalClient.from_url(redis_url, agent="billing", record_cipher=cipher) as client:
        state = await published(client, bot, "wire_money", "note")
        await replica.replicate()
        await press(bot, state, DANA, APPROVED, 0)
        await replica.take_over(bot)

        await looking(bot).look()

    [stored] = [
        entry for _, entry in await redis.xrange(bot.keys.lane(0).audit) if entry["event"] == "click_lost"
    ]
    assert "wire_money" not in str(stored)
    trail = AuditStore(redis, bot.keys, cipher=cipher)
    [read] = [entry async for entry in trail.entries() if entry.said["event"] == "click_lost"]
    assert read.tools == ("wire_money",)


async def test_another_question_under_the_same_id_is_not_taken_for_the_one_that_was_decided(
    client, bots, replica, caplog
):
    """The question is lost as well. Its run starts again and asks something else, which has fewer calls.

    Its card says nothing of the decision. The log and the audit trail do, once.
    """
    bot, _ = bots
    await replica.replicate()
    first = await published(client, bot, "pay", "pay")
    await press(bot, first, DANA, APPROVED, 1, asked=body_digest(first.body))
    await replica.take_over(*bots)
    second = await published(client, bot, "drop_table")
    assert second.id == first.id

    for _ in range(2):
        await looking(bot).look()

    assert (await newest(bot, second)).status == "pending"
    assert await told(bot, second) == []
    assert caplog.messages.count("click.lost") == 1
    assert [(each["by"], each.said["index"], each.tools) for each in await entered(bot)] == [(DANA, 1, ())]


async def entered(bot):
    """What the audit trail says of lost clicks."""
    trail = AuditStore(bot._redis, bot.keys)
    return [entry async for entry in trail.entries() if entry.said["event"] == "click_lost"]


async def test_what_was_accepted_in_a_part_that_is_away_is_not_forgotten_meanwhile(monkeypatch):
    """However long it is away, and however much is decided elsewhere."""
    monkeypatch.setattr(accepted, "KEPT_FOR", 0.0)
    found = AcceptedLately(lambda interrupt_id: interrupt_id == "away")

    for name in ("away", "here", "there"):
        found.add(Accepted(name, 0, DANA, "token", 1, is_vote=False))
        await asyncio.sleep(0.01)

    assert [click[0][0].interrupt_id for click in found.requests()] == ["away", "there"]


async def published(client, bot, *tools):
    """What the same run asks at the same place."""
    interrupt = an_interrupt(*map(an_action, tools), id=interrupt_id("billing", "run", ["place"]))
    state = await bot.load(await client.publish(interrupt))
    await bot.admit(state, for_several(len(tools)))
    return await newest(bot, state)


async def test_a_request_that_cannot_be_looked_for_keeps_no_other_one_from_being_told(client, bots, replica):
    """Whatever is wrong with it."""
    bot, _ = bots
    damaged, state = await asked(client, bot, 2), await asked(client, bot, 2)
    await replica.replicate()
    for each in (damaged, state):
        await press(bot, each, DANA, APPROVED, 0)
    await replica.take_over(*bots)
    admitted = bot.admitted

    async def broken(interrupt_id):
        if interrupt_id == damaged.id:
            raise LookupError
        return await admitted(interrupt_id)

    bot.admitted = broken
    await looking(bot).look()

    bot.admitted = admitted
    assert [remark.kind for remark in await told(bot, state)] == ["lost"]


async def test_when_its_loop_starts_again_after_an_error_it_looks_again(client, bots, replica, playground):
    """No other bot knows what this one has taken."""
    bot, _ = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)
    slack = SlackClient(playground.bot_token, playground.api_url, None)
    guard = RestoreGuard(bot, slack, Health(), "bot")
    guard.doubts = guard.written_again = 2
    looks, leave = LostClicks(bot, guard), bot.scripts.leave_former

    bot.scripts.leave_former = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        await looks.run(Loop("lost clicks", within=60))
    bot.scripts.leave_former = leave
    again = asyncio.create_task(looks.run(Loop("lost clicks", within=60)))

    await eventually(lambda: is_told(bot, state))
    again.cancel()


async def is_told(bot, state) -> bool:
    return bool(await told(bot, state))


async def test_a_rejection_that_is_lost_when_the_time_is_up_is_told_in_the_thread(client, bots, replica):
    """Nobody can decide it again."""
    bot, _ = bots
    state = await asked(client, bot, 2, life=2_000)
    await replica.replicate()
    await press(bot, state, DANA, REJECTED, 0)
    await replica.take_over(*bots)
    await eventually(lambda: is_past(bot, state))

    await looking(bot).look()

    [remark] = await told(bot, state)
    assert (remark.kind, remark.by, remark.decision) == ("lost_for_good", DANA, "reject")
    assert (await newest(bot, state)).status == "pending"


async def is_past(bot, state) -> bool:
    return (await newest(bot, state)).is_past


async def test_a_vote_is_later_than_the_one_that_was_taken_out_though_the_clock_was_set_back(
    client, bots, replica, redis
):
    """Otherwise its loss would look as if it was taken out."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    ahead = (await redis.time())[0] * 1000 + 60_000
    await redis.hset(bot.keys.lane_for(state.id).card(state.id), "out:0", f"{DANA} {ahead}")
    await replica.replicate()
    assert await press(bot, state, DANA, REJECTED) == ["counted"]
    await replica.take_over(*bots)

    await looking(bot).look()

    assert [remark.kind for remark in await told(bot, state)] == ["lost"]


async def test_after_a_failover_nothing_is_decided_before_the_bots_have_looked(client, bots, replica):
    """Somebody else may just have decided otherwise. Where it is written again, only votes wait."""
    bot, _ = bots
    state = await asked(client, bot)
    bot.doubt()
    bot.scripts.journal.note_outage()

    with pytest.raises(TooEarlyError) as deciding:
        await press(bot, state, DANA, APPROVED)
    with pytest.raises(TooEarlyError):
        await propose(bot, state, a_proposal())
    assert 8 < deciding.value.seconds <= 10
    bot.unlooked = frozenset()
    assert await press(bot, state, DANA, APPROVED) == ["recorded"]


async def test_a_vote_is_given_again(client, bots, replica):
    """Nothing can have run before everybody has voted."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    assert await press(bot, state, DANA, APPROVED) == ["counted"]
    await replica.take_over(*bots)

    await looking(bot).look()

    assert [remark.kind for remark in await told(bot, state)] == ["lost"]
    assert await press(bot, state, DANA, APPROVED, token="again") == ["counted"]


@pytest.mark.parametrize("through", [0, 1], ids=["the same bot", "another bot"])
async def test_a_final_decision_is_not_taken_for_a_later_vote_of_the_same_person(
    client, bots, replica, through
):
    """Mira's vote was the last one that was needed. The agent has gone on, and Mira presses again before anybody looks."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    assert await press(bot, state, MIRA, APPROVED) == ["recorded"]
    await replica.take_over(*bots)
    assert await press(bots[through], state, MIRA, APPROVED) == ["counted"]

    await looking(bot).look()

    assert (await newest(bot, state)).status == "refused"


@pytest.mark.parametrize("lost", ["a rejection", "a proposal"])
async def test_an_earlier_vote_does_not_count_where_what_replaced_it_is_lost(client, bots, replica, lost):
    """Dana approved, and then thought otherwise. She is asked again, and nobody goes on with her approval."""
    bot, other = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    await press(bot, state, DANA, APPROVED)
    await replica.replicate()
    if lost == "a rejection":
        assert await press(bot, state, DANA, REJECTED) == ["counted"]
    else:
        assert await propose(bot, state, a_proposal("two", by=DANA, amount=9)) == "recorded"
    await replica.take_over(*bots)

    await looking(bot).look()

    [remark] = await told(bot, state)
    assert (remark.by, remark.decision) == (DANA, "reject" if lost == "a rejection" else "edit")
    assert (await newest(bot, state)).votes == {}
    assert await press(other, state, MIRA, APPROVED) == ["counted"]


async def test_an_earlier_approval_does_not_count_where_the_rejection_that_ended_it_is_lost(
    client, bots, replica
):
    """Two people have to approve, and one rejects. Dana approved, and then rejected: that alone decided it."""
    bot, other = bots
    state = await asked(client, bot, 2, quorum=2)
    await press(bot, state, DANA, APPROVED, 0)
    await replica.replicate()
    assert await press(bot, state, DANA, REJECTED, 0) == ["recorded"]
    await replica.take_over(*bots)

    await looking(bot).look()

    found = await newest(bot, state)
    assert found.votes == {}
    assert found.actions[0].is_disputed
    assert await press(other, state, MIRA, APPROVED, 0) == ["counted"]


@pytest.mark.parametrize("through", [0, 1], ids=["the same bot", "another bot"])
async def test_a_request_that_was_decided_is_not_decided_again_because_of_one_of_its_clicks(
    client, bots, replica, through
):
    """Both calls have run. Erik, whose click was the last one, presses again before anybody looks."""
    bot, other = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0)
    await press(bot, state, ERIK, APPROVED, 1)
    await replica.take_over(*bots)
    assert await press(bots[through], state, ERIK, APPROVED, 1) == ["recorded"]

    await looking(bot).look()

    assert await press(other, state, DANA, APPROVED, 0, token="again") == ["closed"]


async def test_a_request_that_was_decided_ends_also_where_somebody_made_the_last_decision_anew(
    client, bots, replica
):
    """Nobody knows the other one any more, with which the agent has gone on as well."""
    bot, gone = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(gone, state, MIRA, APPROVED, 0)
    await press(bot, state, DANA, APPROVED, 1)
    await replica.take_over(*bots)
    assert await press(gone, state, ERIK, APPROVED, 1) == ["recorded"]

    await looking(bot).look()

    assert (await newest(bot, state)).status == "refused"


async def test_a_bot_ends_what_was_decided_also_where_another_one_knew_the_missing_decision(
    client, bots, replica
):
    """It has written its own decision again, which was the last one. The bot with the other one has gone."""
    bot, gone = bots
    state = await asked(client, bot, 2)
    await press(bot, state, ERIK, APPROVED, 1)
    await replica.replicate()
    bot.accepted = AcceptedLately()
    await press(gone, state, DANA, APPROVED, 0)
    await press(bot, state, ERIK, APPROVED, 1)
    await replica.take_over(*bots)

    await looking(bot).look()

    found = await newest(bot, state)
    assert (found.status, found.decided) == ("refused", {1})
    [remark] = await told(bot, state)
    assert remark_text(remark).startswith("Somebody decided about action 1, but a technical fault lost that")


async def test_an_agent_that_began_to_take_decisions_after_one_was_made_takes_it_as_well(
    client, bots, replica
):
    """The failover lost that it does, together with the decision. It says so again before people are asked anew."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0)
    taken = client.decisions(state.id)
    assert (await anext(taken)).index == 0
    waiting = asyncio.create_task(anext(taken))
    await replica.take_over(*bots)

    await looking(bot).look(ends_only=True)
    assert await told(bot, state) == []
    await eventually(lambda: follows(bot, state))
    await looking(bot).look()

    assert [remark.kind for remark in await told(bot, state)] == ["lost_for_good"]
    waiting.cancel()


async def test_it_is_told_also_where_the_deadline_has_passed_meanwhile(client, bots, replica):
    """The card says that nobody decided in time, and the agent has run the call."""
    bot, other = bots
    state = await asked(client, bot, life=900)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)
    await asyncio.sleep(1.0)
    await other.settle(state.id, "expired", why_not="nobody answered")

    await looking(bot).look()

    assert (await newest(bot, state)).status == "expired"
    assert [remark.kind for remark in await told(bot, state)] == ["lost_for_good"]


async def test_a_request_that_a_second_failover_opens_again_ends_again(client, bots, replica):
    """That it had ended was lost as well."""
    bot, _ = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    for _ in range(2):
        await replica.take_over(*bots)
        await looking(bot).look()

    assert (await newest(bot, state)).status == "refused"


async def test_a_server_that_does_not_answer_holds_up_nothing_on_the_others(redis):
    """In a cluster, each of them has some lanes."""
    bot, looked_for = ApprovalStore(redis, Keys("assent", lanes=16)), []
    for agent in ("billing", "mail", "billing"):
        name = f"{agent}.{len(bot.accepted.requests()):032x}"
        bot.accepted.add(Accepted(name, 0, DANA, token="t", at=1, is_vote=False))

    async def admitted(interrupt_id):
        looked_for.append(interrupt_id.partition(".")[0])
        if looked_for[-1] == "billing":
            raise ServerUnreachableError("its server is down")

    bot.admitted = admitted
    found = await looking(bot).look()

    assert looked_for == ["billing", "mail"]
    assert [*found.unreachable] == [bot.keys.lane_of("billing")]


async def test_a_server_that_does_not_answer_keeps_nobody_from_deciding_on_the_others(redis, playground):
    """Not even where nothing says which other bots there are."""
    bot = ApprovalStore(redis, Keys("assent", lanes=16))
    for agent in ("billing", "mail"):
        bot.accepted.add(Accepted(f"{agent}.{1:032x}", 0, DANA, token="t", at=1, is_vote=False))

    async def down(interrupt_id="billing."):
        if interrupt_id.startswith("billing."):
            raise ServerUnreachableError("its server is down")

    bot.admitted = bot.alive = down
    bot.doubt()
    async with doubting(bot, playground):
        await eventually(lambda: can_decide(bot, "mail.2"))

        assert bot.decides_in("billing.2")


async def can_decide(bot, interrupt_id) -> bool:
    return not bot.decides_in(interrupt_id)


async def test_a_connection_that_is_lost_again_and_again_puts_no_loss_off(
    client, bots, replica, playground, monkeypatch
):
    """The same server answers each time."""
    monkeypatch.setattr(lost_clicks, "LATE", 1.0)
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0)
    await replica.take_over(*bots)

    async with doubting(bot, playground) as guard:

        async def is_told_at_last() -> bool:
            guard.doubts = guard.written_again = guard.doubts + 1
            return bool(await told(bot, state))

        await eventually(is_told_at_last)


async def test_an_answer_that_came_while_the_bot_looked_is_looked_for(bots, playground):
    """Whoever waited for it has been shown that it was accepted, and the look began before."""
    bot, _ = bots
    bot.deciding = 1
    looks = []

    def answered():
        looks.append(bot.deciding)
        bot.deciding = 0

    bot.scripts.leave_former = answered
    bot.doubt()
    async with doubting(bot, playground):
        await eventually(lambda: has_looked(looks))
        assert bot.unlooked
        await eventually(lambda: can_decide(bot, "billing.1"))

    assert looks == [1, 0]


async def has_looked(looks) -> bool:
    return bool(looks)


async def test_nobody_decides_a_request_that_was_gone_before_it_is_looked_at_again(
    client, bots, replica, playground
):
    """Its agent, or another process of it, asks the same again. What was decided before may have run."""
    bot, other = bots
    question = await bot.load(await client.publish(an_interrupt(an_action(), run="run-of-two")))
    await replica.replicate()
    await bot.admit(question, for_several(1))
    state = await newest(bot, question)
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)

    async with doubting(bot, playground):
        await eventually(lambda: is_missed(bot, state))
        await other.admit(await other.load(state.id), for_several(1))
        with pytest.raises(TooEarlyError):
            await press(bot, state, ERIK, APPROVED)
        await eventually(lambda: is_told(bot, state))

    assert (await newest(bot, state)).code == "went_back"


async def is_missed(bot, state) -> bool:
    return state.id in bot.missing


async def test_what_comes_back_never_is_in_the_log(client, bots, replica, playground, monkeypatch, caplog):
    """There is no card on which it could be told."""
    monkeypatch.setattr(lost_clicks, "LATE", 0.5)
    monkeypatch.setattr(lost_clicks, "KEPT_FOR", 0.5)
    bot, _ = bots
    await replica.replicate()
    state = await asked(client, bot)
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)

    async with doubting(bot, playground):
        await eventually(lambda: is_logged(caplog, "click.lost"))

    assert not bot.missing


async def is_logged(caplog, event) -> bool:
    return event in caplog.messages


@asynccontextmanager
async def doubting(bot, playground):
    """Let the bot look, as it does after another server has answered."""
    guard = RestoreGuard(bot, SlackClient(playground.bot_token, playground.api_url, None), Health(), "bot")
    guard.doubts = guard.written_again = 2
    looks = asyncio.create_task(LostClicks(bot, guard).run(Loop("lost clicks", within=60)))
    yield guard
    await end_task(looks)


async def test_a_request_that_was_decided_anew_before_anybody_looked_stays_decided(client, bots, replica):
    """The agent was told that as well."""
    bot, other = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)
    load = bot.admitted

    async def late(interrupt_id):
        found = await load(interrupt_id)
        await press(other, state, ERIK, REJECTED)
        return found

    bot.admitted = late
    await looking(bot).look()

    found = await newest(bot, state)
    assert (found.status, found.remarks) == ("decided", {})


async def test_who_has_decided_again_through_another_bot_is_told_nothing(client, bots, replica):
    """Dana approved both calls with one click, and then each of them."""
    bot, other = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0, 1)
    await replica.take_over(*bots)
    for index in (0, 1):
        assert await press(other, state, DANA, APPROVED, index) == ["recorded"]

    await looking(bot).look()

    assert await told(bot, state) == []


async def test_nobody_is_asked_again_where_others_have_decided(client, bots, replica, caplog):
    """The log says whose decision does not count."""
    bot, other = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)
    await press(other, state, ERIK, REJECTED)

    await looking(bot).look()

    found = await newest(bot, state)
    assert (found.remarks, found.notice) == ({}, None)
    assert "click.lost" in caplog.messages


async def test_it_is_told_once_also_when_the_answer_of_redis_is_lost(client, bots, replica):
    """The bot does not know whether it was written, and writes it again."""
    bot, _ = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(bot)
    run, lost = bot.scripts._evaluate, []

    async def lose(script, *rest):
        answer = await run(script, *rest)
        if script.verb == "tell_lost" and not lost:
            lost.append(answer)
            raise ServerUnreachableError("the connection was lost")
        return answer

    bot.scripts._evaluate = lose
    assert (await looking(bot).look()).unreachable
    await looking(bot).look()

    assert len(await told(bot, state)) == 1


@pytest.mark.parametrize(("quorum", "kind"), [(1, "lost_for_good"), (2, "lost")])
async def test_it_is_told_also_when_the_request_is_admitted_again_later(client, bots, replica, quorum, kind):
    """The new server had the question only, and another bot admits it a moment later."""
    bot, other = bots
    question = await bot.load(await client.publish(an_interrupt(an_action(), run="run-of-two")))
    await replica.replicate()
    await bot.admit(question, for_several(1, quorum=quorum))
    state = await newest(bot, question)
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)
    assert (await looking(bot).look()).missing == {state.id}

    await other.admit(await other.load(state.id), for_several(1, quorum=quorum))
    assert not (await looking(bot).look()).missing

    assert [remark.kind for remark in await told(bot, state)] == [kind]


async def test_who_presses_again_while_the_bot_looks_is_told_nothing(client, bots, replica):
    """Between the look and the word about it."""
    bot, other = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)
    tell = bot.tell_lost

    async def late(*args, **more):
        await press(other, state, DANA, APPROVED)
        return await tell(*args, **more)

    bot.tell_lost = late
    await looking(bot).look()

    assert (await newest(bot, state)).status == "decided"
    assert await told(bot, state) == []


async def test_what_is_lost_a_second_time_is_told_a_second_time(client, bots, replica):
    """Dana did as she was asked, and voted again."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    for _ in range(2):
        await replica.replicate()
        assert await press(bot, state, DANA, APPROVED) == ["counted"]
        await replica.take_over(*bots)
        await looking(bot).look()

    assert [remark.by for remark in await told(bot, state)] == [DANA, DANA]


async def test_a_click_that_only_its_second_press_accepted_is_told_as_well(client, bots, replica):
    """The answer to the first press was lost, and the second one found what the first had stored."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    bot.accepted = AcceptedLately()
    await press(bot, state, DANA, APPROVED)
    await replica.take_over(*bots)

    await looking(bot).look()

    assert len(await told(bot, state)) == 1


async def test_a_standing_approval_that_was_revoked_ends_again(client, bots, replica, caplog):
    """Otherwise it would approve the next call."""
    bot, _ = bots
    state = await asked(client, bot)
    text = dump_recorded(APPROVED, fingerprint=state.actions[0].fingerprint, decided_by=DANA)
    given = StandingTerms(uses=5)
    await bot.record_decision(state.id, {0: text}, token="t", person=DANA, deadline=60, standing=given)
    await replica.replicate()
    assert await bot.end_standing(state.id, 0, by=ERIK) == "ended"
    await replica.take_over(*bots)

    await looking(bot).look()

    assert not (await newest(bot, state)).standing[0].is_live(state.now)
    assert "revocation.lost" in caplog.messages


@pytest.mark.parametrize("kept", [0, 120])
async def test_a_revocation_whose_answer_was_lost_is_made_again(client, bots, replica, kept):
    """The second press finds that it has ended."""
    bot, _ = bots
    bot.scripts.journal.kept = kept
    state = await asked(client, bot)
    text = dump_recorded(APPROVED, fingerprint=state.actions[0].fingerprint, decided_by=DANA)
    given = StandingTerms(uses=5)
    await bot.record_decision(state.id, {0: text}, token="t", person=DANA, deadline=60, standing=given)
    await replica.replicate()
    run = bot.scripts._evaluate

    async def lose(script, *rest):
        await run(script, *rest)
        raise ServerUnreachableError("the connection was lost")

    bot.scripts._evaluate = lose
    with pytest.raises(StoreUnavailableError):
        await bot.end_standing(state.id, 0, by=ERIK)
    bot.scripts._evaluate = run
    assert await bot.end_standing(state.id, 0, by=ERIK) == "known"
    await replica.take_over(*bots)

    await bot.scripts.write_again(within=0)
    await looking(bot).look()

    assert not (await newest(bot, state)).standing[0].is_live(state.now)


async def test_what_something_else_overwrites_has_nobody_told_again_and_again(client, bots, replica, redis):
    """Each look fails there, and the next one begins anew."""
    bot, _ = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0)
    await replica.take_over(*bots)
    undrawn = bot.keys.lane_for(state.id).undrawn
    await redis.delete(undrawn)
    await redis.set(undrawn, "x")
    for _ in range(3):
        assert (await looking(bot).look()).unreachable

    await redis.delete(undrawn)
    await looking(bot).look()

    assert len(await told(bot, state)) == 1


async def test_votes_that_something_else_has_overwritten_end_no_loop(client, bots, replica, redis, caplog):
    """The log names the request, and the others are looked for."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    assert await press(bot, state, DANA, APPROVED) == ["counted"]
    await redis.hset(bot.keys.lane_for(state.id).card(state.id), "votes:0", "damaged")

    await looking(bot).look()

    assert "click.not_looked_for" in caplog.messages


@pytest.mark.parametrize("decision", [APPROVED, REJECTED])
async def test_a_final_decision_that_counts_as_a_vote_after_its_loss_is_not_lost_again(
    client, bots, replica, decision
):
    """Its person pressed again, and by now another one has to agree anew. A bot that looks once more finds the vote."""
    bot, other = bots
    state = await asked(client, bot, 2, quorum=2, reject_quorum=2)
    await replica.replicate()
    assert await press(other, state, ERIK, decision, 0) == ["counted"]
    assert await press(bot, state, DANA, decision, 0) == ["recorded"]
    await replica.take_over(*bots)
    for each in bots:
        await looking(each).look()
    assert await press(bot, state, DANA, decision, 0) == ["counted"]
    before = await told(bot, state)

    await looking(bot).look()

    assert await told(bot, state) == before
    assert [vote.user for vote in (await newest(bot, state)).votes[0]] == [DANA]


async def test_who_agreed_with_a_proposal_is_told_to_have_changed_the_call(client, bots, replica):
    """The card shows what the agent had asked, and the call may have run with the proposed values."""
    bot, _ = bots
    state = await asked(client, bot)
    proposal = a_proposal(terms=Terms(approvers=(ERIK,)))
    await propose(bot, state, proposal)
    await replica.replicate()
    assert await agree(bot, await newest(bot, state), ERIK, proposal) == "recorded"
    await replica.take_over(*bots)

    await looking(bot).look()

    [remark] = await told(bot, state)
    assert (remark.kind, remark.by, remark.decision) == ("lost_for_good", ERIK, "edit")
