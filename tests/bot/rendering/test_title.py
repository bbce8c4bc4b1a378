"""The title of a card is its subject and then its outcome, and what a phone shows says the same."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.hitl import (
    ApproveDecision,
    EditDecision,
    EditedAction,
    RejectDecision,
    RespondDecision,
)
from agent_adapter.contract.record import EXPIRED
from bot.rendering.card.card import render_card
from bot.text.names import plain_name
from tests.bot.rendering.slack_side import assert_slack_takes_card, block_of
from tests.support.builders import NOW, a_decision, a_state, an_action, an_interrupt
from tests.support.properties import bounded

EDIT = EditDecision(edited_action=EditedAction(name="send_email", args={"to": "b"}))
DANA, MIRA = {"by": "U0DANA", "name": "Dana"}, {"by": "U0MIRA", "name": "Mira"}


def drawn(*tools, how=(), **fields):
    """Draw a card of these tools. Each of `how` is a decision with who made it."""
    interrupt = an_interrupt(*(an_action(tool) for tool in tools or ("send_email",)))
    decided = {
        index: a_decision(interrupt, index, decision, by=who.get("by", "U0DANA")).model_copy(
            update={key: value for key, value in who.items() if key != "by"}
        )
        for index, (decision, who) in enumerate(how)
        if decision
    }
    (part,) = render_card(a_state(interrupt, decided=decided, **fields))
    assert_slack_takes_card((part,))
    return part


def title(*tools, **fields):
    return drawn(*tools, **fields).blocks[0]["text"]["text"]


@pytest.mark.parametrize(
    ("tools", "asks"),
    [
        (["send_payment"], "billing wants to run send_payment"),
        (["refund_customer"] * 5, "billing wants to run refund_customer, 5 times"),
        (["a", "b", "c", "d"], "billing wants to run 4 tools"),
        (["a", "b", "a", "c"], "billing wants to run 4 calls of 3 tools"),
        (["<!channel>"], "billing wants to run a tool with an unusual name"),
        (["<!channel>", "<!here>"], "billing wants to run 2 tools"),
    ],
)
def test_an_open_card_says_who_wants_to_run_what(tools, asks):
    """Ten cards in a channel differ by their titles."""
    assert title(*tools) == asks


@pytest.mark.parametrize(
    ("tools", "asks"),
    [
        (["pay"] * 3, "billing wants to run pay, 2 of 3 open"),
        (["pay", "mail", "ask"], "billing wants to run 3 tools, 2 of 3 open"),
        (["pay", "mail", "pay"], "billing wants to run 3 calls of 2 tools, 2 of 3 open"),
    ],
)
def test_a_card_that_is_decided_in_part_still_says_what_is_open(tools, asks):
    """And how much of it."""
    assert title(*tools, how=[(RejectDecision(), DANA)]) == asks


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        (ApproveDecision(), "Approved by Dana: send_email"),
        (EDIT, "Changed by Dana: send_email"),
        (RejectDecision(message="no"), "Rejected by Dana: send_email"),
        (RespondDecision(message="20"), "Answered by Dana: send_email"),
    ],
)
def test_a_decided_card_says_by_whom_and_what(decision, says):
    """The outcome comes first, then the subject."""
    part = drawn(how=[(decision, DANA)], status="decided", settled_at=NOW)

    assert part.blocks[0]["text"]["text"] == says
    assert part.text == f"{says}. Asked by billing; waiting for the agent."


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ([(ApproveDecision(), DANA)] * 3, "Approved by Dana: pay, 3 times"),
        ([(ApproveDecision(), DANA), (ApproveDecision(), MIRA)], "Approved by Dana and Mira: pay, 2 times"),
        ([(ApproveDecision(), DANA), (ApproveDecision(), {"by": "U0X"})], "Approved by 2 people: pay, 2 times"),
        ([(ApproveDecision(), {"agreed_by": ("U1", "U2", "U0DANA"), "name": "Dana"})], "Approved by 3 people: pay"),
        ([(RejectDecision(), DANA), (ApproveDecision(), MIRA), (ApproveDecision(), MIRA)], "2 approved, 1 rejected: pay, 3 times"),
        ([(ApproveDecision(), {"by": EXPIRED}), (ApproveDecision(), DANA)], "2 approved: pay, 2 times"),
        ([(ApproveDecision(), {})], "Approved: pay"),
        ([(ApproveDecision(), {"sticky": "billing.1:0", **DANA})], "Approved in advance: pay"),
        ([(ApproveDecision(), {"by": EXPIRED})], "Approved without objection: pay"),
    ],
)  # fmt: skip
def test_what_several_people_or_nobody_decided_is_counted_or_said_in_words(how, says):
    """A name stands there only where it is known, and only for who really decided this very call."""
    assert title(*["pay"] * len(how), how=how, status="decided", settled_at=NOW) == says


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"status": "expired"}, "Expired: send_email"),
        ({"status": "withdrawn"}, "Withdrawn: send_email"),
        ({"status": "refused"}, "Refused: send_email"),
        ({"status": "refused", "code": "went_back"}, "Ended, may have run: send_email"),
        ({"now": NOW + timedelta(hours=2)}, "Time is up: send_email"),
    ],
)
def test_a_card_that_ended_otherwise_says_how(fields, says):
    """In one word."""
    assert title(**fields) == says


@pytest.mark.parametrize("status", ["withdrawn", "refused", "expired"])
def test_a_title_never_says_approved_of_what_does_not_run(status):
    """Somebody approved in time, and then it was withdrawn, refused or raised as an error."""
    interrupt = an_interrupt(an_action(), an_action(), on_expiry="raise")

    (part,) = render_card(a_state(interrupt, decided={0: ApproveDecision()}, status=status))

    assert "pproved" not in part.blocks[0]["text"]["text"]


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("Dana Müller-O'Neill", "Dana Müller-O'Neill"),
        ("Нина", "Нина"),
        ("Dana 🚀 :tada:", "Dana tada"),
        ("Dana: delete_all\n", "Dana delete all"),
        ("Da\u202ena\u200b", "Da na"),
        ("2 people", "people"),
        ("🦄", ""),
        ("", ""),
        ("Wolfeschlegelsteinhausenbergerdorff", "Wolfeschlegelsteinhausenberge…"),
    ],
)
def test_a_name_in_a_title_is_letters_on_one_line(given_name, shown):
    """People choose their names, and a title has no mention: what could pass for words of the bot is left out."""
    assert plain_name(given_name) == shown
    by = f" by {shown}" if shown else ""
    assert (
        title(how=[(ApproveDecision(), {"name": given_name})], status="decided")
        == f"Approved{by}: send_email"
    )


@bounded(100)
@given(st.text(max_size=80))
def test_whatever_a_person_is_called_a_title_has_one_colon_and_no_picture(name):
    """So its outcome ends where the bot ended it."""
    said = title(how=[(ApproveDecision(), {"name": name})], status="decided")

    assert said.startswith("Approved")
    assert said.count(":") == 1
    assert len(said) <= 150


def test_the_line_below_says_how_the_run_goes_on_and_who_asked():
    """A decided card has no agent in its title."""
    part = drawn(how=[(ApproveDecision(), DANA)], status="decided", settled_at=NOW, resumed_at=NOW)

    line = block_of(part.blocks, "who")["elements"][0]["text"]
    assert line.startswith("by <@U0DANA> <!date^")
    assert line.endswith(" · asked by `billing` for <@U0DANA> · the agent has resumed")


@pytest.mark.parametrize("changes", [None, "Half of it."])
def test_the_line_below_says_first_that_a_call_did_not_run(changes):
    """Whom people ask for changes may ask for another call."""
    rejected = (RejectDecision(message="no"), {**DANA, "changes": changes})
    part = drawn(how=[rejected], status="decided", settled_at=NOW, resumed_at=NOW)

    line = block_of(part.blocks, "who")["elements"][0]["text"]
    assert line.startswith("the call did not run · by <@U0DANA> ")
    assert "resumed" not in line


@pytest.mark.parametrize(
    ("decision", "fields", "says"),
    [
        (ApproveDecision(always=True), {"status": "decided"}, "*Approved for this run* by <@U0DANA> "),
        (
            ApproveDecision(),
            {"status": "withdrawn"},
            "the call did not run · *Approved, not run* by <@U0DANA> ",
        ),
        (ApproveDecision(), {"status": "decided"}, "by <@U0DANA> "),
    ],
)
def test_the_line_below_leaves_out_what_was_decided_only_where_the_title_says_just_that(
    decision, fields, says
):
    """An approval that counts for later calls, or that nothing came of, is never shortened to who gave it."""
    part = drawn(how=[(decision, DANA)], settled_at=NOW, **fields)

    assert block_of(part.blocks, "who")["elements"][0]["text"].startswith(says)
