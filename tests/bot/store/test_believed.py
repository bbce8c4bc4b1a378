"""A bot with a ring draws and counts only what is signed, whatever else stands in Redis."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.record import dump_recorded
from bot.domain.codec import dumped
from bot.domain.standing import StandingLimits, StandingTerms
from bot.rendering.card.card import render_card
from bot.sentences import on_action
from tests.bot.store.test_votes import DANA, ERIK, MIRA, asked, newest
from tests.support.receipts import bot_signing

TEAM = "T0ACME"
APPROVE = ApproveDecision()


@pytest.fixture
def store(store):
    key = Ed25519PrivateKey.generate()
    store.signing = bot_signing(key, TEAM)
    return store


@pytest.fixture
def decide(store, decisions):
    async def decide(state, user, decision=APPROVE, **said):
        return await decisions.decide(await newest(store, state), user, {0: decision}, **said)

    return decide


@pytest.fixture
def change(redis, store):
    """Write to a card as somebody who is not the bot."""

    async def change(state, **fields):
        named = {name.replace("_of_", ":"): text for name, text in fields.items()}
        await redis.hset(store.keys.card(state.id), mapping=named)
        return await newest(store, state)

    return change


def a_text(state, by, decision=APPROVE):
    return dump_recorded(decision, fingerprint=state.actions[0].fingerprint, decided_by=by)


async def test_signed_decisions_and_votes_are_believed(client, store, decide):
    state = await asked(client, store, quorum=2, approvers=(DANA, ERIK, MIRA))
    await decide(state, ERIK)
    assert [vote.user for vote in (await newest(store, state)).votes[0]] == [ERIK]
    await decide(state, MIRA)

    state = await newest(store, state)
    assert state.recorded[0].agreed_by == (ERIK, MIRA)
    assert state.unsigned == frozenset()


async def test_a_decision_that_is_not_signed_is_drawn_as_such(client, store, change):
    state = await asked(client, store)
    forged = {"d_of_0": a_text(state, ERIK), "t_of_0": "t", "at_of_0": "1", "status": "decided", "open": "0"}
    state = await change(state, **forged)

    assert state.recorded == (None,)
    assert state.running([0]) == ()
    assert not state.is_open_at(0)
    card = str([(part.text, part.blocks) for part in render_card(state)])
    assert on_action.NOT_SIGNED in card
    assert "Approved" not in card


async def test_a_vote_that_is_not_signed_neither_counts_nor_blocks(client, store, change, decide):
    state = await asked(client, store, quorum=2, approvers=(DANA, ERIK, MIRA))
    state = await change(state, votes_of_0=f"{DANA} approve token 1 {a_text(state, DANA)}")
    assert state.votes == {}

    await decide(state, ERIK)
    state = await newest(store, state)
    assert state.recorded == (None,)
    assert [vote.user for vote in state.votes[0]] == [ERIK]
    await decide(state, MIRA)
    assert (await newest(store, state)).recorded[0].agreed_by == (ERIK, MIRA)


async def test_a_vote_for_something_else_than_was_signed_does_not_count(client, store, change, decide, redis):
    state = await asked(client, store, quorum=2, reject_quorum=2, approvers=(DANA, ERIK, MIRA))
    await decide(state, ERIK, RejectDecision())
    card = store.keys.card(state.id)
    line = await redis.hget(card, f"vote:0:{ERIK}")

    changed = await change(state, **{f"vote:0:{ERIK}": line.replace(" reject ", " approve ")})

    assert changed.votes == {}
    assert changed.unsigned_votes[0] == {ERIK}


async def test_a_standing_approval_is_as_wide_as_it_was_signed(client, store, change, decide):
    limits = StandingLimits(lasts=timedelta(hours=8), uses=100)
    terms = {"approvers": (DANA, ERIK), "standing": limits, "risk": "low"}
    state = await asked(client, store, **terms)
    given = StandingTerms(lasts=timedelta(minutes=30), uses=2)
    await decide(state, ERIK, standing=given)
    state = await newest(store, state)
    assert state.standing[0].terms == given

    wider = dumped(given.model_copy(update={"uses": 100}))
    assert (await change(state, sticky_grant_of_0=wider)).standing == {}
    later = await change(state, sticky_grant_of_0=dumped(given), sticky_until_of_0="99999999999999")
    assert later.standing == {}


async def test_nobody_gives_a_standing_approval_with_a_rejection(client, store, change, decide):
    state = await asked(client, store)
    await decide(state, ERIK, RejectDecision())

    forged = {"sticky_grant_of_0": dumped(StandingTerms()), "sticky_until_of_0": "99999999999999"}
    assert (await change(state, **forged)).standing == {}
