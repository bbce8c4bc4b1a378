"""Calls that a program asks about by itself: the question that it makes, and how a call runs by its answer."""

import pytest

from agent_adapter import ActionRequest, Context, InvalidRequestError, NotApprovedError, RejectedError
from agent_adapter.ask import to_request
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import approve, edit, reject, respond
from tests.support.deciding import deciding

PATH = {"path": "/srv/report.csv"}
EVERYTHING = "approve edit reject respond"


@pytest.mark.parametrize(
    ("answer", "args"), [(approve(), PATH), (edit({"path": "/tmp/a"}), {"path": "/tmp/a"})]
)
async def test_an_approved_call_runs_with_what_people_saw_or_wrote(answer, args):
    """Each reading of the arguments is a copy: nothing that the program does to them runs later."""
    async with deciding(delete_file=answer) as approvals:
        call = await approvals.ask("delete_file", PATH)
        call.args["path"] = "/"

        assert call.args == args


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (reject("it is needed"), RejectedError, "delete_file was rejected and did not run: it is needed"),
        (respond("ask Noor"), NotApprovedError, "delete_file was answered and did not run: ask Noor"),
    ],
)
async def test_a_call_that_nobody_approved_has_no_arguments(answer, error, said):
    """So the line that would run it raises, with the words of the person."""
    async with deciding(delete_file=answer) as approvals:
        call = await approvals.ask("delete_file", PATH, allowed=EVERYTHING)

        with pytest.raises(error) as raised:
            _ = call.args
    assert str(raised.value) == said
    assert isinstance(raised.value, NotApprovedError)


async def test_an_answer_is_neither_true_nor_false():
    """`if await approvals.ask(…)` would run what was rejected."""
    async with deciding(delete_file=reject()) as approvals:
        call = await approvals.ask("delete_file", PATH)

        with pytest.raises(TypeError, match="read `args` of it"):
            bool(call)


async def test_people_read_who_asks_and_why():
    """The question has the words of the agent, the person that it works for, and the place."""
    async with deciding(delete_file=approve()) as approvals:
        await approvals.ask("delete_file", PATH, why="It is sent.", requested_by="U0NOOR", channel="C0OPS")
        (asked,) = approvals.asked

    assert asked.request.action_requests == (
        ActionRequest(name="delete_file", args=PATH, description="It is sent."),
    )
    assert (asked.context.requested_by, asked.route.channel) == ("U0NOOR", "C0OPS")


async def test_several_calls_are_one_question():
    """Their answers come in their order, also where two of them are the same."""
    async with deciding(pay=[approve(), reject("once is enough")]) as approvals:
        first, second = await approvals.ask_all([("pay", {"cents": 5}), ("pay", {"cents": 5})], run="r")

        assert len(approvals.asked) == 1
        assert first.args == {"cents": 5}
        with pytest.raises(RejectedError, match="once is enough"):
            _ = second.args


def test_the_question_does_not_change_with_the_objects_of_the_program():
    """What it does to its arguments while people decide changes nothing."""
    args = {"paths": ["a"]}
    request = to_request([("delete", args)], "approve reject", {})
    args["paths"].append("b")

    assert request.action_requests[0].args == {"paths": ["a"]}


@pytest.mark.parametrize(
    ("calls", "options", "said"),
    [
        ([("pay",)], {}, r"calls\[0\]: this is not a tool and its arguments: pass a list of calls"),
        ("pay", {}, "calls: this is a text: pass a list of calls"),
        ([("pay", {"n": float("nan")})], {}, r"action_requests\[0\].args.n: nan is not a JSON number"),
        ([("pay", {})], {"allowed": "aprove"}, "did you mean 'approve'"),
        ([("pay", {})], {"chanel": "C0"}, "did you mean 'channel'"),
        ([("pay", {})], {"pauses": ["p"]}, "pauses: no such option"),
        ([("pay", {})], {"run": ""}, "run: this text is empty"),
        ([("pay", {})], {"schemas": [{}]}, "schemas: this is a list"),
        (
            [("pay", {})],
            {"requested_by": "U0NOOR", "context": Context(title="Bills")},
            "requested_by: the context says this",
        ),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_its_place_and_its_cure(calls, options, said):
    """Nobody is asked."""
    async with deciding(pay=approve()) as approvals:
        with pytest.raises(InvalidRequestError, match=said):
            await approvals.ask_all(calls, **options)

        assert approvals.asked == ()


def test_a_program_without_an_event_loop_asks_with_the_same_words():
    """Its client blocks until people have decided."""
    with SyncApprovalClient(deciding(delete_file=approve())) as approvals:
        assert approvals.ask("delete_file", PATH).args == PATH
