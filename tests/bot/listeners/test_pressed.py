"""Where a button counts: on the message that it acts on, and on no other; and how what Slack sends is read."""

from dataclasses import replace
from typing import Any

import pytest

from bot.domain.admission import Place
from bot.domain.approval import question
from bot.domain.ids import MessageId, Shown
from bot.domain.votes import UNNAMED, Press
from bot.listeners.pressed import (
    Click,
    MalformedError,
    Submission,
    has_button,
    has_form,
    name_of_press,
    parse_click,
    parse_submission,
    why_not,
    why_not_submitted,
)
from bot.listeners.submissions import approval_objection
from bot.rendering.modal.view import ViewMeta, question_in
from bot.sentences import in_answer
from bot.use_cases.answers import Answer
from tests.support.builders import a_state, a_vote, an_action, an_admission, an_interrupt, calls_of, edited

PLACES = (
    Place(channel="C1", actions=(0, 1), parts=((0,), (1,))),
    Place(channel="C2", actions=(2,)),
)
POSTED = {
    MessageId(0): Shown("C1", "1.0", "d"),
    MessageId(0, "part", 1): Shown("C1", "1.1", "d"),
    MessageId(0, "part", 2): Shown("C1", "1.2", "d"),
    MessageId(0, "remark", 1): Shown("C1", "1.3", "d"),
    MessageId(1): Shown("C2", "2.0", "d"),
}


def pressed(subject: str, channel: str, ts: str, **fields: Any) -> Click:
    known = {
        "user": "U0DANA",
        "verb": "any",
        "interrupt_id": "billing.abc",
        "trigger_id": "t",
        "press": UNNAMED,
    }
    number = subject.partition(".")[0]
    known["number"] = int(number) if number.isdecimal() else -1
    return Click(**known, subject=subject, channel=channel, ts=ts, thread_ts=None, **fields)


def asked(**fields: Any) -> Any:
    admission = an_admission(approvers=("U0ERIK",), places=PLACES)
    interrupt = an_interrupt(an_action(), an_action(), an_action())
    return a_state(**{"interrupt": interrupt, "admission": admission, "shown": POSTED, **fields})


@pytest.mark.parametrize(
    ("scope", "subject", "where"),
    [
        ("action", "0", {"1.1"}),
        ("action", "1", {"1.2"}),
        ("action", "2", {"2.0"}),
        ("action", "3", set()),
        ("message", "0", {"1.0"}),
        ("message", "0.2", {"1.2"}),
        ("message", "1", {"2.0"}),
        ("message", "2", set()),
        ("place", "0", {"1.0"}),
        ("place", "1", {"2.0"}),
        ("place", "2", set()),
        ("card", "7", {"1.0", "1.1", "1.2", "1.3", "2.0"}),
        ("standing", "2.0", {"1.0", "1.1", "1.2", "1.3", "2.0"}),
        ("standing", "3", set()),
        ("action", "x", set()),
        ("card", "x", set()),
    ],
)
def test_a_button_counts_where_it_was_put(scope, subject, where):
    """By what it is about: an action where it is shown, a place on its card, what is about all of it anywhere."""
    state = asked()

    found = {s.ts for s in POSTED.values() if has_button(state, pressed(subject, s.channel, s.ts), scope)}

    assert found == where
    assert not has_button(state, pressed(subject, "C1", "9.9"), scope)


def test_a_button_counts_before_its_message_was_noted():
    """A person can be faster than the answer of Slack to the post."""
    state = asked(shown={})

    assert has_button(state, pressed("0", "C1", "1.1"), "action")
    assert not has_button(state, pressed("2", "C1", "1.1"), "action")


def test_a_button_of_a_message_that_is_gone_counts_no_more():
    """The card was posted anew, and is decided there."""
    state = asked(gone=frozenset({("C1", "1.1")}), shown={})

    assert not has_button(state, pressed("0", "C1", "1.1"), "action")


@pytest.mark.parametrize("index", [-1, 3, "0", True, None])
def test_a_page_and_a_form_count_for_an_action_that_is_there(index):
    """Slack carries the index of a view back as JSON, and somebody may have written it anew. Python would count from the end."""

    def count(index: Any) -> tuple[bool, bool]:
        meta = ViewMeta("billing.abc", index)
        turned = pressed("2", "C1", "1.1", view={"id": "V1"}, meta=meta)
        submitted = Submission("U0DANA", "reject", meta, {"blocks": []}, UNNAMED)
        return has_button(asked(), turned, "page"), has_form(asked(), submitted, "action")

    assert count(2) == (True, True)
    assert count(index) == (False, False)


REVIEWED = ViewMeta("billing.abc", 0, 1, calls=(0, 1), pieces=((0, 1),))


@pytest.mark.parametrize(
    ("where", "scope", "counts"),
    [
        ({"channel": "C1", "ts": "1.1"}, "action", True),
        ({"channel": "C1", "ts": "1.1", "from_menu": True}, "action", False),
        ({"is_on_home": True}, "action", False),
        ({"view": {"callback_id": "home"}}, "action", False),
        ({"view": {"callback_id": "reject"}, "meta": ViewMeta("billing.abc", 0)}, "action", False),
        ({"view": {"callback_id": "read"}, "meta": ViewMeta("billing.abc", 0)}, "page", True),
        ({"view": {"callback_id": "review"}, "meta": REVIEWED}, "page", False),
        ({"view": {"callback_id": "review"}, "meta": REVIEWED}, "message", False),
        ({"view": {"callback_id": "review"}, "meta": REVIEWED}, "action", True),
        ({"view": {"callback_id": "review"}, "meta": replace(REVIEWED, pieces=((1, 1),))}, "action", False),
    ],
)
def test_a_button_decides_where_its_call_is_shown_and_its_question_asked(where, scope, counts):
    """On a message, at the end of a reading, and on a page of a review that shows it. Menus and lists only open something."""
    state = asked()
    if meta := where.get("meta"):
        of = "message" if meta.pieces else "action"
        asks = {"meta": replace(meta, question=question_in(state, of, meta))}
    else:
        asks = {"question": question(state, [0])}
    click = pressed("0", **{"channel": "", "ts": "", **where, **asks})

    assert (why_not(state, click, scope, decides=True) is None) is counts


OTHERWISE = {
    "another call": lambda: asked(
        interrupt=an_interrupt(an_action(args={"to": "x"}), an_action(), an_action())
    ),
    "other people": lambda: asked(admission=an_admission(approvers=("U0MALLORY",), places=PLACES)),
}


@pytest.mark.parametrize("now", OTHERWISE)
def test_a_button_and_a_form_decide_nothing_once_their_record_asks_something_else(now):
    """Whatever Redis says of the message. The card is drawn again, with what is asked now."""
    before, state = asked(), OTHERWISE[now]()
    review = {"view": {"callback_id": "review"}, "meta": REVIEWED}
    buttons = {
        "of its own": pressed("0", "C1", "1.1", question=question(before, [0])),
        "of another action": pressed("1", "C1", "1.2", question=question(state, [0])),
        "without a question": pressed("0", "C1", "1.1"),
        "in a review": pressed("0", "", "", **_asking(review, before), question=question(state, [0])),
    }
    refused = Answer(False, in_answer.ASKS_OTHERWISE, draws_anew=True, why="outdated")

    assert {name: why_not(state, click, "action") for name, click in buttons.items()} == dict.fromkeys(
        buttons, refused
    )
    turning = pressed("0.2", "", "", **_asking(review, before))
    assert why_not(state, turning, "message") == refused
    for scope in ("action", "place"):
        meta = ViewMeta("billing.abc", 0)
        form = replace(meta, question=question_in(before, scope, meta))
        assert not why_not_submitted(before, form, scope)
        assert why_not_submitted(state, form, scope) == in_answer.ASKS_OTHERWISE


def _asking(where: dict[str, Any], state: Any) -> dict[str, Any]:
    return {**where, "meta": replace(where["meta"], question=question_in(state, "message", where["meta"]))}


def test_the_last_step_of_an_edit_and_an_agreement_ask_about_what_they_showed():
    """Whoever looked at one change decides no other one that was put into its place."""
    older, newer = (a_vote("U0DANA", edited(to=to)) for to in ("a", "b"))
    before, now = asked(votes={0: (older,)}), asked(votes={0: (replace(newer, position=older.position),)})
    [name] = {vote.name for state in (before, now) for vote in state.actions[0].votes}

    agreement = ViewMeta("billing.abc", 0, vote=name)
    shown = replace(agreement, question=question_in(before, "action", agreement))
    assert not why_not_submitted(before, shown, "action")
    assert why_not_submitted(now, shown, "action") == in_answer.ASKS_OTHERWISE
    edits = {
        question_in(before, "action", ViewMeta("billing.abc", 0, shown=digest)) for digest in ("x", "y", "")
    }
    assert len(edits) == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"confirm": "yes", "typed": "invoices_2019"}, None),
        ({"typed": "invoices_2019"}, {"confirm": in_answer.RUN_IT_FIRST}),
        ({"confirm": "yes", "typed": "bo"}, {"typed": in_answer.WRONG_VALUE}),
        ({"confirm": "yes"}, {"typed": in_answer.WRONG_VALUE}),
    ],
)
def test_a_form_approves_only_with_its_box_ticked_and_its_value_typed(given, said):
    """Slack insists on both, and so does the bot, whatever Slack lets through."""
    [call] = calls_of(an_interrupt(an_action(args={"to": "invoices_2019"})), risk="high", type="to")
    view = {
        "blocks": [{"block_id": "confirm"}, {"block_id": "typed"}],
        "state": {
            "values": {name: {"it": {"type": "plain_text_input", "value": v}} for name, v in given.items()}
        },
    }
    submission = Submission("U0DANA", "confirm", ViewMeta("billing.abc", 0), view, UNNAMED)

    reply = approval_objection(call, submission)

    assert (reply and reply["errors"]) == said


# --- What Slack sends, read once ----------------------------------------------------------------------------------

META = ViewMeta(id="billing.abc", index=2, page=3, channel="C1", ts="100.1", question="Ab-9")


def sent(action_id: str = "approve:0", value: str = "billing.abc", **fields: Any) -> dict[str, Any]:
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
    return sent(actions=[{"type": "overflow", "action_id": "menu:7", "selected_option": option}])


def view(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"id": "V1", "callback_id": "edit", "private_metadata": META.dump(), "blocks": blocks}


def test_a_button_of_a_card():
    """The click carries who, what and where, and the id of the record: nothing else is believed."""
    body = sent("edit:12", "billing.abc ~Ab-9")

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
    "its question named these actions": (sent(value="billing.abc 0 2 11"), {"named": {0, 2, 11}}),
    "its question named none": (sent(value="billing.abc x -1"), {"named": set()}),
    "without a value it leads to no record": (
        sent(actions=[{"action_id": "approve:0"}]),
        {"interrupt_id": ""},
    ),
    "alone, the answer goes to the channel": (sent(), {"thread_ts": None}),
    "and about the parent of a thread": (
        sent(message={"ts": "100.1", "thread_ts": "100.1"}),
        {"thread_ts": None},
    ),
    "in a thread it goes there": (
        sent(message={"ts": "100.2", "thread_ts": "100.1"}),
        {"thread_ts": "100.1"},
    ),
    "in a view, record, action, place and question are those of the view": (
        sent("page:4", "", view=view(), message=None, channel=None),
        {"interrupt_id": "billing.abc", "index": 2, "number": 4, "channel": "C1", "ts": "100.1"},
    ),
    # Whatever stands in the place of a number, it never means the first action.
    **{
        f"{name} is about no action": (sent(name), {"verb": "approve", "number": -1})
        for name in ("approve", "approve:", "approve:-1", "approve:x", "approve:1:2", "approve:²")
    },
}


@pytest.mark.parametrize("what", READ)
def test_what_a_click_says(what):
    body, expected = READ[what]
    click = parse_click(body)

    assert {name: getattr(click, name) for name in expected} == expected
    assert click.press.question == (META.question if click.view else "")


@pytest.mark.parametrize("option", [None, "respond:0", {}, {"value": None}, {"value": 7}])
def test_a_menu_without_a_choice_is_malformed(option):
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
