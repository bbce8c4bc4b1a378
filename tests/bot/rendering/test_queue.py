"""The card of a queue: counts and plain names, one way to look, and nothing that decides."""

from datetime import timedelta

import pytest

from bot.domain.queue import Queue
from bot.rendering.limits import check_message
from bot.rendering.queue import render_queue
from tests.support.builders import NOW
from tests.support.people import buttons, words

UNUSUAL = ("a" * 61, "pay\u202e", "<!channel>", "*pay*")


def a_queue(**fields):
    return Queue(**{"waiting": 2, "deadline": NOW, "calls": {("billing", "pay"): 2}, **fields})


@pytest.mark.parametrize("name", UNUSUAL)
def test_only_plain_names_of_tools_are_on_the_card(name):
    """What an agent calls a tool is neither read as a format or a mention, nor does it hide anything."""
    picture = render_queue(a_queue(calls={("billing", name): 2}))

    assert name not in words(picture.blocks)
    assert "a tool with an unusual name 2 times" in words(picture.blocks)


@pytest.mark.parametrize("waiting", [1, 2, 1_000, 1_001])
def test_slack_takes_the_card_of_any_burst(waiting):
    """However many agents, tools and people there are."""
    calls = {
        (f"agent-{n:02}{'x' * 30}", f"tool-{m:02}{'y' * 50}"): m for n in range(40) for m in range(1, 40)
    }
    people = tuple(f"U0PERSON{n}" for n in range(200))

    picture = render_queue(a_queue(waiting=waiting, calls=calls, mentioned=people))

    check_message(picture.text, picture.blocks)
    assert buttons({"blocks": picture.blocks}) == ["home:go.queue"]


def test_requests_of_several_calls_are_counted_as_both():
    """The lines below count calls, so the title says how many there are."""
    card = render_queue(a_queue(calls={("billing", "pay"): 3}))

    assert card.text.startswith(
        "2 requests (3 calls) wait in a queue. billing: pay 3 times. Decide the first by <!date^"
    )
    assert "3 calls" not in render_queue(a_queue(waiting=3, calls={("billing", "pay"): 3})).text


def test_tools_of_high_risk_come_first():
    """They are named also where others are counted only."""
    calls = {("billing", f"tool_{n}"): 9 for n in range(8)} | {("billing", "drop"): 1}

    said = words(render_queue(a_queue(calls=calls, high=frozenset({("billing", "drop")}))).blocks)

    assert "*billing*: `drop` once, `tool_0` 9 times" in said
    assert "`tool_5` 9 times and 2 more" in said


@pytest.mark.parametrize(
    ("is_rejected", "says"), [(True, ", or it is rejected"), (False, "Decide the first by")]
)
def test_the_first_deadline_says_what_happens_then(is_rejected, says):
    """Where the agent does something else at the deadline, only the time is said."""
    assert says in words(render_queue(a_queue(is_rejected=is_rejected)).blocks)


def test_who_is_on_call_is_mentioned():
    """As on a card: Slack notifies the people of a schedule, and its name is said."""
    queue = a_queue(mentioned=("oncall:payments",), on_call={"oncall:payments": ("U0DANA",)})

    assert "<@U0DANA>" in words(render_queue(queue).blocks)
    assert queue.called == {"U0DANA"}


def test_a_queue_that_is_over_says_what_became_of_it_and_has_no_button():
    """Nobody is led to an empty list."""
    picture = render_queue(Queue(0, over={"decided": 6, "expired": 1}))

    assert picture.text == "Nothing waits in this queue. Of those that waited here: 6 decided, 1 expired."
    assert buttons({"blocks": picture.blocks}) == []


def test_what_changes_for_people_changes_the_card():
    """Cards that differ in anything that people read are drawn again."""
    pictures = [
        render_queue(queue).digest
        for queue in (
            a_queue(),
            a_queue(waiting=3),
            a_queue(deadline=NOW + timedelta(minutes=1)),
            a_queue(is_rejected=True),
            a_queue(calls={("billing", "pay"): 1, ("billing", "mail"): 1}),
            a_queue(mentioned=("U0DANA",)),
        )
    ]

    assert len(set(pictures)) == len(pictures)
    assert render_queue(a_queue()).digest == pictures[0]
