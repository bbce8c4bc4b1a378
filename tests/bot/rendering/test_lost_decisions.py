"""What a card says of decisions that a failover has lost: who had decided what, and what may have run."""

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.messages import Remark
from bot.rendering.card.card import render_card
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.people import words

ENDED = {"status": "refused", "code": "went_back"}


def lost(*actions, by="U0DANA", decision="approve", kind="lost", **more):
    return Remark(kind=kind, places=(0,), actions=actions, by=by, decision=decision, **more)


def card_of(*remarks, calls=1, **state):
    actions = [an_action("pay", {"amount": 911 + number}) for number in range(calls)]
    found = a_state(an_interrupt(*actions), remarks=dict(enumerate(remarks)), **state)
    return words(render_card(found)[0].blocks)


def for_good(*actions, **more):
    return lost(*actions, kind="lost_for_good", **more)


def test_each_person_is_named_once_for_what_they_decided_in_the_same_way():
    """Also where they decided one by one. Who had rejected something is named before who approved."""
    rejected = [lost(number, decision="reject") for number in (3, 0, 1)]
    card = card_of(lost(4, by="U0ERIK"), *rejected, lost(2, by="U0MIRA", decision="reject"), calls=5)

    assert (
        "A technical fault lost this: <@U0DANA> rejected actions 1, 2, 4; <@U0MIRA> rejected action 3; "
        "<@U0ERIK> approved action 5. As far as the bot knows, none of it has run."
    ) in card


def test_people_beyond_the_first_five_stand_in_the_thread():
    """The card says how many they are."""
    card = card_of(*(lost(number, by=f"U0PERSON{number}") for number in range(7)), calls=7)

    assert "<@U0PERSON4> approved action 5; 2 more in the thread. As far as" in card


def test_a_vote_is_not_called_a_decision():
    """Somebody else had still to agree."""
    card = card_of(
        lost(0, decision="reject", is_vote=True), lost(0, by="U0ERIK", decision="edit", is_vote=True)
    )

    assert "<@U0DANA> voted to reject action 1; <@U0ERIK> voted to change and approve action 1." in card


def test_a_request_that_ended_says_what_was_decided_and_that_it_may_have_run():
    """Nobody can decide again, because the agent may know what was decided."""
    card = card_of(for_good(0), **ENDED)

    assert (
        "<@U0DANA> approved action 1. The agent may know that already, so nobody can decide again. It may have run. "
        "Look at what has run, then let the agent ask again if it is still needed."
    ) in card


def test_a_changed_call_that_may_have_run_is_not_looked_for_with_the_values_of_the_card():
    """Those are what the agent had asked. What they were changed to is lost."""
    card = card_of(for_good(0, decision="edit"), **ENDED)

    assert "amount: 911" in card
    assert "It may have run with other values than these: what was changed is lost." in card


def test_each_call_of_a_request_that_ended_says_whether_it_may_have_run():
    """A rejection runs nothing."""
    card = card_of(for_good(0), for_good(1, decision="reject"), calls=2, **ENDED)

    assert "Decision lost, may have run" in card
    assert "Decision lost, has not run" in card


@pytest.mark.parametrize(
    ("is_vote", "sentence"),
    [(False, "Nothing runs with a rejection or an answer."), (True, "It may have run.")],
)
def test_how_a_vote_ended_is_not_known(is_vote, sentence):
    """A rejection runs nothing, and a vote for it may have been outvoted."""
    assert sentence in card_of(for_good(0, decision="reject", is_vote=is_vote), **ENDED)


def test_where_people_were_asked_again_a_rejection_does_not_prove_that_nothing_ran():
    """Somebody may have approved it since, and a second failover lost that."""
    assert "Ended, may have run" in card_of(lost(0, decision="reject"), **ENDED)


def test_what_was_decided_again_is_not_named_as_lost():
    """Its row says what counts."""
    asked = an_interrupt(an_action("pay"), an_action("note"))
    remarks = {0: lost(0, decision="reject"), 1: for_good(1, by="U0ERIK")}
    state = a_state(asked, decided={0: ApproveDecision()}, remarks=remarks, **ENDED)

    card = words(render_card(state)[0].blocks)

    assert "<@U0DANA> rejected" not in card
    assert "<@U0ERIK> approved action 2." in card


def test_a_request_that_was_refused_for_another_reason_says_so_of_its_calls():
    """What was lost of it before had been told, and people were asked again."""
    card = card_of(lost(0), lost(1), calls=2, status="refused", code="card_deleted")

    assert "Decision lost" not in card
