"""The name of what people are asked: it changes with everything that a decision depends on, and with nothing else."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_adapter import Context
from bot.domain.admission import Admission, Place, Terms
from bot.domain.approval import CLAIMED, Assignment, question
from bot.domain.ids import MessageId, Shown
from bot.domain.schedule import Step
from bot.domain.standing import StandingLimits
from tests.support.builders import a_state, a_vote, an_action, an_interrupt, edited, on_terms

ARGS = {"to": "al", "amount": 100}


def a_record(args=ARGS, *, admitted=None, interrupt=None, action=None, **terms):
    asked = an_interrupt(an_action("pay", args, **(action or {})), an_action("note"), **(interrupt or {}))
    state = a_state(asked)
    admission = on_terms(state.admission, **terms).model_copy(update=admitted or {})
    return replace(state, admission=admission)


def asks(state, *indices):
    return question(state, indices or (0,))


LATER = (Step(kind="escalate", after=timedelta(hours=1), actions=(0,), approvers=("U0NOOR",)),)


OTHERWISE = {
    "arguments": {"args": {**ARGS, "amount": 101}},
    "the order of arguments": {"args": dict(reversed(ARGS.items()))},
    "the words of the agent": {"action": {"description": "Pays the invoice"}},
    "what may be decided": {"action": {"allowed": ["approve", "reject"]}},
    "the run": {"interrupt": {"run": "another"}},
    "the words above the card": {"interrupt": {"context": Context(title="Invoices")}},
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERWISE)
def test_what_a_decision_depends_on_changes_the_question(what):
    assert asks(a_record(**OTHERWISE[what])) != asks(a_record())


NOT_ASKED = {
    "what time or people change": {"time_limit", "extension", "thread_ts", "assign"},
    "who is notified, and what people are called": {"named_only", "on_call"},
    "where the outcome is told": {"told"},
    "a place that is asked because of a proposal": {"proposed"},
    "what has fields of its own in this test": {"terms", "places"},
}  # fmt: skip
OTHER = {
    "approvers": ("U0MALLORY",), "decisions": ("approve",), "quorum": 3, "reject_quorum": 3, "risk": "high",
    "type": "to", "title": "Pay {to}", "mask": ("to",), "mask_random": ("to",), "mask_key": "k", "modal_only": ("to",),
    "headline": ("to",), "reject_reasons": ("no",), "use_within": timedelta(days=30),
    "standing": StandingLimits(), "resembles": "pay", "matched": "*", "rule": "r",
    "policy_version": "2", "pages": (1, 1), "on_timeout": "raise", "requested_by": "U0NOOR",
    "thread_author": "U0NOOR", "steps": (Step(kind="remind", after=timedelta(hours=1), actions=(0,)),),
    "channel": "C0OTHER", "actions": (0,), "parts": ((0,), (1,)), "opened_by": 1,
}  # fmt: skip


@pytest.mark.parametrize("model", [Terms, Admission, Place], ids=lambda model: model.__name__)
def test_whatever_is_fixed_when_people_are_asked_is_part_of_the_question(model):
    """A new field is part of it as well, or stands above with the reason why not."""
    before = a_record()
    for name, field in model.model_fields.items():
        if any(name in names for names in NOT_ASKED.values()):
            continue
        value = OTHER.get(name, not field.default)
        admission = before.admission
        if model is Terms:
            admission = on_terms(admission, **{name: value})
        elif model is Place:
            place = admission.places[0].model_copy(update={name: value})
            admission = admission.model_copy(update={"places": (place,)})
        else:
            admission = admission.model_copy(update={name: value})

        assert asks(replace(before, admission=admission)) != asks(before), name


def test_each_action_and_each_selection_of_them_asks_something_else():
    state = a_record()
    names = {asks(state, 0), asks(state, 1), asks(state, 0, 1), question(state, [0], "edit", "x")}

    assert len(names) == 4
    assert asks(state, 1, 0) == asks(state, 0, 1)


def test_neither_votes_nor_time_change_the_question():
    """Two people who click at once both count: what they approve is the same."""
    state = a_record(admitted={"steps": LATER}, quorum=2)
    later = replace(
        state,
        now=state.now + timedelta(minutes=59),
        deadline=state.deadline + timedelta(hours=1),
        votes={0: (a_vote("U0DANA", edited("pay", **{**ARGS, "amount": 1})),)},
        marks={CLAIMED: {0: Assignment("U0ERIK", state.now, state.deadline)}},
        shown={MessageId(0): Shown("C1", "1.1", "digest")},
        reached={0: True},
        admission=state.admission.escalated(LATER[0]),
    )

    assert later.admission.terms[0].approvers != state.admission.terms[0].approvers
    assert asks(later) == asks(state)


def test_a_masked_value_cannot_be_guessed_from_the_question():
    """Everybody in the channel can read what a button carries, and knows everything else that it names."""
    mine, other = ({"to": "al", "pin": pin} for pin in ("1234", "4321"))
    masked = {"mask": ("pin",)}

    assert asks(a_record(mine, **masked)) == asks(a_record(other, **masked))
    one, two = ({**masked, "mask_key": key} for key in ("one", "two"))
    assert len({asks(a_record(mine, **one)), asks(a_record(other, **one)), asks(a_record(mine, **two))}) == 3
