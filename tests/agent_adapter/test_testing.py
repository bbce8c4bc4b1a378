"""The twin without Redis behaves as the real client, and the scripted reviewer fails closed."""

import pytest

from agent_adapter import Context
from agent_adapter.errors import DecisionNotAllowedError
from agent_adapter.testing import (
    POLICY,
    REVIEWER,
    InMemoryApprovalClient,
    ScriptedReviewer,
    UnexpectedActionError,
    approve,
    edit,
    reject,
    respond,
)
from tests.support.builders import ALL_DECISIONS, an_action, asking


def request(*calls, allowed=ALL_DECISIONS):
    calls = calls or (("send_email", {"to": "a"}), ("delete_file", {"path": "x"}))
    return asking(*(an_action(*call, allowed=allowed) for call in calls))


ANSWERS = {"send_email": approve(), "delete_file": reject("no")}


def client(answers=ANSWERS):
    return InMemoryApprovalClient(ScriptedReviewer(answers))


# --- What the reviewer decides ---------------------------------------------------------------------------------------


async def test_each_tool_gets_its_answer():
    """By name, in action order, with who decided, when and by which rules."""
    resume = await client().review(request())

    assert resume.status == "decided"
    assert resume.decisions == (approve(), reject("no"))
    assert [record.decided_by for record in resume.records] == [REVIEWER, REVIEWER]
    assert [record.policy for record in resume.records] == [POLICY, POLICY]


async def test_edit_replaces_the_arguments_and_keeps_the_tool():
    """The test writes the arguments only."""
    resume = await client({"send_email": edit({"to": "b"}), "delete_file": respond("done already")}).review(
        request()
    )

    assert resume.decisions[0].edited_action.model_dump() == {"name": "send_email", "args": {"to": "b"}}
    assert resume.decisions[1] == respond("done already")


async def test_a_list_for_a_tool_is_used_call_by_call():
    """Two calls of one tool can be decided differently, also by looking at them; a list for all goes in their order."""
    assert (await client([reject(), approve()]).review(request())).decisions == (reject(), approve())
    by_looking = {"delete_file": [approve(), lambda action: reject(f"keep {action.args['path']}")]}
    asked = request(("delete_file", {"path": "a"}), ("delete_file", {"path": "b"}))

    resume = await client(by_looking).review(asked)

    assert resume.decisions == (approve(), reject("keep b"))


@pytest.mark.parametrize(
    ("answers", "says_what"),
    [
        ({"send_email": approve()}, r'delete_file\({"path":"x"}\).*answers are for send_email'),
        ([approve()], "delete_file.*all answers were given"),
        ({"send_email": approve(), "delete_file": []}, "delete_file.*no answer left"),
    ],
)
async def test_question_without_an_answer_fails_the_test(answers, says_what):
    """Nothing is approved by leaving it out."""
    with pytest.raises(UnexpectedActionError, match=says_what):
        await client(answers).review(request())


@pytest.mark.parametrize(
    ("answer", "allowed", "says_what"),
    [
        (approve(), ("reject",), "approve is not one of reject"),
        ("approve", ("approve",), r"decision 1 \(send_email\): this is a text: pass a decision"),
    ],
)
async def test_answer_that_is_not_allowed_fails_the_test(answer, allowed, says_what):
    """A person could not have pressed that button."""
    approvals = InMemoryApprovalClient(lambda action, config: answer)

    with pytest.raises(DecisionNotAllowedError, match=says_what):
        await approvals.review(request(("send_email", {"to": "a"}), allowed=allowed))


# --- What was asked ---------------------------------------------------------------------------------------------------


async def test_everything_that_was_asked_can_be_read():
    """With the channel, the person for whom it was asked, and every action."""
    approvals = client()

    await approvals.review(request(), channel="C0OFFICE", context=Context(requested_by="U0NOOR"))
    await approvals.review(request(("send_email", {"to": "b"})))

    first, second = approvals.asked
    assert (first.route.channel, first.context.requested_by) == ("C0OFFICE", "U0NOOR")
    assert [action.name for action in first.request.action_requests] == ["send_email", "delete_file"]
    assert second.request.action_requests[0].args == {"to": "b"}


@pytest.mark.parametrize(
    ("answers", "left"),
    [
        ({"send_email": approve(), "pay": approve()}, "pay; the questions were about send_email"),
        ({"send_email": [approve(), reject()]}, r"send_email \(1 left\)"),
        ([approve(), reject()], "1 in order"),
    ],
)
async def test_an_answer_that_nobody_asked_for_fails_the_test(answers, left):
    """An agent that runs a tool without asking does not pass by accident. One answer may be used for many calls."""
    fine = client({"send_email": approve()})
    await fine.review(request(("send_email", {"to": "a"}), ("send_email", {"to": "b"})))
    fine.reviewer.assert_all_asked()
    approvals = client(answers)
    await approvals.review(request(("send_email", {"to": "a"})))

    with pytest.raises(AssertionError, match=left):
        approvals.reviewer.assert_all_asked()
