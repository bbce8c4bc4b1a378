"""What a card and its thread show about time."""

from datetime import timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from bot.domain.admission import Place
from bot.domain.approval import Assignment
from bot.domain.ids import MessageId
from bot.domain.messages import Remark
from bot.domain.schedule import Extension
from bot.rendering.card.card import render_card
from bot.rendering.card.times import remark_text
from bot.sentences.words import duration_words
from tests.bot.rendering.slack_side import assert_slack_takes_card, block_ids
from tests.support.builders import NOW, a_decision, a_state, an_action, an_admission, an_interrupt
from tests.support.people import buttons, words

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
BATCH = an_interrupt(an_action("pay"), an_action("mail"))


def timed(**fields):
    """Draw the card of two actions, open for an hour, that may be claimed and extended once."""
    place = Place(channel="C1", actions=(0, 1), assign=HOUR, **fields.pop("place", {}))
    extension = Extension(by=30 * MINUTE)
    admission = an_admission(approvers=("U0ERIK",), places=(place,), extension=extension)
    parts = render_card(a_state(BATCH, admission=admission, **fields))
    assert_slack_takes_card(parts)
    return parts


def clock_buttons(part) -> list[str]:
    return [
        name
        for name in buttons({"blocks": part.blocks})
        if name.split(":")[0] in {"claim", "hand_over", "extend"}
    ]


def test_nobody_looks_at_a_card_longer_than_it_is_open():
    """An assignment may last longer than the deadline. The card then says the deadline."""
    (card,) = timed(assignments={0: Assignment("U0ERIK", NOW, NOW + 5 * HOUR)})
    (until_the_end,) = timed(assignments={0: Assignment("U0ERIK", NOW, NOW + HOUR)})

    assert words(card.blocks) == words(until_the_end.blocks)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, ["claim:0"]),
        ({"now": NOW + 45 * MINUTE}, ["claim:0", "extend:0"]),
        ({"now": NOW + 45 * MINUTE, "extended": 1}, ["claim:0"]),
        ({"assignments": {0: Assignment("U0ERIK", NOW, NOW + HOUR)}}, ["hand_over:0"]),
        ({"assignments": {0: Assignment("U0ERIK", NOW, NOW + 10 * MINUTE)}}, ["claim:0"]),
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


def test_a_claim_ends_with_its_holders_decision_and_not_with_anothers():
    """Who decides is not looking any more."""
    assignments = {0: Assignment("U0ERIK", NOW, NOW + HOUR)}
    by_holder = {0: a_decision(BATCH, 0, ApproveDecision(), by="U0ERIK")}
    by_other = {0: a_decision(BATCH, 0, RejectDecision(), by="U0MIRA")}

    assert "is looking" not in words(timed(assignments=assignments, decided=by_holder)[0].blocks)
    assert "<@U0ERIK> is looking at this, until" in words(
        timed(assignments=assignments, decided=by_other)[0].blocks
    )


def test_a_remark_is_a_reply_to_the_card():
    """In a thread where the card itself is a reply, it stands beside it."""
    remarks = {2: Remark(kind="remind", places=(0,), actions=(0, 1), mentions=("S0OPS",))}
    _, remark = timed(remarks=remarks)
    _, beside = timed(remarks=remarks, place={"thread_ts": "1.2"})

    assert (remark.id, remark.parent, remark.thread_ts) == (MessageId(0, "remark", 2), MessageId(0), None)
    assert (beside.parent, beside.thread_ts) == (None, "1.2")
    assert remark.text == "Still to be decided: calls 1, 2. Approvers: <!subteam^S0OPS>."


@pytest.mark.parametrize(
    ("remark", "text"),
    [
        (Remark(kind="remind", places=(0,), actions=(4,)), "Still to be decided: call 5."),
        (
            Remark(
                kind="remind",
                places=(0,),
                actions=tuple(range(22)),
                mentions=tuple(f"U{n:03}" for n in range(21)),
            ),
            (
                f"Still to be decided: calls 1 to 20 and 2 more. "
                f"Approvers: {', '.join(f'<@U{n:03}>' for n in range(20))} and 1 more."
            ),
        ),
        (
            Remark(kind="escalate", places=(0,), actions=(0,), also_in="C2"),
            "Nobody has decided call 1 yet, so it is asked in <#C2> as well.",
        ),
        (
            Remark(kind="escalate", places=(0,), actions=(0,), mentions=("S0OPS",)),
            "Nobody has decided call 1 yet. <!subteam^S0OPS> may decide now, too.",
        ),
        (
            Remark(kind="extend", places=(0,), by="U0ERIK", until=NOW),
            (
                "<@U0ERIK> moved the deadline to "
                "<!date^1795176000^{date_short_pretty} at {time}|2026-11-20 12:00 UTC>."
            ),
        ),
        (
            Remark(kind="hand_over", places=(0,), by="U0ERIK", mentions=("U0MIRA",)),
            "<@U0ERIK> hands this over to <@U0MIRA>. Everybody who may decide still can.",
        ),
    ],
)
def test_remarks_are_one_sentence_or_two(remark, text):
    """Nothing in them is an agent's."""
    assert remark_text(remark) == text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1, "1 second"), (1_800, "30 minutes"), (5_400, "1 hour 30 minutes"), (90_000, "1 day 1 hour")],
)
def test_durations_are_written_as_people_say_them(seconds, said):
    """On a button."""
    assert duration_words(timedelta(seconds=seconds)) == said
