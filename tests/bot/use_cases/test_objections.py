"""What speaks against a decision, whatever button it came from."""

import pytest

from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from bot.rendering.pages import call_written
from bot.use_cases.who_may_decide import first_objection
from tests.support.builders import a_state, a_vote, an_action, an_interrupt, edited

EDIT = edited(to="x")


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
    asked = an_interrupt(an_action("drop_table", {"table": "invoices_2019"}))
    state = a_state(asked, risk="high", type="table")
    decision = edited("drop_table", table=table) if table == "old" else ApproveDecision()

    assert "type what the form asks for" in first_objection(state, "U0ERIK", {0: decision}, typed=wrong)
    assert not first_objection(state, "U0ERIK", {0: decision}, typed=table)
    assert not first_objection(state, "U0ERIK", {0: RejectDecision()})


@pytest.mark.parametrize("decision", [ApproveDecision(), EDIT])
@pytest.mark.parametrize(
    ("args", "terms", "pages"),
    [({"to": "x" * 30_000}, {}, 2), ({"to": "x"}, {"modal_only": ("to",)}, 1)],
    ids=["too long for a card", "shown in a modal only"],
)
def test_what_the_card_does_not_show_is_read_to_its_end(args, terms, pages, decision):
    """By this very person; the pages of another action, or of another person, are none of this one."""
    asked = an_interrupt(an_action(args=args))
    (action,) = a_state(asked, **terms).actions

    def objection(user, mark):
        return first_objection(a_state(asked, read={(0, user): mark}, **terms), "U0ERIK", {0: decision})

    assert action.pages == pages
    assert not objection("U0ERIK", f"{action.fingerprint}:{pages}")
    for user, mark in (
        ("U0ERIK", f"{action.fingerprint}:{pages - 1}"),
        ("U0ERIK", f"another:{pages}"),
        ("U0DANA", f"{action.fingerprint}:{pages}"),
    ):
        assert "does not show all of call 1" in objection(user, mark)


LONG = {"host": "db1", "script": "".join(f"line {number}\n" for number in range(5_000))}
OTHER_HOST = edited("deploy", **{**LONG, "host": "db2"})
ONE_LINE = edited("deploy", **{**LONG, "script": "true"})


def voted(decision, **fields):
    """Build the record of a long call for which Dana wants this."""
    votes = {0: (a_vote("U0DANA", decision),)}
    return a_state(an_interrupt(an_action("deploy", LONG)), quorum=2, votes=votes, **fields)


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
