"""A call that people can only answer: a question, with the answers that it offers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.action import options_of
from bot.rendering.card.card import render_card
from bot.rendering.modal.forms import render_respond_view
from bot.rendering.modal.questions import parse_answer
from bot.sentences import on_button
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_view,
    block_of,
    button_labels,
    buttons,
    inputs,
    shown,
)
from tests.bot.rendering.test_care import state_of
from tests.support.builders import an_action
from tests.support.properties import bounded

ASKED = "Ada has waited for a week. May I offer her a voucher?"
OFFERED = ["no", "10 EUR", "20 EUR"]


def asking(options: Any = OFFERED, *, allowed: Any = ("respond",), **action: Any) -> Any:
    return an_action("ask", {"question": ASKED, "options": options}, allowed=allowed, **action)


def labels(state: Any) -> list[str]:
    (card,) = render_card(state)
    assert_slack_takes_card([card])
    return button_labels(card.blocks)


def test_a_question_is_its_text_and_its_offered_answers_are_buttons():
    """No tool, no JSON, and nothing green but the form for another answer."""
    (card,) = render_card(state_of(asking()))

    assert card.blocks[0]["text"]["text"] == f'billing asks: "{ASKED}"'
    assert [block["block_id"] for block in card.blocks] == ["top", "who", "a:0:question", "a:0:buttons"]
    assert shown([block_of(card.blocks, "a:0:question")]) == ASKED
    styles = [(each["action_id"], each["text"]["text"], each.get("style")) for each in buttons(card.blocks)]
    assert styles == [
        ("option:0.0", "no", None),
        ("option:0.1", "10 EUR", None),
        ("option:0.2", "20 EUR", None),
        ("respond:0", "Other answer…", "primary"),
    ]


ONLY = {"properties": {"answer": {"enum": ["yes", "no"]}}}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (asking(allowed=("respond", "reject")), [*OFFERED, "Other answer…", "Reject…", "Ask for changes…"]),
        (an_action("ask", {"prompt": ASKED}, allowed=("respond",), args_schema=ONLY), ["yes", "no"]),
        (an_action("ask", {"text": ASKED, "choices": ["a", "b"]}, allowed=("respond",)), ["a", "b", "Other answer…"]),
        (asking(allowed=("respond", "approve")), ["Approve", "Answer…", "Approve with a note…"]),
        (asking("no"), ["Answer…"]),
        (asking(["no"]), ["Answer…"]),
        (asking([1, 2]), ["Answer…"]),
        (asking(["no", "no"]), ["Answer…"]),
        (asking([*"abcdef"]), ["Answer…"]),
        (asking(["no", "x" * 31]), ["Answer…"]),
        (asking(["no", "yes "]), ["Answer…"]),
        (asking(["no", "yes\u200b"]), ["Answer…"]),
        (asking(["no", "\\n"]), ["Answer…"]),
        (asking(["no", "✅ yes"]), ["Answer…"]),
        (asking(["no", "approve it"]), ["Answer…"]),
        (asking(["no", "\u0410pprove"]), ["Answer…"]),
        (asking(["no", "Next week"]), ["Answer…"]),
        (asking(["no", "n\u043e"]), ["Answer…"]),
        (asking(["0", "O"]), ["Answer…"]),
    ],
)  # fmt: skip
def test_an_offered_answer_is_a_button_only_where_it_can_be_taken_for_nothing_else(action, expected):
    """Different plain texts of at most 30 characters that begin like no button of ours, two to five of them."""
    assert labels(state_of(action)) == expected


@pytest.mark.parametrize(
    ("asked", "more", "fields"),
    [
        (ASKED, (), {"quorum": 2}),
        (ASKED, (), {"risk": "high"}),
        (ASKED * 100, (), {}),
        (ASKED, (an_action(),), {}),
    ],
    ids=["several people", "high risk", "to be read first", "one of several"],
)
def test_answers_that_do_not_stand_below_the_whole_question_are_in_its_form(asked, more, fields):
    """What decides at one press is shown whole, alone, and is decided by one person."""
    action = an_action("ask", {"question": asked, "options": OFFERED}, allowed=("respond",))
    state = state_of(action, *more, **fields)
    view = render_respond_view(state, 0)

    assert {"Answer…", "1: Answer…"} & {*labels(state)}
    assert "10 EUR" not in labels(state)
    assert_slack_takes_view(view)
    choice = inputs(view)["Your answer"]["element"]
    assert [option["text"]["text"] for option in choice["options"]] == OFFERED


@bounded(200)
@given(
    st.lists(
        st.sampled_from(["no", "No", "n\u043e", "0", "O", "Edit", "edit:", "a b", "é", "e\u0301", " "])
        | st.text(max_size=33),
        max_size=6,
    )
)
def test_whatever_is_offered_each_button_says_its_answer_and_nothing_of_ours(offered):
    """All of them are buttons, in their order and to the letter, or none is."""
    state = state_of(asking(offered))

    said = labels(state)
    assert said in (["Answer…"], [*offered, "Other answer…"])
    assert list(options_of(state.actions[0])) in ([], offered)
    assert not [
        each
        for each in said[:-1]
        if each.casefold().startswith(tuple(label.rstrip("…").casefold() for label in on_button.all_labels()))
    ]


@pytest.mark.parametrize(
    ("chosen", "typed", "answer"),
    [("1", None, "10 EUR"), (None, "5", "5"), ("1", "5", None), ("7", None, None), (None, None, None)],
)
def test_a_form_gives_one_answer_the_chosen_or_the_typed_one(chosen, typed, answer):
    """Slack carries the number of the choice; its text is that of the record."""
    values = {
        "option": {"option": {"selected_option": chosen and {"value": chosen}}},
        "words": {"text": {"value": typed}},
    }

    assert parse_answer(state_of(asking()).actions[0], {"state": {"values": values}}) == answer


def test_a_button_of_other_answers_than_those_of_the_record_asks_otherwise():
    """Its click names the question with the answers, also where these come from the schema of the tool."""

    def drawn(answers: Any) -> Any:
        schema = {"properties": {"answer": {"enum": answers}}}
        return state_of(an_action("ask", {"question": ASKED}, allowed=("respond",), args_schema=schema))

    value = buttons(render_card(drawn(["yes", "no"]))[0].blocks)[0]["value"]
    assert value == buttons(render_card(drawn(["yes", "no"]))[0].blocks)[0]["value"]
    assert value != buttons(render_card(drawn(["no", "yes"]))[0].blocks)[0]["value"]


def test_what_the_buttons_do_not_say_stays_on_the_card():
    """Also where it is called like the answers."""
    args = {"question": ASKED, "options": OFFERED, "choices": {"hidden": "no"}}
    by_schema = an_action(
        "ask", {"question": ASKED, "options": "or else"}, allowed=("respond",), args_schema=ONLY
    )
    (both,), (schema,) = (
        render_card(state_of(call)) for call in (an_action("ask", args, allowed=("respond",)), by_schema)
    )

    assert labels(state_of(by_schema)) == ["yes", "no"]
    assert "hidden" in shown(both.blocks)
    assert "or else" in shown(schema.blocks)
