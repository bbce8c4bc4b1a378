"""A batch of one tool as rows: what a person reads on its card, at every moment."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.outcome import Outcome, Reported
from benchmarks.cards import interrupt as ordinary
from bot.domain.admission import Place, Terms
from bot.domain.schedule import Step
from bot.rendering.card.card import render_card
from bot.rendering.card.layout import lay_out
from bot.rendering.modal.review import render_reading_view, render_review_view
from bot.rendering.modal.view import ViewMeta
from tests.bot.rendering.slack_side import (
    assert_slack_takes_card,
    assert_slack_takes_view,
    block_ids,
    block_of,
    button_labels,
    buttons,
    literal_text,
    shown,
)
from tests.support.builders import NOW, a_vote, an_action, an_admission, asked, edited
from tests.support.gallery.situations import REFUNDS
from tests.support.people import words
from tests.support.properties import bounded

ORDERED = {name: {} for name in ("reason", "amount", "customer", "currency")}


def refunds(**more):
    return [
        an_action(
            "refund_customer", {"customer": who, "amount": much, "currency": "EUR", "reason": why}, **more
        )
        for who, much, why in REFUNDS
    ]


def users(count=24, **more):
    """So many new users, the seventh of them with a right that the others do not have."""
    for number in range(1, count + 1):
        args = {"email": f"user{number}@example.com", "team": ["south", "north"][number % 2]}
        yield an_action("create_user", {**args, **({"admin": True} if number == 7 else {})}, **more)


def pay(*values, **more):
    """Calls of one tool with one argument that differs."""
    return [an_action("pay", {"to": value}, **more) for value in values]


def laid_out(*actions, **fields):
    """Build the record of a batch as it is admitted today, for Erik to decide."""
    return asked(*actions, **{"approvers": ["U0ERIK"], **fields})


def card(state):
    parts = render_card(state)
    assert_slack_takes_card(parts)
    return parts[0]


def rows(state):
    return literal_text(card(state).blocks, "rows").split("\n")


def is_rows(*actions, **more):
    return laid_out(*actions, **more).admission.places[0].rows


@pytest.mark.parametrize(("count", "of_all"), [(5, "in all 5"), (2, "in both")])
def test_refunds_are_lines_below_the_names_of_their_columns(count, of_all):
    """Decimal points stand below each other; what is the same in all is said once. A table is half as high as two cards."""
    state = laid_out(*refunds()[:count])

    lines = [
        *("1 Ada Park   64.95  paid_twice", "2 Bo Lind    12.0   came_late", "3 Cy Marsh  899.0   defective"),
        *("4 Di Noor    45.5   paid_twice", "5 Ed Stone    7.25  goodwill"),
    ]  # fmt: skip
    head = "# customer  amount  reason"
    assert rows(state) == [head, *lines[:count], "", f"currency: EUR  {of_all}"]
    assert button_labels(card(state).blocks) == [f"Approve all {count}…", "Open…", "Reject all…"]


def numbers(*values):
    """The column of these numbers, without the numbers of the rows."""
    calls = [an_action("pay", {"amount": value, "to": f"u{n}"}) for n, value in enumerate(values)]
    return [line[2:] for line in rows(laid_out(*calls))[1:]]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([5, 1200, -30], ["     5  u0", "  1200  u1", "   -30  u2"]),
        ([5, 1200.5, 0.25], ["   5     u0", "1200.5   u1", "   0.25  u2"]),
        ([1, 2.5, 1e300], ["     1  u0", "   2.5  u1", "1e+300  u2"]),
        ([1.5, "1", 2], ["1.5     u0", '"1"     u1', "2       u2"]),
    ],
    ids=["whole", "decimal", "exponent", "text among them"],
)
def test_the_decimal_points_of_a_column_stand_below_each_other(values, column):
    """A larger number looks larger."""
    assert numbers(*values) == column


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        ([7], "7. u7: role: admin"),
        ([2, 3, 9], "2. u2: role: admin\n3. u3: role: admin\n9. u9: role: admin"),
        ([1, 2, 3, 4], ""),
    ],
)
def test_a_few_rows_that_are_not_like_the_others_are_named_below_the_table(odd, named):
    """Each by what it is about. The bot's words are in a block of their own."""
    calls = [
        an_action("add", {"user": f"u{n}", "role": "admin" if n in odd else "member"}) for n in range(1, 25)
    ]

    part = render_card(laid_out(*calls))[0]

    ids = block_ids(part.blocks)
    assert ("odd" in ids) == bool(named)
    if named:
        assert ids[ids.index("rows") + 1 :][:2] == ["odd:label", "odd"]
        assert block_of(part.blocks, "odd:label")["text"]["text"] == "*Not like the others:*"
        lines = block_of(part.blocks, "odd")["elements"]
        assert "\n".join("".join(leaf["text"] for leaf in line["elements"]) for line in lines) == named
    assert_slack_takes_card([part])


def test_a_value_that_most_rows_have_is_said_below_and_the_others_are_named_in_their_rows():
    """Another value, and none: both stand out."""
    roles = ["member", "member", "admin", "member", "member", None, "member", "member"]
    calls = [
        an_action("invite", {"email": f"u{n}@example.com", **({"role": role} if role else {})})
        for n, role in enumerate(roles)
    ]
    state = laid_out(*calls)

    assert [line for line in rows(state) if "role" in line] == [
        "3 u2@example.com  role: admin",
        "6 u5@example.com  role: (left out)",
        "role: member  in all other rows",
    ]


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, [1], "two\nlines", "x" * 90, "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"],
    ids=["object", "list", "lines", "long", "hebrew", "arabic"],
)
def test_a_value_that_no_row_can_hold_stands_below_the_rows_under_the_number_of_its_row(value):
    """Letters that run from right to left would change places with the next column."""
    state = laid_out(*pay("Ada", value, "Bo"))
    alone = laid_out(an_action("pay", {"to": value}))

    assert rows(state) == ["# to", "1 Ada", "2 (below)", "3 Bo"]
    below = literal_text(card(state).blocks, "below")
    assert below == "2. " + literal_text(card(alone).blocks, "a:0:arguments")
    assert "Approve all 3…" in button_labels(card(state).blocks)


def test_rows_whose_values_do_not_fit_on_the_message_are_reviewed():
    """No value is cut for the sake of a row."""
    calls = [an_action("mail", {"to": f"u{n}", "body": f"{n} " * 500}) for n in range(9)]

    assert is_rows(*calls[:3])
    assert not is_rows(*calls)
    assert button_labels(card(laid_out(*calls)).blocks) == ["Open…", "Reject all…"]


def test_a_short_reason_stands_in_quotes_below_its_row():
    """In lines that no phone breaks, so that none of them begins like a row."""
    reasons = ["It came nine days late, says B 4 Eve", 'He said "no".', None]
    calls = [an_action("pay", {"to": f"u{n}"}, description=reason) for n, reason in enumerate(reasons)]

    assert rows(laid_out(*calls)) == [
        "# to",
        "1 u0",
        '  "It came nine days late, says B 4',
        '  Eve"',
        "2 u1",
        '  "He said \\u{22}no\\u{22}."',
        "3 u2",
    ]


_PHONE = 38


def broken(line):
    """Break a line as a phone does: at spaces, and within a word that no line holds."""
    lines, left = [], line
    while len(left) > _PHONE:
        at = left.rfind(" ", 1, _PHONE + 1)
        end = at if at > 0 else _PHONE
        lines, left = [*lines, left[:end]], left[end:].lstrip(" ")
    return [*lines, left]


@bounded(150)
@given(
    st.lists(
        st.text(st.sampled_from('ab 4:,-"é'), min_size=1, max_size=70), min_size=3, max_size=5, unique=True
    )
)
def test_what_follows_on_the_next_line_of_a_phone_is_never_like_a_row(values):
    """Rows begin with their numbers, and a value that a row names begins with its name."""
    state = laid_out(*pay(*values))
    assume(state.admission.places[0].rows)

    for line in rows(state):
        for after in broken(line)[1:]:
            assert not re.match(r" *\d+( |$)|[\w-]+: ", after)


def test_only_calls_that_are_alike_are_rows():
    """Of one tool, on the same terms, with the same decisions."""
    calls = pay("Ada", "Bo", "Cy")

    assert not is_rows(*calls[:2], an_action("refund", {"to": "Cy"}))
    assert not is_rows(*calls[:2], *pay("Cy", allowed=["approve"]))
    assert is_rows(*calls[:2], *pay("Cy", description="Urgent."))
    assert is_rows(*pay("Ada", "Bo", "Cy", description="Urgent."))
    # Reasons are whole where one button approves all.
    assert not is_rows(*pay("Ada", "Bo"), *pay("Cy", description="why " * 500))
    assert not is_rows(*(pay(f"u{n}", description=f"{n} " + "why " * 150)[0] for n in range(24)))
    assert not is_rows(*calls, own={1: Terms(approvers=("U0MIRA",))})
    assert not is_rows(*calls, own={1: Terms(approvers=("U0ERIK",), quorum=2)})
    assert not is_rows(*calls, risk="high")
    assert not is_rows(*calls, modal_only=("to",))
    late = Step(kind="escalate", after=timedelta(minutes=5), actions=(1,), approvers=("U0MIRA",))
    assert not is_rows(*calls, steps=[late])
    assert not is_rows(*(an_action("https://evil.example", {"to": n}) for n in range(3)))


def test_the_question_says_which_calls_and_what_they_come_to():
    """The same words as in the title, and how many they are."""
    few, many = (buttons(card(laid_out(*calls)).blocks)[0]["confirm"] for calls in (refunds(), users()))

    assert few["title"]["text"] == "Approve 5 calls?"
    assert few["text"]["text"] == "Calls 1 to 5: refund_customer, 5 times, 1028.70 EUR together."
    assert many["text"]["text"] == "Calls 1 to 24: create_user, 24 times, one with admin true."


YES = a_vote("U0ERIK", ApproveDecision())
TWO = Terms(approvers=("U0ERIK", "U0MIRA"), quorum=2)
THREE_TOOLS = [an_action("pay"), an_action("delete_user"), an_action("restart")]


def test_the_calls_that_run_at_once_are_named_in_the_question_and_at_the_end_of_a_review():
    """Erik has voted for the second call, so it runs when one more person agrees."""
    mixed = laid_out(*THREE_TOOLS, approvers=("U0ERIK", "U0MIRA"), own={1: TWO, 2: TWO}, votes={1: (YES,)})
    state = laid_out(*THREE_TOOLS, approvers=("U0ERIK", "U0MIRA"), own={1: TWO})
    read = {(index, "U0DANA"): f"{call.fingerprint}:1" for index, call in enumerate(state.actions)}

    button = next(b for b in buttons(card(mixed).blocks) if b["action_id"] == "approve_all:0")
    end = review(replace(state, read=read), page=2)

    assert "Run at once: 1 and 2. Run when enough people agree: 3." in button["confirm"]["text"]["text"]
    assert end["submit"]["text"] == "Approve 3 calls"
    assert "Run at once: 1 and 3. Run when enough people agree: 2." in words(end["blocks"])


def test_what_became_of_rows_is_said_once_for_those_of_which_it_is_true():
    """The rows say what runs, and below them is what was changed."""
    calls = refunds()
    edit = edited("refund_customer", **{**calls[2][0].args, "amount": 450.0})
    decisions = (ApproveDecision(), ApproveDecision(), edit, RejectDecision(message="Wrong order"))
    state = laid_out(*calls, decided=dict(enumerate(decisions)))

    blocks = card(state).blocks
    assert literal_text(blocks, "rows") == "\n".join(rows(laid_out(*calls))).replace("899.0", "450.0")
    said = shown([block_of(blocks, "rows:outcomes")]).split("\n")
    assert [line.partition(" by ")[0] for line in said] == [
        "1 and 2: *Approved*",
        "3: *Approved with changes*",
        "🚫 4: *Rejected*",
    ]
    told = literal_text(blocks, "rows:told")
    assert "899.0" in told
    assert "450.0" in told
    assert told.endswith("4. Wrong order")


def test_a_call_of_the_rows_that_failed_stands_on_the_card():
    """The thread names the others with their values."""
    calls, every = refunds(), range(5)
    done = {index: Reported(Outcome.done("re_1"), NOW) for index in every[:4]}
    failed = {4: Reported(Outcome.failed("the card has expired"), NOW)}
    ended = {"status": "decided", "settled_at": NOW, "resumed_at": NOW, "outcomes": done | failed}
    state = replace(laid_out(*calls, decided=dict.fromkeys(every, ApproveDecision())), **ended)

    parts = render_card(state)
    assert button_labels(parts[0].blocks) == []
    assert shown([block_of(parts[0].blocks, "rows:outcomes")]) == "✅ 1 to 4 · ❌ 5"
    assert shown([block_of(parts[0].blocks, "ran")]) == "Call 5 failed:"
    values = {str(call.args["amount"]) for call, _ in calls}
    assert {amount for amount in values if amount in shown(parts[1].blocks)} == values


def test_a_page_of_a_review_has_the_warnings_of_the_card():
    """What a call looks like, and by which pattern its rule is about it."""
    state = laid_out(*refunds(), resembles="refund_custom* in 'pay'", matched="refund_*")

    text = shown(review(state)["blocks"])

    assert "This name looks like `refund_custom*`, but is not the same." in text
    assert "matched by `refund_*`" in text


def review(state, page=1):
    meta = ViewMeta(state.id, 0, page, calls=tuple(range(len(state.actions))))
    return render_review_view(state, meta, "U0DANA")


def test_a_decided_call_is_read_as_it_ran():
    """With who decided it, and what they changed or wrote."""
    call = an_action("mail", {"amount": 899})
    decisions = [edited("mail", amount=450), RejectDecision(message="Ask finance")]
    state = laid_out(call, call, decided=dict(enumerate(decisions)))

    readings = [render_reading_view(state, index, 1, pages_read=0) for index in (0, 1)]
    for text in (shown(review(state)["blocks"]), "".join(shown(view["blocks"]) for view in readings)):
        assert text.count("amount: 450") == text.count("amount: 899 → 450") == text.count("Ask finance") == 1
        assert text.count("amount: 899") == text.count("<@U0ERIK>") == 2


@pytest.mark.parametrize(
    ("schema", "headline", "columns"),
    [
        ({"type": "object", "properties": ORDERED}, (), "# reason amount customer"),
        (None, ("amount", "currency", "absent"), "# amount customer reason"),
    ],
    ids=["schema", "headline"],
)
def test_columns_come_in_the_order_of_the_headline_and_of_the_schema(schema, headline, columns):
    """What the calls are about is read first; not in the order in which the model wrote them."""
    assert rows(laid_out(*refunds(schema=schema), headline=headline))[0].split() == columns.split()


@pytest.mark.parametrize("masked", [False, True])
def test_rows_that_cannot_say_what_they_are_about_are_named_by_their_numbers(masked):
    """Nothing tells them apart, or nobody may see it."""
    roles = [{"role": "admin"} if n in {2, 3} else {} for n in range(1, 9)]
    calls = [
        an_action("add", {**({"key": f"k{n}"} if masked else {}), **role}) for n, role in enumerate(roles)
    ]

    part = card(laid_out(*calls, mask=("key",)))

    assert literal_text(part.blocks, "odd") == "2-3. role: admin"
    assert_slack_takes_card([part])


def test_a_row_wider_than_a_phone_breaks_between_its_values():
    """Never within one, and all rows at the same place."""
    calls = [
        an_action("move", {"from": f"account-{n:020}", "to": f"target-{n}", "amount": 10**n})
        for n in range(4)
    ]

    lines = rows(laid_out(*calls))

    assert all(len(line) <= _PHONE for line in lines)
    assert lines[:4] == [
        "# from",
        "  to        amount",
        "1 account-00000000000000000000",
        "  target-0       1",
    ]


def test_what_misleads_in_a_row_is_named():
    """Also where only one of the rows has it, and where only one has an argument that the tool does not know."""
    calls = pay("Ada", "\u0410\u0421ME", "Bo\u200b")
    schema = {"type": "object", "properties": {"to": {}}, "additionalProperties": False}
    odd = [*pay("Ada", "Bo", schema=schema), an_action("pay", {"to": "Cy", "fast": True}, schema=schema)]

    text = shown(card(laid_out(*calls)).blocks)
    assert '"\u0410\u0421ME" has letters of several alphabets' in text
    assert "*Hidden characters*" in text
    assert "does not have the argument* `fast`" in shown(card(laid_out(*odd)).blocks)


@pytest.mark.parametrize(
    ("hidden", "asks"),
    [("amount", "pay, 25 times +25 hidden"), ("currency", "pay, 25 times, 7.25 to 899.0 +25 hidden")],
)
def test_a_total_reveals_nothing_of_what_is_masked(hidden, asks):
    """Neither a masked number, nor a masked unit: two that look alike may differ."""
    calls = [an_action("pay", dict(call.args)) for _ in range(5) for call, _ in refunds()]

    blocks = card(laid_out(*calls, headline=("amount", "currency"), mask=(hidden,))).blocks

    assert buttons(blocks)[0]["confirm"]["text"]["text"] == f"Calls 1 to 25: {asks}."


def test_where_several_people_have_to_agree_the_button_only_agrees():
    """It says what happens then, and does not claim to approve."""
    state = laid_out(*refunds(), approvers=("U0ERIK", "U0MIRA"), quorum=2)

    button = buttons(card(state).blocks)[0]
    assert button["text"]["text"] == "Agree to all 5…"
    assert button["confirm"]["title"]["text"] == "Agree to 5 calls?"
    assert button["confirm"]["confirm"]["text"] == "Agree to 5 calls"
    assert "This is your vote." in button["confirm"]["text"]["text"]


def test_the_same_words_about_several_rows_are_said_once():
    """A note, or a reason, with the numbers of its rows."""
    words = ["No.", "No.", "No.", "Late.", "No."]
    decided = {index: RejectDecision(message=said) for index, said in enumerate(words)}

    blocks = card(laid_out(*refunds(), decided=decided)).blocks
    assert shown([block_of(blocks, "rows:told")]) == "1-3, 5. No.\n4. Late."
    same = card(laid_out(*refunds(), decided=dict.fromkeys(range(5), decided[0]))).blocks
    assert shown([block_of(same, "rows:told")]) == "No."


def test_decided_rows_keep_their_values():
    """As people may see them, and who decided is said once. Where they are many, only the odd one stays in sight."""
    short = [an_action("pay", {"to": to, "amount": 64.95}) for to in ("Ada", "Bo", "Cy")]
    decided = dict.fromkeys(range(3), ApproveDecision())

    blocks = card(laid_out(*short, decided=decided, mask=("amount",))).blocks
    assert literal_text(blocks, "rows").split("\n")[1:] == [
        f"{n} {to:<4} •••• (masked)" for n, to in enumerate(["Ada", "Bo", "Cy"], 1)
    ]
    assert button_labels(blocks) == []
    assert shown([block_of(blocks, "who")]).count("<@U0ERIK>") == 1
    assert "rows:outcomes" not in block_ids(blocks)

    blocks = card(laid_out(*users(), decided=dict.fromkeys(range(24), ApproveDecision()))).blocks
    assert "rows" not in block_ids(blocks)
    assert button_labels(card(laid_out(*pay({"a": 1}, {"a": 2}), decided=dict.fromkeys(range(2), ApproveDecision()))).blocks) == ["Details"]  # fmt: skip
    assert literal_text(blocks, "odd") == "7. user7@example.com: admin: true"
    assert button_labels(blocks) == ["Details"]


@pytest.mark.parametrize("unit", [{"code": "EUR"}, 978, "EUR\n"])
def test_what_is_no_word_is_no_unit(unit):
    """Two that differ would be added up as one."""
    calls = [an_action("pay", {"amount": n, "unit": unit, "note": "x" * 60}) for n in (100, 9000, 7, 8, 9)]

    blocks = card(laid_out(*calls, headline=("amount", "unit"))).blocks

    assert "7 to 9000" in buttons(blocks)[0]["confirm"]["text"]["text"]
    assert "amount 9124" not in shown(blocks)


def test_pages_of_a_review_are_divided_by_what_travels():
    """A letter of most languages takes six characters on the way to Slack."""
    state = laid_out(*[an_action("mail", {"body": "あ" * 8_000 + str(n)}) for n in range(6)])

    for page in range(1, 6):
        assert_slack_takes_view(review(state, page))


def test_five_ordinary_calls_are_one_message():
    """What a decided call needs later does not send any of them into the thread, where nobody looks first."""
    asked = ordinary(5)
    place = Place(channel="C0APPROVALS", actions=tuple(range(5)))

    assert lay_out(asked, an_admission(places=[place])).places[0].parts == ()
