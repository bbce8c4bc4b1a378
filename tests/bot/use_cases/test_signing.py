"""What the bot signs: the statement about each click says what was judged, shown and stored."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision, RespondDecision
from agent_adapter.contract.identity import slots
from agent_adapter.contract.record import EXPIRED
from agent_adapter.receipts.dsse import digest_of, load_envelope
from agent_adapter.receipts.statement import (
    RECEIPT,
    Requester,
    arguments_digest,
    bytes_digest,
    load_statement,
    pause_of,
    run_of,
)
from bot.domain.codec import body_digest
from bot.domain.seal import CLOCKS_DIFFER
from bot.domain.standing import StandingLimits, StandingTerms
from bot.domain.votes import Press
from bot.rendering.card.layout import lay_out
from bot.sentences import in_answer
from bot.use_cases.answers import Answer
from tests.bot.store.test_votes import DANA, ERIK, MIRA, asked, for_several, is_shown, newest
from tests.support.builders import an_interrupt, edited
from tests.support.receipts import bot_signing

TEAM = "T0ACME"
SHOWN = arguments_digest({"to": "al", "amount": 0})


ENDED = {"not_after": datetime(2026, 1, 1, tzinfo=UTC)}


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


@pytest.fixture
def store(store, key):
    """Records that are signed."""
    store.signing = bot_signing(key, TEAM)
    return store


def signed(card, token, key):
    """Read the statements of a click whose signatures are right, oldest first."""
    found = []
    for line in card[f"signed:{token}"].split("\n"):
        envelope = load_envelope(line)
        assert envelope.payload_type == RECEIPT
        [signature] = envelope.signatures.values()
        key.public_key().verify(bytes.fromhex(signature.signature), envelope.pae())
        found.append(load_statement(envelope.payload))
    return found


def decided(card, index, key):
    """Read the statements about an action, those of its first voter first."""
    tokens = card[f"t:{index}"].split()
    return [statement for token in tokens for statement in signed(card, token, key)]


async def test_a_click_is_signed_with_what_was_judged_and_stored(client, store, decisions, card_of, key):
    state = await asked(client, store, 2, use_within=timedelta(minutes=5))
    interrupt = state.interrupt
    edit = edited("pay", to="al", amount=2)

    await decisions.decide(state, ERIK, {0: ApproveDecision()}, note="as agreed")
    await decisions.decide(state, ERIK, {1: edit})

    card = await card_of(state)
    [first], [second] = decided(card, 0, key), decided(card, 1, key)
    assert (first.ns, first.team, first.rec, first.aud) == ("assent", TEAM, state.id, "billing")
    assert (first.run, first.policy) == (run_of(interrupt.run), state.admission.policy_version)
    assert first.requester == Requester(user=DANA)
    assert first.use_by - first.deadline == 300_000
    said = first.of(0)
    asked_digest = arguments_digest(interrupt.request.action_requests[0].args)
    assert (said.tool, said.asked, said.runs, said.kind) == ("pay", asked_digest, asked_digest, "approve")
    assert said.pause == pause_of(*slots(interrupt.pauses)[0])
    assert (said.by, said.how, said.quorum, said.position) == (ERIK, "form", 1, "approve")
    assert said.stored == bytes_digest(card["d:0"])
    assert "as agreed" in card["d:0"]
    said = second.of(1)
    assert (said.kind, said.runs) == ("edit", arguments_digest(edit.edited_action.args))
    assert said.stored == bytes_digest(card["d:1"])


async def test_one_click_about_several_actions_is_one_statement(client, store, decisions, card_of, key):
    state = await asked(client, store, 3)

    await decisions.decide(state, ERIK, dict.fromkeys(range(3), ApproveDecision()))

    card = await card_of(state)
    assert len({card[f"t:{index}"] for index in range(3)}) == 1
    [statement] = decided(card, 0, key)
    assert [each.i for each in statement.actions] == [0, 1, 2]


@pytest.mark.parametrize(
    ("decision", "terms", "said", "expected"),
    [
        (RejectDecision(message="no"), {}, {}, ("reject", None, "form")),
        (RespondDecision(message="later"), {}, {}, ("respond", None, "form")),
        (ApproveDecision(), {"risk": "high"}, {"typed": "0"}, ("approve", SHOWN, "typed")),
        (ApproveDecision(), {}, {"press": Press("click", question="asked")}, ("approve", SHOWN, "click")),
    ],
    ids=["no", "an answer", "typed", "a button"],
)
async def test_a_statement_says_what_may_run_and_how_it_was_decided(
    client, store, decisions, card_of, key, decision, terms, said, expected
):
    """What runs nothing has no arguments that may run. A pressed button names what its message asked."""
    state = await asked(client, store, **terms)

    assert (await decisions.decide(state, ERIK, {0: decision}, **said)).recorded

    [statement] = decided(await card_of(state), 0, key)
    found = statement.of(0)
    assert (found.kind, found.runs, found.how) == expected
    assert statement.message == (said["press"].question if "press" in said else "")


@pytest.mark.parametrize("what", ["the call", "the terms"])
async def test_nobody_decides_a_record_that_changed_while_their_click_was_judged(
    client, store, decisions, redis, card_of, what
):
    """Somebody votes meanwhile, so the record is read again. It asks something else by then. With a seal it is not read."""
    store.signing = None
    before = await asked(client, store, quorum=2, approvers=(DANA, ERIK, MIRA))
    await decisions.decide(before, MIRA, {0: ApproveDecision()})
    if what == "the terms":
        await redis.hset(store.keys.card(before.id), "use_within", str(30 * 24 * 3_600_000))
    else:
        body = (await redis.hget(store.keys.req(before.id), "body")).replace('"al"', '"mallory"')
        await redis.hset(store.keys.req(before.id), "body", body)
        await redis.hset(store.keys.card(before.id), "asked", body_digest(body))

    answer = await decisions.decide(before, ERIK, {0: ApproveDecision()})

    assert answer == Answer(False, in_answer.ASKS_OTHERWISE, is_final=True, draws_anew=True)
    assert not {"d:0", "t:0"} & (await card_of(before)).keys()


async def test_the_last_of_several_people_counts_the_statements_of_the_others(
    client, store, decisions, card_of, key
):
    state = await asked(client, store, quorum=2, approvers=(DANA, ERIK, MIRA))
    await decisions.decide(state, ERIK, {0: ApproveDecision()})
    await decisions.decide(await newest(store, state), MIRA, {0: ApproveDecision()})

    card = await card_of(state)
    erik, mira = decided(card, 0, key)
    assert (erik.of(0).by, mira.of(0).by) == (ERIK, MIRA)
    assert (erik.of(0).quorum, erik.of(0).counts) == (2, ())
    [line] = card[f"signed:{card['t:0'].split()[0]}"].split("\n")
    assert mira.of(0).counts == (digest_of(load_envelope(line)),)
    assert mira.of(0).stored == bytes_digest(card["d:0"])


async def test_pressing_again_after_a_lost_answer_keeps_one_statement(client, store, decisions, card_of, key):
    """The token of a click does not depend on the signature."""
    state = await asked(client, store)
    for _ in range(2):
        assert (await decisions.decide(state, ERIK, {0: ApproveDecision()})).recorded

    assert len(decided(await card_of(state), 0, key)) == 1


async def test_a_key_that_has_ended_refuses_the_click(client, store, decisions, card_of, key):
    """There is no unsigned way around it, and silence does not approve it later."""
    state = await asked(client, store)
    store.signing = bot_signing(key, TEAM, **ENDED)

    answer = await decisions.decide(state, ERIK, {0: ApproveDecision()})

    assert answer == Answer(False, in_answer.MAY_NOT_SIGN, is_final=True)
    card = await card_of(state)
    assert "d:0" not in card
    assert card["status"] == "pending"
    assert "missed" in card


LIMITED = {
    "approvers": (DANA, ERIK),
    "standing": StandingLimits(lasts=timedelta(hours=1), uses=3),
    "risk": "low",
}


@pytest.fixture
def ask_again(client, store, approvals):
    """Ask the same call in the same run: give the new record, its terms, and the standing approvals that answer it."""

    async def ask_again(state):
        request = state.interrupt.request
        again = an_interrupt(
            *zip(request.action_requests, request.review_configs, strict=True),
            run=state.interrupt.run,
            id="billing.again",
            expires_in=timedelta(hours=1),
        ).model_copy(update={"pauses": ("another-pause",)})
        found = await store.load(await client.publish(again))
        admission = lay_out(again, for_several(**LIMITED))
        return found, admission, await approvals.matching(found, admission)

    return ask_again


async def test_a_standing_approval_is_signed_with_the_decision_and_signs_each_use(
    client, store, decisions, ask_again, card_of, key
):
    state = await asked(client, store, **LIMITED)
    given = StandingTerms(lasts=timedelta(minutes=30), uses=2)
    await decisions.decide(state, ERIK, {0: ApproveDecision()}, standing=given)
    card = await card_of(state)
    assert '"uses":2' in card["d:0"]
    assert decided(card, 0, key)[0].of(0).stored == bytes_digest(card["d:0"])

    again, admission, matched = await ask_again(state)
    await store.admit(again, admission, life=60_000, matched=matched)

    card = await card_of(again)
    [statement] = decided(card, 0, key)
    said = statement.of(0)
    assert (said.by, said.how) == (ERIK, f"standing:{state.id}:0")
    assert said.stored == bytes_digest(card["d:0"])
    assert statement.deadline == int(card["deadline"])


async def test_a_standing_approval_that_cannot_be_signed_asks_people(
    client, store, decisions, ask_again, key
):
    state = await asked(client, store, **LIMITED)
    await decisions.decide(state, ERIK, {0: ApproveDecision()}, standing=StandingTerms(uses=2))
    again, admission, matched = await ask_again(state)
    assert matched
    store.signing = bot_signing(key, TEAM, **ENDED)

    await store.admit(again, admission, matched=matched)

    assert (await newest(store, again)).status == "pending"


async def test_silence_is_signed_with_its_rule(client, store, card_of, key):
    state = await asked(client, store, by_silence=True, life=400, rule="small payments")
    await is_shown(store, state)
    await asyncio.sleep(0.45)

    assert await store.settle(state.id, "expired", why_not="") == "settled"

    card = await card_of(state)
    [statement] = decided(card, 0, key)
    said = statement.of(0)
    assert (said.by, said.how) == (EXPIRED, "silence:small payments")
    assert said.stored == bytes_digest(card["d:0"])


async def test_silence_approves_nothing_when_the_key_has_ended(client, store, card_of, key):
    state = await asked(client, store, by_silence=True, life=400)
    await is_shown(store, state)
    await asyncio.sleep(0.45)
    store.signing = bot_signing(key, TEAM, **ENDED)

    await store.settle(state.id, "expired", why_not="")

    card = await card_of(state)
    assert card["status"] == "expired"
    assert '"approve"' not in card.get("d:0", "")


async def test_a_click_after_the_deadline_that_was_judged_is_not_taken(client, store, decisions, key):
    """Whatever deadline is in Redis by then: a bot with a seal goes by its own clock."""
    state = await asked(client, store)
    ended = datetime.now(UTC) - 2 * CLOCKS_DIFFER
    remembered = replace(state, deadline=ended, now=ended - CLOCKS_DIFFER)

    answer = await decisions.decide(remembered, ERIK, {0: ApproveDecision()})

    assert not answer.recorded
    assert "expired" in answer.sentence
    assert (await newest(store, state)).decided == frozenset()
