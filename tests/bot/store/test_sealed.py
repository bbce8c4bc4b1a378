"""Somebody who can write to Redis, and has no seal key, can put older genuine facts back and take facts away. Nothing else."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_adapter.contract.wire import dump_interrupt
from bot.domain.admission import Place
from bot.domain.approval import Approval
from bot.domain.codec import ADMISSION, admission_fields, body_digest, dumped, read_state
from bot.domain.errors import BrokenSealError
from bot.domain.ids import Remark
from bot.domain.schedule import Extension, Step
from bot.domain.seal import Seal
from bot.store.sealed import FACTS, bounded, sealed_admission, sealed_deadline, sealed_fact, unsealed
from tests.support.builders import an_action, an_admission, an_interrupt
from tests.support.properties import bounded as tried

CREATED, HOUR = 1_763_762_484_000, 3_600_000
SEAL = Seal("assent", (b"k" * 32,))
ELSEWHERE = Seal("other", (b"k" * 32,))
STEP = Step(after=timedelta(minutes=30), kind="escalate", actions=(0,), approvers=("U0MIRA",))


@dataclass(frozen=True)
class Stored:
    """A record as it is in Redis."""

    id: str
    req: dict
    card: dict


def a_record(run="one", *, seal=SEAL, approvers=("U0DANA",), quorum=2, amount=900, user="U0DANA", **more):
    """Build a record with one of each fact, as a bot writes them."""
    interrupt = an_interrupt(an_action("pay", {"amount": amount}), run=run)
    body = dump_interrupt(interrupt)
    admission = an_admission(
        approvers=approvers,
        quorum=quorum,
        places=[Place(channel="C1", actions=(0,))],
        steps=(STEP,),
        extension=Extension(by=timedelta(hours=1), times=2),
        pages=(3,),
        **more,
    )
    fields = {**admission_fields(admission), "asked": body_digest(body)}
    card = {"status": "pending", "extended": "1", "deadline": str(CREATED + 2 * HOUR), **fields}
    card |= sealed_admission(seal, interrupt.id, fields, created=CREATED, deadline=CREATED + HOUR)
    card["seal:deadline"] = sealed_deadline(seal, interrupt.id, 1, CREATED + 2 * HOUR)
    fingerprint = "f" * 32
    facts = {
        f"seen:0:{user}": f"{fingerprint}:3",
        "reached:0": str(CREATED + 1),
        "mark:claimed:0": f"{CREATED} {CREATED + HOUR} {user}",
        "reason": "",
        "remark:1": dumped(Remark(kind="hand_over", by=user, places=(0,))),
        "place:1": dumped(Place(channel="C2", actions=(0,), proposed=True)),
    }
    for name, text in facts.items():
        card |= {name: text, f"seal:{name}": sealed_fact(seal, interrupt.id, name, text)}
    card["part:0:0"] = "C1 1763762485.000100 open 0123"
    card["seal:part:0:0"] = sealed_fact(seal, interrupt.id, "part:0:0", "C1 1763762485.000100")
    return Stored(
        interrupt.id, {"body": body, "created": str(CREATED), "deadline": str(CREATED + HOUR)}, card
    )


GENUINE = a_record()
OTHERS = (
    a_record("two", approvers=("U0EVIL",), quorum=1, user="U0EVIL", amount=9),
    a_record(seal=ELSEWHERE, approvers=("U0EVIL",), quorum=1, user="U0EVIL"),
    a_record(seal=Seal("assent", (b"x" * 32,)), approvers=("U0EVIL",), quorum=1, user="U0EVIL"),
)


def believed(record):
    found = unsealed(SEAL, record.id, record.req, record.card)
    return read_state(found.req, found.card, now=CREATED + 5), found.forged


STATE, _ = believed(GENUINE)


SEALED = ADMISSION | FACTS | {"seal", "extended", "deadline"}
NAMES = sorted(
    {name for each in (GENUINE, *OTHERS) for name in each.card if name.partition(":")[0] in SEALED}
)
NAMES += [
    "approvers:0",
    "quorum:0",
    "requester_may_decide",
    "by_silence",
    "requested_by",
    "requester_known",
    "use_within",
]
NAMES += [
    "seen:0:U0EVIL",
    "reached:1",
    "place:2",
    "place:-1",
    "step:1",
    "mark:claimed:1",
    "remark:2",
    "part:1:0",
    "risk",
]
NAMES += ["seal:seen:0:U0EVIL", "seal:remark:2", "seal:place:2", "seal:reached:1", "seal:approvers"]
VALUES = sorted({text for each in (GENUINE, *OTHERS) for text in each.card.values()})
VALUES += ["", "0", "1", "U0EVIL", "-", "f:9", dumped(Place(channel="C9", actions=(0,)))]

CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from(NAMES), st.sampled_from(VALUES)),
        st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.just("take"), st.sampled_from(NAMES), st.sampled_from(OTHERS)),
        st.tuples(st.just("take all"), st.just(""), st.sampled_from(OTHERS)),
        st.tuples(st.just("ask"), st.sampled_from(["body", "created", "deadline"]), st.sampled_from(OTHERS)),
    ),
    max_size=6,
)


def forged(record, changes):
    """Give the record as somebody leaves it who can write whatever they like."""
    req, card = dict(record.req), dict(record.card)
    for how, name, what in changes:
        match how:
            case "set":
                card[name] = what
            case "remove":
                card.pop(name, None)
            case "move" if name in card:
                card[what] = card[name]
                if f"seal:{name}" in card:
                    card[f"seal:{what}"] = card[f"seal:{name}"]
            case "take" if name in what.card:
                card[name] = what.card[name]
                if f"seal:{name}" in what.card:
                    card[f"seal:{name}"] = what.card[f"seal:{name}"]
            case "take all":
                card |= what.card
            case "ask":
                req[name] = what.req["body"] if name == "body" else "1"
    return Stored(record.id, req, card)


def said(remarks):
    return {dumped(each) for each in remarks.values()}


@tried(2_000)
@given(CHANGES)
def test_what_a_bot_believes_of_a_sealed_record_is_what_bots_wrote(changes):
    """However fields are written, removed, moved and taken from other records, namespaces and keys."""
    try:
        state, _ = believed(forged(GENUINE, changes))
    except BrokenSealError:
        return
    if not isinstance(state, Approval):
        return
    assert state.body == STATE.body
    assert state.created_at == STATE.created_at
    assert (state.extended, state.deadline) in {(1, STATE.deadline), (0, STATE.deadline - timedelta(hours=1))}
    assert state.admission.terms[0].approvers in {("U0DANA",), ("U0DANA", "U0MIRA")}
    assert ("U0MIRA" in state.admission.terms[0].approvers) == bool(state.reached)
    same = {"approvers": ("U0DANA",)}
    assert state.admission.terms[0].model_copy(update=same) == STATE.admission.terms[0].model_copy(
        update=same
    )
    for name in ("pages", "steps", "extension", "requested_by", "requester_known", "policy_version"):
        assert getattr(state.admission, name) == getattr(STATE.admission, name)
    assert {each.channel for each in state.admission.places} <= {"C1", "C2"}
    assert state.place_of(0).channel == STATE.place_of(0).channel
    assert state.read.items() <= STATE.read.items()
    assert state.reached.items() <= STATE.reached.items()
    assert state.marks.items() <= STATE.marks.items()
    assert not state.reason
    assert said(state.remarks) <= said(STATE.remarks)
    assert {(name, each.channel, each.ts) for name, each in state.shown.items()} <= {
        (name, each.channel, each.ts) for name, each in STATE.shown.items()
    }


def test_a_genuine_record_is_believed_wholly():
    state, dropped = believed(GENUINE)

    assert dropped == {}
    assert (state.reached, state.extended, len(state.read)) == ({0: True}, 1, 1)


@pytest.mark.parametrize(
    "fact", ["seen:0:U0DANA", "reason", "reached:0", "mark:claimed:0", "remark:1", "part:0:0"]
)
def test_a_fact_without_its_mark_counts_for_nothing(fact):
    card = {name: text for name, text in GENUINE.card.items() if name != f"seal:{fact}"}
    bare = replace(GENUINE, card=card)

    assert believed(bare)[1].keys() == {fact}


def test_a_record_without_a_seal_is_refused():
    """Nothing says who may decide it."""
    bare = {name: text for name, text in GENUINE.card.items() if name != "seal"}

    with pytest.raises(BrokenSealError, match="has no seal"):
        believed(replace(GENUINE, card=bare))


def test_all_fields_of_an_admission_are_of_a_known_kind():
    """So a bot finds those that somebody adds."""
    kinds = {name.partition(":")[0] for name in admission_fields(STATE.admission)}

    assert kinds <= ADMISSION


@pytest.mark.parametrize(
    ("redis", "expected"), [(0, 0), (29_000, 29_000), (31_000, 30_000), (-31_000, -30_000)]
)
def test_the_clock_of_redis_counts_only_near_the_clock_of_the_bot(redis, expected):
    assert bounded(CREATED + redis, own=CREATED) == CREATED + expected
