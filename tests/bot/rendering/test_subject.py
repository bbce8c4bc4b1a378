"""What a call is about, in a line: the argument that matters comes first, and nothing of an agent reads as ours."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.admission import Terms
from bot.domain.subject import as_number
from bot.rendering.subject import held_by_title, named_by, subject, subject_of, tools_of
from bot.text.literal import units
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.builders import edited as an_edit
from tests.support.properties import bounded

PAYMENT = {"amount": 12500.0, "currency": "EUR", "beneficiary": "ACME Supplies GmbH", "urgent": True}
SHELL = {"cwd": "/srv", "timeout_seconds": 120, "command": "rsync --delete /a /b"}


def calls_of(*calls, schema=None, named=(), edited=None, **terms):
    """Give the calls of a card: tools with their arguments, on these terms; the first one perhaps with an edit."""
    interrupt = an_interrupt(*(an_action(tool, args, schema=schema, headline=named) for tool, args in calls))
    decided = {} if edited is None else {0: an_edit(calls[0][0], **edited)}
    return a_state(interrupt, decided=decided, **terms).actions


def said(args, tool="pay", **given):
    return subject(calls_of((tool, args), **given)[0])


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"to": "Bo", "amount": 5}, '5 "Bo"'),
        (PAYMENT, '12500.0 EUR "ACME Supplies GmbH" · urgent true'),
        ({"refund": {"amount": 64.95, "currency": "EUR"}, "notify": True}, "64.95 EUR · notify true"),
        (SHELL, '"rsync --delete /a /b" · cwd "/srv" · timeout_seconds 120'),
        ({"day": "2026-11-24", "admin": False, "x": None}, "day 2026-11-24 · admin false · x null"),
        ({"amount": 5, "value": 5000}, "amount 5 · value 5000"),
        ({"amount": "5", "value": "5000.00"}, "amount 5 · value 5000.00"),
        ({"from": "a", "to": "b"}, 'to "b" · from "a"'),
        ({"fee": 1, "from_unit": "JPY", "to_unit": "EUR"}, 'fee 1 · to_unit "EUR" · from_unit "JPY"'),
        ({"fee": 5, "currency": "EUR", "amount": "1_000_000", "to": "Bo"}, 'amount "1_000_000" · fee 5 EUR · "Bo"'),
        ({"fee": 5, "currency": "EUR", "order": {"lines": {"amount": 900}}}, "fee 5 EUR · lines (1)"),
        ({"amount": 5, "currency": "btc", "unit": "EUR"}, 'amount 5 · currency "btc" · unit "EUR"'),
        ({"amount": 5, "unit": "EUR", "asset": {"symbol": "BTC"}}, 'amount 5 · unit "EUR" · symbol "BTC"'),
        ({"amount": 5, "order": {"lines": {"amount": 900}}}, "amount 5 · lines (1)"),
        ({"a": 1, "b": 2, "c": 3, "d": -4}, "a 1 · d -4 · b 2 +1 more"),
        ({"service": "billing"}, '"billing"'),
        ({"note": "5 EUR. Approved by Dana. Until today."}, '"5 EUR. Approved by Dana. Until today."'),
        ({"currency": "EUR", "note": "x"}, 'currency "EUR" · note "x"'),
        ({"rows": [{"id": 1}]}, "rows (1)"),
        ({"lines": [{"id": 1}], "name": "Ada"}, '"Ada" · lines (1)'),
        ({"body": "\nDear Ada,\n\nplease pay.", "to": "Ada"}, '"Dear Ada,…" "Ada"'),
        ({"sql": "x" * 90}, '"' + "x" * 57 + '…"'),
        ({}, ""),
    ],
)  # fmt: skip
def test_the_arguments_that_matter_come_first(args, says):
    """Numbers with their currency, commands, people, places, then the rest; limits and booleans last."""
    assert said(args) == f"pay {says}".strip()


EUR_SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}}
TITLE = "Pay {amount} {currency} to {beneficiary}, {card.number} {why}"
QUOTED = {**PAYMENT, "beneficiary": 'A" now', "card": {"number": "4111"}}
CHANGED = {**PAYMENT, "amount": 9800}


@pytest.mark.parametrize(
    ("args", "given", "says"),
    [
        (PAYMENT, {"headline": ("beneficiary", "amount", "currency")}, 'pay "ACME Supplies GmbH" 12500.0 EUR'),
        ({"amount": 5, "value": 5000, "x": "y"}, {"named": ("amount", "x")}, 'pay amount 5 · x "y" · value 5000'),
        (QUOTED, {"title": TITLE, "mask": ("number",)}, 'Pay 12500.0 EUR to "A\' now", (hidden) (left out)'),
        ({"amount": 5, "limit_raised_by": 5000}, {"schema": EUR_SCHEMA}, "pay 5 +1 unexpected"),
        ({"amount": 77, "to": "Bo"}, {"mask": ("amount",)}, 'pay "Bo" +1 hidden'),
        ({"amount": 77, "to": "Bo"}, {"modal_only": ("amount",)}, 'pay "Bo" +1 hidden'),
        ({"amount": 77, "to": "Bo"}, {"mask": ("amount",), "headline": ("amount", "to")}, 'pay "Bo" +1 hidden'),
        (PAYMENT, {"edited": CHANGED}, 'pay 12500.0 EUR → 9800 EUR "ACME Supplies GmbH" · urgent true'),
        (PAYMENT, {"edited": CHANGED, "headline": ("amount",)}, "pay 12500.0 → 9800"),
        # Units and types, too. What is removed is counted.
        ({"amount": 5, "currency": "EUR"}, {"edited": {"amount": 5, "currency": "USD"}}, "pay 5 EUR → 5 USD"),
        ({"amount": 5, "to": "Ada"}, {"edited": {"amount": 5}}, "pay 5 +1 more"),
        ({"to": "Ada"}, {"edited": {"amount": 5, "to": "Ada"}}, 'pay (left out) → 5 "Ada"'),
        ({"amount": None, "to": "Ada"}, {"edited": {"amount": 5, "to": "Ada"}}, 'pay null → 5 "Ada"'),
        ({"n": 1}, {"edited": {"n": True}}, "pay n 1 → true"),
        ({"lines": [{"n": 5}]}, {"edited": {"lines": [{"n": 900}]}}, "pay lines (1) → (1)"),
    ],
    ids=["headline of the policy", "headline of the agent", "title of the policy", "outside of the schema", "masked",
         "for a reading", "masked headline", "edit", "edit of a headline", "unit", "removed", "added", "null", "type", "nested"],
)  # fmt: skip
def test_policy_agent_and_edits_are_heard_and_what_is_not_named_is_counted(args, given, says):
    """A value of the policy's title is in quotes; an edit has one notation, and nothing that it changes reads as asked."""
    assert said(args, **given) == says


@pytest.mark.parametrize(
    ("amounts", "says"),
    [
        ([(64.95, "EUR"), (12.0, "EUR"), (899.0, "EUR")], "pay, 3 times, 975.95 EUR together"),
        ([(5, "EUR"), (900, "USD")], "pay, 2 times"),
        ([(-5, "EUR"), (7, "EUR")], "pay, 2 times, -5 EUR to 7 EUR"),
        ([(5, "eur"), (900, "usd")], "pay, 2 times, amount 5 to 900"),
        ([(5, "EUR"), ("all", "EUR")], "pay, 2 times"),
        ([(0.1, "EUR"), (0.2, "EUR")], "pay, 2 times, 0.3 EUR together"),
        ([(10**25, "EUR"), (1.5, "EUR")], "pay, 2 times, 10000000000000000000000001.5 EUR together"),
    ],
)
def test_several_calls_of_one_tool_say_what_they_come_to(amounts, says):
    """The sum is exact, and of one unit and sign. Of two signs it is the smallest and the largest, of two units nothing."""
    calls = [("pay", {"amount": amount, "currency": unit}) for amount, unit in amounts]

    assert subject_of(calls_of(*calls)) == says


@pytest.mark.parametrize(
    ("tool", "args", "says"),
    [
        ("buy", {"price": 12.5, "currency": "EUR"}, "buy, 2 times, price 12.5 EUR"),
        ("buy", {"quantity": 500, "cost": 12.5}, "buy, 2 times, cost 12.5, quantity 500"),
        ("raise", {"amount_percent": 15}, "raise, 2 times, amount_percent 15"),
        ("top_up", {"balance": 1500}, "top_up, 2 times, balance 1500"),
        ("pay", {"amount_cents": 1250, "currency": "EUR"}, "pay, 2 times, amount_cents 1250"),
        (
            "refund",
            {"payment_id": 88123, "amount": 40, "currency": "EUR"},
            "refund, 2 times, 80 EUR together",
        ),
        ("buy", {"amount": 120, "licences": 60}, "buy, 2 times, amount 120"),
        ("pay", {"amount": "1.200", "currency": "EUR"}, "pay, 2 times, 1.200 EUR"),
        ("pay", {"amount": 50, "to": ["ada", "bo"]}, "pay, 2 times, 50"),
    ],
)
def test_prices_rates_and_cents_are_not_added_up(tool, args, says):
    """Two chairs at 12.50 may be a thousand chairs, and 1250 cents are not 1250 EUR."""
    assert subject_of(calls_of((tool, args), (tool, args))) == says


@pytest.mark.parametrize(
    "other",
    [{"more": {"amount": 900}}, {"total": "1_000_000"}, {"lines": [{"amount": 900}]}, {"amounts": [900]}],
)
def test_several_calls_name_no_sum_where_one_of_them_may_hold_a_larger_number(other):
    """Their *Approve all* would say 10 EUR."""
    one = {"amount": 5, "currency": "EUR"}

    assert subject_of(calls_of(("pay", one), ("pay", one | other))) == "pay, 2 times"


def test_the_body_may_leave_out_only_what_the_title_of_the_policy_holds_whole():
    """Not what an agent calls its headline, no cut text, none that is written or read otherwise, and nothing that an edit changed.

    Nor a headline of which an argument is missing: its values would read as those of other names.
    """
    by_policy = ("amount", "beneficiary")
    (held,) = calls_of(("pay", PAYMENT), headline=by_policy)
    (changed,) = calls_of(("pay", {**PAYMENT, "beneficiary": 'A"B'}), headline=by_policy)
    (cut,) = calls_of(("pay", {**PAYMENT, "beneficiary": "A" * 80}), headline=by_policy)
    (agents,) = calls_of(("pay", PAYMENT), named=by_policy)
    long = {"a": "5" * 50, "b": "5" * 50, "amount": 5}
    (beyond,) = calls_of(("pay", long), title="{a} {b} {amount}")
    marks = {"a": 1, "b": "b e" + "\u0316\u0317" * 60 + " tail"}
    (short,) = calls_of(("pay", marks), title="Please do the payment of {a} for the customer {b}")

    (absent,) = calls_of(("rm", {"path": "/srv", "force": True}), headline=("path", "all", "force"))
    (right,) = calls_of(
        ("pay", {"to": "\u05e9\u05dc", "amount": 9, "fee": 1}), headline=("to", "amount", "fee")
    )
    (digits,) = calls_of(("pay", {"to": "100", "amount": 9}), headline=("to", "amount"))
    (edited,) = calls_of(("pay", PAYMENT), headline=by_policy, edited={**PAYMENT, "amount": 7})
    unheld = (absent, right, edited)

    assert [*map(held_by_title, unheld)] == [frozenset()] * 3
    assert held_by_title(digits) == {"amount"}
    assert [sorted(held_by_title(each)) for each in (held, changed, cut, agents, beyond, short)] == [
        ["amount", "beneficiary"],
        ["amount"],
        ["amount"],
        [],
        [],
        [],
    ]


NAMES = st.sampled_from(["amount", "value", "to", "note", "timeout", "currency", "from", "sql", "x y", 'a"b'])
VALUES = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(max_size=80),
    st.sampled_from(["5 EUR. Approved by Dana.", ":white_check_mark:", "EUR", '"', "\u202e<!here>\n", "12"]),
    st.lists(st.integers(), max_size=3),
)
ARGS = st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES, max_size=3), max_size=6)


@given(ARGS, st.integers(0, 200))
@bounded(400)
def test_outside_of_quotes_are_numbers_units_names_and_our_own_words(args, room):
    """One line within its room beside the tool, with an even number of quotes. The largest number is named."""
    text = subject(calls_of(("pay", args))[0], room)

    assert "\n" not in text
    assert text.count('"') % 2 == 0
    assert units(text) <= room + 120
    outside = re.sub(r'"[^"]*"', "", text.removeprefix("pay"))
    assert re.fullmatch(
        r"( |·|…|[-+0-9.e]+|\(\d+\)|[A-Z]{3}|true|false|null|more|amount|value|to|note|timeout|currency|from|sql)*",
        outside,
    )


@given(
    st.dictionaries(
        st.sampled_from(["amount", "value", "to_pay", "n"]), st.integers(-(10**6), 10**6), min_size=2
    )
)
@bounded(200)
def test_of_several_numbers_the_largest_is_among_those_that_are_named(args):
    text = said(args)
    largest = max(map(abs, args.values()))

    shown = {name: as_number(number) for name, number in re.findall(r"(\w+) (-?[0-9]+)(?= ·| \+|$)", text)}
    assert Decimal(largest) in {abs(number or 0) for number in shown.values()}
    assert all(args[name.removeprefix("pay ")] == number for name, number in shown.items())


def test_a_decided_card_has_what_its_title_only_counts():
    """A title with `lines (1)` or with another way to write a text does not hold it."""
    (call,) = calls_of(("pay", {"amount": 5, "lines": [{"iban": "DE1"}], "note": 'say "5"'}))

    assert named_by(call) == {"amount"}

    (call,) = calls_of(
        ("pay", {"amount": 5, "total": 900, "to": "a" * 40 + "@b.com"}), named=("to", "amount")
    )

    assert subject(call).startswith("pay total 900 · ")
    assert "amount" not in named_by(call)


def test_several_tools_are_named_and_have_their_values_where_there_is_room():
    actions = calls_of(("pay", {"amount": 5}), ("send_email", {"to": "ada@x.io"}), ("pay", {"amount": 6}))

    assert subject_of(actions, 100) == 'pay, 2 times, 11 together, send_email "ada@x.io"'
    assert subject_of(actions, 30) == tools_of(actions) == "pay, 2 times, send_email"


def test_where_not_all_tools_have_room_the_rarest_are_counted_by_their_calls():
    """So nothing that is called often is behind *more*."""
    rare, often = [(f"tool_number_{n}", {}) for n in range(6)], [("delete_user", {})] * 8

    assert tools_of(calls_of(*rare, *often), 40) == "delete_user, 8 times, tool_number_0 and 5 more calls"


def test_the_riskiest_tools_are_named_first():
    """So no payment is behind *more* because harmless calls came before it."""
    tools = ["check_balance", "list_users", "list_users", "read_mail", "pay"]
    interrupt = an_interrupt(*(an_action(tool, {}) for tool in tools))
    own = {n: Terms(approvers=("U0ERIK",), risk=risk) for n, risk in ((3, "low"), (4, "high"))}
    actions = a_state(interrupt, own=own).actions

    assert tools_of(actions, 40) == "pay, list_users, 2 times, check_balance and 1 more call"
