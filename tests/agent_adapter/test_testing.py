"""The twin without Redis behaves as the real client, and the scripted reviewer fails closed."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent_adapter import Context
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.hitl import ActionRequest, HITLRequest, ReviewConfig
from agent_adapter.errors import (
    ClaimedError,
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InterruptExpiredError,
    InterruptWithdrawnError,
    InvalidRequestError,
    UnknownInterruptError,
)
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
from tests.support.workers import GO, Notes, a_graph, an_openai_agent, thread, working

pytest_plugins = ["pytester"]


def request(*calls, allowed=("approve", "edit", "reject", "respond")):
    calls = calls or (("send_email", {"to": "a"}), ("delete_file", {"path": "x"}))
    return HITLRequest(
        action_requests=tuple(ActionRequest(name=name, args=args) for name, args in calls),
        review_configs=tuple(ReviewConfig(action_name=name, allowed_decisions=allowed) for name, _ in calls),
    )


def client(answers=None):
    return InMemoryApprovalClient(
        ScriptedReviewer(
            {"send_email": approve(), "delete_file": reject("no")} if answers is None else answers
        )
    )


def nobody():
    return InMemoryApprovalClient(lambda action, config: None)


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


async def test_answers_may_be_given_in_order():
    """One for each action, whatever its tool."""
    resume = await client([reject(), approve()]).review(request())

    assert [decision.type for decision in resume.decisions] == ["reject", "approve"]


async def test_a_list_for_a_tool_is_used_call_by_call():
    """Two calls of one tool can be decided differently, also by looking at them."""
    reviewer = ScriptedReviewer(
        {"delete_file": [approve(), lambda action: reject(f"keep {action.args['path']}")]}
    )
    asked = request(("delete_file", {"path": "a"}), ("delete_file", {"path": "b"}))

    resume = await InMemoryApprovalClient(reviewer).review(asked)

    assert resume.decisions == (approve(), reject("keep b"))


async def test_reviewer_remembers_what_it_was_asked():
    """A test can look at what a person would have read."""
    approvals = client()

    await approvals.review(request())

    assert [(action.name, action.args) for action in approvals.reviewer.asked] == [
        ("send_email", {"to": "a"}),
        ("delete_file", {"path": "x"}),
    ]


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
        (edit({"to": "b"}), ("approve", "reject"), "edit is not one of approve, reject"),
        (edit({"to": {1}}), ("edit",), "set is not a JSON value"),
        ("approve", ("approve",), "decision"),
    ],
)
async def test_answer_that_is_not_allowed_fails_the_test(answer, allowed, says_what):
    """A person could not have pressed that button."""
    approvals = InMemoryApprovalClient(lambda action, config: answer(action) if callable(answer) else answer)

    with pytest.raises(DecisionNotAllowedError, match=says_what):
        await approvals.review(request(("send_email", {"to": "a"}), allowed=allowed))


# --- The client's verbs ----------------------------------------------------------------------------------------------


def test_it_is_taken_wherever_the_real_client_is():
    """Type hints of the code under test need no change."""
    assert isinstance(client(), ApprovalClient)


async def test_publish_again_finds_the_same_record():
    """One question is asked once, however often it is published."""
    async with client() as approvals:
        first = approvals.interrupt(request(), run="thread", pauses=["p1", "p2"])
        again = approvals.interrupt(request(), run="thread", pauses=["p1", "p2"])

        assert await approvals.publish(first) == await approvals.publish(again) == first.id
        await approvals.wait(first.id)
        await approvals.wait(first.id)

    assert len(approvals.reviewer.asked) == 2


async def test_part_of_a_known_question_gets_its_part_of_the_answer():
    """In the order in which it is asked now."""
    approvals = client()
    whole = approvals.interrupt(request(), run="thread", pauses=["p1", "p2"])
    await approvals.publish(whole)
    part = approvals.interrupt(request(("delete_file", {"path": "x"})), run="thread", pauses=["p2"])

    async with approvals.reviewing(part) as resume:
        assert resume.interrupt_id == whole.id
        assert resume.decisions == (reject("no"),)


async def test_other_order_of_the_pauses_is_the_same_question():
    """Parallel pauses come in any order."""
    approvals = client()
    await approvals.publish(approvals.interrupt(request(), run="thread", pauses=["p1", "p2"]))
    turned = request(("delete_file", {"path": "x"}), ("send_email", {"to": "a"}))

    async with approvals.reviewing(approvals.interrupt(turned, run="thread", pauses=["p2", "p1"])) as resume:
        assert resume.decisions == (reject("no"), approve())


async def test_same_pauses_with_other_arguments_are_refused():
    """What was shown may not change under the reviewer's hands."""
    approvals = client()
    await approvals.publish(approvals.interrupt(request(), run="thread", pauses=["p1", "p2"]))
    changed = request(("send_email", {"to": "b"}), ("delete_file", {"path": "x"}))

    with pytest.raises(ConflictError):
        await approvals.publish(approvals.interrupt(changed, run="thread", pauses=["p1", "p2"]))


async def test_known_and_new_pauses_in_one_question_are_refused():
    """They belong to two records."""
    approvals = client()
    await approvals.publish(
        approvals.interrupt(request(("send_email", {"to": "a"})), run="thread", pauses=["p1"])
    )

    with pytest.raises(ConflictError, match="publish them separately"):
        await approvals.publish(approvals.interrupt(request(), run="thread", pauses=["p1", "p2"]))


async def test_answer_is_taken_once():
    """Publishing or resuming it again is an error, not a second run."""
    approvals = client()
    interrupt = approvals.interrupt(request(), run="thread")
    async with approvals.reviewing(interrupt):
        with pytest.raises(ClaimedError):
            async with approvals.resuming(interrupt.id):
                pass

    with pytest.raises(ConsumedError):
        await approvals.publish(interrupt)
    with pytest.raises(ConsumedError):
        async with approvals.resuming(interrupt.id):
            pass
    assert (await approvals.wait(interrupt.id)).status == "decided"


async def test_failing_body_gives_the_claim_back():
    """The same decisions can be resumed with again."""
    approvals = client()
    interrupt = approvals.interrupt(request(), run="thread")
    with pytest.raises(OSError, match="disk"):
        async with approvals.reviewing(interrupt):
            raise OSError("disk")

    async with approvals.reviewing(interrupt) as resume:
        assert resume.status == "decided"
    assert len(approvals.reviewer.asked) == 2


async def test_decisions_come_one_by_one():
    """With the index of the action that each decides."""
    approvals = client()
    interrupt_id = await approvals.publish(approvals.interrupt(request(), run="thread"))

    decided = [tuple(each) async for each in approvals.decisions(interrupt_id)]
    assert decided == [(0, approve()), (1, reject("no"))]


# --- Ends without a person -------------------------------------------------------------------------------------------


async def test_silence_rejects_what_is_open_and_keeps_what_was_decided():
    """`None` stands for nobody."""
    resume = await client({"send_email": approve(), "delete_file": None}).review(request())

    assert resume.status == "expired"
    assert resume.decisions == (approve(), reject("Nobody decided in time."))
    assert [record.decided_by for record in resume.records] == [REVIEWER, "expired"]
    assert [record.policy for record in resume.records] == [POLICY, POLICY]


async def test_silence_raises_where_asked_and_the_question_can_be_asked_again():
    """The second attempt is another record."""
    approvals = nobody()
    interrupt = approvals.interrupt(request(), run="thread", on_expiry="raise")
    with pytest.raises(InterruptExpiredError):
        async with approvals.reviewing(interrupt):
            pass
    approvals.reviewer = ScriptedReviewer([approve(), approve()])

    async with approvals.reviewing(interrupt) as resume:
        assert resume.decisions == (approve(), approve())
        assert resume.interrupt_id != interrupt.id


async def test_silence_about_what_may_only_be_approved_is_asked_again():
    """As with the real one: it became neither a rejection nor an answer, so it ended without one."""
    approvals = nobody()
    interrupt = approvals.interrupt(request(("deploy", {}), allowed=("approve",)), run="thread")
    with pytest.raises(InterruptExpiredError):
        async with approvals.reviewing(interrupt):
            pass
    approvals.reviewer = ScriptedReviewer([approve()])

    async with approvals.reviewing(interrupt) as resume:
        assert resume.decisions == (approve(),)


async def test_withdrawn_question_is_not_asked():
    """Whoever waits is told the reason."""
    approvals = client()
    interrupt_id = await approvals.publish(approvals.interrupt(request(), run="thread"))
    await approvals.withdraw(interrupt_id, "the customer called")

    assert (await approvals.wait(interrupt_id)).status == "withdrawn"
    with pytest.raises(InterruptWithdrawnError, match="the customer called"):
        async with approvals.resuming(interrupt_id):
            pass
    assert approvals.reviewer.asked == []


async def test_record_shows_how_an_interrupt_ended():
    """As of the real one."""
    approvals = client()
    interrupt_id = await approvals.publish(approvals.interrupt(request(), run="thread"))
    before = await approvals.record(interrupt_id)
    async with approvals.resuming(interrupt_id):
        pass
    after = await approvals.record(interrupt_id)

    assert (before.resume(), before.is_resumed) == (None, False)
    assert after.is_resumed
    assert [decision.type for decision in after.resume().decisions] == ["approve", "reject"]


async def test_unknown_ids_are_named():
    """No verb invents a record."""
    approvals = client()

    with pytest.raises(UnknownInterruptError, match=r"test\.1"):
        await approvals.wait("test.1")
    with pytest.raises(UnknownInterruptError):
        await approvals.withdraw("test.1", "no")


async def test_limits_are_those_of_the_real_one():
    """A test finds what production would refuse."""
    approvals = client()

    with pytest.raises(InvalidRequestError, match="expires_in"):
        await approvals.publish(approvals.interrupt(request(), run="thread", expires_in=timedelta(days=30)))
    with pytest.raises(InvalidRequestError, match=r"action_requests\[0\]\.args\.to"):
        await approvals.publish(
            approvals.interrupt(request(("send_email", {"to": float("inf")})), run="thread")
        )


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
    """An agent that runs a tool without asking does not pass by accident."""
    approvals = client(answers)
    await approvals.review(request(("send_email", {"to": "a"})))

    with pytest.raises(AssertionError, match=left):
        approvals.reviewer.assert_all_asked()


async def test_when_every_answer_was_asked_for_all_is_well():
    """One answer for a tool is enough for many calls."""
    approvals = client({"send_email": approve()})
    await approvals.review(request(("send_email", {"to": "a"}), ("send_email", {"to": "b"})))

    approvals.reviewer.assert_all_asked()


def test_the_fixture_checks_that_everything_was_asked(pytester, monkeypatch):
    """A test that asks passes; one that does not ask is an error, with the answer that is left."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makeconftest('pytest_plugins = ["agent_adapter.testing.pytest_plugin"]')
    pytester.makepyfile(
        """
        import asyncio
        from agent_adapter import ActionRequest, HITLRequest, ReviewConfig
        from agent_adapter.testing import approve

        ASKED = HITLRequest(
            action_requests=(ActionRequest(name="pay", args={}),),
            review_configs=(ReviewConfig(action_name="pay", allowed_decisions=("approve", "reject")),),
        )

        def test_that_asks(scripted_approvals):
            resume = asyncio.run(scripted_approvals({"pay": approve()}).review(ASKED))
            assert resume.decisions[0].type == "approve"

        def test_that_does_not_ask(scripted_approvals):
            scripted_approvals({"pay": approve()})
        """
    )

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*answers that nobody asked for: pay; the questions were about nothing*"])


# --- Workers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["graph", "openai"])
async def test_a_worker_goes_on_with_what_was_decided(kind):
    """Through the next question to the end, as with Redis: the rejected tool does not run, and the owner is told."""
    notes, reviewer = Notes(), ScriptedReviewer({"send_email": approve(), "delete_file": reject("no")})
    approvals = InMemoryApprovalClient(reviewer)
    agent = a_graph(notes, InMemorySaver()) if kind == "graph" else an_openai_agent(notes)
    given = {"config": thread("t")} if kind == "graph" else {}

    await agent.start(GO if kind == "graph" else "go", approvals=approvals, **given)
    async with working(approvals, agent), asyncio.timeout(30):
        while not notes.over:
            await asyncio.sleep(0.01)

    assert notes.calls == ["send_email al", "send_email bo"]
    assert [over.status for over in notes.over] == ["finished"]
    assert len(approvals.asked) == 2


async def test_a_run_that_another_worker_must_take_is_left_alone():
    """A worker with an older version of the agent does not touch it, and nothing is asked twice."""
    notes, reviewer = Notes(), ScriptedReviewer({"send_email": approve(), "delete_file": approve()})
    approvals, saver = InMemoryApprovalClient(reviewer), InMemorySaver()

    await a_graph(notes, saver, version="2").start(GO, approvals=approvals, config=thread("t"))
    async with working(approvals, a_graph(notes, saver, version="1")):
        await asyncio.sleep(0.1)

    assert notes.calls == []
    assert reviewer.asked == []
