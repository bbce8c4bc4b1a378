"""Whoever can write to Redis makes no agent run anything: it takes only what signed statements say about its own question."""

import asyncio
import json
import time
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_adapter import ConflictError, InvalidRequestError, ReceiptError
from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.interrupt import Context, Route, Source
from agent_adapter.contract.record import dump_recorded, read_resume
from agent_adapter.contract.wire import dump_interrupt
from agent_adapter.receipts.answer import Verifier, proven
from tests.bot.store.test_votes import DANA, ERIK, MIRA, for_several, newest
from tests.bot.use_cases.test_signing import TEAM, key, store
from tests.conftest import an_agent, until
from tests.support.builders import an_action, an_interrupt, edited
from tests.support.faults import take
from tests.support.receipts import bot_signing

__all__ = ["key", "store"]


def ring_of(key, team=TEAM, **fields):
    return bot_signing(key, team, **fields).ring


@pytest.fixture
def verifier(key):
    return Verifier(ring_of(key), "assent")


@pytest.fixture
async def agent(redis_url, key):
    """An agent with a ring."""
    async with an_agent(redis_url, ring=ring_of(key)) as found:
        yield found


@pytest.fixture
def ask(client, store):
    """Publish a question and admit it."""

    async def ask(interrupt, *, quorum=1, life=None, **terms):
        state = await store.load(await client.publish(interrupt))
        count = len(interrupt.request.action_requests)
        terms = {"approvers": (DANA, ERIK, MIRA), "quorum": quorum, **terms}
        await store.admit(state, for_several(count, **terms), life=life)
        return await newest(store, state)

    return ask


@pytest.fixture
def decide(store, decisions):
    async def decide(state, user, decision, *indices, **said):
        chosen = dict.fromkeys(indices or range(len(state.interrupt.request.action_requests)), decision)
        answer = await decisions.decide(await newest(store, state), user, chosen, **said)
        assert answer.recorded

    return decide


def a_payment(run="run-1", amount=5, count=1, **fields):
    actions = [an_action("pay", {"to": "al", "amount": amount}) for _ in range(count)]
    given = {"context": Context(requested_by="U0NOBODY"), "expires_in": timedelta(hours=1), **fields}
    return an_interrupt(*actions, run=run, **given)


def now():
    return time.time_ns() // 1_000_000


def proven_of(interrupt, card, verifier, *, now, body=None):
    return proven(interrupt, card, verifier, body=body or dump_interrupt(interrupt), now=now)


def fault(interrupt, card, verifier, at=None):
    """Say why the first decision is not proven."""
    proof = proven_of(interrupt, card, verifier, now=at or now())
    assert "d:0" not in proof.fields
    assert proof.fields.get("status") != "decided"
    assert proof.receipts[0] is None
    return proof.faults[0].code


def _over(state):
    """Give a moment after the deadline."""
    return round(state.deadline.timestamp() * 1000) + 1


APPROVE = ApproveDecision()


async def test_what_people_decided_is_proven_with_their_statements(ask, decide, card_of, verifier):
    state = await ask(a_payment(count=2), quorum=2)
    await decide(state, ERIK, APPROVE)
    await decide(state, MIRA, APPROVE, note="both are fine")
    card = await card_of(state)

    proof = proven_of(state.interrupt, card, verifier, now=now())

    assert proof.faults == {}
    assert proof.fields["status"] == "decided"
    assert (proof.fields["d:0"], proof.fields["by:0"]) == (card["d:0"], f"{ERIK} {MIRA}")
    receipt = proof.receipts[1]
    assert (receipt.index, receipt.args) == (1, encode({"to": "al", "amount": 5}))
    people = [
        verifier.ring.open_statement(each, namespace="assent").statement.of(1).by
        for each in receipt.envelopes
    ]
    assert people == [ERIK, MIRA]


@pytest.mark.parametrize(
    "changed",
    [
        {"context": Context(requested_by=MIRA)},
        {"context": Context(requested_by="U0NOBODY", title="Checked by finance")},
        {"on_expiry": "raise"},
        {"route": Route(channel="C0OTHER")},
        {"source": Source(dialect="boolean", payload={"question": "pay?"})},
        {"expires_in": timedelta(hours=2)},
    ],
)
async def test_a_decision_is_proven_only_for_every_word_of_its_question(
    ask, decide, card_of, verifier, changed
):
    """Also for the words that no action has."""
    state = await ask(a_payment())
    await decide(state, ERIK, APPROVE)
    card = await card_of(state)

    assert fault(state.interrupt.model_copy(update=changed), card, verifier) == "body"


async def test_what_the_deadline_does_with_the_rest_is_signed_with_each_decision(
    ask, decide, card_of, verifier
):
    """With `raise`, a batch that is decided by half runs nothing. Somebody writes that the rest was rejected."""
    state = await ask(a_payment(count=2, on_expiry="raise"))
    await decide(state, ERIK, APPROVE, 0)
    card = await card_of(state) | {"status": "expired", "on_timeout": "reject"}

    fields = proven_of(state.interrupt, card, verifier, now=_over(state)).fields

    assert fields["on_timeout"] == "raise"
    resume = read_resume(state.interrupt, fields, deadline=0, now=_over(state), grace=0)
    assert (resume.status, resume.decisions[1]) == ("expired", None)


@pytest.mark.parametrize("forged", [{"status": "expired"}, {"deadline": "1"}, {"deadline": "soon"}])
async def test_people_have_their_signed_time_for_the_rest_of_a_batch(ask, decide, card_of, verifier, forged):
    """Otherwise what was approved would run beside a rejection that nobody gave."""
    state = await ask(a_payment(count=2))
    await decide(state, DANA, APPROVE, 0)
    deadline = round(state.deadline.timestamp() * 1000)

    def answered(at):
        fields = proven_of(state.interrupt, card | forged, verifier, now=at).fields
        return read_resume(state.interrupt, fields, deadline=int(fields["deadline"]), now=at, grace=1_000)

    card = await card_of(state)
    assert answered(deadline - 60_000) is None
    late = answered(deadline + 1_001)
    assert [decision.type for decision in late.decisions] == ["approve", "reject"]


def changing(**words):
    """Write other words into the stored decision."""
    return lambda card: card | {"d:0": encode(json.loads(card["d:0"]) | words)}


def of_the_other(*kinds):
    """Put what the record says of the second action in place of the first."""
    return lambda card: card | {f"{kind}:0": card[f"{kind}:1"] for kind in kinds}


UNSIGNED = encode({"decision": {"type": "approve"}, "decided_by": ERIK, "fingerprint": "f" * 32})
EDITS = [edited("pay", to="al", amount=amount) for amount in (1, 2)]


@pytest.mark.parametrize(
    ("clicks", "forge", "code"),
    [
        ((), lambda card: card | {"d:0": UNSIGNED, "t:0": "token", "at:0": "1", "status": "decided"}, "unsigned"),
        ((APPROVE,), lambda card: {n: text for n, text in card.items() if not n.startswith("signed:")}, "unsigned"),
        ((RejectDecision(),), changing(decision={"type": "approve"}), "stored"),
        ((APPROVE,), changing(note="pay everything"), "stored"),
        ((APPROVE,), changing(name="The CEO"), "stored"),
        ((APPROVE,), changing(decided_by=MIRA), "stored"),
        ((APPROVE,), changing(standing={"uses": 100}), "stored"),
        ((APPROVE,), changing(policy="other"), "stored"),
        (EDITS, lambda card: card | {"d:0": card["d:0"].replace('"amount":1', '"amount":9')}, "stored"),
        (EDITS, of_the_other("d"), "stored"),
        (EDITS, of_the_other("d", "t"), "record"),
        # Both actions have the same tool and the same arguments.
        ((None, APPROVE), of_the_other("d", "t", "at"), "record"),
    ],
    ids=["nobody decided", "no statement", "a rejection that approves", "another note", "another name", "somebody else",
         "for later calls", "other rules", "another value", "the other edit", "with its click", "the other action"],
)  # fmt: skip
async def test_a_decision_is_worth_nothing_without_each_of_its_signed_words(
    ask, decide, card_of, verifier, clicks, forge, code
):
    """Whoever has a ring needs no setting to refuse what is unsigned."""
    state = await ask(a_payment(count=max(len(clicks), 1)))
    for index, decision in enumerate(clicks):
        if decision:
            await decide(state, ERIK, decision, index, note="only this one")

    assert fault(state.interrupt, forge(await card_of(state)), verifier) == code


@pytest.mark.parametrize("other", [{"run": "run-2"}, {"amount": 6}])
async def test_a_decision_of_another_record_decides_nothing(ask, decide, card_of, verifier, other):
    """The whole card of an approved question is put beside one that nobody approved."""
    given = {"run": "run-1", "amount": 5, **other}
    approved = await ask(a_payment(given.pop("run"), given.pop("amount"), **given))
    await decide(approved, ERIK, APPROVE)
    mine = a_payment(run="mine")

    assert fault(mine, await card_of(approved), verifier) == "record"
    # The stored question was changed before the click, and changed back after it.
    shown_otherwise = a_payment(approved.interrupt.run, 5_000)
    assert fault(shown_otherwise, await card_of(approved), verifier) == "action"
    same_id = mine.model_copy(update={"id": approved.id})
    assert fault(same_id, await card_of(approved), verifier) in {"run", "action"}
    other_agent = approved.interrupt.model_copy(update={"agent": "hr"})
    assert fault(other_agent, await card_of(approved), verifier) == "audience"


async def test_a_bot_of_another_namespace_or_workspace_decides_nothing(ask, decide, card_of, key):
    state = await ask(a_payment())
    await decide(state, ERIK, APPROVE)
    card = await card_of(state)

    other = Verifier(ring_of(key, namespace="staging"), "staging")
    assert fault(state.interrupt, card, other) == "namespace"
    other = Verifier(ring_of(key, team="T0OTHER"), "assent")
    assert fault(state.interrupt, card, other) == "team"
    other = Verifier(ring_of(Ed25519PrivateKey.generate()), "assent")
    assert fault(state.interrupt, card, other) == "key"


async def test_one_person_is_no_quorum_of_two(ask, decide, card_of, verifier):
    state = await ask(a_payment(), quorum=2)
    await decide(state, ERIK, APPROVE)
    card = await card_of(state)
    _, _, token, text = card[f"vote:0:{ERIK}"].split(" ", 3)
    forged = {"d:0": text, "at:0": "1", "status": "decided"}

    for tokens in (token, f"{token} {token}", f"made-up {token}"):
        forged_card = card | forged | {"t:0": tokens, "by:0": f"{ERIK} {MIRA}"}
        assert fault(state.interrupt, forged_card, verifier) == "people"


async def test_two_votes_that_the_bot_did_not_count_together_are_no_quorum(
    ask, decide, card_of, verifier, store, redis
):
    """Somebody lost the right to decide, and somebody who can write to Redis puts their old vote back."""
    state = await ask(a_payment(), quorum=2)
    await decide(state, ERIK, APPROVE)
    first = await card_of(state)
    await redis.hdel(store.keys.card(state.id), f"vote:0:{ERIK}")
    await decide(state, MIRA, APPROVE)
    second = await card_of(state)
    erik, mira = first[f"vote:0:{ERIK}"].split(" ", 3), second[f"vote:0:{MIRA}"].split(" ", 3)
    forged = {"d:0": mira[3], "t:0": f"{erik[2]} {mira[2]}", "at:0": "1", "status": "decided"}

    assert fault(state.interrupt, second | forged, verifier) == "people"


async def test_an_approval_is_used_in_its_time(ask, decide, card_of, verifier):
    state = await ask(a_payment(), use_within=timedelta(minutes=5))
    await decide(state, ERIK, APPROVE)
    card = await card_of(state)
    end = int(card["deadline"]) + 300_000

    assert proven_of(state.interrupt, card, verifier, now=end).receipts[0]
    assert fault(state.interrupt, card, verifier, at=end + 31_000) == "expired"


# --- Through the client ---------------------------------------------------------------------------------------------


async def test_a_forged_answer_does_not_end_the_wait_and_a_genuine_one_does(
    ask, decide, agent, redis, store, caplog
):
    state = await ask(a_payment())
    card = store.keys.card(state.id)
    text = dump_recorded(APPROVE, fingerprint=state.actions[0].fingerprint, decided_by=ERIK)
    waiting = asyncio.create_task(agent.wait(state.id))
    reviewing = asyncio.create_task(take(agent, state.interrupt))
    await until(lambda: len(agent._replies._waiting.get(state.id, ())) == 2)
    await redis.hset(card, mapping={"d:0": text, "t:0": "t", "at:0": "1", "status": "decided"})
    await redis.xadd(store.keys.replies(agent._records.process), {"id": state.id, "status": "decided"})
    await until(lambda: caplog.text.count("is not signed") >= 2)
    assert not waiting.done()
    assert not reviewing.done()
    with pytest.raises(ReceiptError, match="is not signed"):
        await agent.resuming(state.id, unchecked=True).__aenter__()

    await redis.hdel(card, "d:0", "t:0", "at:0")
    await redis.hset(card, "status", "pending")
    await decide(state, MIRA, RejectDecision(message="no"))

    for each in (waiting, reviewing):
        resume = await asyncio.wait_for(each, 60)
        assert (resume.decisions[0].type, resume.records[0].decided_by) == ("reject", MIRA)


async def test_a_forged_answer_is_a_rejection_when_the_time_is_over(ask, agent, redis, store):
    state = await ask(a_payment(), life=500)
    card = store.keys.card(state.id)
    text = dump_recorded(APPROVE, fingerprint=state.actions[0].fingerprint, decided_by=ERIK)
    await redis.hset(card, mapping={"d:0": text, "t:0": "t", "at:0": "1", "status": "decided"})

    resume = await asyncio.wait_for(agent.wait(state.id), 60)

    assert (resume.status, resume.decisions[0].type) == ("expired", "reject")
    assert resume.records[0].decided_by == "expired"


async def test_with_a_ring_an_agent_says_what_it_asked_and_resumes_with_what_was_signed(ask, decide, agent):
    """The stored question can be changed by whoever can write to Redis."""
    interrupt = a_payment()
    state = await ask(interrupt)
    await decide(state, ERIK, APPROVE, note="fine")

    with pytest.raises(InvalidRequestError, match="pass interrupt="):
        await agent.resuming(state.id).__aenter__()
    other = a_payment(amount=5_000)
    with pytest.raises(ConflictError, match="a different action"):
        await agent.resuming(state.id, interrupt=other).__aenter__()
    async with asyncio.timeout(30), agent.reviewing(interrupt) as resume:
        assert resume.decisions[0].type == "approve"
        assert (resume.records[0].decided_by, resume.records[0].note) == (ERIK, "fine")
        assert resume.receipt(0).args == encode({"to": "al", "amount": 5})


async def test_a_record_under_a_foreign_name_is_not_read(ask, decide, client, redis, store):
    """Everything about an approved question is copied under the name of another one."""
    state = await ask(a_payment())
    await decide(state, ERIK, APPROVE)
    await redis.copy(store.keys.req(state.id), store.keys.req("billing.other"))
    await redis.copy(store.keys.card(state.id), store.keys.card("billing.other"))

    with pytest.raises(InvalidRequestError, match="holds the interrupt"):
        await client.record("billing.other")
