"""What people see of approvals for later calls."""

from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.approval import Approval
from bot.domain.ids import MessageId
from bot.domain.standing import MOST_USES, Ended, StandingApproval, StandingLimits, StandingTerms, Use
from bot.rendering.card.card import render_card
from bot.rendering.card.thread import SHOWN_USES, call_words
from bot.rendering.modal.forms import parse_standing_terms, render_standing_view
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_view,
    button_labels,
    inputs,
    leaves,
    shown,
    submitted,
    typed_texts,
)
from tests.support.builders import NOW, a_state, an_action, an_interrupt, asked

HOUR = timedelta(hours=1)
STRANGE = "x`*<!channel>\u202e" * 20


def offered(action=None, **standing) -> Approval:
    """Build an open record whose action may be approved for later calls, too."""
    return asked(action or an_action(), approvers=["U0ERIK"], risk="low", standing=StandingLimits(**standing))


def given(action=None, *, uses: int = 0, ended: Ended | None = None, **standing) -> Approval:
    """Build a record whose action was approved for later calls, used so many times since."""
    used = tuple(
        Use(
            interrupt_id="billing.x", index=0, requested_by="U0NOOR", call=f"call {n} {STRANGE}"[:160], at=NOW
        )
        for n in range(1, uses + 1)
    )
    approval = StandingApproval(StandingTerms(**standing), NOW + HOUR, used, ended)
    interrupt = an_interrupt(action or an_action())
    return a_state(interrupt, decided={0: ApproveDecision()}, status="decided", standing={0: approval})


def standing_message(state: Approval):
    card, beside = render_card(state)
    assert beside.id == MessageId(0, "standing", 0)
    assert beside.parent == card.id
    return beside


# --- The form -----------------------------------------------------------------------------------------------------


def test_the_form_shows_the_whole_call_and_offers_no_more_than_the_policy():
    """Narrow first: the same call, in this run, for an hour, ten times."""
    view = render_standing_view(offered(lasts=2 * HOUR, uses=20), 0)
    choices = {
        label: [option["text"]["text"] for option in block["element"]["options"]]
        for label, block in inputs(view).items()
    }

    assert "dana@example.com" in shown(view["blocks"])
    assert choices == {
        "Which calls": ["The same call, with exactly these arguments"],
        "Where": ["In this run"],
        "For how long": ["1 hour", "15 minutes", "30 minutes", "2 hours"],
        "How many calls at most": ["10", "1", "2", "5", "20"],
    }
    assert parse_standing_terms(submitted(view)) == StandingTerms()


def test_what_was_not_chosen_is_as_narrow_as_can_be():
    """Also when Slack hands back a form in which something is missing."""
    view = {"state": {"values": {}}}

    assert parse_standing_terms(view) == StandingTerms(same="arguments", scope="run", lasts=HOUR / 4, uses=1)


# --- The ledger ---------------------------------------------------------------------------------------------------


def test_the_thread_says_who_approved_what_how_wide_and_how_far_it_is_used():
    """In words that a person reads, with a button to end it."""
    text = standing_message(given(uses=2)).text

    assert text.startswith(
        "<@U0ERIK> gave a standing approval for later calls of send_email: with the same arguments, "
    )
    assert "in the same run, until <!date^" in text
    assert text.endswith("at most 10 times. Used 2 of 10.")
    assert button_labels(standing_message(given(uses=2)).blocks) == ["Revoke"]


@pytest.mark.parametrize(
    ("by", "reason"),
    [("time", "its time ran out"), ("uses", "it was used up"), ("U0MIRA", "revoked by <@U0MIRA>")],
)
def test_when_it_is_over_the_thread_says_why(by, reason):
    """And has no button any more."""
    over = standing_message(given(uses=1, ended=Ended(NOW, by)))

    assert over.text.endswith(f": {reason}.")
    assert button_labels(over.blocks) == []


@pytest.mark.parametrize("uses", [0, 1, SHOWN_USES, SHOWN_USES + 1, MOST_USES])
def test_any_number_of_uses_fits_into_one_message(uses):
    """What is left out is counted; words of an agent stand in literal text only."""
    strange = an_action(STRANGE[:60])
    parts = render_card(given(strange, uses=uses))
    assert_slack_takes_card(parts)
    texts = list(typed_texts(parts[1].blocks))

    assert all("<!channel>" not in text for kind, text in texts if kind != "literal")
    said = f"{uses - SHOWN_USES} earlier uses are not shown." in "".join(leaves(parts[1].blocks))
    assert said is (uses > SHOWN_USES)


def test_a_use_with_other_arguments_shows_them_and_masks_what_is_masked():
    """In one line, as the card would."""
    call = an_action("look_up", {"id": 7, "token": "hunter2", "text": "a\nb" * 200})
    words = call_words(asked(call, mask=("token",)).actions[0])

    assert "7" in words
    assert "hunter2" not in words
    assert "\n" not in words
    assert len(words) <= 220


def test_what_is_chosen_is_what_is_given():
    """Every choice that the policy allows can be made."""
    widest = StandingLimits(same="tool", scope="agent", lasts=8 * HOUR, uses=MOST_USES)
    view = render_standing_view(offered(**widest.model_dump()), 0)
    chosen = {label: block["element"]["options"][-1]["text"]["text"] for label, block in inputs(view).items()}

    assert_slack_takes_view(view)
    assert parse_standing_terms(submitted(view, **chosen)) == StandingTerms(
        **widest.model_dump(exclude={"approvers"})
    )
