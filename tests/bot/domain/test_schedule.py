"""When something happens while nobody decides: time zones, clocks that change, and the earliest of all times."""

from datetime import datetime, time, timedelta

import pytest

from agent_adapter.contract.hitl import ApproveDecision
from bot.domain.admit import admit
from bot.domain.approval import CLAIMED, Assignment
from bot.domain.policy import Policy
from bot.domain.rules import Match, Rule
from bot.domain.schedule import Escalation, Extension, QuietHours, Step
from bot.jobs.deadlines import due_steps, milliseconds_left
from tests.support.builders import NOW, a_state, an_action, an_interrupt

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def quiet(start: str, end: str, zone: str = "Europe/Berlin") -> QuietHours:
    return QuietHours(start=time.fromisoformat(start), end=time.fromisoformat(end), zone=zone)


@pytest.mark.parametrize(
    ("hours", "moment", "postponed"),
    [
        (quiet("22:00", "07:00"), "2026-11-20T20:59Z", "2026-11-20T20:59Z"),
        (quiet("22:00", "07:00"), "2026-11-20T21:00Z", "2026-11-21T06:00Z"),
        (quiet("22:00", "07:00"), "2026-11-21T05:59Z", "2026-11-21T06:00Z"),
        (quiet("22:00", "07:00"), "2026-11-21T06:00Z", "2026-11-21T06:00Z"),
        (quiet("12:00", "13:00"), "2026-11-20T11:30Z", "2026-11-20T12:00Z"),
        (quiet("12:00", "13:00"), "2026-11-20T12:30Z", "2026-11-20T12:30Z"),
        (quiet("22:00", "07:00", "America/New_York"), "2026-11-20T04:00Z", "2026-11-20T12:00Z"),
        # The night in which clocks go forward is an hour shorter, the one in which they go back an hour longer.
        (quiet("22:00", "07:00"), "2026-03-28T21:00Z", "2026-03-29T05:00Z"),
        (quiet("22:00", "07:00"), "2026-10-24T20:00Z", "2026-10-25T06:00Z"),
        # An end that comes twice, seen from the second time.
        (quiet("22:00", "02:30"), "2026-10-25T01:15Z", "2026-10-25T01:30Z"),
        # An end that does not come.
        (quiet("22:00", "02:30"), "2026-03-29T00:45Z", "2026-03-29T01:30Z"),
    ],
)
def test_quiet_hours_postpone_to_their_end(hours, moment, postponed):
    """By the clock on the wall of their zone, whatever day it is there."""
    assert hours.postponed(datetime.fromisoformat(moment)) == datetime.fromisoformat(postponed)


def remind(after: timedelta, *actions: int, **fields) -> Step:
    return Step(kind="remind", after=after, actions=actions or (0,), **fields)


def timed(*steps: Step, extension: Extension | None = None, **fields):
    """Build a record with this schedule, by default of one action."""
    approvers = ["U0DANA", "U0ERIK", "S0OPS", "channel"]
    return a_state(steps=steps, extension=extension, approvers=approvers, **fields)


@pytest.mark.parametrize(
    ("fields", "minutes"),
    [
        ({}, 50),
        ({"steps": [remind(30 * MINUTE)]}, 20),
        ({"steps": [remind(30 * MINUTE)], "reached": {0: True}}, 50),
        ({"steps": [remind(30 * MINUTE), remind(20 * MINUTE)]}, 10),
        # In Berlin it is ten past one.
        ({"steps": [remind(30 * MINUTE, quiet=quiet("13:00", "13:50"))]}, 40),
        ({"steps": [remind(30 * MINUTE, quiet=quiet("13:00", "18:00"))]}, 50),
        ({"extension": Extension(by=HOUR)}, 35),
        ({"extension": Extension(by=HOUR), "deadline": NOW + 8 * HOUR}, 440),
        ({"extension": Extension(by=HOUR), "extended": 1}, 50),
        ({"marks": {CLAIMED: {0: Assignment("U0DANA", NOW, NOW + 15 * MINUTE)}}}, 5),
        ({"marks": {CLAIMED: {0: Assignment("U0DANA", NOW, NOW + 5 * MINUTE)}}}, 50),
    ],
)
def test_the_earliest_of_all_times_is_due(fields, minutes):
    """Ten minutes after a question that is open for an hour."""
    steps = fields.pop("steps", ())

    assert milliseconds_left(timed(*steps, **fields)) == minutes * 60_000


def test_missed_reminders_are_one():
    """A bot that was away says once what it would have said three times, and goes on in order."""
    escalate = Step(kind="escalate", after=4 * MINUTE, actions=(0,), approvers=("U0MIRA",))
    state = timed(remind(2 * MINUTE), remind(3 * MINUTE), escalate, remind(5 * MINUTE), remind(11 * MINUTE))

    due = due_steps(state)

    assert list(due) == [0, 1, 2, 3]
    assert [remark.kind if remark else None for remark in due.values()] == [None, None, "escalate", "remind"]


def test_a_reminder_calls_those_who_can_still_decide():
    """Named once, never everybody in the channel, and not the person for whom the agent acts."""
    batch = an_interrupt(an_action("a"), an_action("b"), an_action("c"))
    state = timed(remind(MINUTE, 0, 1), interrupt=batch, decided={1: ApproveDecision()})
    [remark] = due_steps(state).values()

    assert (remark.actions, remark.mentions) == ((0,), ("U0ERIK", "S0OPS"))


def test_what_is_decided_is_neither_reminded_of_nor_escalated():
    """The step is passed over, and its approvers are not asked."""
    batch = an_interrupt(an_action("a"), an_action("b"))
    escalate = Step(kind="escalate", after=MINUTE, actions=(0,), approvers=("U0MIRA",))
    state = timed(remind(MINUTE), escalate, interrupt=batch, decided={0: ApproveDecision()})

    assert due_steps(state) == {0: None, 1: None}


# --- What rules make of it ----------------------------------------------------------------------------------------


def admitted(*rules: tuple[str, dict], tools: tuple[str, ...] = ("a",), **default):
    policy = Policy(
        Rule(("U0DANA",), "C0FIRST", **default),
        tuple(
            Rule(**{"approvers": ("U0DANA",), "channel": "C0FIRST", "match": Match(tools=(tool,)), **given})
            for tool, given in rules
        ),
    )
    return admit(policy, an_interrupt(*map(an_action, tools)))


def test_a_later_place_is_admitted_and_opened_by_its_step():
    """It is fixed with everything else, and not asked there before the time has come."""
    admission = admitted(
        reminders=(HOUR, MINUTE),
        escalation=Escalation(after=2 * MINUTE, approvers=("U0MIRA",), channel="C0NEXT"),
    )

    assert [(step.kind, step.after) for step in admission.steps] == [
        ("remind", MINUTE),
        ("escalate", 2 * MINUTE),
        ("remind", HOUR),
    ]
    assert [(place.channel, place.opened_by) for place in admission.places] == [
        ("C0FIRST", None),
        ("C0NEXT", 1),
    ]
    before, after = (a_state(admission=admission, reached=reached) for reached in ({}, {0: True, 1: True}))
    assert ([*before.places], [*after.places]) == ([0], [0, 1])
    assert [*a_state(admission=admission, reached={1: False}).places] == [0]
