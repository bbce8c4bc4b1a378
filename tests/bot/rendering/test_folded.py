"""A decided call is folded: what ran stands on one line, and nothing that explains it is lost."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision, RespondDecision
from bot.rendering.card.card import render_card
from bot.rendering.card.table import cell
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    block_ids,
    block_of,
    buttons,
    literal_text,
    shown,
)
from tests.support.builders import NOW, a_state, an_action, an_interrupt, edited
from tests.support.properties import bounded

REFUND = {"amount": 64.95, "order": 4711, "customer": "Ada Park"}


def card(args, *decisions, description=None, terms=None, **fields):
    """Draw a card of one call for each decision, all with these arguments. Its title has one line, so they may take two."""
    interrupt = an_interrupt(*(an_action("refund", args, description=description) for _ in decisions))
    decided = {index: decision for index, decision in enumerate(decisions) if decision}
    given = {"status": "decided", "settled_at": NOW, **(terms or {}), **fields}
    (part,) = render_card(a_state(interrupt, decided=decided, **given))
    assert_slack_takes_card((part,))
    return part


def line(part, index=0):
    return [(leaf["text"], *leaf.get("style", {})) for leaf in block_of(part.blocks, f"a:{index}:arguments")["elements"][0]["elements"]]  # fmt: skip


def test_what_was_approved_is_one_line_and_the_last_one_says_who_and_when():
    """No number, no box, no line above, nothing that the title says; the run goes on in the same line as who decided."""
    part = card({**REFUND, "order": "A 1", "note": "x"}, ApproveDecision())

    assert block_ids(part.blocks) == ["top", "a:0:arguments", "who"]
    assert part.blocks[0]["text"]["text"] == 'Approved: refund 64.95 "Ada Park" · order "A 1" +1 more'
    assert literal_text(part.blocks, "a:0:arguments") == "note x"
    who = block_of(part.blocks, "who")["elements"][0]["text"]
    assert who.startswith("<@U0ERIK> <!date^")
    assert who.endswith(" · agent `billing` for <@U0DANA> · waiting for the agent")


def test_an_edit_stands_in_the_line_as_it_was_and_as_it_became():
    """What was asked is struck out, what ran is bold; what was added or removed says so. The title says it, too."""
    part = card(
        {**REFUND, "note": "x"}, edited("refund", amount=49.95, order=4711, customer="Ada Park", urgent=True)
    )

    assert line(part)[:4] == [("amount ",), ("64.95", "code", "strike"), (" → ",), ("49.95", "code", "bold")]
    assert line(part)[-6:] == [
        ("   note ",),
        ("x", "code", "strike"),
        (" (removed)",),
        ("\nurgent ",),
        ("(added) ",),
        ("true", "code", "bold"),
    ]
    assert "a:0:told" not in block_ids(part.blocks)


def test_a_long_value_that_was_edited_has_a_box_and_a_short_one_the_line():
    """Each change is shown once."""
    part = card({"amount": 5, "body": "a\nb"}, edited("refund", amount=6, body="a\nc"))

    assert literal_text(part.blocks, "a:0:arguments") == "amount 5 → 6"
    assert literal_text(part.blocks, "a:0:told") == "body:\n- │ a\n- │ b\n+ │ a\n+ │ c"


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (RejectDecision(message="Wrong <@U1>\norder."), "Wrong <@U1>\norder."),
        (RespondDecision(message="20 EUR"), "20 EUR"),
    ],
)
def test_the_words_of_a_person_are_a_quote(decision, words):
    """Letter by letter, above the button that shows the whole call."""
    part = card(REFUND, decision, description="Charged twice.")

    assert block_ids(part.blocks)[-3:] == ["a:0:told", "who", "a:0:buttons"]

    assert block_of(part.blocks, "a:0:told")["elements"][0]["type"] == "rich_text_quote"
    assert literal_text(part.blocks, "a:0:told") == words


@pytest.mark.parametrize(
    ("args", "description", "is_offered"),
    [
        (REFUND, None, False),
        ({**REFUND, "body": "a\nb"}, None, True),
        (REFUND, "Charged twice.", True),
        ({"sql": "select 1;\nselect 2;"}, None, True),
        (REFUND, "x" * 9_000, True),
        ({"query": "x" * 9_000}, None, True),
    ],
)
def test_what_the_card_leaves_out_can_still_be_read(args, description, is_offered):
    part = card(args, ApproveDecision(), description=description)

    assert [button["action_id"] for button in buttons(part.blocks)] == (["read:0"] if is_offered else [])


_SHORT = (
    st.integers() | st.booleans() | st.none() | st.text(max_size=12) | st.lists(st.integers(), max_size=3)
)
_ARGUMENTS = st.dictionaries(st.sampled_from("abcdef"), _SHORT | st.text("x\n", max_size=200), max_size=6)


@bounded(200)
@given(_ARGUMENTS, _ARGUMENTS)
@example({**dict.fromkeys("abc"), "d": False, "e": "0000000\x1f\x1f\U00012544\U00013000\U00018cd6"}, {})
def test_every_change_of_an_edit_is_on_the_card(before, after):
    """On the line or in the box: two edits with different results never look the same."""
    one, other = card(before, edited("refund", **after)), card(before, edited("refund", **before))

    assert (shown(one.blocks) == shown(other.blocks)) == (
        list(before.items()) == list(after.items())
        and [*map(repr, before.values())] == [*map(repr, after.values())]
    )


def test_what_the_line_has_no_room_for_is_counted_and_the_headline_comes_first():
    """Long values too; the first value always stands there."""
    args = {"note": "x" * 60, "sql": "a\nb", **REFUND}
    part = card(args, ApproveDecision(), None, terms={"headline": ("amount", "customer")})

    said = literal_text(part.blocks, "a:0:arguments")
    assert said == "amount 64.95   customer Ada Park   +3"


def test_a_title_in_the_words_of_the_policy_has_the_tool_below_it():
    part = card({"to": "Bo"}, ApproveDecision(), terms={"title": "Pay {to}"})

    assert part.blocks[0]["text"]["text"] == 'Approved: Pay "Bo"'
    assert "refund" in block_of(part.blocks, "a:0:title")["text"]["text"]


@pytest.mark.parametrize(
    ("tool", "to"), [("refund", "\u0410\u0421ME"), ("r\u0435fund", "ACME")], ids=["argument", "tool"]
)
def test_a_word_that_looks_like_another_is_still_warned_of(tool, to):
    """A year later, somebody reads the card and takes the name for the real one."""
    interrupt = an_interrupt(an_action(tool, {"to": to}))
    (part,) = render_card(a_state(interrupt, decided={0: ApproveDecision()}, status="decided"))

    assert "has letters of several alphabets" in literal_text(part.blocks, "a:0:misread")


@pytest.mark.parametrize("text", ["¹", "②x"])
def test_a_text_that_could_be_read_as_a_number_stands_in_quotes(text):
    """Raised and circled numbers, too."""
    assert cell(text) == f'"{text}"'
