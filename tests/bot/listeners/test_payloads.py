"""What Slack sends about a click or a form, read once."""

from typing import Any

import pytest

from bot.domain.votes import Press
from bot.listeners.pressed import Click, MalformedError, name_of_press, parse_click, parse_submission
from bot.rendering.modal.view import ViewMeta

META = ViewMeta(id="billing.abc", index=2, page=3, channel="C1", ts="100.1", question="Ab-9")


def pressed(action_id: str = "approve:0", value: str = "billing.abc", **fields: Any) -> dict[str, Any]:
    """A `block_actions` payload of a button on a card."""
    return {
        "type": "block_actions",
        "user": {"id": "U0ERIK", "team_id": "T0PLAY"},
        "trigger_id": "trigger",
        "channel": {"id": "C1"},
        "message": {"ts": "100.1"},
        "actions": [{"action_id": action_id, "value": value}],
        **fields,
    }


def chosen(option: Any) -> dict[str, Any]:
    return pressed(actions=[{"type": "overflow", "action_id": "menu:7", "selected_option": option}])


def view(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"id": "V1", "callback_id": "edit", "private_metadata": META.dump(), "blocks": blocks}


def test_a_button_of_a_card():
    """The click carries who, what and where, and the id of the record: nothing else is believed."""
    body = pressed("edit:12", "billing.abc ~Ab-9")

    assert parse_click(body) == Click(
        user="U0ERIK",
        verb="edit",
        subject="12",
        number=12,
        interrupt_id="billing.abc",
        trigger_id="trigger",
        channel="C1",
        thread_ts=None,
        ts="100.1",
        press=Press("click", name_of_press(body), "C1 100.1", "Ab-9"),
        question="Ab-9",
    )


READ = {
    "a choice in a menu is the button that it stands for": (
        chosen({"value": "respond:12 billing.abc"}),
        {"verb": "respond", "number": 12, "interrupt_id": "billing.abc", "from_menu": True},
    ),
    "its question named these actions": (pressed(value="billing.abc 0 2 11"), {"named": {0, 2, 11}}),
    "its question named none": (pressed(value="billing.abc x -1"), {"named": set()}),
    "without a value it leads to no record": (
        pressed(actions=[{"action_id": "approve:0"}]),
        {"interrupt_id": ""},
    ),
    "alone, the answer goes to the channel": (pressed(), {"thread_ts": None}),
    "and about the parent of a thread": (
        pressed(message={"ts": "100.1", "thread_ts": "100.1"}),
        {"thread_ts": None},
    ),
    "in a thread it goes there": (
        pressed(message={"ts": "100.2", "thread_ts": "100.1"}),
        {"thread_ts": "100.1"},
    ),
    "in a view, record, action, place and question are those of the view": (
        pressed("page:4", "", view=view(), message=None, channel=None),
        {"interrupt_id": "billing.abc", "index": 2, "number": 4, "channel": "C1", "ts": "100.1"},
    ),
    # Whatever stands in the place of a number, it never means the first action.
    **{
        f"{name} is about no action": (pressed(name), {"verb": "approve", "number": -1})
        for name in ("approve", "approve:", "approve:-1", "approve:x", "approve:1:2", "approve:²")
    },
}


@pytest.mark.parametrize("what", READ)
def test_what_a_click_says(what: str):
    body, expected = READ[what]
    click = parse_click(body)

    assert {name: getattr(click, name) for name in expected} == expected
    assert click.press.question == (META.question if click.view else "")


@pytest.mark.parametrize("option", [None, "respond:0", {}, {"value": None}, {"value": 7}])
def test_a_menu_without_a_choice_is_malformed(option: Any):
    """It is answered with an error, as any click that cannot be read."""
    with pytest.raises(MalformedError, match="names no choice"):
        parse_click(chosen(option))


def test_a_press_is_known_again_by_its_trigger():
    """Also when its message was drawn anew since. Without a trigger, nobody can say whether it is a second press."""
    body = {"trigger_id": "1.2", "user": {"id": "U0DANA"}, "message": {"text": "asks", "ts": "1.0"}}
    name = name_of_press(body)

    assert name_of_press({**body, "message": {"text": "was approved"}}) == name
    assert name_of_press({**body, "trigger_id": "1.3"}) != name
    assert name_of_press({"user": {"id": "U0DANA"}}) == ""


def test_a_submitted_form():
    """It says which record and action it is about, what it asked, and where an error about all of it is shown, if anywhere."""
    blocks = [{"type": "section", "block_id": "s"}, {"type": "input", "block_id": "f:0"}]

    submission = parse_submission({"user": {"id": "U0ERIK"}, "view": view(*blocks)})

    assert (submission.user, submission.form, submission.meta) == ("U0ERIK", "edit", META)
    assert (submission.press.how, submission.press.question) == ("form", "Ab-9")
    assert submission.first_input == "f:0"
    assert parse_submission({"user": {"id": "U0ERIK"}, "view": view()}).first_input is None
