"""What a record says to the agent: the decisions, how it ended, or that it is still open."""

import json
from typing import Any

import pytest

from agent_adapter.contract.arguments import encode
from agent_adapter.contract.hitl import (
    ApproveDecision,
    EditDecision,
    EditedAction,
    RejectDecision,
    RespondDecision,
    UnknownDecision,
)
from agent_adapter.contract.identity import action_fingerprints
from agent_adapter.contract.record import NO_ANSWER, dump_recorded, load_recorded, moment, read_resume
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from tests.support.builders import an_action, an_interrupt

DEADLINE, GRACE = 1_000_000, 30_000
TWO = an_interrupt(an_action("a"), an_action("b"))


def card(interrupt, decided, **fields):
    """The bot's side of a record, as Redis gives it."""
    fingerprints = action_fingerprints(interrupt.request)
    found = {"status": "pending", **fields}
    for index, decision in decided.items():
        found[f"d:{index}"] = dump_recorded(
            decision, fingerprint=fingerprints[index], decided_by="U0ERIK", note="checked"
        )
        found[f"at:{index}"] = str(DEADLINE - 500)
    return found


def read(interrupt, card, *, now=DEADLINE - 100):
    return read_resume(interrupt, card, deadline=DEADLINE, now=now, grace=GRACE)


def kinds(resume):
    return [decision and decision.type for decision in resume.decisions]


def test_a_decided_record_gives_each_decision_with_who_and_when():
    """Decisions and records stand in action order."""
    resume = read(TWO, card(TWO, {1: RejectDecision(message="no"), 0: ApproveDecision()}, status="decided"))

    assert resume.status == "decided"
    assert resume.decisions == (ApproveDecision(), RejectDecision(message="no"))
    assert [(r.decided_by, r.decided_at, r.note) for r in resume.records] == [
        ("U0ERIK", moment(DEADLINE - 500), "checked")
    ] * 2
    assert (resume.reason, resume.code) == (None, None)


@pytest.mark.parametrize("fields", [{}, {"status": "pending"}], ids=["not admitted", "pending"])
@pytest.mark.parametrize("now", [DEADLINE - 1, DEADLINE + 1, DEADLINE + GRACE])
def test_an_open_record_has_no_answer(fields, now):
    """Until all is decided, somebody ends it, or deadline and grace have passed, there is nothing to resume with."""
    assert read(TWO, fields, now=now) is None
    assert read(TWO, {**card(TWO, {0: ApproveDecision()}), **fields}, now=now) is None


@pytest.mark.parametrize("fields", [{}, {"status": "pending"}], ids=["no bot ever", "no bot any more"])
def test_past_deadline_and_grace_a_record_ends_by_itself(fields):
    """Where no bot runs, silence becomes a rejection and never an approval."""
    resume = read(TWO, fields, now=DEADLINE + GRACE + 1)

    assert resume.status == "expired"
    assert kinds(resume) == ["reject", "reject"]
    assert {r.decided_by for r in resume.records} == {"expired"}


@pytest.mark.parametrize(
    ("on_expiry", "open_action"),
    [
        ("reject", RejectDecision(message="Nobody decided in time.")),
        # No rule allows it here.
        ("approve", RejectDecision(message="Nobody decided in time.")),
        ("raise", None),
    ],
)
def test_on_expiry_the_decisions_of_people_stand(on_expiry, open_action):
    """Only what was left open is filled in, as of the deadline that held; with `raise` it stays open."""
    interrupt = TWO.model_copy(update={"on_expiry": on_expiry})
    decided = card(interrupt, {0: ApproveDecision()}, status="expired", deadline=str(DEADLINE - 300))
    resume = read(interrupt, decided)

    assert resume.decisions == (ApproveDecision(), open_action)
    assert resume.records[0].decided_by == "U0ERIK"
    if open_action:
        assert resume.records[1].decided_by == "expired"
        assert resume.records[1].decided_at == moment(DEADLINE - 300)


@pytest.mark.parametrize(
    ("allowed", "becomes"),
    [
        (("approve", "reject", "respond"), RejectDecision(message="Nobody decided in time.")),
        (("approve", "respond"), RespondDecision(message=f"Nobody decided in time. {NO_ANSWER}")),
        (("approve", "edit"), None),
    ],
    ids=["reject", "respond", "no kind of no"],
)
def test_silence_becomes_a_no_that_the_action_allows(allowed, becomes):
    """An answer says that no person has given it. An action that allows no kind of no is left open, so that nothing is resumed."""
    interrupt = an_interrupt(an_action(allowed=allowed))

    assert read(interrupt, card(interrupt, {}, status="expired")).decisions == (becomes,)


@pytest.mark.parametrize(
    ("fields", "reason", "code"),
    [
        ({"status": "withdrawn", "reason": "plans changed", "code": ""}, "plans changed", None),
        ({"status": "withdrawn", "reason": "", "code": ""}, None, None),
        ({"status": "refused", "reason": "no such channel", "code": "channel_not_found"},
         "no such channel", "channel_not_found"),
    ],
)  # fmt: skip
def test_a_withdrawn_or_refused_record_leaves_open_actions_open(fields, reason, code):
    """It says why; nothing is filled in for people."""
    resume = read(TWO, card(TWO, {0: ApproveDecision()}, **fields))

    assert resume.status == fields["status"]
    assert kinds(resume) == ["approve", None]
    assert (resume.reason, resume.code) == (reason, code)


@pytest.mark.parametrize(
    ("allowed", "decision", "sentence"),
    [
        (("reject",), ApproveDecision(), "approve is not one of reject"),
        (("approve", "reject"), EditDecision(edited_action=EditedAction(name="a", args={})),
         "edit is not one of approve, reject"),
        (("approve", "reject"), UnknownDecision(type="escalate"), "escalate is not one of approve, reject"),
        (("approve", "edit"), EditDecision(edited_action=EditedAction(name="drop", args={})),
         "an edit may not change the tool to 'drop'"),
    ],
    ids=["approve", "edit", "unknown", "other tool"],
)  # fmt: skip
@pytest.mark.parametrize("status", ["decided", "expired"])
def test_a_stored_decision_that_is_not_allowed_is_an_error(allowed, decision, sentence, status):
    """What the agent does not accept never reaches its run, however it came to be stored."""
    interrupt = an_interrupt(an_action("a", allowed=allowed))

    with pytest.raises(DecisionNotAllowedError) as caught:
        read(interrupt, card(interrupt, {0: decision}, status=status))
    assert str(caught.value).endswith(sentence)
    assert "decision 1 (a)" in str(caught.value)


@pytest.mark.parametrize(
    "changed",
    [
        an_interrupt(an_action("a", {"n": 2}), an_action("b")),
        an_interrupt(an_action("a"), an_action("b", schema={"type": "object"})),
        an_interrupt(an_action("b"), an_action("a")),
    ],
    ids=["arguments", "schema", "order"],
)
def test_a_decision_about_another_call_is_an_error(changed):
    """What was shown is what runs: a decision whose fingerprint differs is refused."""
    decided = card(TWO, {0: ApproveDecision(), 1: ApproveDecision()}, status="decided")

    with pytest.raises(DecisionNotAllowedError, match="was made about another call; nothing was resumed"):
        read(changed, decided)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '"approve"', "{}", '{"decision":"approve"}', '{"decision":{"type":"approve"}}',
     encode({"fingerprint": "f", "decision": {"type": "edit"}, "decided_by": "U1"})],
)  # fmt: skip
def test_a_stored_value_that_is_not_a_decision_is_one_error(text):
    """Anything else in a decision's place is never read as one."""
    with pytest.raises(InvalidRequestError):
        load_recorded({"d:0": text, "at:0": "1"}, 0)


def test_a_later_bot_may_store_more():
    """Fields that this version does not know are passed over."""
    stored: dict[str, Any] = json.loads(
        dump_recorded(ApproveDecision(), fingerprint="f", decided_by="U0ERIK")
    )

    recorded = load_recorded({"d:0": json.dumps({**stored, "signature": "s"}), "at:0": "1"}, 0)

    assert (recorded.decision, recorded.decided_by, recorded.note) == (ApproveDecision(), "U0ERIK", None)
    assert load_recorded({"d:0": "x"}, 1) is None
