"""What a card and its modals show of quorum, risk, silence, and of arguments that are masked or kept off the card."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import ApproveDecision, RespondDecision
from agent_adapter.contract.interrupt import Context, Link
from agent_adapter.contract.record import EXPIRED
from bot.domain.admission import Terms
from bot.domain.approval import decided_together
from bot.domain.masking import Mask, Unshown, hide, secrets_of
from bot.rendering.card.card import render_card
from bot.rendering.modal.argument_form import Edited, Unchanged
from bot.rendering.modal.editing import render_check_view, render_edit_view
from bot.rendering.modal.forms import (
    render_agree_view,
    render_confirm_view,
    render_reject_view,
    render_respond_view,
)
from bot.rendering.modal.questions import TYPED, parse_typed
from bot.rendering.modal.review import render_reading_view
from bot.rendering.pages import pages_of
from bot.text.literal import one_line
from tests.bot.rendering.slack_side import (
    assert_slack_takes_view,
    button_labels,
    inputs,
    literal_text,
    parse_form,
    shown,
    submitted,
)
from tests.support.builders import a_decision, a_vote, an_action, an_interrupt, asked, edited
from tests.support.properties import bounded


def state_of(*actions: Any, **fields: Any) -> Any:
    """Build a record whose actions are all decided on these terms, each drawn by itself."""
    return asked(*actions, apart=True, **{"approvers": ("U0DANA", "U0ERIK", "U0MIRA"), **fields})


def written(decision: Any, *actions: Any, **fields: Any) -> Any:
    """Build a record of which Dana has written something, and a second person has to agree."""
    return state_of(
        *actions or [an_action()], **{"votes": {0: (a_vote("U0DANA", decision),)}, "quorum": 2, **fields}
    )


def text_of(state: Any) -> str:
    return "\n".join(shown(part.blocks) for part in render_card(state))


def buttons(state: Any) -> list[str]:
    return [label for part in render_card(state) for label in button_labels(part.blocks)]


# --- Quorum -------------------------------------------------------------------------------------------------------


YES = a_vote("U0DANA", ApproveDecision())
AGREED = a_decision(an_interrupt(), 0, ApproveDecision()).model_copy(
    update={"agreed_by": ("U0DANA", "U0ERIK")}
)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        # Dana asks for it, and may only reject it.
        ({"quorum": 2}, "for <@U0DANA> · needs 2 of <@U0ERIK>, <@U0MIRA> · "),
        ({"reject_quorum": 3}, " or <@U0MIRA> decides, 3 to reject · "),
        ({"quorum": 2, "votes": {0: (YES,)}}, "*1 of 2 approved*: <@U0DANA> · waiting for <@U0ERIK> or <@U0MIRA>"),
        ({"quorum": 2, "votes": {0: (YES, a_vote("U0ERIK", edited(to="x")))}},
         "<@U0ERIK> changed this and agrees\n*1 of 2 approved as asked*: <@U0DANA> · waiting for <@U0MIRA>"),
        ({"quorum": 2, "votes": {0: (a_vote("U0DANA", edited(to="x")),)}}, "<@U0DANA> changed this and agrees · waiting for <@U0ERIK> or <@U0MIRA>"),
        ({"quorum": 2, "decided": {0: AGREED}}, "\n<@U0DANA>, <@U0ERIK> "),
    ],
    ids=["before a vote", "to reject", "a vote", "as asked and changed", "changed", "decided"],
)  # fmt: skip
def test_a_card_says_how_many_people_it_takes_and_who_was_heard(fields, says):
    """Who presses first knows that they do not decide alone, and nobody wonders why nothing runs."""
    assert says in text_of(state_of(an_action(), **fields))


def test_a_call_that_takes_more_people_than_the_others_says_so_itself():
    two = {1: Terms(approvers=("U0DANA", "U0ERIK", "U0MIRA"), quorum=2)}

    text = text_of(state_of(an_action("a"), an_action("b"), own=two))

    assert text.count("Needs 2 approvals. One rejection stops it.") == 1
    assert "needs 2 of" not in text


@pytest.mark.parametrize(
    ("quorum", "votes", "label"),
    [
        (1, (), "Approve with changes"),
        (2, (), "Propose this change"),
        (2, (a_vote("U0DANA", ApproveDecision()),), "Propose this change"),
        (2, (a_vote("U0DANA", edited(to="y")),), "Propose this change"),
        (2, (a_vote("U0DANA", edited(to="x")),), "Approve with changes"),
    ],
)
def test_the_last_step_of_an_edit_says_propose_where_it_does_not_decide(quorum, votes, label):
    """And never where the call runs with it: somebody else has proposed the very same."""
    state = state_of(an_action(), votes={0: votes}, quorum=quorum)

    assert render_check_view(state, 0, {"to": "x"})["submit"]["text"] == label


def test_what_somebody_proposes_stands_above_the_buttons():
    """What was asked stays above it."""
    (card,) = render_card(written(edited(amount=1200), an_action(args={"amount": 1250})))

    assert literal_text(card.blocks, "a:0:arguments") == "amount 1250"
    assert [block["block_id"] for block in card.blocks[-2:]] == ["a:0:proposal", "a:0:buttons"]
    assert literal_text(card.blocks, "a:0:proposal") == "amount: 1250 → 1200"


def test_where_different_people_decide_each_call_says_who():
    text = text_of(state_of(an_action("a"), an_action("b"), own={1: Terms(approvers=("U0NOOR",))}))

    assert " · the people named at each call decide · " in text
    assert "To be decided by <@U0ERIK> or <@U0MIRA>" in text
    assert "To be decided by <@U0NOOR>" in text


@pytest.mark.parametrize(
    ("args", "changed", "labels"),
    [
        ({"amount": 1250}, {"amount": 1200}, ["Agree to 1200…", "Approve 1250"]),
        ({"amount": 900, "limit": 5}, {"limit": 6}, ["Agree to the change…", "Approve as asked"]),
        ({"amount": 900, "fee": 800}, {"amount": 1}, ["Agree to the change…", "Approve as asked"]),
        ({"amounts": [5, 900]}, {"amounts": [6, 900]}, ["Agree to the change…", "Approve as asked"]),
    ],
)
def test_the_buttons_beside_a_change_name_its_number_where_it_is_the_largest(args, changed, labels):
    """*Approve 5* would be no label for a call that pays 900."""
    assert buttons(written(edited(**{**args, **changed}), an_action(args=args)))[:2] == labels


def test_what_somebody_wrote_can_be_looked_at_and_agreed_with():
    """The modal shows all of it: changes with what was asked and the whole call that would run, or the answer."""
    pay = an_action("pay", {"amount": 500, "payee": "ACME", "pin": "secret"})
    state = written(edited("pay", amount=50000, payee="ACME", pin="secret"), pay, mask=("pin",))

    view = render_agree_view(state, 0)

    text = shown(view)
    assert "amount: 500 → 50000" in text
    # On a phone the form covers the card: what did not change has to be in the form, too.
    assert "The whole call, as it would run:" in text
    assert 'payee:  "ACME"' in text
    assert "amount: 50000" in text
    assert "secret" not in text
    assert "*The next vote is the last:* it decides." in text
    assert view["submit"]["text"] == "Agree"
    assert json.loads(view["private_metadata"])["vote"] == "U0DANA 1"
    answer = written(RespondDecision(message="at noon"))
    assert buttons(answer)[0] == "Agree to the answer…"
    assert "│ at noon" in shown(render_agree_view(answer, 0))


def test_what_is_too_long_to_be_seen_whole_or_is_gone_cannot_be_agreed_with():
    """Nobody agrees with the end of an answer that they were not shown. A long edit is read page by page before."""
    view = render_agree_view(written(RespondDecision(message="x" * 30_000)), 0)

    assert "submit" not in view
    assert "too long to approve here" in shown(view)
    assert "submit" not in render_agree_view(state_of(an_action(), quorum=2), 0)


# --- Risk ---------------------------------------------------------------------------------------------------------


def test_high_risk_has_no_bulk_buttons_nothing_for_the_run_and_asks_for_a_value():
    """Each such action is decided by itself, by somebody who looked at it."""
    high = {1: Terms(approvers=("U0ERIK",), risk="high")}
    actions = [an_action(name, {"to": "ada"}, allow_always=True) for name in ("a", "b", "c")]
    state = state_of(*actions, own=high)

    assert [decided_together(state, (0, 1, 2), d) for d in ("approve", "reject")] == [(0, 2)] * 2
    assert text_of(state).count("High risk*") == 1
    assert "⚠️ *High risk*. To approve, type `ada`." in text_of(state)
    assert buttons(state) == ["Approve 1 and 3…", "Open…", "Reject 1 and 3…", "2: Approve…"]
    alone = state_of(an_action("b", allow_always=True), risk="high")
    assert "Approve for this run…" not in buttons(alone)


def typing_forms(action, **terms):
    """Every form that approves this action."""
    state = state_of(action, risk="high", **terms)
    return state, (
        render_confirm_view(state, 0),
        render_check_view(state, 0, {**state.actions[0].request.args, "rows": 8}),
        render_agree_view(written(edited(to="x"), action, risk="high", **terms), 0),
    )


def test_every_form_that_approves_asks_for_a_value_and_no_other_form_does():
    """The form that covers the card shows the whole call, and what is typed."""
    state, forms = typing_forms(an_action(args={"table": "invoices_2019", "rows": 7}), type="table")

    for view in forms:
        assert_slack_takes_view(view)
        assert TYPED in {block["block_id"] for block in view["blocks"]}
    for view in forms[:2]:
        asked = next(block for block in view["blocks"] if block["block_id"] == TYPED)
        assert asked["label"]["text"] == "To approve, type invoices_2019"
        assert asked["hint"]["text"] == "The value of table. Type it exactly."
    assert "rows" in shown(forms[0])
    for view in (render_reject_view(state, 0), render_respond_view(state, 0)):
        assert TYPED not in {block["block_id"] for block in view["blocks"]}


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ("invoices_2019", "invoices_2019"),
        ("ACME Supplies GmbH", "ACME Supplies GmbH"),
        (1250000, "1250000"),
        (-1250, "-1250"),
        (12.5, "12.5"),
        (7, "7"),
        ("a" * 24, "a" * 24),
        ("abc", "abc"),
        *[(value, "drop_table") for value in ("ab", "a" * 25, " abcd", "abcd\n", "a  bcd", "a`bcd", "\u0410CME", "café", 10**24)],
        *[(value, "drop_table") for value in (True, None, ["abcd"], {"a": {"b": "abcd"}})],
    ],
)  # fmt: skip
def test_only_what_everybody_can_type_is_asked_for_and_else_the_name_of_the_tool(value, typed):
    """A number as it is drawn, or a text of 3 to 24 printable ASCII characters; never true or false."""
    state, (form, *_) = typing_forms(an_action("drop_table", {"table": value}), type="table")

    assert state.actions[0].to_type.text == typed
    assert f"To approve, type `{typed}`" in text_of(state)
    assert f"To approve, type {typed}" in encode(form)


@pytest.mark.parametrize(
    ("fields", "typed"),
    [
        ({}, "ACME Supplies GmbH"),
        ({"type": "id"}, "tr_2019"),
        ({"type": "urgent"}, "ACME Supplies GmbH"),
        ({"mask": ("to",)}, "12"),
        ({"mask_random": ("to",)}, "12"),
        ({"modal_only": ("to", "amount")}, "tr_2019"),
        ({"type": "to", "mask": ("id", "amount", "to")}, "send_email"),
        ({"headline": ()}, "12"),
    ],
)
def test_the_first_value_that_matters_and_is_shown_is_typed(fields, typed):
    """What the policy names, or else its headline, goes first, and never what the agent calls its own. The form would give away what the card does not show."""
    args = {"id": "tr_2019", "amount": 12, "to": "ACME Supplies GmbH", "urgent": True}
    action, terms = an_action(args=args, headline=("id",)), {"headline": ("urgent", "to", "amount"), **fields}
    state, (form, *_) = typing_forms(action, **terms)

    assert state.actions[0].to_type.text == typed
    assert f"To approve, type {typed}" in encode(form)


def test_an_edit_is_typed_by_its_new_value():
    """Its last step shows what would run, so that is what is typed."""
    state = state_of(an_action(args={"to": "ada", "pin": "4711"}), risk="high", mask=("pin",))
    (action,) = state.actions

    form = render_check_view(state, 0, {"to": "erik", "pin": "4711"})

    assert "To approve, type erik" in encode(form)
    assert not action.as_decided(edited(to="erik", pin="4711")).to_type.is_typed("ada")


@given(st.integers(-(10**9), 10**9), st.integers(0, 3))
def test_a_number_is_typed_with_or_without_separators_and_decimals(number, decimals):
    """1200, 1200.0 and 1,200 are one. 1.200 is another number."""
    state = state_of(an_action(args={"amount": number}), risk="high")
    action, label = state.actions[0], f"To approve, type {number}"
    answered = submitted(render_confirm_view(state, 0), **{label: f" {number:,.{decimals}f} "})

    assert action.to_type.is_typed(parse_typed(answered))
    thousandth = f"{number / 1000:.3f}" if number else "1"
    for other in (f"{number + 1}", f"{number}x", thousandth, f"1 {number}", ""):
        assert not action.to_type.is_typed(other)


# --- Masks --------------------------------------------------------------------------------------------------------

SECRET = "hunter2-très-secret"
ARGS = {
    "host": "db1",
    "password": SECRET,
    "auth": {"user": "root", "password": SECRET + "!"},
    "hops": [{"password": SECRET, "port": 22}],
    "pin": 48213,
}
MASK = ("password", "pin", "absent")


def masked_state(**fields: Any) -> Any:
    context = Context(
        title=f"use {SECRET}", links=(Link(label=SECRET, url=f"https://x/{SECRET}"),), requested_by="U0NOOR"
    )
    action = an_action("connect", ARGS, description=f"log in with {SECRET} and 48213")
    return state_of(action, context=context, mask=MASK, **fields)


def test_a_masked_argument_says_nothing_of_itself():
    """Neither its length nor whether two are equal: both would narrow a guess."""
    text = text_of(masked_state())

    assert {hide({"pin": value}, ("pin",))["pin"] for value in ("1", "2", "x" * 40, [1, 2], None)} == {
        Unshown("•••• (masked)")
    }
    assert "password •••• (masked)" in text
    assert "Masked: `password`, `pin`. The call uses the real value." in text
    assert "`absent`" not in text


TOKEN, OTHER = "sk-live-Zq81nV0cXr7LwT2bPfKd9e", "sk-live-Zq81nV0cXr7LwT2bPfKd9f"


def test_a_random_value_has_a_fingerprint_where_the_policy_says_that_it_is_one():
    """Equal ones look equal on a card, different ones differ; on the next card they look otherwise."""
    args = {"token": TOKEN, "same": [{"token": TOKEN}], "other": {"token": OTHER}}

    def seen(key: str) -> list[str]:
        text = text_of(state_of(an_action(args=args), mask_random=("token",), mask_key=key))
        assert TOKEN not in text
        return re.findall(r"•••• \(masked, fingerprint ([0-9a-f]{8})\)", text)

    first, second, third = seen("one key")
    assert first == second != third
    assert not {first, third} & {*seen("another key")}
    assert "Masked: `token`." in text_of(state_of(an_action(args=args), mask_random=("token",), mask_key="k"))


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("hunter2-s3cr3t-hunter2-s3cr3t-hunter2", "key"), ("1234567890123456789012345678901234", "key"),
        ("550e8400-e29b-41d4-a716-446655440000", "key"), ("0123456789abcdef0123456789abcde", "key"),
        ("Zq81nV0cXr7LwT2bPfKd9", "key"), (10**60, "key"), (["Zq81nV0cXr7LwT2bPfKd9eZq81nV0cXr7LwT2bPfKd9e"], "key"),
        (TOKEN, ""),
    ],
    ids=["words", "34 digits", "UUID", "31 hex digits", "21 letters", "number", "list", "without a key"],
)  # fmt: skip
def test_what_could_be_guessed_has_no_fingerprint_whatever_the_policy_says(value, key):
    """Below 128 bits, as far as its form allows them, somebody could try. Records of before have no key."""
    assert hide({"token": value}, Mask(("token",), ("token",), key))["token"] == Unshown("•••• (masked)")


def test_of_very_many_masked_values_the_words_beside_them_are_not_shown():
    """Looking for all of them would hold everybody up, and leaving some in would show them."""
    many = state_of(
        an_action(args={"list": [f"value {n}" for n in range(2_100)]}, description="see value 17"),
        mask=("list",),
        context=Context(title="value 18", links=(Link(label="value 19", url="u"),)),
    )
    drawn = text_of(many) + shown(render_reading_view(many, 0, 1, pages_read=0))

    assert "value 1" not in drawn
    left_out = "(Not shown: there are too many masked values to look for all of them in this text.)"
    assert drawn.count(left_out) == 3


def test_nothing_that_slack_carries_for_us_could_confirm_a_guess():
    """Neither the code nor what a modal carries changes with a masked value."""
    states = [
        state_of(
            an_action(args={"pin": pin, "to": "al"}),
            votes={0: (a_vote("U0DANA", edited(pin=pin, to="bo")),)},
            mask=("pin",), risk="high", quorum=2,
        )
        for pin in ("4711", "a longer one")
    ]  # fmt: skip

    one, other = ([[part.blocks for part in render_card(s)], render_agree_view(s, 0)] for s in states)

    assert states[0].actions[0].fingerprint != states[1].actions[0].fingerprint
    assert one == other


def test_a_masked_argument_is_never_edited_and_stays_exactly_as_it_is():
    """It has no input, what holds it is kept whole, and it is not offered in one text with very many others."""
    many = {f"a{number}": number for number in range(200)} | {"password": SECRET}
    assert SECRET not in encode(render_edit_view(state_of(an_action(args=many), mask=MASK), 0))
    view = render_edit_view(masked_state(), 0)
    assert set(inputs(view)) == {"host", "auth → user"}

    result = parse_form(submitted(view, host="db2"), ARGS, None, MASK)

    assert result == Edited({**ARGS, "host": "db2"})
    assert parse_form(submitted(view), ARGS, None, MASK) == Unchanged()


words = st.text(min_size=6, max_size=30)
values = st.recursive(
    words | st.integers(10**6, 10**9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("secret", "agent_says", "said"),
    [
        ({"hunter2": ["123", "123456", 987, True]}, "hunter2: 123, 123456, 987, 12", "••••: ••••, ••••, ••••, 12"),
        ("caf\u00e9-secret", "as cafe\u0301-secret now", "as •••• now"),
        ("cafe\u0301-secret", "as caf\u00e9-secret now", "as •••• now"),
        ("\u00e9t\u00e9-secret", "as e\u0301t\u00e9-secret now", "as •••• now"),
        ("hunter2", "as \uff48unter2 now", "as •••• now"),
    ],
    ids=["what is inside", "decomposed", "composed", "mixed", "wide"],
)  # fmt: skip
def test_every_text_of_a_masked_value_is_taken_out_of_what_the_agent_says(secret, agent_says, said):
    """Names inside it, short ones, a text that begins like a shorter one, and an é of one character for an é of two."""
    action = an_action(args={"token": secret}, description=agent_says)

    assert said in text_of(state_of(action, mask=("token",)))


@bounded(60)
@given(values, st.dictionaries(st.sampled_from(["host", "to", "n"]), values, max_size=3), st.booleans())
def test_whatever_is_masked_no_picture_has_it(value, others, nested):
    """Two records that differ in a masked value only by a few characters look alike."""
    secrets = [text for text in secrets_of([({"secret": value}, ("secret",))]) if len(text) >= 6]
    if any(secret in encode(others) for secret in secrets):
        return

    # A secret may be a word of ours, such as `Masked`.
    ours = "".join(map(shown, pictures_of(0, others, nested)))
    for picture in map(shown, pictures_of(value, others, nested)):
        for secret in secrets:
            assert secret not in picture or secret in ours
            assert one_line(secret) not in picture or one_line(secret) in ours


def pictures_of(value, others, nested):
    """Draw everything that shows a call with this masked value, about which the agent talks as well."""
    args = {**others, "box": {"secret": value}} if nested else {**others, "secret": value}
    action, change = an_action(args=args, description=f"with {value}"), edited(**{**args, "more": 1})
    said = Context(title=f"use {value}", links=(Link(label=f"{value}", url=f"https://x/{value}"),))
    open_, decided, withdrawn = (
        state_of(action, mask=("secret",), context=said, **fields)
        for fields in (
            {"quorum": 2, "votes": {0: (a_vote("U0DANA", change),)}},
            {"decided": {0: change}},
            {"status": "withdrawn", "reason": f"no {value}"},
        )
    )
    forms = (render_edit_view, render_reject_view, render_respond_view, render_agree_view)
    pages = range(1, len(pages_of(open_.actions[0])) + 1)
    return [
        *([part.text, part.blocks] for state in (open_, decided, withdrawn) for part in render_card(state)),
        *(render(open_, 0) for render in forms),
        *(render_reading_view(open_, 0, page, pages_read=0) for page in pages),
    ]


# --- In a modal only ----------------------------------------------------------------------------------------------


def test_what_is_shown_in_a_modal_only_is_read_before_it_is_approved():
    """The card says how long it is; the pages have it; the changes of an edit do not bring it back."""
    args = {"to": "al@example.com", "body": "Dear Al, your diagnosis is…"}
    state = state_of(an_action(args=args), modal_only=("body",))

    assert "diagnosis" not in text_of(state)
    assert "Open to see: `body`. To approve or edit, read all of it first." in text_of(state)
    assert buttons(state) == ["Open…", "Reject…", "Answer…", "Ask for changes…"]
    assert "diagnosis" in shown(render_reading_view(state, 0, 1, pages_read=0))
    changed = edited(**{**args, "body": "Dear Al, call us"})
    decided = text_of(state_of(an_action(args=args), modal_only=("body",), decided={0: changed}))
    assert "call us" not in decided
    assert "diagnosis" not in decided
    assert "characters, open to see)" in decided


# --- Within Slack's limits ----------------------------------------------------------------------------------------

TAKES_TO = {"type": "object", "properties": {"to": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (TAKES_TO, "The tool's schema does not have the arguments* `cc`, `bcc`. The call may run without them."),
        ({**TAKES_TO, "additionalProperties": False}, "The tool's schema does not have the arguments"),
        ({**TAKES_TO, "additionalProperties": True}, None),
        ({**TAKES_TO, "patternProperties": {"": {}}}, None),
        ({"type": "object"}, None),
        (None, None),
    ],
)  # fmt: skip
def test_a_card_names_arguments_that_the_tool_does_not_take(schema, said):
    """A reviewer approves a copy to their boss, and the tool would drop it without a word."""
    card = text_of(state_of(an_action(args={"to": "al", "cc": "boss", "bcc": "me"}, schema=schema)))

    assert ("The tool's schema does not have" in card) == (said is not None)
    assert said is None or said in card


@pytest.mark.parametrize(
    ("on_timeout", "outcome"),
    [("reject", "*Expired, so rejected: {}*"), ("raise", "*Not decided in time: {}*")],
)
def test_what_expired_with_votes_says_that_there_were_too_few(on_timeout, outcome):
    """Below the title and beside the action; nobody reads that nobody decided."""
    fields: Any = {"quorum": 3, "status": "expired", "on_timeout": on_timeout, "votes": {0: (YES,)}}
    alone, among = (state_of(*[an_action()] * n, **fields) for n in (1, 2))

    assert text_of(alone).startswith("⌛ Expired: send_email ")
    assert " · too few people voted · agent" in text_of(among)
    for state in (alone, among):
        assert outcome.format("too few people voted") in text_of(state)
    assert "nobody decided" not in text_of(alone)


@pytest.mark.parametrize(("third", "shown_"), [((), "one"), ((a_vote("U0MIRA", edited(to="two")),), "two")])
def test_the_proposal_with_most_people_is_shown_then_the_oldest(third, shown_):
    """One button leads to what is nearest to a decision."""
    votes = (a_vote("U0DANA", edited(to="one")), a_vote("U0ERIK", edited(to="two")), *third)

    found = state_of(an_action(), votes={0: votes}, quorum=3).actions[0].proposal
    assert found.decision == edited(to=shown_)


def test_what_silence_approved_names_no_person():
    """The card says that nobody objected, and not that the call did not run."""
    recorded = a_decision(an_interrupt(), 0, ApproveDecision(), by=EXPIRED)
    state = state_of(an_action(), decided={0: recorded}, status="expired", by_silence=True)

    assert "Approved: nobody decided in time" in text_of(state)
    assert text_of(state).startswith('Approved without objection: send_email "dana@example.com"\n')
    assert "did not run" not in text_of(state)


def test_a_card_names_what_is_masked_so_that_no_two_names_look_alike():
    """A name with spaces around it stands in quotes, as it does among the arguments."""
    args = {"Password ": SECRET, "Password": "x", "`a`": SECRET, "a": "x"}
    text = text_of(state_of(an_action(args=args), mask=("Password ", "`a`")))

    assert 'Masked: `"Password "`, `"\\u{60}a\\u{60}"`.' in text
    assert '"Password " •••• (masked)   Password x' in text
    assert SECRET not in text


@pytest.mark.parametrize("before", ["", "a" * 50, "a" * 200])
def test_a_long_name_of_an_argument_is_shortened_within_its_code(before):
    """Behind a cut through the code, Slack would make a link of what the agent wrote there."""
    trap = "<https://evil.example|Approve here>" + "x" * 300
    card = text_of(state_of(an_action(args={"to": "al", "cc": 1, before + trap: 2}, schema=TAKES_TO)))

    [warning] = [line for line in card.split("\n") if "schema does not have" in line]
    assert warning.count("`") == 4
    assert "evil.example" not in re.sub("`[^`]*`", "", warning)
