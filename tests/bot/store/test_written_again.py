"""What bots do after a failover that lost decisions: they write them again, and the first one stays the first."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from agent_adapter import ApprovalClient
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.record import dump_recorded
from agent_adapter.errors import ClaimedError, ConsumedError
from agent_adapter.redis.journal import Journal
from agent_adapter.redis.pool import freeze_meta
from bot.api.agents import Agents
from bot.domain.errors import StoreUnavailableError
from bot.domain.ids import MessageId
from bot.domain.messages import Shown
from bot.jobs.lost_clicks import LostClicks
from bot.store.codec import body_digest, unix_milliseconds
from bot.store.records import ApprovalStore
from bot.store.votes import Voters
from tests.bot.store.test_votes import (
    DANA,
    ERIK,
    MIRA,
    asked,
    for_several,
    is_shown,
    newest,
    press,
    tokens_of,
)
from tests.bot.use_cases.test_propose import a_proposal, agree, propose
from tests.conftest import an_agent, until
from tests.support.builders import an_action, an_interrupt

APPROVED, REJECTED = ApproveDecision(), RejectDecision(message="no")


@pytest.fixture
async def bots(redis: Redis) -> list[ApprovalStore]:
    """Two bots that keep what they write, and have run for a while."""
    keys = await freeze_meta(redis, "assent")
    found = [ApprovalStore(redis, keys, address="here", journal=Journal(120)) for _ in range(2)]
    for bot in found:
        bot.scripts.journal.begin((), is_settled=True)
    return found


class Replica:
    """What a replica had: the server goes back to it."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._had: dict[bytes | str, bytes] = {}

    async def replicate(self) -> None:
        self._had = {name: await self._redis.dump(name) async for name in self._redis.scan_iter("*")}

    async def take_over(self, *bots: ApprovalStore) -> None:
        await self._redis.flushall()
        for name, dumped in self._had.items():
            await self._redis.restore(name, 0, dumped, replace=True)
        for bot in bots:
            bot.scripts.journal.note_outage()


@pytest.fixture
async def replica(redis_url: str) -> AsyncIterator[Replica]:
    async with Redis.from_url(redis_url) as redis:
        yield Replica(redis)


async def settled() -> None:
    """Wait until processes that have just started, or lost their connection, claim runs: see `quickly`."""
    await asyncio.sleep(1.1)


async def write_again(agent: ApprovalClient) -> None:
    """Have an agent write again, as it does after a lost connection."""
    assert await agent._records._scripts.write_again(within=0) == []


async def test_nobody_decides_otherwise_before_the_first_decision_is_written_again(client, bots, replica):
    """The rejection comes first to the new server, and is told that the question is decided."""
    bot, _ = bots
    state = await asked(client, bot)
    await replica.replicate()
    assert await press(bot, state, DANA, APPROVED) == ["recorded"]

    await replica.take_over(*bots)

    assert await press(bot, state, ERIK, REJECTED) == ["taken"]
    [recorded] = (await newest(bot, state)).recorded
    assert (recorded.decided_by, recorded.decision) == (DANA, APPROVED)


async def test_what_slack_shows_is_noted_again_and_the_next_edit_waits_for_no_lease(client, bots, replica):
    """The new server knew only that a bot was going to post: for half a minute nobody else would have drawn the card."""
    bot, other = bots
    state, card = await asked(client, bot), MessageId(0)
    await bot.lease_part(state.id, card, owner="first", lease=30_000)
    await replica.replicate()
    shown = Shown("C0APPROVALS", "1790000000.000100", "digest", "open")
    assert await bot.save_part(state.id, card, owner="first", shown=shown)

    await replica.take_over(*bots)
    await bot.scripts.write_again(within=0)

    lease = await other.lease_part(state.id, card, owner="second", lease=30_000)
    assert lease.outcome == "mine"
    assert (await newest(bot, state)).shown == {card: shown}


async def test_a_decision_that_another_bot_took_meanwhile_is_said_in_the_log(client, bots, replica, caplog):
    """The first bot was away. The operator learns whose click did not count."""
    bot, other = bots
    state = await asked(client, bot)
    await replica.replicate()
    assert await press(bot, state, DANA, APPROVED) == ["recorded"]

    await replica.take_over(*bots)
    assert await press(other, state, ERIK, REJECTED) == ["recorded"]
    assert await bot.scripts.write_again() == []

    [recorded] = (await newest(bot, state)).recorded
    assert recorded.decided_by == ERIK
    assert [log.getMessage() for log in caplog.records if log.levelname == "ERROR"] == ["write.contradicted"]


@pytest.mark.parametrize("first", [0, 1])
async def test_what_several_people_agree_on_is_decided_again(client, bots, replica, first):
    """Each bot took one of the votes, and either of them can be the first to write again."""
    state = await asked(client, bots[0], quorum=2)
    await replica.replicate()
    assert await press(bots[0], state, DANA, APPROVED) == ["counted"]
    seen = tokens_of(await newest(bots[0], state), DANA)
    assert await press(bots[1], state, MIRA, APPROVED, voters=seen) == ["recorded"]

    await replica.take_over(*bots)
    await asyncio.gather(bots[first].scripts.write_again(), later(bots[1 - first].scripts.write_again()))

    [recorded] = (await newest(bots[0], state)).recorded
    assert (recorded.agreed_by, recorded.decision) == ((DANA, MIRA), APPROVED)


async def later(call):
    """Begin a moment later."""
    await asyncio.sleep(0.1)
    return await call


async def test_a_vote_that_is_written_again_decides_nothing_that_it_had_not_decided(client, bots, replica):
    """Mira voted on the new server before Dana's vote came back. Nobody judged the two together, so one of them presses again."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)

    await replica.take_over(*bots)
    assert await press(other, state, MIRA, APPROVED) == ["counted"]
    assert await bot.scripts.write_again(within=0) == []

    found = await newest(bot, state)
    assert found.decided == frozenset()
    assert {vote.user for vote in found.votes[0]} == {DANA, MIRA}
    has_settled(bot)
    assert await press(bot, state, MIRA, APPROVED, voters=tokens_of(found)) == ["recorded"]


def has_settled(bot: ApprovalStore) -> None:
    """Ten seconds have passed since the failover."""
    bot.scripts.journal.begin((), is_settled=True)


async def test_nothing_is_decided_with_the_votes_of_others_before_all_have_written_again(
    client, bots, replica
):
    """Dana has voted otherwise since, and only the other bot knows it. Mira reads that she has to press again."""
    bot, other = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    await press(bot, state, DANA, APPROVED)
    await replica.replicate()
    assert await press(other, state, DANA, REJECTED) == ["counted"]

    await replica.take_over(*bots)
    with pytest.raises(StoreUnavailableError):
        await press(bot, state, MIRA, APPROVED, voters=tokens_of(await newest(bot, state)))
    assert await other.scripts.write_again(within=0) == []
    has_settled(bot)

    assert await press(bot, state, MIRA, APPROVED, voters=tokens_of(await newest(bot, state))) == ["counted"]


@pytest.mark.parametrize("had_the_first", [False, True], ids=["no vote", "the first vote"])
async def test_of_three_votes_of_a_person_the_last_one_counts_again(client, bots, replica, had_the_first):
    """Dana rejects, approves through another bot, and rejects with the same words: here the new server had nothing, or the first."""
    bot, other = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    if not had_the_first:
        await replica.replicate()
    await press(bot, state, DANA, REJECTED)
    if had_the_first:
        await replica.replicate()
    await press(other, state, DANA, APPROVED)
    await press(bot, state, DANA, REJECTED, token="third")

    await replica.take_over(*bots)
    for each in bots:
        assert await each.scripts.write_again(within=0) == []

    [vote] = (await newest(bot, state)).votes[0]
    assert vote.position == "reject"


@pytest.mark.parametrize("first", [0, 1])
async def test_a_vote_that_was_given_twice_stands_under_its_first_click_again(client, bots, replica, first):
    """Dana approved twice, through two bots. The decision that her vote was part of comes back, whichever bot writes first."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    assert await press(other, state, DANA, APPROVED, token="again") == ["repeat"]
    voters = tokens_of(await newest(bot, state))
    assert await press(bot, state, MIRA, APPROVED, voters=voters) == ["recorded"]

    await replica.take_over(*bots)
    writing = asyncio.create_task(bots[first].scripts.write_again(within=4))
    left = [*await bots[1 - first].scripts.write_again(within=4), *await writing]

    assert (left, (await newest(bot, state)).decided) == ([], {0})


async def test_who_was_taken_out_twice_stays_out_whichever_is_written_again_last(
    client, bots, replica, redis
):
    """Erik votes, is taken out, votes, and is taken out. The bot that knows the first time comes last."""
    bot, other = bots
    third = ApprovalStore(redis, bot.keys, journal=Journal(120))
    third.scripts.journal.begin((), is_settled=True)
    state = await asked(client, bot, quorum=3)
    await replica.replicate()
    out = Voters(refused=frozenset({ERIK}))
    for each, token in ((bot, "first"), (other, "second")):
        await press(third, state, ERIK, APPROVED, token=token)
        await asyncio.sleep(0.01)
        await press(each, state, MIRA if each is bot else DANA, APPROVED, voters=out)
        await asyncio.sleep(0.01)

    await replica.take_over(bot, other, third)
    for each in (other, bot, third):
        assert await each.scripts.write_again(within=0) == []

    assert {vote.user for vote in (await newest(bot, state)).votes[0]} == {DANA, MIRA}


async def test_a_proposal_comes_back_also_when_the_one_that_it_replaced_is_gone(client, bots, replica):
    """The bot with the earlier one has ended. Should it come back later, it is an earlier one all the same."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    await propose(other, state, a_proposal("one"))
    await propose(bot, state, second := a_proposal("two", by=MIRA, amount=9))
    assert await agree(bot, state, ERIK, second) == "counted"

    await replica.take_over(*bots)
    assert await bot.scripts.write_again(within=0) == []
    assert await other.scripts.write_again(within=0) == []

    found = await newest(bot, state)
    assert found.proposals[0].name == "two"
    assert [vote.user for vote in found.votes[0]] == [ERIK]


async def test_a_proposal_that_an_earlier_version_has_replaced_does_not_come_back(client, bots, redis):
    """That version notes no time. The bot had only lost its connection, and Redis nothing."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await propose(bot, state, a_proposal("one"))
    card = bot.keys.lane_for(state.id).card(state.id)
    noted = await redis.hget(card, "proposed:0")
    await propose(other, state, a_proposal("two", by=MIRA, amount=9))
    await redis.hset(card, "proposed:0", noted)

    bot.scripts.journal.note_outage()
    await bot.scripts.write_again(within=0)

    assert (await newest(bot, state)).proposals[0].name == "two"


async def test_a_decision_that_waits_for_votes_of_another_bot_is_contradicted_by_nobody(
    client, bots, replica
):
    """Also after its bot has written everything else again. The other one is away for a while."""
    bot, other = bots
    state = await decided_by_two(client, bots, replica)
    writing = asyncio.create_task(bot.scripts.write_again(within=5))
    await until(lambda: not bot.scripts.journal.is_owed)

    with pytest.raises(StoreUnavailableError):
        await press(bot, state, ERIK, REJECTED)
    await other.scripts.write_again(within=0)

    assert await writing == []
    [recorded] = (await newest(bot, state)).recorded
    assert recorded.decision == APPROVED


async def test_a_decision_that_waits_for_its_question_is_contradicted_by_nobody(client, bots, replica):
    """The other bot had admitted it. As soon as it is there, the earlier decision comes first."""
    bot, other = bots
    await replica.replicate()
    state = await asked(client, other)
    assert await press(bot, state, DANA, APPROVED) == ["recorded"]

    await replica.take_over(*bots)
    writing = asyncio.create_task(bot.scripts.write_again(within=8))
    await until(lambda: not bot.scripts.journal.is_owed)
    await other.scripts.write_again(within=0)
    assert await press(bot, state, ERIK, REJECTED) == ["taken"]

    assert await writing == []
    [recorded] = (await newest(bot, state)).recorded
    assert recorded.decided_by == DANA


async def test_a_decision_that_a_former_primary_answered_late_is_written_again(client, bots, replica, store):
    """Its replica confirmed it. Meanwhile the bot has met the new server, and has written everything else again."""
    bot, _ = bots
    state = await asked(client, bot)
    await replica.replicate()
    evaluate, is_over = bot.scripts._evaluate, False

    async def late(script, *rest):
        nonlocal is_over
        answer = await evaluate(script, *rest)
        if script.verb == "record_decision" and not is_over:
            is_over = True
            await replica.take_over(bot)
            assert await bot.scripts.write_again() == []
        return answer

    bot.scripts._evaluate = late
    assert await press(bot, state, DANA, APPROVED) == ["recorded"]

    assert bot.scripts.journal.is_owed
    assert await bot.scripts.write_again() == []
    assert (await newest(store, state)).decided == {0}


async def test_a_second_failover_does_not_wait_for_what_the_first_one_still_waits_for(
    client, bots, replica, store
):
    """A decision waits for a vote of a bot that has ended. Everything else comes back at once, both times."""
    bot, ended = bots
    waits, plain = await asked(client, bot, quorum=2), await asked(client, bot)
    await replica.replicate()
    await press(ended, waits, DANA, APPROVED)
    await press(bot, waits, MIRA, APPROVED, voters=tokens_of(await newest(bot, waits)))
    assert await press(bot, plain, DANA, REJECTED) == ["recorded"]

    await replica.take_over(bot)
    writing = asyncio.create_task(bot.scripts.write_again(within=600))
    await until(lambda: not bot.scripts.journal.is_owed)
    await replica.take_over(bot)

    assert await writing == []
    assert bot.scripts.journal.is_owed
    assert len(await bot.scripts.write_again(within=0)) == 1
    assert (await newest(store, plain)).decided == {0}


async def test_a_decision_whose_other_votes_are_gone_is_not_decided_again(client, bots, replica):
    """The bot that took the first vote has ended. The other vote counts, and the log says that it did not decide."""
    bot, ended = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    await press(ended, state, DANA, APPROVED)
    await press(bot, state, MIRA, APPROVED, voters=tokens_of(await newest(bot, state)))

    await replica.take_over(bot)
    [lost] = await bot.scripts.write_again(within=0)

    found = await newest(bot, state)
    assert (lost.script.verb, found.decided) == ("record_decision", frozenset())
    assert [vote.user for vote in found.votes[0]] == [MIRA]


async def decided_by_two(client, bots, replica, **terms):
    """Dana's vote is with the second bot, and Mira's, which decided, with the first one. The new server has neither."""
    bot, other = bots
    state = await asked(client, bot, quorum=2, **terms)
    await replica.replicate()
    await press(other, state, DANA, APPROVED)
    voters = tokens_of(await newest(bot, state))
    assert await press(bot, state, MIRA, APPROVED, voters=voters) == ["recorded"]
    await replica.take_over(*bots)
    return state


async def both_write_again(bots):
    """Have both bots write again, and give what they could not."""
    left = await asyncio.gather(*(each.scripts.write_again(within=3) for each in bots))
    return [write.script.verb for group in left for write in group]


async def test_a_vote_on_the_new_server_does_not_keep_a_decision_from_coming_back(
    client, bots, replica, store
):
    """Erik was not judged together with the two others, so he is none of those who decided."""
    state = await decided_by_two(client, bots, replica)
    assert await press(store, state, ERIK, APPROVED) == ["counted"]

    assert await both_write_again(bots) == []
    [recorded] = (await newest(store, state)).recorded
    assert recorded.agreed_by == (DANA, MIRA)


async def test_whoever_made_a_decision_final_cannot_take_it_back_on_the_new_server(client, bots, replica):
    """Mira rejects through the other bot, before the first one has written her approval again."""
    state = await decided_by_two(client, bots, replica, reject_quorum=2)
    assert await press(bots[1], state, MIRA, REJECTED) == ["counted"]

    assert await both_write_again(bots) == []
    [recorded] = (await newest(bots[0], state)).recorded
    assert (recorded.agreed_by, recorded.decision) == ((DANA, MIRA), APPROVED)


async def test_a_bot_takes_nothing_contrary_while_its_own_decision_waits_for_the_votes_of_another_one(
    client, bots, replica
):
    """Erik reads that nothing was recorded, and that he can press again."""
    state = await decided_by_two(client, bots, replica)
    with pytest.raises(StoreUnavailableError):
        await press(bots[0], state, ERIK, REJECTED)

    assert await both_write_again(bots) == []
    assert await press(bots[0], state, ERIK, REJECTED) == ["taken"]


async def test_each_call_of_a_click_comes_back_with_its_own_time(client, bots, replica):
    """Dana rejects the first call, approves the second one, and then rejects both. Her first rejection is the oldest of all."""
    bot, _ = bots
    state = await asked(client, bot, 2, quorum=2, reject_quorum=2)
    await replica.replicate()
    for decision, calls in ((REJECTED, (0,)), (APPROVED, (1,)), (REJECTED, (0, 1))):
        await press(bot, state, DANA, decision, *calls)
        await asyncio.sleep(0.02)

    await replica.take_over(bot)
    assert await bot.scripts.write_again() == []

    votes = (await newest(bot, state)).votes
    assert [vote.position for index in (0, 1) for vote in votes[index]] == ["reject", "reject"]


async def test_of_two_votes_the_later_one_comes_back_also_when_the_clock_was_set_back(
    client, bots, replica, redis, monkeypatch
):
    """The first vote has a time in the future."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    await replica.replicate()
    keep = bot.scripts.keep

    async def ahead(verb, names, more=(), **given):
        index, *slot, outcome, first, over = more
        later = str(int(first) + 20_000)
        name = f"votes:{index}"
        vote = await redis.hget(names["card"], name)
        await redis.hset(names["card"], name, vote.replace(first, later))
        await keep(verb, names, (index, *slot, outcome, later, over), **given)

    monkeypatch.setattr(bot.scripts, "keep", ahead)
    await press(bot, state, DANA, APPROVED)
    monkeypatch.undo()
    await press(bot, state, DANA, REJECTED)

    await replica.take_over(bot)
    assert await bot.scripts.write_again() == []

    assert [vote.position for vote in (await newest(bot, state)).votes[0]] == ["reject"]


async def test_a_decision_comes_back_before_the_end_of_its_record(client, bots, replica):
    """Dana approved one of two calls in time. The bot that ended the record at its deadline is the first to write again."""
    bot, other = bots
    state = await asked(client, bot, 2, life=1_000)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED, 0)
    await asyncio.sleep(1.2)
    await other.settle(state.id, "expired")

    await replica.take_over(*bots)
    ending = asyncio.create_task(other.scripts.write_again())
    await asyncio.sleep(0.3)
    assert await bot.scripts.write_again() == []
    assert await ending == []

    found = await newest(bot, state)
    assert (found.status, found.decided) == ("expired", {0})


async def test_a_decision_does_not_come_back_for_another_question_of_the_same_name(
    client, bots, replica, redis_url
):
    """The question was lost with its process. The next one asks with other words, and gets no answer to the first."""
    bot, other = bots
    await replica.replicate()
    first, second = (an_interrupt(an_action("pay", description=why)) for why in ("a refund", "everything"))
    await client.publish(first)
    before = await bot.load(first.id)
    await bot.admit(before, for_several(1))
    fingerprint = (await newest(bot, before)).actions[0].fingerprint
    text = dump_recorded(APPROVED, fingerprint=fingerprint, decided_by=DANA)
    asked_before = body_digest(before.body)
    given = {"token": "click", "person": DANA, "deadline": 60, "asked": asked_before}
    await bot.record_decision(before.id, {0: text}, **given)

    await replica.take_over(*bots)
    async with an_agent(redis_url) as process:
        assert await process.publish(second) == first.id
    await other.admit(await other.load(first.id), for_several(1))
    [lost] = await bot.scripts.write_again(within=0)

    assert lost.script.verb == "record_decision"
    assert (await newest(other, before)).decided == frozenset()


async def test_a_claim_comes_back_before_its_decision(bots, replica, redis_url, quickly):
    """The bot that took the decision is the last one to reach the new server. Nobody else gets the run meanwhile."""
    bot, _ = bots
    async with an_agent(redis_url) as first, an_agent(redis_url) as second:
        state = await asked(first, bot)
        await replica.replicate()
        await press(bot, state, DANA, APPROVED)
        await settled()
        await first.claim(state.id, "first", timedelta(minutes=1))

        await replica.take_over(bot)
        first._journal.note_outage()
        await write_again(first)
        await settled()
        assert await bot.scripts.write_again() == []

        with pytest.raises(ClaimedError):
            await second.claim(state.id, "second", timedelta(minutes=1))
        await first.finish(state.id, "first")


async def test_a_vote_that_was_replaced_before_a_failover_is_replaced_after_it(client, bots, replica):
    """Two bots took the two votes. The new server knows only the first one."""
    bot, other = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    await press(bot, state, DANA, APPROVED)
    await replica.replicate()
    await press(other, state, DANA, REJECTED)

    await replica.take_over(*bots)
    for each in (other, bot):
        assert await each.scripts.write_again() == []

    assert [vote.position for vote in (await newest(bot, state)).votes[0]] == ["reject"]


async def test_a_vote_whose_person_may_not_decide_any_more_does_not_come_back(client, bots):
    """Mira's click took it out. The bot that had counted it lost its connection for a moment."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await press(bot, state, DANA, APPROVED)
    await press(other, state, MIRA, APPROVED, voters=Voters(refused=frozenset({DANA})))

    bot.scripts.journal.note_outage()
    assert await bot.scripts.write_again() == []

    assert [vote.user for vote in (await newest(bot, state)).votes[0]] == [MIRA]


async def test_a_proposal_comes_back_and_the_votes_for_it(client, bots, replica):
    """One bot took the proposal, and another one the vote. The vote waits for the proposal."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await replica.replicate()
    proposal = a_proposal()
    await press(other, state, DANA, APPROVED)
    await propose(bot, state, proposal)
    assert await agree(other, state, ERIK, proposal) == "counted"

    await replica.take_over(*bots)
    for written in await asyncio.gather(other.scripts.write_again(), later(bot.scripts.write_again())):
        assert written == []

    found = await newest(bot, state)
    assert found.proposals[0].name == proposal.name
    # Whoever proposes something else does not vote for the call any more.
    assert [(vote.user, vote.position) for vote in found.votes[0]] == [(ERIK, proposal.position)]


async def test_a_proposal_that_was_replaced_does_not_come_back(client, bots, monkeypatch):
    """Neither do the votes for it. The connection was lost for a moment, and nothing else. The clock of its bot is ahead."""
    bot, other = bots
    state = await asked(client, bot, quorum=3)
    first, second = a_proposal("one"), a_proposal("two", by=MIRA, amount=9)
    monkeypatch.setattr("bot.store.votes.unix_milliseconds", lambda at: unix_milliseconds(at) + 3_000)
    await propose(bot, state, first)
    await agree(bot, state, ERIK, first)
    monkeypatch.undo()
    await propose(other, state, second)
    await agree(other, state, ERIK, second)

    bot.scripts.journal.note_outage()
    assert await bot.scripts.write_again() == []

    found = await newest(bot, state)
    assert found.proposals[0].name == second.name
    assert [(vote.user, vote.position) for vote in found.votes[0]] == [(ERIK, second.position)]


async def test_a_vote_that_was_replaced_does_not_come_back(client, bots):
    """The connection was lost for a moment, and nothing else. Dana approved, and rejects now."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2, reject_quorum=2)
    await press(bot, state, DANA, APPROVED)
    await press(bot, state, DANA, REJECTED)

    bot.scripts.journal.note_outage()
    await bot.scripts.write_again()

    assert await press(bot, state, MIRA, APPROVED) == ["counted"]
    assert (await newest(bot, state)).decided == frozenset()


async def test_a_decision_that_was_used_is_used_when_it_comes_back(client, bots, replica):
    """Its agent has ended. When it starts again and asks, nothing runs a second time."""
    bot, other = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(bot, state, DANA, APPROVED)
    async with client.resuming(state.id, unchecked=True):
        pass
    await other.keep_resumed(await newest(other, state))

    await replica.take_over(*bots)
    assert await other.scripts.write_again() == []
    assert await bot.scripts.write_again() == []

    with pytest.raises(ConsumedError):
        async with client.resuming(state.id, unchecked=True):
            pass


async def test_a_claim_that_was_given_back_does_not_come_back(bots, replica, redis_url, quickly):
    """The first process failed and the second one has resumed the run. A third one finds it used."""
    bot, _ = bots
    async with an_agent(redis_url) as first, an_agent(redis_url) as second, an_agent(redis_url) as third:
        state = await asked(first, bot)
        await replica.replicate()
        await press(bot, state, DANA, APPROVED)
        with pytest.raises(RuntimeError):
            async with first.resuming(state.id, unchecked=True):
                raise RuntimeError
        async with second.resuming(state.id, unchecked=True):
            pass

        await replica.take_over(*bots)
        assert await bot.scripts.write_again() == []
        for process in (first, second):
            await write_again(process)

        with pytest.raises(ConsumedError):
            async with third.resuming(state.id, unchecked=True):
                pass


@pytest.fixture
def quickly(monkeypatch):
    """Agents that keep what they write, and wait a second until all others have written again."""
    monkeypatch.setenv("ASSENT_REASSERT_SECONDS", "120")
    monkeypatch.setattr("agent_adapter.redis.journal.SETTLES", 1.0)


async def test_a_run_that_a_living_process_holds_is_not_claimed_after_a_failover(
    bots, replica, redis_url, quickly
):
    """The new server does not know the claim, and the other process asks before the first one has written it again."""
    bot, _ = bots
    async with an_agent(redis_url) as first, an_agent(redis_url) as second:
        state = await asked(first, bot)
        await press(bot, state, DANA, APPROVED)
        await replica.replicate()
        await settled()
        await first.claim(state.id, "first", timedelta(minutes=1))

        await replica.take_over(bot)
        second._journal.note_outage()
        with pytest.raises(ClaimedError, match="may be resuming it"):
            await second.claim(state.id, "second", timedelta(minutes=1))
        first._journal.note_outage()
        await write_again(first)
        await settled()

        with pytest.raises(ClaimedError, match="another process is resuming it"):
            await second.claim(state.id, "second", timedelta(minutes=1))
        await first.finish(state.id, "first")


async def test_a_run_that_nobody_holds_is_claimed_a_moment_after_a_failover(client, bots, redis_url, quickly):
    """It is not known at once that nobody does."""
    bot, _ = bots
    state = await asked(client, bot)
    await press(bot, state, DANA, APPROVED)
    async with an_agent(redis_url) as process, process.resuming(state.id, unchecked=True) as resume:
        assert resume.decisions == (APPROVED,)


async def test_a_claim_that_somebody_has_taken_over_does_not_come_back(bots, redis_url, quickly):
    """It had lapsed, and the second process has given it back. The connection was lost, and nothing else."""
    bot, _ = bots
    async with an_agent(redis_url) as first, an_agent(redis_url) as second, an_agent(redis_url) as third:
        state = await asked(first, bot)
        await press(bot, state, DANA, APPROVED)
        await settled()
        await first.claim(state.id, "first", timedelta(minutes=1))
        await first.claim(state.id, "first", timedelta(milliseconds=1))
        await asyncio.sleep(0.01)
        await second.claim(state.id, "second", timedelta(minutes=1))
        await second.claim(state.id, "second", timedelta(0))

        first._journal.note_outage()
        await write_again(first)

        await third.claim(state.id, "third", timedelta(minutes=1))


async def test_a_claim_that_was_refused_is_not_tried_again(bots, redis_url, quickly):
    """Otherwise it would take the run once its holder gives it back, and nobody would go on with it."""
    bot, _ = bots
    async with an_agent(redis_url) as first, an_agent(redis_url) as second, an_agent(redis_url) as third:
        state = await asked(first, bot)
        await press(bot, state, DANA, APPROVED)
        await settled()
        await first.claim(state.id, "first", timedelta(minutes=1))
        with pytest.raises(ClaimedError):
            await second.claim(state.id, "second", timedelta(minutes=1))
        await first.claim(state.id, "first", timedelta(0))

        second._journal.note_outage()
        await write_again(second)

        await third.claim(state.id, "third", timedelta(minutes=1))


async def test_a_claim_comes_back_as_it_was_last_renewed(bots, replica, redis_url, quickly):
    """Its first, shorter lease counts no more."""
    bot, _ = bots
    async with an_agent(redis_url) as process:
        state = await asked(process, bot)
        await press(bot, state, DANA, APPROVED)
        await replica.replicate()
        await settled()
        for minutes in (1, 60):
            await process.claim(state.id, "worker", timedelta(minutes=minutes))

        await replica.take_over(bot)
        process._journal.note_outage()
        await write_again(process)

        found = await newest(bot, state)
        assert found.claimed_until is not None
        assert found.claimed_until - found.now > timedelta(minutes=50)


async def test_a_question_that_comes_back_gets_its_card(client, bots, replica, redis):
    """Its agent does not ask again, and the note of its first question is lost as well."""
    bot, _ = bots
    await replica.replicate()
    state = await asked(client, bot)

    await replica.take_over(bot)
    assert await bot.scripts.write_again() == []

    noted = await redis.xrange(bot.keys.lane_for("billing").inbox("billing"))
    assert [fields for _, fields in noted] == [{"event": "published", "id": state.id}]


async def test_pages_that_were_read_come_back_and_never_hide_later_ones(client, bots, replica):
    """Two bots showed them to Erik. Only what is missing is written again."""
    bot, other = bots
    state = await asked(client, bot)
    await replica.replicate()
    await bot.mark_read(state, state.actions[0], ERIK, 1)
    for page in (2, 3):
        await other.mark_read(state, state.actions[0], ERIK, page)

    async def read() -> int:
        return (await newest(bot, state)).pages_read(state.actions[0], ERIK)

    bot.scripts.journal.note_outage()
    assert await bot.scripts.write_again() == []
    assert await read() == 3

    await replica.take_over(*bots)
    assert await other.scripts.write_again() == []
    assert await read() == 3


async def test_of_a_click_on_several_calls_only_what_it_decided_is_written_again(client, bots, replica):
    """Erik had decided about the first call. His decision is written again by the bot that took it."""
    bot, other = bots
    state = await asked(client, bot, 2)
    await replica.replicate()
    await press(other, state, ERIK, REJECTED)
    assert await press(bot, state, DANA, APPROVED, 0, 1) == ["taken", "recorded"]

    await replica.take_over(*bots)
    assert await bot.scripts.write_again() == []
    assert await other.scripts.write_again() == []

    recorded = (await newest(bot, state)).recorded
    assert [(each.decided_by, each.decision) for each in recorded] == [(ERIK, REJECTED), (DANA, APPROVED)]


async def test_a_decision_whose_answer_was_lost_is_written_again(client, bots, replica, store):
    """Redis had taken it when the connection was lost, so it said to the second try that it knows it."""
    bot, _ = bots
    state = await asked(client, bot)
    await replica.replicate()
    await press(store, state, DANA, APPROVED)
    assert await press(bot, state, DANA, APPROVED) == ["repeat"]

    await replica.take_over(bot)
    assert await bot.scripts.write_again() == []

    [recorded] = (await newest(bot, state)).recorded
    assert recorded.decided_by == DANA


async def test_agents_of_the_http_api_keep_for_as_long_as_the_bot(redis_url):
    """The setting can be in the bot's file only, and not in its environment."""
    agents = Agents(redis_url, "assent", reassert=timedelta(minutes=2))
    try:
        client = await agents.find("billing")
        assert client._journal.kept == 120
    finally:
        await agents.close()


async def test_writing_again_changes_nothing_that_is_there(client, bots, redis, replica):
    """A connection that was lost is no reason to do anything twice."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    await press(bot, state, DANA, APPROVED)
    await press(bot, state, MIRA, APPROVED)
    before = {name: await redis.dump(name) async for name in redis.scan_iter("*")}

    bot.scripts.journal.note_outage()
    assert await bot.scripts.write_again() == []

    assert {name: await redis.dump(name) async for name in redis.scan_iter("*")} == before


async def test_the_oldest_writes_are_dropped_first(client, bots):
    """What a process keeps is bounded, however much it writes."""
    bot, _ = bots
    journal = bot.scripts.journal
    journal.most_bytes = 20_000
    for _ in range(20):
        await asked(client, bot)

    assert 0 < journal.bytes <= 20_000
    assert await bot.scripts.write_again() == []


async def test_a_vote_does_not_count_again_that_its_person_gave_up_for_a_proposal(
    client, bots, replica, redis
):
    """The vote came from a server whose clock was a minute ahead."""
    bot, other = bots
    state = await asked(client, bot, quorum=2)
    await press(bot, state, DANA, APPROVED)
    card = bot.keys.lane_for(state.id).card(state.id)
    person, position, token, at, said = (await redis.hget(card, "votes:0")).split(" ", 4)
    ahead = str(int(at) + 60_000)
    await redis.hset(card, "votes:0", f"{person} {position} {token} {ahead} {said}")
    writes = bot.scripts.journal._writes
    for name, write in writes.items():
        writes[name] = replace(write, args=tuple(ahead if arg == at else arg for arg in write.args))
    await propose(other, state, a_proposal("large", by=DANA))

    bot.scripts.journal.note_outage()
    await bot.scripts.write_again(within=0)

    assert (await newest(bot, state)).votes.get(0, ()) == ()


@pytest.mark.parametrize("what", ["a vote", "a proposal"])
async def test_nothing_is_called_lost_that_is_still_there(client, bots, what):
    """The request has ended since, and then only a connection was lost."""
    bot, _ = bots
    state = await asked(client, bot, quorum=2)
    if what == "a vote":
        assert await press(bot, state, DANA, APPROVED) == ["counted"]
    else:
        await propose(bot, state, a_proposal())
    assert await bot.settle(state.id, "withdrawn", reason="not needed") == "settled"

    bot.scripts.journal.note_outage(is_certain=False)

    assert await bot.scripts.write_again(within=0) == []


async def test_what_silence_approved_stays_approved_where_the_clock_is_behind(client, bots, replica):
    """By the clock of the new server, the deadline is still to come."""
    bot, _ = bots
    await bot.heartbeat("bot")
    state = await asked(client, bot, by_silence=True, life=400)
    await is_shown(bot, state)
    await replica.replicate()
    await asyncio.sleep(0.45)
    assert await bot.settle(state.id, "expired", why_not="") == "settled"
    await replica.take_over(bot)
    writes = bot.scripts.journal._writes
    for name, write in writes.items():
        writes[name] = replace(write, at=write.at - 1)

    assert await bot.scripts.write_again(within=0) == []

    [recorded] = (await newest(bot, state)).recorded
    assert (recorded.decided_by, recorded.decision) == ("expired", APPROVED)


@pytest.mark.parametrize("what", ["propose", "settle"])
async def test_what_was_sent_twice_because_an_answer_was_lost_is_written_again(client, bots, replica, what):
    """The second answer says only that it is there."""
    bot, _ = bots
    await bot.heartbeat("bot")
    state = await asked(client, bot, by_silence=True, life=400)
    await is_shown(bot, state)
    await replica.replicate()
    run = bot.scripts._evaluate

    async def twice(script, *rest):
        if script.verb == what:
            await run(script, *rest)
        return await run(script, *rest)

    bot.scripts._evaluate = twice
    if what == "propose":
        await propose(bot, state, a_proposal())
    else:
        await asyncio.sleep(0.45)
        await bot.settle(state.id, "expired", why_not="")
    before = await newest(bot, state)
    await replica.take_over(*bots)
    assert await bot.scripts.write_again(within=0) == []

    after = await newest(bot, state)
    assert (after.proposals, after.decided) == (before.proposals, before.decided)


async def test_what_was_told_as_lost_is_never_written_again(client, bots, replica):
    """Its person decided otherwise since. The vote that made it final had been taken by a bot that is gone."""
    bot, gone = bots
    state = await asked(client, bot, 2, quorum=2, reject_quorum=2)
    await replica.replicate()
    assert await press(gone, state, ERIK, APPROVED, 0) == ["counted"]
    seen = tokens_of(await newest(bot, state), ERIK)
    assert await press(bot, state, DANA, APPROVED, 0, voters=seen) == ["recorded"]
    await replica.take_over(bot)
    await bot.scripts.write_again(within=0)
    bot.scripts.journal.begin((), is_settled=True)
    await LostClicks(bot, None).look()
    found = await newest(bot, state)
    assert [remark.kind for remark in found.remarks.values()] == ["lost"]
    assert not found.votes.get(0), "what is lost does not count either"

    assert await press(bot, state, DANA, REJECTED, 0) == ["counted"]
    assert await press(bot, state, ERIK, APPROVED, 0) == ["counted"]
    bot.scripts.journal.note_outage(is_certain=False)
    await bot.scripts.write_again(within=0)

    assert (await newest(bot, state)).recorded[0] is None
