"""What Slack sends about a click or a form, read once."""

from typing import Any

import pytest

from bot.domain.votes import Press
from bot.listeners.payloads import Click, MalformedError, name_of_press, parse_click, parse_submission
from bot.rendering.modal.view import ViewMeta

META = ViewMeta(id="billing.abc", index=2, page=3, channel="C1", ts="100.1")


def pressed(action_id: str = "approve:0", **fields: Any) -> dict[str, Any]:
    """A `block_actions` payload of a button on a card."""
    return {
        "type": "block_actions",
        "user": {"id": "U0ERIK", "team_id": "T0PLAY"},
        "trigger_id": "trigger",
        "channel": {"id": "C1"},
        "message": {"ts": "100.1"},
        "actions": [{"action_id": action_id, "value": "billing.abc"}],
        **fields,
    }


def view(**fields: Any) -> dict[str, Any]:
    return {
        "id": "V1",
        "hash": "h",
        "callback_id": "edit",
        "private_metadata": META.dump(),
        "blocks": [],
        **fields,
    }


def test_a_button_of_a_card():
    """The click carries who, what and where, and the id of the record: nothing else is believed."""
    assert parse_click(pressed("edit:12")) == Click(
        user="U0ERIK",
        verb="edit",
        subject="12",
        number=12,
        interrupt_id="billing.abc",
        trigger_id="trigger",
        channel="C1",
        thread_ts=None,
        ts="100.1",
        press=Press("click", name_of_press(pressed("edit:12")), "C1 100.1"),
    )


def test_a_press_is_known_again_by_its_trigger():
    """Also when its message was drawn anew since. Without a trigger, nobody can say whether it is a second press."""
    body = {"trigger_id": "1.2", "user": {"id": "U0DANA"}, "message": {"text": "asks", "ts": "1.0"}}
    name = name_of_press(body)

    assert name_of_press({**body, "message": {"text": "was approved"}}) == name
    assert name_of_press({**body, "trigger_id": "1.3"}) != name
    assert name_of_press({"user": {"id": "U0DANA"}}) == ""


def test_a_choice_in_a_menu_is_the_button_that_it_stands_for():
    """The choice carries the name and the value of the button; the name of the menu says nothing."""
    chosen = {
        "type": "overflow",
        "action_id": "menu:7",
        "selected_option": {
            "text": {"type": "plain_text", "text": "Answer"},
            "value": "respond:12 billing.abc",
        },
    }

    click = parse_click(pressed(actions=[chosen]))

    assert (click.verb, click.number, click.interrupt_id) == ("respond", 12, "billing.abc")
    assert click.from_menu


@pytest.mark.parametrize("option", [None, "respond:0", {}, {"value": None}, {"value": 7}])
def test_a_menu_without_a_choice_is_malformed(option: Any):
    """It is answered with an error, as any click that cannot be read."""
    chosen = {"type": "overflow", "action_id": "menu:0", "selected_option": option}

    with pytest.raises(MalformedError, match="names no choice"):
        parse_click(pressed(actions=[chosen]))


@pytest.mark.parametrize(
    ("value", "named"),
    [("billing.abc", set()), ("billing.abc 0 2 11", {0, 2, 11}), ("billing.abc x -1", set())],
)
def test_a_button_for_several_actions_says_which_its_question_named(value: str, named: set[int]):
    """Those that it was drawn for."""
    click = parse_click(pressed("approve_all:0", actions=[{"action_id": "approve_all:0", "value": value}]))

    assert (click.interrupt_id, click.named) == ("billing.abc", named)


@pytest.mark.parametrize(
    ("message", "thread_ts"),
    [
        ({"ts": "100.1"}, None),
        ({"ts": "100.1", "thread_ts": "100.1"}, None),
        ({"ts": "100.2", "thread_ts": "100.1"}, "100.1"),
    ],
    ids=["alone", "parent of a thread", "in a thread"],
)
def test_answers_to_a_person_go_where_the_card_is(message: dict[str, str], thread_ts: str | None):
    """In a thread they are said in that thread; about the thread's first message, in the channel."""
    assert parse_click(pressed(message=message)).thread_ts == thread_ts


def test_a_button_of_a_modal():
    """In a modal there is no message: record, action and place come from what the view carries."""
    body = pressed("page:4", view=view())
    del body["message"], body["channel"]

    click = parse_click(body)

    assert (click.interrupt_id, click.index, click.number) == ("billing.abc", 2, 4)
    assert (click.channel, click.ts) == ("C1", "100.1")
    assert click.view["id"] == "V1"


@pytest.mark.parametrize(
    ("action_id", "verb", "number"),
    [
        ("approve:0", "approve", 0),
        ("approve_all:1", "approve_all", 1),
        ("approve", "approve", -1),
        ("approve:", "approve", -1),
        ("approve:-1", "approve", -1),
        ("approve:x", "approve", -1),
        ("approve:1:2", "approve", -1),
        ("approve:²", "approve", -1),
    ],
)
def test_a_button_without_a_number_is_about_no_action(action_id: str, verb: str, number: int):
    """Whatever stands in its place, it never means the first action."""
    click = parse_click(pressed(action_id))

    assert (click.verb, click.number) == (verb, number)


def test_a_button_without_a_value_leads_to_no_record():
    """An old or foreign button finds nothing, rather than failing."""
    assert parse_click(pressed(actions=[{"action_id": "approve:0"}])).interrupt_id == ""


def test_a_submitted_form():
    """The form says which record and action it is about, and where an error about all of it is shown."""
    blocks = [{"type": "section", "block_id": "s"}, {"type": "input", "block_id": "f:0"}]

    submission = parse_submission({"user": {"id": "U0ERIK"}, "view": view(blocks=blocks)})

    assert (submission.user, submission.form) == ("U0ERIK", "edit")
    assert submission.meta == META
    assert submission.first_input == "f:0"


def test_a_form_without_inputs_has_no_place_for_an_error():
    """A reading that is submitted as an approval has nothing to mend."""
    assert parse_submission({"user": {"id": "U0ERIK"}, "view": view()}).first_input is None
