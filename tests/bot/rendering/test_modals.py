"""What the views behind the buttons show, and what they carry."""

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.wire import LEFT_OUT
from bot.domain.approval import question
from bot.rendering.modal.editing import render_check_view, render_edit_view
from bot.rendering.modal.forms import (
    render_changes_view,
    render_reject_all_view,
    render_reject_view,
    render_respond_view,
)
from bot.rendering.modal.questions import parse_words
from bot.rendering.modal.review import render_reading_view
from bot.rendering.modal.view import ViewMeta, pressed_at
from bot.rendering.pages import pages_of
from tests.bot.rendering.slack_side import (
    assert_slack_takes_view,
    block_of,
    button_labels,
    buttons,
    inputs,
    literal_text,
    shown,
    submitted,
)
from tests.support.builders import a_state, an_action, an_interrupt

LONG = {"query": "".join(f"select {number};\n" for number in range(3_000))}


NO_FORM = {"query": "select \u200b1;\n" * 1_000}
"""It would be typed as JSON, and has too many characters for that."""


def long_state(**action):
    return a_state(an_interrupt(an_action("sql", LONG, **action)))


def test_a_view_carries_ids_and_the_name_of_what_it_asks():
    """What they mean is read from the record when the view comes back."""
    state = a_state(an_interrupt(an_action(), an_action()))

    view = pressed_at(render_edit_view(state, 1), "C1", "1.2")

    assert ViewMeta.load(view["private_metadata"]) == ViewMeta(
        state.id, 1, channel="C1", ts="1.2", question=question(state, [1])
    )
    assert "dana" not in view["private_metadata"]
    assert view["callback_id"] == "edit"


def test_the_edit_view_is_a_form_of_the_arguments():
    """The tool's name is shown and cannot be changed. Where the schema is not used, it is made after the values."""
    view = render_edit_view(a_state(an_interrupt(an_action(args={"to": "dana", "n": 3}))), 0)
    without = render_edit_view(a_state(an_interrupt(an_action(schema={"$ref": "http://x/y"}))), 0)

    for each in (view, without):
        assert_slack_takes_view(each)
    assert view["title"]["text"] == "Edit this call"
    assert view["submit"]["text"] == "See changes"
    assert list(inputs(view)) == ["to", "n"]
    assert "`send_email`" in shown(view)
    assert "schema is not used (a reference that leaves it)" in shown(without)
    left_out = render_edit_view(a_state(an_interrupt(an_action(schema=LEFT_OUT))), 0)
    assert "was too large to be sent" in shown(left_out)
    assert list(inputs(without)) == ["to"]


def test_what_cannot_be_edited_has_no_submit():
    """A form without an input decides nothing."""
    state = a_state(an_interrupt(an_action("sql", NO_FORM)))
    view = render_edit_view(state, 0)

    assert_slack_takes_view(view)
    assert "submit" not in view
    assert "too long to edit here" in shown(view)
    last = len(pages_of(state.actions[0]))
    reading = render_reading_view(state, 0, last, pages_read=last - 1)
    assert "too long for a form" in shown(reading)
    assert "Edit…" not in button_labels(reading)


def test_the_reject_view_asks_for_a_reason_that_may_stay_empty():
    """A rejection needs no essay."""
    view = render_reject_view(a_state(), 0)

    assert_slack_takes_view(view)
    (reason,) = inputs(view).values()
    assert reason["optional"]
    assert reason["element"]["multiline"]
    assert reason["element"]["max_length"] == 2_000
    assert parse_words(submitted(view)) is None
    assert parse_words(submitted(view, **{"Reason (the agent reads it)": "Too\nmuch"})) == "Too\nmuch"


def test_a_rejection_for_the_whole_run_is_a_box_to_tick():
    """It stands under the reason, where the agent can keep it, and is not ticked."""
    once = render_reject_view(a_state(), 0)
    later = render_reject_view(a_state(an_interrupt(an_action(allow_always=True))), 0)

    (box,) = [block for block in later["blocks"] if block not in once["blocks"] and block["type"] == "input"]
    assert (
        box["element"]["options"][0]["text"]["text"] == "Reject every later call of this tool in this run too"
    )
    assert "initial_options" not in box["element"]


@pytest.mark.parametrize("render", [render_reject_view, render_changes_view])
def test_a_form_that_decides_says_what_it_decides_on(render):
    """On a phone it covers the card. What has no room is counted, and masks hold."""
    args = {"amount": 1250, "token": "4711", "sql": "UPDATE customers\nSET balance = 0"}
    state = a_state(an_interrupt(an_action("pay", args)), mask=("token",), headline=("amount",))

    view = render(state, 0)

    assert_slack_takes_view(view)
    assert block_of(view["blocks"], "subject")["text"]["text"] == "pay 1250 +1 hidden"


def test_the_last_step_of_an_edit_shows_the_whole_call_below_the_change():
    """Masked as on the card. Where there is no room for it, a line says that the rest stays."""
    args = {"amount": 12500.0, "to": "ACME", "token": "4711"}
    state = a_state(an_interrupt(an_action("pay", args)), mask=("token",))

    view = render_check_view(state, 0, {**args, "amount": 9800})
    full = render_check_view(long_state(), 0, {**LONG, "limit": 5})

    assert_slack_takes_view(view)
    assert "The whole call, as it would run:" in shown(view)
    assert "4711" not in shown(view)
    assert 'amount: 9800\nto:     "ACME"\ntoken:  ••••' in shown(view)
    assert_slack_takes_view(full)
    assert "All other arguments stay as the agent wrote them." in shown(full)


def test_reject_all_names_each_call_with_its_values():
    calls = [an_action("pay", {"amount": 5}), an_action("mail", {"to": "ada"}), *[an_action()] * 10]

    view = render_reject_all_view(a_state(an_interrupt(*calls)), 0)

    assert_slack_takes_view(view)
    says = block_of(view["blocks"], "about")["text"]["text"]
    assert says == ('This rejects calls 1 to 12: pay 5, mail "ada", send_email, 10 times.')


def test_reject_all_with_nothing_left_only_says_so():
    """Somebody was faster."""
    view = render_reject_all_view(a_state(decided={0: ApproveDecision()}), 0)

    assert_slack_takes_view(view)
    assert "submit" not in view
    assert "Nothing is left to reject" in shown(view)


def test_the_respond_view_shows_the_question_above_the_answer():
    """Letter by letter, arguments before the agent's words."""
    interrupt = an_interrupt(an_action("ask", {"question": "Which <@U1>?"}, description="Needs a *name*."))

    view = render_respond_view(a_state(interrupt), 0)

    assert_slack_takes_view(view)
    assert literal_text(view["blocks"], "arguments") == 'question: "Which <@U1>?"'
    assert literal_text(view["blocks"], "description") == "│ Needs a *name*."
    assert not inputs(view)["Your answer"]["optional"]
    assert parse_words(submitted(view, **{"Your answer": "Dana"})) == "Dana"


def test_a_reading_shows_everything_and_ends_with_approve():
    """The buttons that decide stand below the last line, for a person who was shown the others. Its foot only closes it."""
    state = long_state(description="Runs a report.")
    pages = len(pages_of(state.actions[0]))
    assert pages == 3

    views = [render_reading_view(state, 0, page, pages_read=page - 1) for page in range(1, pages + 1)]

    for view in views:
        assert_slack_takes_view(view)
    text = "\n".join(literal_text(view["blocks"], "arguments") for view in views)
    assert text == "query:\n" + "\n".join(f"  │ select {n};" for n in range(3_000)) + "\n  │ "
    assert literal_text(views[-1]["blocks"], "description") == "│ Runs a report."
    assert [view["close"]["text"] for view in views if "submit" not in view] == ["Close"] * 3
    assert [button_labels(view) for view in views[:2]] == [["Next"], ["Previous", "Next"]]
    assert button_labels(views[2]) == ["I have read it: Approve", "Edit…", "Reject…", "Previous"]
    assert views[2]["blocks"][-1]["type"] == "actions"
    assert [button["action_id"] for button in buttons(views[1])] == ["page:1", "page:3"]
    assert [ViewMeta.load(view["private_metadata"]).page for view in views] == [1, 2, 3]
    assert "Page 2 of 3" in shown(views[1])


@pytest.mark.parametrize(
    ("terms", "button", "asks"),
    [
        ({}, "I have read it: Approve", False),
        ({"risk": "high"}, "I have read it: Approve…", False),
        ({"confirm": True}, "I have read it: Approve…", True),
    ],
    ids=["normal", "high", "confirm"],
)
def test_a_reading_of_one_page_decides_below_its_text(terms, button, asks):
    """No input is in it: at a high risk its button opens the form with the value to type, and a question is Slack's own."""
    action = an_action("mail", {"body": "Dear Al,\n" * 60}, description="why " * 1_000)
    state = a_state(an_interrupt(action), **terms)
    assert len(pages_of(state.actions[0])) == 1

    view = render_reading_view(state, 0, 1, pages_read=0)

    kinds = [block["type"] for block in view["blocks"]]
    last_text = max(n for n, kind in enumerate(kinds) if kind == "rich_text")
    assert set(kinds[:last_text]) <= {"section", "context", "rich_text"}
    assert kinds[last_text + 1 :] == ["actions"]
    first, *_ = buttons(view)
    assert (first["text"]["text"], "confirm" in first) == (button, asks)
    assert first["action_id"] == ("confirm:0" if terms.get("risk") else "finish:0")


@pytest.mark.parametrize(
    ("action", "decided", "read", "offers"),
    [
        # The last page alone is not the whole.
        (an_action("sql", LONG), {}, 1, ["page"]),
        (an_action("sql", LONG), {}, 2, ["finish", "edit", "reject", "page"]),
        # Short arguments beside a long one can be changed.
        (an_action("sql", {**LONG, "limit": 10}), {}, 2, ["finish", "edit", "reject", "page"]),
        (an_action("sql", LONG, allowed=["reject"]), {}, 3, ["reject", "page"]),
        # It can be read for ever, and approved once.
        (an_action("sql", LONG), {0: ApproveDecision()}, 2, ["page"]),
    ],
    ids=["with gaps", "whole", "something short", "not to be approved", "decided"],
)
def test_the_end_of_a_reading_offers_what_its_reader_may_do(action, decided, read, offers):
    """Approve only for who was shown all of it, and only what the agent allows."""
    state = a_state(an_interrupt(action), decided=decided)

    view = render_reading_view(state, 0, len(pages_of(state.actions[0])), pages_read=read)

    assert [button["action_id"].partition(":")[0] for button in buttons(view)] == offers


def test_a_page_that_does_not_exist_is_the_nearest_one():
    """An old button never leads nowhere."""
    pages = [render_reading_view(long_state(), 0, page, pages_read=0) for page in (99, 0)]

    assert [ViewMeta.load(page["private_metadata"]).page for page in pages] == [3, 1]
