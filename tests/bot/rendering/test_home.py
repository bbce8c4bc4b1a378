"""The Home tab as Slack takes it: however many requests, and whatever agents write."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.admission import Place
from bot.domain.ids import MessageId, Shown
from bot.domain.waiting import HomePage, Look, Row, Section, Spot
from bot.rendering.home import dump_look, load_look, permalink, render_home, render_list
from bot.use_cases.home import ROWS
from playground.limits import check_view
from tests.bot.rendering.slack_side import assert_slack_takes_view
from tests.support.builders import a_state, an_action, an_interrupt
from tests.support.people import buttons, words

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
    given = {"places": (place,), "headline": ("to",), "approvers": ["U0ERIK"], **terms}
    return Row(a_state(interrupt, shown=shown, **given), (0,))


def drawn(page: HomePage):
    return render_home(page, url=URL)


@pytest.mark.parametrize("section", ["waiting", "asked", "decided"])
@pytest.mark.parametrize("render", [render_home, render_list])
def test_the_fullest_page_is_within_slacks_limits(section, render):
    rows = [a_row(LONG, str(number)) for number in range(ROWS)]
    look = Look(section, Spot(1_795_387_848_123, f"{'a' * 40}.{'f' * 32}"), 990)

    view = render(HomePage(look, rows, look), url=URL)

    check_view(view)
    assert_slack_takes_view(view)


def lines_of(*rows: Row, section: Section = "waiting") -> list[str]:
    """Give what stands on each line, without its button; of a time, how Slack writes it."""
    blocks = drawn(HomePage(Look(section), rows))["blocks"]
    texts = [block["text"]["text"] for block in blocks if block["block_id"].startswith("row:")]
    return [re.sub(r"<!date\^[0-9]+\^([^|]+)[^>]+>", r"\1", text) for text in texts]


def test_words_of_an_agent_are_literal_on_the_one_line_of_a_request():
    """No mention, link or emoji of its own."""
    assert lines_of(a_row()) == [r'pay "&lt;!channel&gt; \u{2A}x\u{2A} \u{3A}tada:" · until {time}']


@pytest.mark.parametrize(
    ("hours", "terms", "said"),
    [
        (1, {}, "until {time}"),
        (20, {}, "until {time} {date_short_pretty}"),
        (1, {"risk": "high"}, "⚠️ *High risk* · until {time}"),
        (1, {"by_silence": True}, "*approved at {time} if nobody decides*"),
        (1, {"by_silence": True, "risk": "high"}, "⚠️ *High risk* · *approved at {time} if nobody decides*"),
    ],
)
def test_a_line_says_its_deadline_and_what_is_urgent_about_it(hours, terms, said):
    """A call that silence approves does not look like the others. Its hour alone could be another day's."""
    row = a_call({}, **terms)
    state = replace(row.state, deadline=row.state.now + timedelta(hours=hours))

    assert lines_of(replace(row, state=state)) == [f"refund · {said}"]


def test_nothing_on_it_approves():
    """Whatever its terms: the tab does not show the call."""
    for terms in ({}, {"risk": "high"}, {"confirm": True}, {"quorum": 2}):
        view = drawn(HomePage(Look(), [a_row(**terms)]))
        assert {each.partition(":")[0] for each in buttons(view)} == {"home", "review"}
        assert "primary" not in str(view)


def test_the_link_leads_to_the_message_that_shows_the_call():
    """A part is in the thread of its card."""
    assert f"{URL}archives/C0APPROVALS/p125" in str(drawn(HomePage(Look("decided"), [a_row()])))
    parts = str(drawn(HomePage(Look("decided"), [a_row(parts=True)])))
    assert permalink(URL, "C0APPROVALS", "12.7", "12.5") in parts


def a_call(args, **terms) -> Row:
    """Make a row about one call with these arguments, of which nobody said what it is about."""
    return Row(a_state(an_interrupt(an_action("refund", args)), approvers=["U0ERIK"], **terms), (0,))


@pytest.mark.parametrize(("known", "said"), [(True, 'refund "zoe"'), (False, "refund")])
def test_my_requests_show_values_only_to_a_requester_of_whom_more_than_the_agent_speaks(known, said):
    """An agent can name anybody: its word alone shows nobody what a channel was asked about."""
    row = a_call({"to": "zoe"}, requester_known=known)

    assert lines_of(row, section="asked") == [f"billing: {said} · until {{time}}"]
    assert ("zoe" in str(drawn(HomePage(Look("asked"), [row])))) == known


@pytest.mark.parametrize("look", [Look(), Look("asked", first=20), Look("waiting", Spot(12, "billing.f"))])
def test_what_somebody_looks_at_comes_back_as_it_was(look):
    assert load_look(dump_look(look)) == look


@pytest.mark.parametrize("text", ["", "{", "[]", '["else",null,0]', '["waiting",["x"],0]', "null"])
def test_what_cannot_be_read_is_the_first_page(text):
    assert load_look(text) == Look()


@pytest.mark.parametrize(
    ("count", "look", "further", "said"),
    [
        (1, Look(), None, "*1 waits for you, until <!date^"),
        (3, Look(), None, "*3 wait for you, the first until <!date^"),
        (10, Look(), Look(after=Spot(1, "a.b")), "*More than 10 wait for you, the first until <!date^"),
        (2, Look(after=Spot(1, "a.b")), None, "*2 more wait for you, the first until <!date^"),
    ],
)
def test_the_list_begins_with_how_many_wait_and_until_when(count, look, further, said):
    head, *_ = drawn(HomePage(look, [a_row(run=str(number)) for number in range(count)], further))["blocks"]

    assert head["text"]["text"].startswith(said)


def test_a_name_that_could_be_read_as_something_else_is_not_in_a_sentence():
    view = drawn(HomePage(Look(), [a_row("pay* for <@U0ZZZZ>")]))

    assert "a tool with an unusual name" in words(view["blocks"])
    assert "<@U0ZZZZ>" not in str(view)
