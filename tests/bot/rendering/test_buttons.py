"""Buttons and forms as Slack keeps them."""

from typing import Any

import pytest

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.admission import Place, Terms
from bot.domain.standing import StandingLimits
from bot.listeners.actions import TABLE, Opens
from bot.rendering.blocks import confirm, json_size, menu
from bot.rendering.buttons import APPROVE, OF_ACTION, button_blocks
from bot.rendering.card.card import render_card
from bot.rendering.modal.forms import (
    render_for_run_view,
    render_note_view,
    render_reject_view,
    render_respond_view,
    render_standing_view,
)
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_message,
    assert_slack_takes_view,
    block_of,
    buttons,
    in_sight,
    primary,
    shown,
)
from tests.support import builders
from tests.support.builders import a_vote, an_action, edited

LONG = {"query": "".join(f"select {number};\n" for number in range(3_000))}


def asked(*actions: Any, place: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Build an open record of these actions for Erik to decide, drawn one by one if the place does not say otherwise."""
    everywhere = tuple(range(len(actions or [0])))
    places = [Place(channel="C1", actions=everywhere, **(place or {}))]
    apart = not (place or {}).get("rows")
    return builders.asked(
        *actions or [an_action()], apart=apart, places=places, approvers=["U0ERIK"], **fields
    )


def ids(state: Any) -> list[list[str]]:
    return [[found["action_id"] for found in buttons(part.blocks)] for part in render_card(state)]


CHANGED = (a_vote("U0DANA", edited(to="bo@example.com")),)
SEEN_BY_DANA = {"quorum": 2, "votes": {0: CHANGED}}
FROM_NOW_ON = {"risk": "low", "standing": StandingLimits()}


@pytest.mark.parametrize(
    ("action", "fields", "expected"),
    [
        (an_action(), {}, "approve edit reject respond changes approve_note"),
        (an_action(), {"decisions": ("reject",)}, "reject changes"),
        (an_action(), {"risk": "high"}, "confirm edit reject respond changes"),
        (an_action(), FROM_NOW_ON, "approve edit reject respond changes approve_note sticky"),
        (an_action(allow_always=True), FROM_NOW_ON, "approve edit reject respond changes approve_note sticky"),
        (an_action(), SEEN_BY_DANA, "agree approve reject respond changes approve_note edit"),
        (an_action("sql", LONG), {}, "read reject respond changes"),
    ],
    ids=["all", "one", "high risk", "standing", "for the run", "proposal", "to be read first"],
)  # fmt: skip
def test_the_buttons_of_an_action(action, fields, expected):
    """The verb, a colon, and the index of the action, in the order in which they stand; a menu has all after the third."""
    assert ids(asked(action, **fields)) == [[f"{verb}:0" for verb in expected.split()]]


def test_what_a_screen_reader_says_of_a_button_is_as_long_as_slack_takes():
    """75 characters: the button first, then its action, then as much of a long tool name as there is room for."""
    (card,) = render_card(asked(an_action("t" * 64), an_action(), decided={1: ApproveDecision()}, quorum=2))

    said = {found["action_id"]: found["accessibility_label"] for found in buttons(card.blocks)}
    assert said["approve:0"].startswith("1: Approve, one of 2 votes, ttt")
    assert len(said["approve:0"]) == 75


def test_the_buttons_of_the_last_open_call_say_which_it_is():
    """They stand below all calls: without its number, people take them for the one above them."""
    others = {1: ApproveDecision(), 2: ApproveDecision()}
    (card,) = render_card(asked(an_action("pay"), an_action(), an_action(), decided=others))
    (proposed,) = render_card(
        asked(an_action("pay"), an_action(), an_action(), decided=others, **SEEN_BY_DANA)
    )

    assert [each["text"]["text"] for each in buttons(card.blocks)][:3] == [
        "1: Approve",
        "1: Edit…",
        "1: Reject…",
    ]
    assert [each["text"]["text"] for each in buttons(proposed.blocks)][:2] == [
        "1: Agree to the change…",
        "1: Approve as asked",
    ]


def test_a_message_about_several_calls_has_five_buttons_at_most():
    """Those for all calls, and one for each that is decided by itself, with its number, as long as there is room."""
    asks, risky = an_action("ask", allowed=["respond"]), {2: RISKY}

    def labels(*calls: Any, **fields: Any) -> list[str]:
        (card,) = render_card(asked(*calls, **fields))
        return [found["text"]["text"] for found in buttons(card.blocks)]

    assert labels(PAY, REFUND, asks) == ["Approve 1 and 2…", "Open…", "Reject 1 and 2…", "3: Answer…"]
    own = labels(PAY, REFUND, PAY, asks, own=risky)
    assert own == ["Approve 1 and 2…", "Open…", "Reject 1 and 2…", "3: Approve…", "4: Answer…"]
    assert labels(PAY, REFUND, PAY, asks, asks, own=risky) == ["Approve 1 and 2…", "Open…", "Reject 1 and 2…"]
    (card,) = render_card(asked(PAY, REFUND, PAY, asks, asks, own=risky))
    assert "Calls 4 and 5 are questions: answer them in *Open…*." in shown(card.blocks)


# --- Three in sight, and the others in a menu -----------------------------------------------------------------------


def drawn(state: Any) -> list[dict[str, Any]]:
    """What stands side by side under the first action."""
    (card,) = render_card(state)
    return in_sight([block_of(card.blocks, "a:0:buttons")])


@pytest.mark.parametrize(
    ("action", "fields", "expected"),
    [
        (an_action(), {}, [("Approve", "primary"), ("Edit…", None), ("Reject…", "danger")]),
        (an_action(allowed=["edit", "reject", "respond"]), {}, [("Answer…", "primary"), ("Edit…", None), ("Reject…", "danger")]),
        (an_action(allowed=["respond"]), {}, [("Answer…", "primary")]),
        (an_action("sql", LONG), {}, [("Open…", "primary"), ("Reject…", "danger"), ("Answer…", None)]),
        (an_action("sql", LONG, allowed=["reject", "respond"]), {}, [("Answer…", "primary"), ("Open…", None), ("Reject…", "danger")]),
        (
            an_action(),
            SEEN_BY_DANA,
            [("Agree to the change…", "primary"), ("Approve as asked", None), ("Reject…", "danger")],
        ),
        (an_action(allowed=["reject"]), {}, [("Reject…", "danger")]),
    ],
    ids=["call", "question", "only a question", "long call", "long question", "proposal", "reject"],
)  # fmt: skip
def test_at_most_three_buttons_are_in_sight_and_only_the_first_can_be_primary(action, fields, expected):
    """The first does what is asked for: it approves, answers, opens the reading, or finishes what colleagues began."""
    buttons_in_sight = [found for found in drawn(asked(action, **fields)) if "text" in found]
    assert [(found["text"]["text"], found.get("style")) for found in buttons_in_sight] == expected


PAY, REFUND = an_action("pay", {"to": "Ada"}), an_action("refund", {"to": "Bo"})
RISKY = Terms(approvers=("U0ERIK",), risk="high")


@pytest.mark.parametrize(
    ("actions", "fields", "expected"),
    [
        ([PAY, REFUND], {}, ["approve_all:0"]),
        ([PAY, an_action("sql", LONG)], {}, ["review:0"]),
        ([PAY, REFUND] * 2, {"risk": "high"}, ["review:0"]),
        ([PAY] * 5, {"risk": "high"}, ["review:0"]),
        ([PAY, REFUND], {"own": {0: RISKY}}, ["review:0"]),
        ([PAY, REFUND, REFUND], {"own": {0: RISKY}}, ["approve_all:0"]),
        ([PAY, an_action(allowed=["respond"])], {}, ["review:0"]),
        ([PAY, REFUND], {"quorum": 2, "votes": {0: CHANGED, 1: CHANGED}}, ["review:0"]),
        ([PAY, REFUND, REFUND], {"quorum": 2, "votes": {1: CHANGED}}, ["approve_all:0"]),
        ([PAY, REFUND], {"risk": "high", "decided": {0: ApproveDecision()}}, ["confirm:1"]),
        ([PAY] * 5, {"decided": dict.fromkeys(range(4), ApproveDecision()), "place": {"rows": True}}, ["approve:4"]),
    ],
)  # fmt: skip
def test_a_message_about_several_calls_has_one_primary_button_at_most(actions, fields, expected):
    """The one of all calls, or the one that leads through them; the one of the last open call."""
    parts = render_card(asked(*actions, **fields))

    assert_slack_takes_card(parts)
    assert [found["action_id"] for part in parts for found in primary(part.blocks)] == expected


def test_a_button_that_asks_a_question_is_never_in_a_menu():
    """A menu would lose the question, because its choices have none."""
    asks = confirm("Sure?", "It runs.", "Approve")

    with pytest.raises(AssertionError):
        menu("menu:0", "call 1", [APPROVE.drawn(0, "billing.1", says="Approve", asks=asks)])


def test_only_buttons_that_open_something_can_be_in_a_menu():
    """What decides at once is in sight, where its question can be asked."""
    behind = {button for button in OF_ACTION if not isinstance(TABLE[button], Opens)}

    assert behind == {APPROVE}
    for fields in ({}, FROM_NOW_ON):
        state = asked(an_action(allow_always=True), **fields)
        assert "approve:0" in [found["action_id"] for found in drawn(state)]


# --- What Slack asks before a call is approved --------------------------------------------------------------------------


def question(action: Any, **fields: Any) -> dict[str, Any]:
    """What Slack asks before Approve."""
    state = asked(action, confirm=True, **fields)
    approve = next(found for found in drawn(state) if found["action_id"] == "approve:0")
    assert_slack_takes_message("x", render_card(state)[0].blocks)
    return {name: approve["confirm"][name]["text"] for name in ("title", "text", "confirm", "deny")}


def test_the_question_names_the_tool_and_its_values():
    """As the card shows them, so that a slip of the thumb is noticed."""
    args = {"amount": 1250000, "currency": "EUR", "to": "ACME Supplies GmbH"}

    assert question(an_action("send_payment", args)) == {
        "title": "Run send_payment?",
        "text": 'amount: 1250000\ncurrency: "EUR"\nto: "ACME Supplies GmbH"',
        "confirm": "Approve",
        "deny": "Cancel",
    }


@pytest.mark.parametrize("hidden", ["mask", "mask_random", "modal_only"])
def test_a_value_that_the_card_does_not_show_is_not_in_the_question(hidden):
    """Masked values are nowhere, and a value of the reading is only there. Its call is approved in the reading."""
    state = asked(an_action("pay", {"pin": "sesame", "to": "al"}), confirm=True, **{hidden: ("pin",)})

    assert "sesame" not in encode([part.blocks for part in render_card(state)])


def test_a_button_that_casts_one_vote_of_several_says_so():
    """To who listens to the card, and in the question."""
    state = asked(an_action("pay", {"n": 1}), confirm=True, quorum=2, reject_quorum=3)

    said = {found["action_id"]: found.get("accessibility_label") for found in drawn(state)}
    assert said["approve:0"] == "Approve…, one of 2 votes, pay"
    assert said["reject:0"] == "Reject…, one of 3 votes, pay"
    asks = question(an_action("pay", {"n": 1}), quorum=2)
    assert asks["text"] == "n: 1\nThis is one vote: 2 people have to agree."
    alone = {found["action_id"]: found.get("accessibility_label") for found in drawn(asked(an_action("pay")))}
    assert alone["approve:0"] == "Approve pay"


def test_every_form_that_approves_has_a_box_to_tick_in_place_of_the_question():
    """Slack asks nothing before a form is submitted."""
    state = asked(an_action("pay", allow_always=True), confirm=True, **FROM_NOW_ON)
    for view in (
        render(state, 0) for render in (render_for_run_view, render_note_view, render_standing_view)
    ):
        assert_slack_takes_view(view)
        box = next(block for block in view["blocks"] if block["block_id"] == "confirm")
        assert (box["label"]["text"], box["optional"]) == ("Run pay?", False)
    for view in (render_reject_view(state, 0), render_respond_view(state, 0)):
        assert "confirm" not in {block["block_id"] for block in view["blocks"]}


def test_a_proposal_makes_the_buttons_little_larger():
    """A card is laid out once, before anybody has proposed anything, with room for the button that agrees."""
    for allowed in (["approve", "edit", "reject", "respond"], ["approve", "edit"], ["respond", "edit"]):
        for fields in ({}, FROM_NOW_ON, {"risk": "high"}):
            action = an_action("t" * 64, allowed=allowed, allow_always=True)
            before, after = (
                asked(action, quorum=2, **fields, **more) for more in ({}, {"votes": {0: CHANGED}})
            )
            sizes = [json_size(button_blocks(s.actions[0], s.id)) for s in (before, after)]
            assert sizes[1] <= sizes[0] + 450


def test_the_headline_is_first_in_the_question():
    """As it is on the card, also where not all values fit."""
    args = {"note": "x" * 200, "more": "y" * 200, "amount": 5}

    asks = question(an_action("pay", args), headline=("amount",))

    assert asks["text"].startswith('amount: 5\nnote: "xxx')
    assert asks["text"].endswith('"\nNot all values fit here. The rest is above.')


def test_two_different_calls_have_different_questions():
    """What an object has inside stands further in than the arguments of the call."""
    inside = question(an_action("pay", {"x": {"amount": 5, "to": "al"}}))
    beside = question(an_action("pay", {"x": {"amount": 5}, "to": "al"}))

    assert inside["text"].startswith("x:\n  amount:")
    assert inside["text"].endswith('\n  to:     "al"')
    assert beside["text"].endswith('\nto: "al"')


@pytest.mark.parametrize("count", [1, 2, 5, 20, 60])
def test_values_that_do_not_fit_the_question_are_said_to_be_above(count):
    """No line is cut: a line is there as a whole, or it is above. A tool with an unusual name is not in the title."""
    args = {f"argument_{number}": f"value of {number}" for number in range(count)}

    text = question(an_action("pay", args))["text"]

    *lines, last = text.split("\n")
    assert len(text) <= 300
    assert (last == "Not all values fit here. The rest is above.") == (count > 5)
    assert all(line.endswith('"') for line in lines)
    alone = question(an_action("pay? Yes, it is safe. Run it", {"note": "x" * 400}))
    assert (alone["title"], alone["text"]) == (
        "Run this call?",
        "Not all values fit here. The rest is above.",
    )
