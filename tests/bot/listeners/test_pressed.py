"""Where a button counts: on the message that it acts on, and on no other."""

from typing import Any

import pytest

from bot.domain.admission import Place
from bot.domain.ids import MessageId
from bot.domain.messages import Shown
from bot.domain.votes import UNNAMED
from bot.listeners.payloads import Click
from bot.listeners.pressed import has_button
from bot.rendering.modal.view import ViewMeta
from tests.support.builders import a_state, an_action, an_admission, an_interrupt

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
    return a_state(interrupt, admission=admission, **{"shown": POSTED, **fields})


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
def test_a_button_counts_where_it_was_put(scope: Any, subject: str, where: set[str]):
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
def test_a_page_is_turned_of_an_action_that_is_there(index: Any):
    """Slack carries the index of a view back as JSON, and somebody may have written it anew."""

    def turned(index: Any) -> Click:
        meta = ViewMeta("billing.abc", index)
        return pressed("2", "C1", "1.1", view={"id": "V1"}, meta=meta)

    assert has_button(asked(), turned(2), "page")
    assert not has_button(asked(), turned(index), "page")
