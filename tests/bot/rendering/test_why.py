"""*Why was this approved?* answers from entries that somebody may have written into Redis."""

import pytest

from agent_adapter.contract.hitl import (
    ApproveDecision,
    EditDecision,
    EditedAction,
    RejectDecision,
)
from bot.domain.admission import Place
from bot.domain.audit_entry import AuditEntry
from bot.rendering.modal.why import render_why_view
from tests.bot.rendering.slack_side import assert_slack_takes_view
from tests.support.builders import a_state, an_action, an_admission, an_interrupt
from tests.support.people import words


def entry(index: str) -> AuditEntry:
    said = {"event": "decided", "id": "billing.x", "index": index, "by": "U0DANA", "tool": "pay"}
    return AuditEntry("00", "1-1", said)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("dana@host-1", "were erased from the audit trail by dana@host-1."),
        ("the security team, *as agreed*", "were erased from the audit trail by somebody."),
    ],
)
def test_an_erasure_says_by_whom_and_none_of_the_words_that_somebody_may_have_put_there(by, said):
    erased = {"event": "erased", "id": "billing.x", "by": by, "reason": "approved by all", "places": "1"}

    shown = words(render_why_view("billing.x", None, (), [AuditEntry("00", "1-1", erased)])["blocks"])

    assert said in shown
    assert "approved by all" not in shown


@pytest.mark.parametrize("index", ["9" * 5000, "x", "-1", "", "²"])
def test_an_index_that_no_script_writes_is_left_out(index):
    """The entries beside it are shown."""
    view = render_why_view("billing.x", None, (), [entry(index), entry("0")])

    shown = words(view["blocks"])
    assert "pay" in shown
    assert index == "" or index not in shown


CARD = Place(channel="C0APPROVALS", actions=(0,))
ARGS = {"amount": 900, "to": "ACME", "pin": "4711"}


def seen(decision, **fields):
    """Give the texts of the view about one call, from the top."""
    admission = an_admission(places=(CARD,), mask=("pin",))
    given = {"decided": {0: decision} if decision else {}, "status": "decided", **fields}
    state = a_state(an_interrupt(an_action("pay", ARGS)), admission=admission, **given)
    view = render_why_view(state.id, state, (0,), ())
    assert_slack_takes_view(view)
    assert view["title"]["text"] == "What happened here"
    return [words(block) for block in view["blocks"]]


def test_the_first_line_says_what_became_of_the_call():
    first, *_ = seen(RejectDecision(message="no"))

    assert first.startswith("*Rejected* by <@")
    assert first.endswith(". The call did not run.")


@pytest.mark.parametrize(
    ("status", "decision"),
    [
        ("pending", None),
        ("pending", ApproveDecision()),
        ("pending", RejectDecision()),
        ("decided", ApproveDecision()),
        ("refused", ApproveDecision()),
        ("withdrawn", RejectDecision()),
    ],
)
def test_nobody_is_told_that_a_call_did_not_run_where_it_may_have(status, decision):
    """Also of a record that was refused since Redis went back: the agent may have taken the answer before."""
    assert "did not run" not in seen(decision, status=status)[0]


def test_a_changed_call_is_written_whole_as_it_was_allowed_to_run():
    """Without what is masked."""
    edited = EditDecision(edited_action=EditedAction(name="pay", args={**ARGS, "amount": 450}))

    texts = seen(edited)

    whole = texts[texts.index("The whole call, as it was allowed to run:") + 1]
    assert "amount: 450" in whole
    assert '"ACME"' in whole
    assert "4711" not in "".join(texts)


def test_a_run_that_does_not_go_on_is_a_warning_in_the_first_line():
    first, *_ = seen(ApproveDecision(), stalled="gone")

    assert "⚠️ *The agent could not go on.*" in first


@pytest.mark.parametrize(("now", "said"), [("Dana", ""), ("Dana Roe", " (then Dana)"), ("", " (then Dana)")])
def test_the_name_of_that_time_stands_beside_another_one_only(now, said):
    given = {**entry("0").said, "name": "Dana", "decision": "approve"}
    names = {"U0DANA": now} if now else {}

    view = render_why_view("billing.x", None, (), [AuditEntry("00", "1-1", given)], names=names)

    assert f"<@U0DANA>{said} approved it" in words(view["blocks"])


@pytest.mark.parametrize(
    ("events", "last"),
    [
        (["resumed"], "The agent took the answer and went on."),
        (["reported", "resumed"], "The agent has finished with the answer."),
    ],
)
def test_an_agent_that_reported_before_it_gave_the_answer_back_did_not_take_it_only_then(events, last):
    """The lines are in the order in which things happened."""
    said = [{"event": event, "id": "billing.x", "outcome": "done"} for event in events]

    view = render_why_view(
        "billing.x", None, (), [AuditEntry("00", f"{n}-0", each) for n, each in enumerate(said)]
    )

    assert words(view["blocks"]).rstrip().endswith(last)
