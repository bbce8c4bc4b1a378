"""Edits that another rule is about: their terms, how they are kept, and what the scripts make of them."""

import asyncio
from functools import partial

import pytest

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from bot.domain import transitions
from bot.domain.admission import Terms
from bot.domain.ids import Remark
from bot.domain.standing import StandingLimits
from bot.domain.votes import UNNAMED, Ballot, Outcome, Press
from bot.rendering.card.card import render_card
from bot.rendering.card.votes import proposal_text
from bot.sentences import in_answer
from bot.use_cases.answers import Answer
from bot.use_cases.propose import STRICTER, is_same, stricter
from bot.use_cases.who_may_decide import first_objection
from tests.bot.store.test_votes import DANA, ERIK, MIRA, asked, newest, press
from tests.support import builders
from tests.support.builders import NOW, a_state, an_action, an_interrupt, edited, on_terms
from tests.support.deciding import FACTS, record

STRICT = Terms(
    approvers=("S0A",),
    requester_may_decide=False,
    decisions=("approve", "reject"),
    quorum=3,
    reject_quorum=1,
    risk="high",
    mask=("pin",),
)
LAX = Terms(
    approvers=("S0B", "U0C"),
    requester_may_decide=True,
    decisions=None,
    quorum=1,
    reject_quorum=2,
    risk="low",
    by_silence=True,
    mask=("token",),
    modal_only=("body",),
    standing=StandingLimits(),
)


def a_proposal(name="one", by=DANA, amount=4000, **fields):
    return builders.a_proposal(edited("pay", to="al", amount=amount), name=name, by=by, **fields)


async def propose(store, state, proposal, *, place=None, index=0, press=UNNAMED):
    remark = Remark(kind="propose", places=(0,), actions=(index,), by=proposal.by)
    asking = partial(transitions.propose, index=index, proposal=proposal, remark=remark, place=place)
    return await store.update(await newest(store, state), partial(asking, facts=FACTS, at=NOW, press=press))


async def agree(store, state, by, proposal):
    how = {"ballots": {0: Ballot.on_proposal(proposal)}, "policy": proposal.policy}
    return (await record(store, state.id, {0: proposal.decision}, by=by, **how))[0]


def test_later_calls_of_the_run_are_not_approved_while_there_is_a_proposal():
    """The button is not on the card then. This one call is still approved, and a rejection may be for all of the run."""
    asked = an_interrupt(an_action("pay", allow_always=True))
    before, after = a_state(asked), a_state(asked, proposals={0: a_proposal()})
    for_run = {0: ApproveDecision(always=True)}

    assert not first_objection(before, ERIK, for_run)
    assert "Somebody proposes something else for call 1" in first_objection(after, ERIK, for_run)
    assert not first_objection(after, ERIK, {0: ApproveDecision()})
    assert not first_objection(after, ERIK, {0: RejectDecision(always=True)})


# --- Terms ------------------------------------------------------------------------------------------------------------


def test_of_each_term_the_stricter_one_holds_in_either_direction():
    """But who decides is whom the rule names that is about the edit."""
    for admitted, met in ((STRICT, LAX), (LAX, STRICT)):
        terms = stricter(admitted, met)
        assert terms.approvers == met.approvers
        assert (terms.quorum, terms.reject_quorum, terms.risk) == (3, 2, "high")
        assert (terms.requester_may_decide, terms.decisions) == (False, ("approve", "reject"))
        assert (terms.by_silence, terms.allow_always, terms.standing) == (False, False, None)
        assert ({*terms.mask}, terms.modal_only) == ({"pin", "token"}, ("body",))


def test_no_term_is_forgotten():
    """A term that is added has to say which side of it is stricter."""
    assert STRICTER.keys() == Terms.model_fields.keys()


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({}, True),
        ({"approvers": ("U0C", "S0B")}, True),
        ({"standing": None, "by_silence": False, "allow_always": False}, True),
        ({"approvers": ("S0B",)}, False),
        ({"approvers": ("S0B", "U0C", "U0D")}, False),
        ({"quorum": 2}, False),
        ({"risk": "normal"}, False),
        ({"mask": ()}, False),
        ({"requester_may_decide": False}, False),
        ({"decisions": ("edit",)}, False),
    ],
)
def test_a_rule_is_the_same_when_it_decides_about_edits_on_the_same_terms(changed, same):
    """Whatever it is called, and whatever it says about approving without looking."""
    assert is_same(LAX, LAX.model_copy(update=changed), frozenset()) is same


# --- The scripts ------------------------------------------------------------------------------------------------------


async def test_agreeing_counts_by_the_terms_of_the_proposal(client, store, redis):
    """The call takes one person, the proposal two; both are in the audit trail with the version of their rules."""
    state = await asked(client, store)
    proposal = a_proposal()
    await propose(store, state, proposal)

    assert await agree(store, state, ERIK, proposal) == "counted"
    assert await agree(store, state, ERIK, proposal) == "repeat"
    assert await agree(store, state, MIRA, proposal) == "recorded"
    assert await agree(store, state, ERIK, proposal) == "repeat"
    recorded = (await newest(store, state)).recorded[0]
    assert (recorded.agreed_by, recorded.policy) == ((ERIK, MIRA), "2")
    assert recorded.fingerprint == state.actions[0].fingerprint
    trail = [entry for _, entry in await redis.xrange(store.keys.audit)]
    said = [
        (e["event"], e["by"], e["policy"]) for e in trail if e["event"] in {"proposed", "counted", "decided"}
    ]
    assert said == [("proposed", DANA, "2"), ("counted", ERIK, "2"), ("decided", f"{ERIK} {MIRA}", "2")]


async def test_a_newer_proposal_drops_the_votes_of_the_older_and_what_its_author_said(client, store):
    """What others said about the call itself stays."""
    state = await asked(client, store, quorum=3)
    first = a_proposal()
    for person in (DANA, MIRA):
        await press(store, state, person, ApproveDecision())
    await propose(store, state, first)
    await agree(store, state, ERIK, first)
    assert [vote.user for vote in (await newest(store, state)).votes[0]] == [MIRA, ERIK]

    second = a_proposal("two", by=ERIK, amount=9)
    assert await propose(store, state, second) is Outcome.RECORDED
    assert await agree(store, state, DANA, first) == "gone"
    after = await newest(store, state)
    assert [(vote.user, vote.position) for vote in after.votes[0]] == [(MIRA, "approve")]
    assert await propose(store, state, a_proposal("three", by=MIRA)) is Outcome.RECORDED
    assert 0 not in (await newest(store, state)).votes
    assert await press(store, state, MIRA, ApproveDecision()) == ["counted"]


async def test_a_form_that_is_sent_again_proposes_nothing_anew(client, store):
    """Its answer was lost, and a colleague has proposed something else since: that proposal and its votes stay."""
    state = await asked(client, store, quorum=3)
    sent, newer = Press("form", "dana's"), a_proposal("two", by=ERIK, amount=9)
    await propose(store, state, a_proposal(), press=sent)
    await propose(store, state, newer, press=Press("form", "erik's"))
    await agree(store, state, MIRA, newer)

    assert await propose(store, state, a_proposal(), press=sent) is Outcome.REPEAT
    after = await newest(store, state)
    assert after.proposals[0].name == newer.name
    assert [vote.user for vote in after.votes[0]] == [MIRA]


@pytest.mark.parametrize("there", [(), ("two",)], ids=["it is gone", "a newer one is there"])
async def test_nobody_agrees_with_a_proposal_that_they_were_not_shown(client, store, decisions, there):
    """Erik reads one proposal, and another has taken its place when he presses: his press counts for neither."""
    state = await asked(client, store, quorum=2)
    for name in there:
        await propose(store, state, a_proposal(name))

    answer = await decisions.agree(await newest(store, state), ERIK, 0, "one")

    assert answer == Answer(False, in_answer.GONE)
    assert 0 not in (await newest(store, state)).votes


async def test_the_first_of_two_ways_to_decide_wins(client, store):
    """Approved as it was asked, or as it was proposed: never both, whoever is faster."""
    for _ in range(10):
        state = await asked(client, store)
        proposal = a_proposal(terms=Terms(approvers=(ERIK,)))
        await propose(store, state, proposal)

        one, other = await asyncio.gather(
            agree(store, state, ERIK, proposal), press(store, state, MIRA, ApproveDecision())
        )
        assert sorted([one, *other]) == ["recorded", "taken"]
        assert await propose(store, state, a_proposal("two")) is Outcome.TAKEN


async def test_nothing_is_proposed_after_the_end(client, store):
    """At the deadline it is over for proposals, too."""
    state = await asked(client, store, life=0)

    assert await propose(store, state, a_proposal()) is Outcome.CLOSED
    assert (await newest(store, state)).proposals == {}


# --- The card ---------------------------------------------------------------------------------------------------------


def with_proposal(before, after, **terms):
    proposal = builders.a_proposal(edited("pay", **after), terms=Terms(approvers=(MIRA,), **terms))
    return a_state(an_interrupt(an_action("pay", before)), proposals={0: proposal})


def test_what_a_proposal_masks_is_not_on_the_card():
    """Its own rule's mask, too."""
    state = with_proposal({"a": 1, "pin": "12345"}, {"a": 2, "pin": "54321"}, mask=("pin",))

    assert "54321" not in proposal_text(state.actions[0])
    assert "54321" not in encode(
        [block for part in render_card(state) for block in part.blocks if block["block_id"] == "a:0:proposal"]
    )


def test_a_deadline_approves_no_call_with_a_proposal():
    """Even where its rule approves by silence."""
    state = with_proposal({"a": 1}, {"a": 2})
    admission = on_terms(state.admission, by_silence=True)

    assert not a_state(
        state.interrupt, admission=admission, proposals=state.proposals
    ).is_approved_by_silence(0)
    assert a_state(state.interrupt, admission=admission).is_approved_by_silence(0)
