"""The title of a card is its subject and then its outcome, and what a phone shows says the same."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision, RespondDecision
from agent_adapter.contract.record import EXPIRED
from bot.rendering.card.card import render_card
from bot.text.literal import plain_name
from tests.bot.rendering.slack_side import assert_slack_takes_card, block_of
from tests.support.builders import NOW, a_decision, a_state, an_action, an_interrupt, edited

EDIT = edited("pay", amount=2)
DANA, MIRA = {"by": "U0DANA", "name": "Dana"}, {"by": "U0MIRA", "name": "Mira"}


def drawn(*tools, how=(), **fields):
    """Draw a card of these tools, without arguments. Each of `how` is a decision with who made it."""
    interrupt = an_interrupt(*(an_action(tool, {}) for tool in tools or ("send_email",)))
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


APPROVE, REJECT = ApproveDecision(), RejectDecision(message="no")


@pytest.mark.parametrize(
    ("tools", "how", "says"),
    [
        (["send_payment"], [], "send_payment"),
        (["refund_customer"] * 5, [], "refund_customer, 5 times"),
        (["a", "b", "c", "d"], [], "a, b, c, d"),
        (["a", "b", "a", "c"], [], "a, 2 times, b, c"),
        (["<!channel>"], [], "a tool with an unusual name"),
        ([letter * 29 for letter in "abc"], [], f"{'a' * 29}, {'b' * 29} and 1 more call"),
        (["pay"] * 3, [(REJECT, DANA)], "pay, 3 times, 2 of 3 open"),
        (["pay", "mail", "ask"], [(REJECT, DANA)], "pay, mail, ask, 2 of 3 open"),
    ],
)
def test_an_open_card_says_who_asks_and_for_what(tools, how, says):
    """Ten cards in a channel differ by their titles. One that is decided in part still says what is open."""
    assert title(*tools, how=how) == f"billing: {says}"


@pytest.mark.parametrize(
    ("decisions", "says"),
    [
        ((None, None), "billing: pay, 2 times, 30 EUR together"),
        ((REJECT, None), "billing: pay, 2 times, 1 of 2 open"),
        ((APPROVE, None), "billing: pay, 2 times, 1 of 2 open"),
        ((REJECT, APPROVE), "1 approved, 1 rejected: pay, 2 times"),
        ((REJECT, REJECT), "🚫 Rejected: pay, 2 times, 30 EUR together"),
    ],
)
def test_a_sum_never_holds_what_is_rejected_or_open_beside_what_runs(decisions, says):
    """Whoever reads only the title takes the sum for what is paid, or for what is still asked."""
    asked = an_interrupt(*(an_action("pay", {"amount": n, "currency": "EUR"}) for n in (10, 20)))
    recorded = tuple(d and a_decision(asked, n, d) for n, d in enumerate(decisions))
    status = "pending" if None in decisions else "decided"
    (part,) = render_card(replace(a_state(asked, status=status), recorded=recorded))

    assert part.blocks[0]["text"]["text"] == says


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ([(APPROVE, DANA)], "Approved by Dana: pay"),
        ([(EDIT, DANA)], "Changed by Dana: pay (left out) → 2"),
        ([(REJECT, DANA)], "🚫 Rejected by Dana: pay"),
        ([(RespondDecision(message="20"), DANA)], "Answered by Dana: pay"),
        ([(APPROVE, DANA)] * 3, "Approved by Dana: pay, 3 times"),
        ([(APPROVE, DANA), (APPROVE, MIRA)], "Approved by Dana and Mira: pay, 2 times"),
        ([(APPROVE, DANA), (APPROVE, {"by": "U0X"})], "Approved by 2 people: pay, 2 times"),
        ([(APPROVE, {"agreed_by": ("U1", "U2", "U0DANA"), "name": "Dana"})], "Approved by 3 people: pay"),
        ([(REJECT, DANA), (APPROVE, MIRA), (APPROVE, MIRA)], "2 approved, 1 rejected: pay, 3 times"),
        ([(APPROVE, {"by": EXPIRED}), (APPROVE, DANA)], "2 approved: pay, 2 times"),
        ([(APPROVE, {})], "Approved: pay"),
        ([(APPROVE, {"sticky": "billing.1:0", **DANA})], "Approved in advance: pay"),
        ([(APPROVE, {"by": EXPIRED})], "Approved without objection: pay"),
    ],
)
def test_a_decided_card_says_by_whom_and_what(how, says):
    """The outcome comes first. A name stands there only where it is known, and for who really decided this very call."""
    part = drawn(*["pay"] * len(how), how=how, status="decided", settled_at=NOW)

    assert part.blocks[0]["text"]["text"] == says
    assert part.text == f"{says}. Asked by billing; waiting for the agent."


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
    said = title(how=[(ApproveDecision(), {"name": given_name})], status="decided")
    assert said == f"Approved{by}: send_email"


@pytest.mark.parametrize(
    ("decision", "who", "fields", "begins", "ends"),
    [
        (APPROVE, DANA, {"resumed_at": NOW}, "<@U0DANA> <!date^", "the agent has resumed"),
        (APPROVE, DANA, {}, "<@U0DANA> ", "waiting for the agent"),
        # An approval that counts for later calls, or that nothing came of, is never shortened to who gave it.
        (ApproveDecision(always=True), DANA, {}, "*Approved for this run* by <@U0DANA> ", "waiting for the agent"),
        (APPROVE, DANA, {"status": "withdrawn"}, "it did not run · *Approved, not run* by <@U0DANA> ", ""),
        # Whom people ask for changes may ask for another call.
        (REJECT, DANA, {"resumed_at": NOW}, "it did not run · <@U0DANA> ", "for <@U0DANA>"),
        (REJECT, {**DANA, "changes": "Half of it."}, {"resumed_at": NOW}, "it did not run · <@U0DANA> ", ""),
    ],
)  # fmt: skip
def test_the_line_below_says_how_the_run_goes_on_and_who_asked(decision, who, fields, begins, ends):
    """A decided card has no agent in its title, and the line says what the title does not."""
    part = drawn(how=[(decision, who)], **{"status": "decided", "settled_at": NOW, **fields})

    line = block_of(part.blocks, "who")["elements"][0]["text"]
    assert line.startswith(begins)
    assert line.endswith(ends)
    assert "for <@U0DANA>" in line
    assert part.blocks[-1]["block_id"] in {"who", "a:0:buttons"}
    assert ("resumed" in line) is (decision is APPROVE and "resumed_at" in fields)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"status": "expired"}, "⌛ Expired"),
        ({"status": "refused", "code": "went_back"}, "⚠️ Ended, may have run"),
        ({"now": NOW + timedelta(hours=2)}, "⌛ Time is up"),
    ],
)
def test_a_card_that_ended_otherwise_says_how(fields, says):
    """With a mark that people see when they scan a channel."""
    assert title(**fields) == f"{says}: send_email"
