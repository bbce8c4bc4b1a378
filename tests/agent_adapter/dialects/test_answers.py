"""Answers are checked before anything is resumed: one that does not fit could never be replaced."""

import pytest

from agent_adapter.contract.hitl import UnknownDecision
from agent_adapter.dialects.answers import check_answers, share_out
from agent_adapter.errors import DecisionNotAllowedError
from agent_adapter.testing import approve, respond
from tests.support.builders import a_resume, an_action, asking

REQUEST = asking(an_action("mail"), an_action("wipe", allowed=("approve", "reject")))


def edit(name="mail", **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


@pytest.mark.parametrize(
    ("first", "says_what"),
    [
        (None, r"decision 1 \(mail\) was left open; nothing was resumed"),
        (UnknownDecision(type="maybe"), "'maybe' is not one of approve, edit, reject, respond; nothing was resumed"),
        (["approve"], r"decision 1 \(mail\): this is a list: pass a decision"),
        ({"type": "respond"}, "message: Field required"),
        ({"type": "edit", "edited_action": {"name": "mail"}}, r"edited_action\.args: Field required"),
        (edit("wipe"), "may not change the tool to 'wipe'"),
        (edit(to=float("nan")), r"edited_action\.args\.to: nan is not a JSON number"),
    ],
)  # fmt: skip
def test_a_decision_that_does_not_fit_is_refused_with_its_place(first, says_what):
    """Before the framework sees any of them."""
    with pytest.raises(DecisionNotAllowedError, match=says_what):
        check_answers([first, approve()], REQUEST)


@pytest.mark.parametrize("decisions", [[], [approve()], [approve()] * 3])
def test_each_action_has_one_decision(decisions):
    with pytest.raises(DecisionNotAllowedError, match=f"{len(decisions)} decisions for 2 actions"):
        check_answers(decisions, REQUEST)


def test_each_pause_gets_the_decisions_about_its_own_actions():
    """Also where silence has filled in what people left open."""
    one, two, three = approve(), respond("a"), respond("b")

    for status in ("decided", "expired"):
        shared = share_out(a_resume(one, two, three, status=status), [asking(an_action("a")), REQUEST])
        assert shared == [(one,), (two, three)]
    with pytest.raises(DecisionNotAllowedError, match="1 decisions for 2 actions; nothing was resumed"):
        share_out(a_resume(one), [REQUEST])


@pytest.mark.parametrize("status", ["withdrawn", "refused"])
def test_a_question_that_ended_otherwise_has_nothing_to_resume_with(status):
    """Decisions that people made before do not run."""
    with pytest.raises(
        DecisionNotAllowedError, match=f"test.1 was {status}: there is nothing to resume with"
    ):
        share_out(a_resume(approve(), approve(), status=status), [REQUEST])
