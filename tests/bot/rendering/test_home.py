"""The Home tab as Slack takes it: however many requests, and whatever agents write."""

from datetime import UTC, datetime

import pytest

from bot.domain.admission import Place
from bot.domain.home import HomePage, Look, Row
from bot.domain.ids import MessageId
from bot.domain.messages import Shown
from bot.domain.waiting import Spot
from bot.rendering.home import dump_look, load_look, permalink, render_home, render_list
from bot.use_cases.home import ROWS
from playground.limits import check_view
from tests.bot.rendering.slack_side import assert_slack_takes_view
from tests.support.builders import a_state, an_action, an_admission, an_interrupt
from tests.support.people import words

NOW = datetime(2026, 11, 22, 22, 0, tzinfo=UTC)
URL = "https://play.slack.com/"
LONG = "m" * 64


def a_row(name: str = "pay", run: str = "one", *, parts: bool = False, **terms) -> Row:
    """Make a row about one call whose card is posted."""
    given = ((0,),) if parts else ()
    place = Place(channel="C0APPROVALS", actions=(0,), parts=given)
    shown = {
        MessageId(0): Shown("C0APPROVALS", "12.5", "d"),
        MessageId(0, "part", 1): Shown("C0APPROVALS", "12.7", "d"),
    }
    interrupt = an_interrupt(an_action(name, {"to": "<!channel> *x* :tada:", "text": "x" * 800}), run=run)
    admission = an_admission(places=(place,), headline=("to",), **terms)
    return Row(a_state(interrupt, admission=admission, shown=shown), (0,))


def drawn(page: HomePage):
    return render_home(page, at=NOW, url=URL)


@pytest.mark.parametrize("section", ["waiting", "asked", "decided"])
@pytest.mark.parametrize("render", [render_home, render_list])
def test_the_fullest_page_is_within_slacks_limits(section, render):
    """With every filter, and names as long as they can be."""
    rows = [a_row(LONG, str(number)) for number in range(ROWS)]
    look = Look(section, "a" * 40, LONG, Spot(1_795_387_848_123, f"{'a' * 40}.{'f' * 32}"), 990)
    agents, tools = (
        [f"{number:02}{'a' * 38}" for number in range(120)],
        [f"{number:03}{LONG[3:]}" for number in range(120)],
    )

    view = render(HomePage(look, rows, look, agents, tools), at=NOW, url=URL)

    check_view(view)
    assert_slack_takes_view(view)


def test_words_of_an_agent_are_literal_and_what_is_left_out_is_counted():
    """Nobody decides by that line: the review has all of it."""
    view = drawn(HomePage(Look(), [a_row()]))

    (values,) = [block for block in view["blocks"] if block["type"] == "rich_text"]
    assert words([values]) == 'to: "<!channel> *x* :tada:"   +1 more'
    titles = str([block for block in view["blocks"] if "mrkdwn" in str(block)])
    assert "<!channel>" not in titles
    assert ":tada:" not in titles


def test_a_name_that_could_be_read_as_something_else_is_not_in_a_sentence():
    """And no filter offers it."""
    view = drawn(
        HomePage(Look(), [a_row("pay* for <@U0ZZZZ>")], None, ["billing"], ["pay* for <@U0ZZZZ>", "pay"])
    )

    assert "a tool with an unusual name" in words(view["blocks"])
    assert "<@U0ZZZZ>" not in str(view)


def test_the_filters_show_what_is_chosen_also_among_very_many():
    """Otherwise a short list would look like all there is."""
    tools = [f"tool_{number:03}" for number in range(150)]

    view = drawn(HomePage(Look(tool="tool_149"), [], None, ["billing"], tools))

    (menu,) = [
        e for block in view["blocks"] for e in block.get("elements", ()) if e["type"] == "static_select"
    ]
    assert menu["initial_option"]["value"] == "tool_149"
    assert len(menu["options"]) == 100


def test_nothing_on_it_approves():
    """Whatever its terms: the tab does not show the call."""
    for terms in ({}, {"risk": "high"}, {"confirm": True}, {"quorum": 2}):
        view = drawn(HomePage(Look(), [a_row(**terms)]))
        ids = [
            e["action_id"] for block in view["blocks"] for e in block.get("elements", ()) if "action_id" in e
        ]
        assert {each.partition(":")[0] for each in ids} <= {"home", "review"}
        assert all(e.get("style") != "primary" for block in view["blocks"] for e in block.get("elements", ()))


def test_the_link_leads_to_the_message_that_shows_the_call():
    """A part is in the thread of its card."""
    assert f"{URL}archives/C0APPROVALS/p125" in str(drawn(HomePage(Look(), [a_row()])))
    parts = str(drawn(HomePage(Look(), [a_row(parts=True)])))
    assert permalink(URL, "C0APPROVALS", "12.7", "12.5") in parts


def a_call(args, **terms) -> Row:
    """Make a row about one call with these arguments, of which nobody said what it is about."""
    admission = an_admission(places=(Place(channel="C0APPROVALS", actions=(0,)),), **terms)
    return Row(a_state(an_interrupt(an_action("refund", args)), admission=admission), (0,))


def values_of(row: Row) -> str:
    return words(
        [block for block in drawn(HomePage(Look(), [row]))["blocks"] if block["type"] == "rich_text"]
    )


SQL = "UPDATE customers SET balance = 0\nWHERE true"


@pytest.mark.parametrize(
    ("args", "terms", "said"),
    [
        ({"note": "n" * 200, "customer": "Ada Park", "amount": 64.95, "eu": True}, {},
         'customer: "Ada Park"   amount: 64.95   eu: true   +1 more'),
        # The statement is what the person decides about.
        ({"database": "crm", "sql": SQL}, {}, 'database: "crm"   +1 more'),
        ({"sql": SQL}, {}, "+1 more"),
        ({"amount": 5, "sql": SQL}, {"headline": ("amount",)}, "amount: 5   +1 more"),
        ({}, {}, "(no arguments)"),
        ({"token": "4711", "amount": 5}, {"mask": ("token",)}, "token: •••• (masked)   amount: 5"),
        ({"iban": "DE02", "amount": 5}, {"modal_only": ("iban",)}, "iban: (4 characters, see the reading)   amount: 5"),
        ({"to": "ada\u200b"}, {}, r'to: "ada\u{200B}"'),
    ],
)  # fmt: skip
def test_a_list_tells_calls_apart_by_their_first_short_values(args, terms, said):
    """Never by a harmless one without saying that there are others, and by none that the card does not show."""
    assert values_of(a_call(args, **terms)) == said


@pytest.mark.parametrize(("count", "left"), [(3, []), (4, ["+1 call"]), (24, ["+21 calls"])])
def test_a_list_counts_the_calls_of_a_batch_whose_values_it_leaves_out(count, left):
    calls = [an_action("refund", {"amount": number}) for number in range(count)]
    place = Place(channel="C0APPROVALS", actions=tuple(range(count)))
    row = Row(a_state(an_interrupt(*calls), admission=an_admission(places=(place,))), place.actions)

    (values,) = [block for block in drawn(HomePage(Look(), [row]))["blocks"] if block["type"] == "rich_text"]

    assert [words([line]) for line in values["elements"]] == [
        "1. amount: 0",
        "2. amount: 1",
        "3. amount: 2",
        *left,
    ]


@pytest.mark.parametrize(("known", "said"), [(True, 'to: "zoe"   pin: •••• (masked)'), (False, "")])
def test_my_requests_show_values_only_to_a_requester_of_whom_more_than_the_agent_speaks(known, said):
    """An agent can name anybody: its word alone shows nobody what a channel was asked about."""
    row = a_call({"to": "zoe", "pin": "4711"}, requester_known=known, mask=("pin",))

    view = drawn(HomePage(Look("asked"), [row]))

    shown = [words(block) for block in view["blocks"] if block["type"] == "rich_text"]
    assert "".join(shown) == said
    assert ("zoe" in str(view)) == known


def test_my_requests_say_until_when_an_open_one_can_be_decided():
    assert " · open until <!date^" in words(drawn(HomePage(Look("asked"), [a_call({})]))["blocks"])


def test_a_call_of_high_risk_says_so_on_a_list():
    risky, plain = (
        words(drawn(HomePage(Look(), [a_row(**terms)]))["blocks"]) for terms in ({"risk": "high"}, {})
    )

    assert "⚠️ *High risk* · asked in" in risky
    assert "High risk" not in plain


@pytest.mark.parametrize(
    "look", [Look(), Look("asked", first=20), Look("waiting", "billing", "pay", Spot(12, "billing.f"))]
)
def test_what_somebody_looks_at_comes_back_as_it_was(look):
    assert load_look(dump_look(look)) == look


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '["else","","",null,0]', '["waiting","","",["x"],0]', "null"]
)
def test_what_cannot_be_read_is_the_first_page(text):
    assert load_look(text) == Look()
