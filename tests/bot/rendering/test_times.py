"""What a card and its thread show about time."""

from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from bot.domain.admission import Place
from bot.domain.approval import CLAIMED, Assignment
from bot.domain.ids import MessageId, Remark
from bot.domain.schedule import Extension
from bot.rendering.card.card import render_card
from tests.bot.rendering.slack_side import assert_slack_takes_card, block_ids
from tests.support.builders import NOW, a_decision, a_state, an_action, an_interrupt, edited
from tests.support.people import buttons, words

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
MONEY = {"amount": 900, "currency": "EUR"}
BATCH = an_interrupt(an_action("pay", MONEY), an_action("mail", {"to": "ada@example.com"}))
PAY = an_interrupt(an_action("pay", MONEY))


def timed(**fields):
    """Draw the card of two actions, open for an hour, that may be claimed and extended once."""
    place = Place(channel="C1", actions=(0, 1), assign=HOUR, **fields.pop("place", {}))
    extension = Extension(by=30 * MINUTE)
    parts = render_card(a_state(BATCH, approvers=["U0ERIK"], places=(place,), extension=extension, **fields))
    assert_slack_takes_card(parts)
    return parts


def in_thread(interrupt, *, remark, **fields) -> str:
    """Draw one remark in the thread of the first card."""
    remarks = {1: Remark(**{"places": (0,), **remark})}
    parts = render_card(a_state(interrupt, remarks=remarks, **fields))
    assert_slack_takes_card(parts)
    return next(part.text for part in parts if part.id == MessageId(0, "remark", 1))


def clock_buttons(part) -> list[str]:
    return [
        name
        for name in buttons({"blocks": part.blocks})
        if name.split(":")[0] in {"claim", "hand_over", "extend"}
    ]


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, ["claim:0"]),
        ({"now": NOW + 45 * MINUTE}, ["claim:0", "extend:0"]),
        ({"now": NOW + 45 * MINUTE, "extended": 1}, ["claim:0"]),
        ({"marks": {CLAIMED: {0: Assignment("U0ERIK", NOW, NOW + HOUR)}}}, ["hand_over:0"]),
        ({"marks": {CLAIMED: {0: Assignment("U0ERIK", NOW, NOW + 10 * MINUTE)}}}, ["claim:0"]),
        ({"now": NOW + HOUR}, []),
        ({"status": "withdrawn"}, []),
        ({"place": {"parts": ((0,), (1,))}}, ["claim:0"]),
    ],
    ids=["early", "late", "extended", "assigned", "assignment over", "over", "withdrawn", "in parts"],
)
def test_buttons_about_time_are_there_when_they_do_something(fields, shown):
    """In a block of their own at the end of the card."""
    card, *others = timed(**fields)

    assert clock_buttons(card) == shown
    assert ("clock" in block_ids(card.blocks)) == bool(shown)
    assert [clock_buttons(part) for part in others] == [[]] * len(others)


REMIND = {"kind": "remind", "actions": (0,)}
ESCALATE = {"kind": "escalate", "actions": (0,)}
NOT_YET = "Nobody has decided pay 900 EUR yet"
MANY = tuple(f"U{n:03}" for n in range(21))
TWO_PLACES = [Place(channel="C1", actions=(0,)), Place(channel="C2", actions=(1,))]


@pytest.mark.parametrize(
    ("remark", "fields", "text"),
    [
        (REMIND, {}, "Still waiting: pay 900 EUR."),
        ({**REMIND, "mentions": MANY}, {}, f"Still waiting: pay 900 EUR. Approvers: {', '.join(f'<@{n}>' for n in MANY[:20])} and 1 more."),
        ({**ESCALATE, "also_in": "C2"}, {}, f"{NOT_YET}, so it is asked in <#C2> as well."),
        ({**ESCALATE, "mentions": ("S0OPS",)}, {}, f"{NOT_YET}. <!subteam^S0OPS> may decide now, too."),
        ({"kind": "propose", "actions": (0,), "by": "U0ERIK", "mentions": ("S0OPS",)}, {},
         "<@U0ERIK> proposes changes to pay 900 EUR. <!subteam^S0OPS> may agree."),
        ({"kind": "extend", "by": "U0ERIK", "until": NOW}, {},
         "<@U0ERIK> moved the deadline of pay 900 EUR to <!date^1795176000^{date_short_pretty} at {time}|2026-11-20 12:00 UTC>."),
        ({"kind": "hand_over", "by": "U0ERIK", "mentions": ("U0MIRA",)}, {},
         "<@U0ERIK> hands pay 900 EUR over to <@U0MIRA>. Everybody who may decide still can."),
        # The other call is shown to others, in another channel.
        ({"kind": "remind", "actions": (0, 1), "places": (0, 1)}, {"interrupt": BATCH, "places": TWO_PLACES}, "Still waiting: pay 900 EUR."),
        # It is posted once, and never changed: it says how it was asked, also when it was decided otherwise.
        (REMIND, {"decided": {0: edited("pay", amount=7, currency="EUR")}, "status": "decided"}, "Still waiting: pay 900 EUR."),
    ],
)  # fmt: skip
def test_remarks_are_one_sentence_or_two_and_name_the_calls_of_their_place(remark, fields, text):
    assert in_thread(**{"interrupt": PAY, **fields}, remark=remark) == text


def test_nobody_looks_at_a_card_longer_than_it_is_open():
    """An assignment may last longer than the deadline. The card then says the deadline."""
    (card,) = timed(marks={CLAIMED: {0: Assignment("U0ERIK", NOW, NOW + 5 * HOUR)}})
    (until_the_end,) = timed(marks={CLAIMED: {0: Assignment("U0ERIK", NOW, NOW + HOUR)}})

    assert words(card.blocks) == words(until_the_end.blocks)


def test_a_claim_ends_with_its_holders_decision_and_not_with_anothers():
    """Who decides is not looking any more."""
    marks = {CLAIMED: {0: Assignment("U0ERIK", NOW, NOW + HOUR)}}
    by_holder = {0: a_decision(BATCH, 0, ApproveDecision(), by="U0ERIK")}
    by_other = {0: a_decision(BATCH, 0, RejectDecision(), by="U0MIRA")}

    assert "is looking" not in words(timed(marks=marks, decided=by_holder)[0].blocks)
    assert "<@U0ERIK> is looking at this, until" in words(timed(marks=marks, decided=by_other)[0].blocks)


def test_a_remark_is_a_reply_to_the_card():
    """In a thread where the card itself is a reply, it stands beside it."""
    remarks = {2: Remark(kind="remind", places=(0,), actions=(0, 1), mentions=("S0OPS",))}
    _, remark = timed(remarks=remarks)
    _, beside = timed(remarks=remarks, place={"thread_ts": "1.2"})

    assert (remark.id, remark.parent, remark.thread_ts) == (MessageId(0, "remark", 2), MessageId(0), None)
    assert (beside.parent, beside.thread_ts) == (None, "1.2")
    assert remark.text == 'Still waiting: pay 900 EUR, mail "ada@example.com". Approvers: <!subteam^S0OPS>.'


def test_nothing_of_an_agent_is_active_in_a_remark_and_what_is_masked_is_not_in_it():
    args = {"to": "<!channel> :tada: *x*", "token": "hunter22"}

    said = in_thread(an_interrupt(an_action("pay", args)), remark=REMIND, mask=("token",))

    assert "<!" not in said
    assert ":tada:" not in said
    assert "hunter22" not in said
