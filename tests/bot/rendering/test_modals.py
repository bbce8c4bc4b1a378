"""What the views behind the buttons show, and what they carry."""

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from agent_adapter.contract.trim import LEFT_OUT
from bot.domain.question import question
from bot.rendering.modal.editing import render_edit_view
from bot.rendering.modal.reading import render_reading_view
from bot.rendering.modal.view import ViewMeta, pressed_at
from bot.rendering.pages import pages_of
from tests.bot.rendering.slack_side import (
    assert_slack_takes_view,
    button_labels,
    buttons,
    inputs,
    literal_text,
    shown,
)
from tests.support.builders import a_state, an_action, an_interrupt

LONG = {"query": "".join(f"select {number};\n" for number in range(3_000))}


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
