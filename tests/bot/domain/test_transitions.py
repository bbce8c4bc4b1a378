"""Histories of a record: what each act changes, in memory, and that the script in Redis writes the very same."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.hitl import ApproveDecision, Decision, RejectDecision
from agent_adapter.contract.record import dump_recorded, unix_milliseconds
from agent_adapter.contract.wire import dump_interrupt
from bot.domain import transitions
from bot.domain.admission import Place
from bot.domain.approval import CLAIMED, Approval, Assignment
from bot.domain.codec import admission_fields, body_digest, read_state
from bot.domain.ids import MessageId, Remark, Shown
from bot.domain.schedule import Extension
from bot.domain.transitions import Cast, Change
from bot.domain.votes import Ballot, Press
from bot.store.ending import decided_by_silence
from bot.store.records import ApprovalStore
from bot.use_cases.decide import token_of
from tests.support.builders import NOW, a_state, an_action, an_admission, an_interrupt
from tests.support.cards import written
from tests.support.deciding import FACTS
from tests.support.properties import bounded

PEOPLE = ("U0DANA", "U0ERIK", "U0MIRA")
RUNS = count()
HOUR = timedelta(hours=1)
ADMISSION = an_admission(
    places=[Place(channel="C1", actions=(0, 1), assign=timedelta(minutes=5))],
    approvers=PEOPLE,
    quorum=2,
    extension=Extension(by=timedelta(minutes=5), times=3),
    pages=(2, 0),
)
Act = Callable[[Approval], tuple[Any, Change | None]]


def vote(user: str, decision: Decision, *indices: int, press: str = "") -> Act:
    """Say this about these actions."""

    def casting(state: Approval) -> tuple[Any, Change | None]:
        texts = {
            index: dump_recorded(decision, fingerprint=state.actions[index].fingerprint, decided_by=user)
            for index in indices
        }
        ballots = {index: Ballot.on_call(state.admission, index, decision) for index in indices}
        token = token_of(state.id, texts)
        facts = dict.fromkeys(indices, FACTS)
        return transitions.cast(state, Cast(user, token, Press(name=press), ballots, texts, facts))

    return casting


def extend(state: Approval) -> tuple[Any, Change | None]:
    until = state.deadline + timedelta(minutes=5)
    remark = Remark(kind="extend", places=(0,), by="U0ERIK", until=until)
    return transitions.extend(state, remark, seen=state.extended)


def assign(user: str) -> Act:
    def assigning(state: Approval) -> tuple[Any, Change | None]:
        to = Assignment(user, NOW, NOW + timedelta(minutes=5))
        return transitions.assign(state, 0, to, state.marks.get(CLAIMED, {}).get(0))

    return assigning


def read(user: str) -> Act:
    return lambda state: transitions.read(state, user, [(state.actions[0], 1)])


ACTS: st.SearchStrategy[Act] = st.one_of(
    st.builds(
        vote,
        st.sampled_from(PEOPLE),
        st.sampled_from((ApproveDecision(), RejectDecision())),
        st.integers(0, 1),
        press=st.sampled_from(("", "one", "two")),
    ),
    st.builds(assign, st.sampled_from(PEOPLE)),
    st.builds(read, st.sampled_from(PEOPLE)),
    st.sampled_from([extend, transitions.miss, partial(transitions.end_standing, index=0, by="U0DANA")]),
)


class InMemory:
    """A record without Redis."""

    def __init__(self, run: str = "r") -> None:
        self.interrupt = an_interrupt(an_action("a"), an_action("b"), run=run, expires_in=HOUR)
        body = dump_interrupt(self.interrupt)
        self.at = unix_milliseconds(NOW)
        fields = {**admission_fields(ADMISSION), "asked": body_digest(body)}
        self.req = {
            "body": body,
            "created": str(self.at),
            "deadline": str(self.at + 3_600_000),
        }
        change = transitions.admit(
            read_state(self.req, {}, now=self.at).admitted(ADMISSION), fields, (), facts="{}"
        )
        self.card = written({}, change, self.at)

    @property
    def state(self) -> Approval:
        found = read_state(self.req, self.card, now=self.at)
        assert isinstance(found, Approval)
        return found

    def do(self, act: Act) -> Any:
        """Let somebody act, a second later."""
        self.at += 1000
        outcome, change = act(self.state)
        if change:
            self.card = written(self.card, change, self.at)
        return outcome


@bounded(300)
@given(st.lists(ACTS, max_size=12))
def test_a_decision_is_never_taken_back_and_takes_two_people_or_one_who_rejects(acts):
    """In whatever order people vote, read, take over and ask for more time."""
    record = InMemory()
    for act in acts:
        before = record.state
        record.do(act)
        after = record.state

        assert all(new == old for new, old in zip(after.recorded, before.recorded, strict=True) if old)
        assert after.deadline >= before.deadline
        for found in filter(None, after.recorded):
            assert found.decision.type == "reject" or len({*found.agreed_by}) == 2
    assert (record.state.status == "decided") == all(record.state.recorded)


@bounded(100)
@given(st.lists(ACTS, max_size=8), ACTS)
def test_the_same_act_again_changes_nothing_more(acts, act):
    """A click that is delivered twice, with anything before it."""
    record = InMemory()
    for each in acts:
        record.do(each)
    record.do(act)
    once = record.state

    record.do(act)

    assert record.state.recorded == once.recorded
    assert record.state.votes == once.votes


@pytest.mark.parametrize("before", [[], ["zeroth"]], ids=["counted", "changed nothing"])
def test_a_press_that_is_delivered_late_decides_nothing_else(before):
    """Its person has changed their mind since."""
    record = InMemory()
    first = vote("U0ERIK", ApproveDecision(), 0, press="first")
    for press in before:
        record.do(vote("U0ERIK", ApproveDecision(), 0, press=press))
    record.do(first)
    record.do(vote("U0ERIK", RejectDecision(), 0, press="second"))

    assert record.do(first) == {0: "repeat"}
    assert record.state.recorded[0].decision.type == "reject"


def test_what_is_written_ends_when_the_last_action_is_decided():
    """Its agent goes on then, and not before."""
    record = InMemory()
    reject = vote("U0ERIK", RejectDecision(), 0)
    _, one = reject(record.state)
    record.do(reject)
    _, last = vote("U0ERIK", RejectDecision(), 1)(record.state)

    assert (one.ends, one.wakes, last.ends, last.wakes) == (False, True, True, True)
    assert one.until == record.state.deadline


@pytest.mark.parametrize(
    ("shown_after", "extended", "kind"),
    [(6, 0, "approve"), (7, 0, "reject"), (66, 1, "approve"), (67, 1, "reject")],
)
def test_silence_approves_what_was_shown_for_nine_tenths_of_an_hour(shown_after, extended, kind):
    """What was shown late has its time when people gave themselves another hour; the agent hears what was too short."""
    card, up = MessageId(0), NOW + timedelta(minutes=shown_after)
    state = a_state(
        by_silence=True,
        extension=Extension(by=HOUR),
        extended=extended,
        deadline=NOW + HOUR + extended * HOUR,
        shown={card: Shown("C1", "1.2", "d")},
        up={card: up},
    )

    decision = decided_by_silence(state, "")[0].decision
    assert decision.type == kind
    assert kind == "approve" or "the card was not shown long enough" in decision.message


@bounded(40)
@given(st.lists(ACTS, max_size=8))
async def test_redis_keeps_what_memory_keeps(client, store: ApprovalStore, redis, acts):
    """The same history by the script: the same fields, but for the times and the version."""
    memory = InMemory(f"r{next(RUNS)}")
    interrupt_id = await client.publish(memory.interrupt)
    await store.admit(await store.load(interrupt_id), ADMISSION)

    for act in acts:
        in_redis = await store.update(await store.admitted(interrupt_id), act)
        assert memory.do(act) == in_redis

    found = await redis.hgetall(store.keys.card(interrupt_id))
    assert _timeless(found) == _timeless(memory.card)


def _timeless(card: dict[str, str]) -> dict[str, str]:
    """Leave out what differs: the version, and the time at the beginning of a text."""
    kept = {name: text for name, text in card.items() if name not in {"version", "deadline", "missed"}}
    is_timed = ("at:", "vote:", "settled", "remark:", "mark:", "t:", "press:")
    return {
        name: text.partition(" ")[2] if name.startswith(is_timed) else text for name, text in kept.items()
    }
