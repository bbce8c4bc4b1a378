"""What speaks against a decision, whatever button it came from."""

import pytest

from agent_adapter.contract.hitl import ApproveDecision, EditDecision, EditedAction, RejectDecision
from bot.domain.admission import Place
from bot.domain.votes import Vote, position_of
from bot.rendering.pages import call_written
from bot.use_cases.who_may_decide import first_objection
from tests.support.builders import a_state, an_action, an_admission, an_interrupt

EDIT = EditDecision(edited_action=EditedAction(name="send_email", args={"to": "x"}))


@pytest.mark.parametrize("decision", [ApproveDecision(always=True), RejectDecision(always=True)])
def test_a_decision_for_the_whole_run_needs_an_agent_that_can_keep_it(decision):
    """Where the agent asks about one call only, nobody decides about later ones."""
    once = a_state(an_interrupt(an_action()))
    later = a_state(an_interrupt(an_action(allow_always=True)))

    assert "asks only about call 1" in first_objection(once, "U0ERIK", {0: decision})
    assert not first_objection(later, "U0ERIK", {0: decision})


@pytest.mark.parametrize(
    "wrong", ["", "OLD", "Invoices_2019", "invoices_201", "invoices_2019.", "drop_table"]
)
@pytest.mark.parametrize("table", ["invoices_2019", "old"])
def test_nothing_of_high_risk_is_approved_unless_its_value_is_typed_exactly(table, wrong: str):
    """An edit by its new value, whatever form or button it came from; rejecting takes none."""
    places = (Place(channel="C1", actions=(0,)),)
    terms = {"approvers": ("U0ERIK",), "risk": "high", "type": "table", "places": places}
    asked = an_action("drop_table", {"table": "invoices_2019"})
    state = a_state(an_interrupt(asked), admission=an_admission(**terms))
    edited = EditDecision(edited_action=EditedAction(name="drop_table", args={"table": table}))
    decision = edited if table == "old" else ApproveDecision()

    assert "type what the form asks for" in first_objection(state, "U0ERIK", {0: decision}, typed=wrong)
    assert not first_objection(state, "U0ERIK", {0: decision}, typed=table)
    assert not first_objection(state, "U0ERIK", {0: RejectDecision()})


@pytest.mark.parametrize("decision", [ApproveDecision(), EDIT])
def test_what_takes_several_pages_is_read_to_its_end(decision):
    """By this very person; the pages of another action, or of another person, are none of this one."""
    long = an_action(args={"to": "x" * 30_000})
    asked = a_state(an_interrupt(long))
    fingerprint = asked.actions[0].fingerprint

    def objection(read):
        return first_objection(a_state(an_interrupt(long), read=read), "U0ERIK", {0: decision})

    assert asked.actions[0].pages == 2
    assert not objection({(0, "U0ERIK"): f"{fingerprint}:2"})
    for too_little in (
        {(0, "U0ERIK"): f"{fingerprint}:1"},
        {(0, "U0ERIK"): "another:2"},
        {(0, "U0DANA"): f"{fingerprint}:2"},
    ):
        assert "does not show all of call 1" in objection(too_little)


def test_what_is_shown_in_a_modal_only_is_not_approved_unread():
    """Also where it would be short enough for the card."""
    places = (Place(channel="C1", actions=(0,)),)
    admission = an_admission(approvers=("U0ERIK",), modal_only=("to",), places=places)
    state = a_state(admission=admission)
    read = a_state(admission=admission, read={(0, "U0ERIK"): f"{state.actions[0].fingerprint}:1"})

    assert "does not show all of call 1" in first_objection(state, "U0ERIK", {0: ApproveDecision()})
    assert not first_objection(read, "U0ERIK", {0: ApproveDecision()})
    assert first_objection(read, "U0DANA", {0: ApproveDecision()})


LONG = {"host": "db1", "script": "".join(f"line {number}\n" for number in range(5_000))}
OTHER_HOST = EditDecision(edited_action=EditedAction(name="deploy", args={**LONG, "host": "db2"}))
ONE_LINE = EditDecision(edited_action=EditedAction(name="deploy", args={**LONG, "script": "true"}))


def voted(decision, **fields):
    """Build the record of a long call for which Dana wants this."""
    places = (Place(channel="C1", actions=(0,)),)
    admission = an_admission(approvers=("U0DANA", "U0ERIK"), quorum=2, places=places)
    vote = Vote("U0DANA", position_of(decision), decision, "1")
    return a_state(an_interrupt(an_action("deploy", LONG)), admission=admission, votes={0: (vote,)}, **fields)


@pytest.mark.parametrize("decision", [OTHER_HOST, ONE_LINE])
def test_changes_of_a_long_call_are_agreed_with_by_whoever_was_shown_all_of_it_as_it_would_run(decision):
    """To its end, by this very person. The pages of the call with other changes are none of this one."""
    state = voted(decision)
    action = state.actions[0]
    call = call_written(action, action.proposal)
    other = call_written(action, voted(EDIT).actions[0].proposal)

    def objection(mark, user="U0ERIK"):
        return first_objection(voted(decision, read={(0, user): mark}), "U0ERIK", {0: decision})

    assert call.pages >= 1
    assert not objection(f"{call.fingerprint}:{call.pages}")
    for too_little in (
        objection(f"{call.fingerprint}:{call.pages - 1}"),
        objection(f"{other.fingerprint}:9"),
        objection(f"{call.fingerprint}:{call.pages}", user="U0DANA"),
    ):
        assert "does not show all of call 1" in too_little
