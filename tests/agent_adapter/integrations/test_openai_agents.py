"""Running agents of the OpenAI Agents SDK with approvals in between."""

import asyncio
import importlib
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated, Literal

import agents
import pytest
from agents import (
    Agent,
    FunctionTool,
    HostedMCPTool,
    Runner,
    RunState,
    SQLiteSession,
    ToolOutputText,
    function_tool,
)
from agents.exceptions import ModelBehaviorError, UserError
from agents.testing import ScriptedModel, function_call
from pydantic import AfterValidator, BeforeValidator
from redis.asyncio import Redis

from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.contract.interrupt import Resume
from agent_adapter.errors import (
    AgentAdapterError,
    DecisionNotAllowedError,
    InterruptExpiredError,
    InvalidRequestError,
)
from agent_adapter.integrations.openai_agents import (
    PausedRun,
    editable,
    editing,
    run,
    stream,
    to_request,
    to_resume,
)
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, edit, reject, respond
from agent_adapter.worker.openai_agents import ResumableAgent
from tests.agent_adapter.integrations.desk import DONE, MAIL, TURN, Desk, answers_to_model, says
from tests.conftest import an_agent
from tests.support.workers import eventually

NOTE = "[A person changed the arguments of this call before it ran. It was called with: {}]\n\n{}"
SDK = tuple(int(number) for number in agents.__version__.split(".")[:2])
CANCEL = ("cancel_order", {"order": 7, "reason": "late"})


def approvals_of(answers):
    return InMemoryApprovalClient(ScriptedReviewer(answers))


class OneByOne(InMemoryApprovalClient):
    """Each question is only decided when the run has gone on with the one before."""

    def __init__(self, reviewer):
        super().__init__(reviewer)
        self.questions, self.taken = [], 0

    async def wait(self, interrupt_id):
        if interrupt_id not in self.questions:
            self.questions.append(interrupt_id)
        while self.questions.index(interrupt_id) > self.taken:
            await asyncio.sleep(0.001)
        return await super().wait(interrupt_id)

    @asynccontextmanager
    async def reviewing(self, interrupt):
        async with super().reviewing(interrupt) as resume:
            yield resume
        self.taken += 1


def resume_with(*decisions, status="decided"):
    """Give a resume as it would come from a store that was tampered with."""
    return Resume.model_construct(
        interrupt_id="test.1", status=status, decisions=decisions, records=(None,) * len(decisions)
    )


async def test_each_decision_does_what_it_says():
    """The edited call runs with the person's arguments, the rejected does not run, the answered one is answered."""
    desk = Desk()
    approvals = approvals_of(
        {
            "send_email": edit({"to": "erik@x.com", "body": "new"}),
            "cancel_order": reject("we still need it"),
            "ask_user": respond("staging"),
        }
    )

    result = await run(desk.agent(TURN, DONE), "go", approvals=approvals)

    assert sorted(desk.ran) == [
        ("look_up", {"order": 7}),
        ("send_email", {"to": "erik@x.com", "body": "new"}),
    ]
    assert answers_to_model(result) == {
        "call_1": NOTE.format('{"to":"erik@x.com","body":"new"}', "sent to erik@x.com"),
        "call_2": "late",
        "call_3": "A person did not approve this call. Their reason: we still need it",
        "call_4": "staging",
    }
    assert result.final_output == "done"


async def test_approved_calls_run_unchanged():
    """What was shown is what runs."""
    desk = Desk()
    reviewer = ScriptedReviewer([approve(), approve(), reject()])

    result = await run(desk.agent(TURN, DONE), "go", approvals=InMemoryApprovalClient(reviewer))

    assert sorted(desk.ran) == [CANCEL, ("look_up", {"order": 7}), ("send_email", MAIL)]
    assert [(action.name, action.args, action.id) for action in reviewer.asked] == [
        ("send_email", MAIL, "call_1"),
        (*CANCEL, "call_3"),
        ("ask_user", {"question": "Which env?"}, "call_4"),
    ]
    assert answers_to_model(result)["call_4"] == "Tool execution was not approved."


async def test_a_request_says_what_may_be_decided():
    """Edit is offered where the tool was made editable, with the schema of its arguments; an answer is a rejection to the SDK."""
    result = await Runner.run(Desk().agent(TURN), "go")

    request = to_request(result.interruptions, allow_always=["cancel_order"])

    mail, cancel, ask = request.review_configs
    assert mail.allowed_decisions == cancel.allowed_decisions == ("approve", "edit", "reject", "respond")
    assert ask.allowed_decisions == ("approve", "reject", "respond")
    assert [config.allow_always for config in (mail, cancel, ask)] == [False, True, False]
    assert {config.effects for config in (mail, cancel, ask)} == {("answer_as_rejection",)}
    assert set(mail.args_schema["properties"]) == {"to", "body"}
    assert set(ask.args_schema["properties"]) == {"question"}


async def test_nobody_decides_and_nothing_runs():
    """Silence is a rejection, and the model is told that nobody decided."""
    desk = Desk()

    result = await run(desk.agent(TURN, DONE), "go", approvals=approvals_of([None] * 3))

    assert desk.names() == ["look_up"]
    assert "Nobody decided in time." in answers_to_model(result)["call_3"]


async def test_silence_can_end_the_run():
    """With `raise`, an expired question is an error, and nothing ran."""
    desk = Desk()

    with pytest.raises(InterruptExpiredError):
        await run(desk.agent(TURN, DONE), "go", approvals=approvals_of([None] * 3), on_expiry="raise")

    assert desk.names() == ["look_up"]


async def test_several_pauses_are_asked_one_after_another():
    """Each turn is a question of its own, also where the server numbers its calls from one in every answer."""
    desk, reviewer = Desk(), ScriptedReviewer([approve(), approve()])
    agent = desk.agent(says(("cancel_order", {"order": 1, "reason": "a"})), says(CANCEL, first_call=2), DONE)

    result = await run(agent, "go", approvals=InMemoryApprovalClient(reviewer))

    assert [args["order"] for _, args in desk.ran] == [1, 7]
    assert result.final_output == "done"


async def test_two_runs_with_the_same_call_ids_are_two_questions():
    """Servers begin to count anew with every run."""
    desk = Desk()
    approvals = approvals_of([approve(), reject()])

    for _ in range(2):
        await run(desk.agent(says(CANCEL), DONE), "go", approvals=approvals)

    assert desk.ran == [CANCEL]


async def test_more_calls_than_one_question_holds_are_asked_one_after_another():
    """A turn of sixty calls is two questions; every call is asked once and runs once."""
    desk, reviewer = Desk(), ScriptedReviewer({"cancel_order": approve()})
    turn = says(*(("cancel_order", {"order": number, "reason": ""}) for number in range(60)))

    await run(desk.agent(turn, DONE), "go", approvals=InMemoryApprovalClient(reviewer))

    assert [action.args["order"] for action in reviewer.asked] == list(range(60))
    assert sorted(args["order"] for _, args in desk.ran) == list(range(60))


class TestPolicies:
    """`needs_approval` may be a callable. What it lets through, it has seen as it will run."""

    CASES = pytest.mark.parametrize(
        ("arguments", "consulted", "asked"),
        [
            ({"order": 7, "reason": "x"}, True, False),
            ({"order": 700, "reason": "x"}, True, True),
            ({"reason": "x", "order": 7}, True, False),
            ({"order": 7}, False, True),
            ({"order": "7", "reason": "x"}, False, True),
            ({"order": 7.0, "reason": "x"}, False, True),
            ({"order": True, "reason": "x"}, False, True),
            ({"order": 7, "reason": "x", "force": True}, False, True),
            ("not json", False, True),
        ],
    )

    @CASES
    @pytest.mark.parametrize("wrapped", [True, False])
    @pytest.mark.parametrize("is_async", [True, False])
    async def test_policy_decides_only_what_it_sees_whole(
        self, arguments, consulted, asked, wrapped, is_async
    ):
        """A call that leaves out a parameter or sends another type is asked about; an editable tool keeps this rule."""
        seen = []

        def policy(context, params, call_id):
            seen.append(params)
            return params["order"] > 100

        async def policy_later(context, params, call_id):
            return policy(context, params, call_id)

        if not wrapped and not consulted and SDK < (0, 24):
            pytest.skip("the SDK's own tools have this rule from 0.24 on")
        desk = Desk(policy=policy_later if is_async else policy)
        agent = desk.agent([function_call("cancel_order", arguments, call_id="call_1")], DONE)
        if not wrapped:

            @function_tool(needs_approval=desk.policy)
            def cancel_order(order: int, reason: str = "none") -> str:
                return "cancelled"

            agent.tools = [cancel_order]

        result = await Runner.run(agent, "go")

        assert bool(seen) is consulted
        assert bool(result.interruptions) is asked

    async def test_types_that_run_code_are_asked_about(self):
        """A validator may change what runs, so the policy is not consulted about such a parameter."""

        @editable
        @function_tool(needs_approval=lambda context, params, call_id: False)
        def pay(
            kind: Literal["card", "cash"],
            to: Annotated[str, BeforeValidator(str.upper)],
            note: Annotated[str | None, "for the receiver"],
        ) -> str:
            return to

        agent = Desk().agent(says(("pay", {"kind": "card", "to": "ERIK", "note": None})), DONE, more=[pay])

        assert [item.name for item in (await Runner.run(agent, "go")).interruptions] == ["pay"]

    async def test_plain_types_are_left_to_the_policy(self):
        """Literals, options and described parameters are data only."""

        @editable
        @function_tool(needs_approval=lambda context, params, call_id: False)
        def pay(
            kind: Literal["card", "cash"], tags: list[str], note: Annotated[str | None, "for the receiver"]
        ) -> str:
            return "paid"

        agent = Desk().agent(says(("pay", {"kind": "card", "tags": ["a"], "note": None})), DONE, more=[pay])

        assert (await Runner.run(agent, "go")).final_output == "done"

    async def test_unreadable_arguments_are_shown_as_they_are(self):
        """A person sees what the model wrote; approving it runs nothing, since the tool refuses it."""
        desk = Desk()
        reviewer = ScriptedReviewer([approve()])
        turn = [function_call("cancel_order", '{"order": 7,', call_id="call_1")]

        result = await run(desk.agent(turn, DONE), "go", approvals=InMemoryApprovalClient(reviewer))

        assert reviewer.asked[0].args == {"arguments": '{"order": 7,'}
        assert desk.ran == []
        assert "error" in answers_to_model(result)["call_1"].lower()


@pytest.mark.parametrize(
    ("arguments", "says_what"),
    [
        (
            '{"order": 7, "reason": "a", "order": 8}',
            r"cancel_order \(call_1\): key 'order' appears twice in one object",
        ),
        ('{"order": 7, "reason": {"a": 1, "a": 2}}', "key 'a' appears twice in one object"),
        ('{"order": NaN, "reason": "a"}', "NaN is not JSON"),
        ('{"order": 7, "reason": ' + "[" * 300 + "]" * 300 + "}", "nested deeper than"),
    ],
)
async def test_what_a_tool_would_read_otherwise_than_it_is_shown_is_refused(arguments, says_what):
    """The tool would run the last of two values, and a person may have approved the first."""
    desk, reviewer = Desk(), ScriptedReviewer([])
    turn = [function_call("cancel_order", arguments, call_id="call_1")]

    with pytest.raises(InvalidRequestError, match=says_what):
        await run(desk.agent(turn, DONE), "go", approvals=InMemoryApprovalClient(reviewer))

    assert (desk.ran, reviewer.asked) == ([], [])


@pytest.mark.parametrize("arguments", ["[7]", "null", '"7"'])
async def test_json_that_is_not_an_object_is_shown_as_it_is_and_runs_nothing(arguments):
    """The tool refuses it also when it is approved."""
    desk, reviewer = Desk(), ScriptedReviewer([approve()])
    turn = [function_call("cancel_order", arguments, call_id="call_1")]

    result = await run(desk.agent(turn, DONE), "go", approvals=InMemoryApprovalClient(reviewer))

    assert reviewer.asked[0].args == {"arguments": arguments}
    assert desk.ran == []
    assert "error" in answers_to_model(result)["call_1"].lower()


class TestEdits:
    """A person changes the arguments of a call."""

    @pytest.mark.parametrize(
        ("args", "problem"),
        [
            ({"order": "many", "reason": "x"}, r"args\.order: Input should be a valid integer"),
            ({"order": 7}, r"args\.reason: field required"),
            ({"order": 7, "reason": "x", "force": True}, r"args\.force: no such argument"),
        ],
    )
    async def test_arguments_that_do_not_fit_are_refused(self, args, problem):
        """Nothing of the batch ran, and the question can still be answered."""
        desk = Desk()
        agent = desk.agent(says(("send_email", MAIL), CANCEL), DONE)
        paused = PausedRun.of(agent, await Runner.run(agent, "go"))
        items = paused.state.get_interruptions()
        bad = edit(args)(to_request(items).action_requests[1])

        with pytest.raises(
            DecisionNotAllowedError, match=f"the edited cancel_order does not fit .*{problem}"
        ):
            paused.decided((resume_with(approve(), bad), items))

        still = await Runner.run(agent, paused.state)
        assert [item.call_id for item in still.interruptions] == ["call_1", "call_2"]
        assert desk.ran == []

    async def test_an_edit_that_the_tool_would_turn_into_another_value_is_refused(self):
        """The SDK reads the arguments with a model of the function; what it would make of them was not approved."""
        paid = []

        @function_tool(needs_approval=True)
        def pay(to: str, cents: Annotated[int, AfterValidator(abs)]) -> str:
            paid.append((to, cents))
            return "paid"

        if version("openai-agents").startswith("0.22."):
            pytest.skip("SDK 0.22 applies no validators of a parameter, so the call runs as it was typed")
        turn = says(("pay", {"to": "bo", "cents": 1}))
        agent = Agent(name="Support", model=ScriptedModel([turn, DONE]), tools=[editable(pay)])
        approvals = approvals_of([edit({"to": "al", "cents": -5000})])

        with pytest.raises(
            DecisionNotAllowedError, match=r"args\.cents: -5000 was approved, but 5000 would have run"
        ):
            await run(agent, "go", approvals=approvals)

        assert paid == []

    async def test_edit_is_for_one_call(self):
        """Another call of the same tool with the same arguments in the same turn runs as it was approved."""
        desk = Desk()
        approvals = approvals_of([edit({"order": 99, "reason": "x"}), approve()])

        await run(desk.agent(says(CANCEL, CANCEL), DONE), "go", approvals=approvals)

        assert sorted(args["order"] for _, args in desk.ran) == [7, 99]

    async def test_edit_does_not_reach_another_run(self):
        """Runs of one agent at the same time share its tools, and their servers share call ids."""
        desk = Desk()
        agents = [desk.agent(says(CANCEL), DONE) for _ in range(2)]
        agents[1].tools = agents[0].tools

        await run(agents[0], "go", approvals=approvals_of([edit({"order": 99, "reason": "x"})]))
        await run(agents[1], "go", approvals=approvals_of([approve()]))

        assert [args["order"] for _, args in desk.ran] == [99, 7]

    @pytest.mark.parametrize(
        "output",
        [ToolOutputText(text="fine"), [ToolOutputText(text="fine")], {"type": "text", "text": "fine"}],
    )
    async def test_structured_outputs_keep_their_shape(self, output):
        """The note is a part of its own beside pictures and files."""

        @editable
        @function_tool(needs_approval=True)
        def draw(what: str):
            return output

        agent = Desk().agent(says(("draw", {"what": "a"})), DONE, more=[draw])

        result = await run(agent, "go", approvals=approvals_of([edit({"what": "b"})]))

        note, drawn = answers_to_model(result)["call_1"]
        assert note["text"].endswith('It was called with: {"what":"b"}]')
        assert drawn["text"] == "fine"

    async def test_objects_are_written_as_the_sdk_writes_them(self):
        """Other outputs become text, as they do without an edit."""

        @editable
        @function_tool(needs_approval=True)
        def count(what: str) -> dict[str, int]:
            return {what: 3}

        agent = Desk().agent(says(("count", {"what": "a"})), DONE, more=[count])

        result = await run(agent, "go", approvals=approvals_of([edit({"what": "b"})]))

        assert answers_to_model(result)["call_1"] == NOTE.format('{"what":"b"}', "{'b': 3}")

    async def test_converters_alone_run_the_edit_within_editing(self):
        """Whoever drives the SDK by hand opens `editing` around both steps."""
        desk = Desk()
        agent = desk.agent(says(CANCEL), DONE)
        result = await Runner.run(agent, "go")
        change = edit({"order": 99, "reason": "x"})(to_request(result.interruptions).action_requests[0])

        with editing():
            state = to_resume(resume_with(change), result.to_state())
            await Runner.run(agent, state)

        assert desk.ran == [("cancel_order", {"order": 99, "reason": "x"})]

    async def test_an_edit_that_would_be_lost_is_refused(self):
        """Without `editing`, the call would run as the model wrote it."""
        desk = Desk()
        result = await Runner.run(desk.agent(says(CANCEL), DONE), "go")
        change = edit({"order": 99, "reason": "x"})(to_request(result.interruptions).action_requests[0])

        with pytest.raises(DecisionNotAllowedError, match="open `with editing"):
            to_resume(resume_with(change), result.to_state())

    async def test_a_call_that_only_resembles_an_edited_one_is_not_run(self):
        """Where an edit cannot be told from that of another call, neither set of arguments runs."""
        desk = Desk()
        agent = desk.agent(says(CANCEL), DONE)
        with editing({("Support", "cancel_order", "call_1", '{"order":1}'): None}):
            agent.tools[1].needs_approval = False
            with pytest.raises(UserError, match="was edited, and comes again"):
                await Runner.run(agent, "go")

        assert desk.ran == []

    def test_what_cannot_be_edited_is_refused_when_it_is_made(self):
        """Hosted tools have no arguments here; an output with a schema has no room for the note."""
        with pytest.raises(InvalidRequestError, match="only function tools"):
            editable(object())

        @function_tool
        def price(of: str) -> str:
            return of

        price.output_json_schema = {"type": "object"}
        with pytest.raises(InvalidRequestError, match="price: its output has a schema"):
            editable(price)

    def test_editable_twice_is_editable_once(self):
        """The tool that was given stays as it was."""

        @function_tool
        def price(of: str) -> str:
            return of

        once = editable(price)

        assert editable(once) is once
        assert once is not price
        assert price.__wrapped__("x") == "x"


class TestAlways:
    """A decision may hold for the rest of the run."""

    APPROVE, REJECT = ApproveDecision(always=True), RejectDecision(message="never", always=True)
    LATER = ("cancel_order", {"order": 8, "reason": "x"})

    async def asked_and_ran(self, turn, answers, **options):
        desk, reviewer = Desk(), ScriptedReviewer(answers)
        agent = desk.agent(turn, says(self.LATER, first_call=9), DONE)
        approvals = OneByOne(reviewer)
        result = await run(agent, "go", approvals=approvals, allow_always=["cancel_order"], **options)
        return len(reviewer.asked), [args.get("order") for _, args in desk.ran], answers_to_model(result)

    async def test_always_approve_is_not_asked_again(self):
        """Later calls of the tool run without a question."""
        assert (await self.asked_and_ran(says(CANCEL), [self.APPROVE]))[:2] == (1, [7, 8])

    async def test_always_reject_is_not_asked_again(self):
        """Later calls of the tool are rejected in the same words."""
        asked, ran, said = await self.asked_and_ran(says(CANCEL), [self.REJECT])

        assert (asked, ran) == (1, [])
        assert said["call_9"] == said["call_1"]
        assert "never" in said["call_9"]

    @pytest.mark.parametrize("position", [0, 1])
    async def test_each_call_of_the_turn_gets_its_own_decision(self, position):
        """A rejected call does not run because another of its tool was approved for good, in either order."""
        answers = [reject("not this")]
        answers.insert(position, self.APPROVE)
        turn = says(
            ("cancel_order", {"order": 1, "reason": ""}), ("cancel_order", {"order": 2, "reason": ""})
        )

        asked, ran, _ = await self.asked_and_ran(turn, answers)

        assert asked == 2
        assert ran == [position + 1, 8]

    async def test_of_two_that_contradict_each_other_the_rejection_stays(self):
        """Each call of the turn is decided as it was; later ones do not run."""
        turn = says(
            ("cancel_order", {"order": 1, "reason": ""}), ("cancel_order", {"order": 2, "reason": ""})
        )

        asked, ran, _ = await self.asked_and_ran(turn, [self.REJECT, self.APPROVE])

        assert asked == 2
        assert ran == [2]

    async def test_it_is_refused_where_it_was_not_offered(self):
        """A person may not decide for good about a tool that the developer did not name."""
        desk = Desk()
        result = await Runner.run(desk.agent(says(CANCEL), DONE), "go")

        with pytest.raises(DecisionNotAllowedError, match="for this call only"):
            to_resume(resume_with(self.APPROVE), result.to_state())

    async def test_with_partial_other_open_calls_keep_their_own_question(self):
        """Approved for the run on one card, the tool still waits for the other card; later calls are not asked about."""
        turn = says(
            ("cancel_order", {"order": 1, "reason": ""}), ("cancel_order", {"order": 2, "reason": ""})
        )

        asked, ran, _ = await self.asked_and_ran(turn, [self.APPROVE, reject("not this")], partial=True)

        assert asked == 2
        assert ran == [1, 8]

    async def test_with_partial_a_rejection_for_the_run_leaves_the_other_card_open(self):
        """What somebody approves on its own card runs; later calls do not."""
        turn = says(
            ("cancel_order", {"order": 1, "reason": ""}), ("cancel_order", {"order": 2, "reason": ""})
        )

        asked, ran, _ = await self.asked_and_ran(turn, [self.REJECT, approve()], partial=True)

        assert asked == 2
        assert ran == [2]

    async def test_a_subset_that_is_answered_by_hand_decides_no_other_call(self):
        """A decision for the run is only applied when no other call of its tool waits for its own decision."""
        desk = Desk()
        turn = says(
            ("cancel_order", {"order": 1, "reason": ""}), ("cancel_order", {"order": 2, "reason": ""})
        )
        agent = desk.agent(turn, DONE)
        state = (await Runner.run(agent, "go")).to_state()

        first = state.get_interruptions()[:1]
        to_resume(resume_with(self.APPROVE), state, interruptions=first, allow_always=["cancel_order"])
        result = await Runner.run(agent, state)

        assert [args["order"] for _, args in desk.ran] == [1]
        assert len(result.interruptions) == 1


BAD = {
    "too few decisions": ((approve(),), "1 decisions for 2 actions"),
    "an open action": ((approve(), None), r"\(cancel_order\) was left open"),
    "a kind that is not allowed": (
        (edit({"question": "x"}), approve()),
        r"decision 1 \(ask_user\): edit is not one of approve, reject, respond",
    ),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_decision_leaves_the_state_as_it_was(case):
    """All decisions are checked before the first is applied."""
    desk = Desk()
    agent = desk.agent(says(("ask_user", {"question": "?"}), CANCEL), DONE)
    result = await Runner.run(agent, "go")
    state = result.to_state()
    actions = to_request(result.interruptions).action_requests
    decisions, problem = BAD[case]
    decisions = [d(actions[0]) if callable(d) else d for d in decisions]

    with pytest.raises(DecisionNotAllowedError, match=problem):
        to_resume(resume_with(*decisions), state)

    assert len((await Runner.run(agent, state)).interruptions) == 2
    assert desk.ran == []


@pytest.mark.parametrize("status", ["withdrawn", "refused"])
async def test_what_was_never_decided_resumes_nothing(status):
    """There is no answer in an interrupt that was withdrawn."""
    result = await Runner.run(Desk().agent(says(CANCEL)), "go")

    with pytest.raises(DecisionNotAllowedError, match=f"was {status}"):
        to_resume(resume_with(approve(), status=status), result.to_state())


async def test_call_ids_that_come_twice_stop_the_run():
    """The SDK itself refuses two calls of one id; nothing ran."""
    desk = Desk()
    turn = [function_call("cancel_order", {"order": n, "reason": ""}, call_id="call_1") for n in (1, 2)]

    with pytest.raises(ModelBehaviorError):
        await run(desk.agent(turn, DONE), "go", approvals=approvals_of([]))

    assert desk.ran == []


async def test_two_calls_with_the_same_id_are_refused():
    """Two agents of one name, called at once, may use one call id: their decisions could be mixed up."""
    agent = Desk().agent(says(CANCEL))
    result = await Runner.run(agent, "go")
    paused = PausedRun.of(agent, result)

    with pytest.raises(InvalidRequestError, match="call id call_1 appears 2 times"):
        paused.interrupt(approvals_of([]), interruptions=result.interruptions * 2)


async def test_a_bare_state_is_refused():
    """It does not say which run it is of, so nothing would keep it from being resumed twice."""
    agent = Desk().agent(says(CANCEL), DONE)
    state = (await Runner.run(agent, "go")).to_state()

    with pytest.raises(InvalidRequestError, match=r"PausedRun\.of\(agent, state, id="):
        await run(agent, state, approvals=approvals_of([]))
    with pytest.raises(InvalidRequestError, match=r"PausedRun\.of\(agent, state, id="):
        PausedRun.of(agent, state)


def test_no_interruptions_is_an_error():
    """There is nothing to ask."""
    with pytest.raises(InvalidRequestError, match="does not wait for anything"):
        to_request([])


async def test_a_misspelt_option_is_refused():
    """Where and how long to ask is checked before anything is asked."""
    with pytest.raises(InvalidRequestError, match="chanel"):
        await run(Desk().agent(says(CANCEL)), "go", approvals=approvals_of([]), chanel="C1")


WRONG = {
    "an agent's name": ({"agent": "A"}, "agent: this is a text: pass the Agent itself"),
    "no agent": ({"agent": None}, "agent: this is None: pass the Agent itself"),
    "no input": ({"input": None}, "input: this is None: pass a text, a list of input items"),
    "a number": ({"input": 5}, "input: this is an int: pass a text"),
    "options in a list": ({"options": ["a"]}, "options: this is a list: pass a dictionary"),
    "a session among the options": (
        {"options": {"session": SQLiteSession("1")}},
        r"options\['session'\]: pass it as session=",
    ),
    "an option that is not there": (
        {"options": {"max_turn": 3}},
        r"options\['max_turn'\]: Runner\.run has no such argument \(did you mean 'max_turns'\?\)",
    ),
    "always": ({"allow_always": True}, "allow_always: this is a bool: pass a list with the names of tools"),
    "a text": ({"allow_always": "send_email"}, "allow_always: this is a text: pass a list"),
    "numbers": ({"allow_always": [1]}, "allow_always: this is an int: pass a list"),
    "no such tool": (
        {"allow_always": ["sned_email"]},
        r"allow_always\['sned_email'\]: no tool has this name \(did you mean 'send_email'\?\)",
    ),
    "a time in words": ({"expires_in": "2s"}, "expires_in: this is a text: pass a timedelta"),
    "a channel's name": ({"channel": "#x"}, "channel: '#x' is not the id of a channel"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_argument_is_an_error_before_the_model_is_called(case):
    """Otherwise tools that need no approval would have run by then."""
    wrong, says_what = WRONG[case]
    desk = Desk()
    agent = desk.agent(TURN, DONE)
    given = {"agent": agent, "input": "go", **wrong}

    for attempt in (run, _streamed):
        with pytest.raises(InvalidRequestError, match=says_what):
            await attempt(given["agent"], approvals=approvals_of([]), **_but(given, "agent"))

    assert agent.model.calls == ()


async def _streamed(agent, input, **options):
    return [event async for event in stream(agent, input, **options)]


def _but(given, *names):
    return {name: value for name, value in given.items() if name not in names}


async def test_names_of_tools_that_servers_or_others_bring_are_not_refused():
    """Nobody knows here what they are called."""
    desk, approvals = Desk(), approvals_of([])
    server = HostedMCPTool(tool_config={"type": "mcp", "server_label": "sums", "server_url": "https://x"})

    result = await run(desk.agent(DONE, more=[server]), "go", approvals=approvals, allow_always=["add"])

    assert result.final_output == "done"


async def test_tools_of_agents_behind_the_first_one_may_be_decided_for_the_run():
    """By a handoff, or as a tool."""
    desk = Desk()
    inner = desk.agent(DONE, name="Billing")
    for options in ({"handoffs": [inner]}, {"tools": [inner.as_tool("billing", "Bill.")]}):
        front = Agent(name="Front", model=ScriptedModel([DONE]), **options)
        await run(front, "go", approvals=approvals_of([]), allow_always=["cancel_order"])


async def test_a_client_that_is_not_connected_is_an_error_before_the_model_is_called(redis_url):
    """Not yet, or not any more."""
    agent = Desk().agent(TURN, DONE)
    approvals = ApprovalClient.from_url(redis_url, agent="billing")

    for says_what in ("not connected", "was closed"):
        for attempt in (run, _streamed):
            with pytest.raises(AgentAdapterError, match=says_what):
                await attempt(agent, "go", approvals=approvals)
        with pytest.raises(AgentAdapterError, match=says_what):
            await ResumableAgent("support", agent, version="1").start("go", approvals=approvals)
        async with approvals:
            pass

    assert agent.model.calls == ()


@pytest.mark.parametrize("partial", [False, True])
async def test_a_run_that_is_cancelled_twice_takes_its_questions_back(client, redis_url, partial):
    """All of them, however long Redis takes."""
    agent = Desk().agent(TURN, DONE)
    running = asyncio.create_task(run(agent, "go", approvals=client, partial=partial))
    async with Redis.from_url(redis_url, decode_responses=True) as redis:
        await eventually(lambda: has_notes(redis, "published", 3 if partial else 1))
        await redis.client_pause(500, all=False)
        running.cancel()
        await asyncio.sleep(0.1)
        running.cancel()
        await asyncio.wait([running])
        await eventually(lambda: has_notes(redis, "withdraw_asked", 3 if partial else 1))

    assert running.cancelled()


async def test_a_run_that_waits_while_its_client_closes_takes_its_questions_back(redis_url):
    """Nobody could find them again."""
    async with Redis.from_url(redis_url, decode_responses=True) as redis:
        async with an_agent(redis_url) as client:
            running = asyncio.create_task(run(Desk().agent(TURN, DONE), "go", approvals=client, partial=True))
            await eventually(lambda: has_notes(redis, "published", 3))

        assert await has_notes(redis, "withdraw_asked", 3)
    with pytest.raises(AgentAdapterError, match="closed"):
        await running


async def has_notes(redis, event, number):
    """Whether this has happened to so many records."""
    events = [note["event"] for _, note in await redis.xrange("{assent}:inbox:billing")]
    return events.count(event) == number


def test_missing_package_says_what_to_install(monkeypatch):
    """Who has not installed the SDK reads which package to add."""
    name = "agent_adapter.integrations.openai_agents"
    for module in [module for module in sys.modules if module.startswith(name)]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "agents", None)

    with pytest.raises(ImportError, match=r'pip install "openai-agents>=0\.22" \(.*agents.*\)'):
        importlib.import_module(name)


async def test_a_state_with_an_id_is_asked_about():
    """A state of one's own keeping goes on, once it is said which run it is of."""
    desk = Desk()
    agent = desk.agent(says(CANCEL), DONE)
    stored = (await Runner.run(agent, "go")).to_state().to_json()
    state = await RunState.from_json(agent, stored)

    result = await run(agent, PausedRun.of(agent, state, id="order-7"), approvals=approvals_of([approve()]))

    assert desk.ran == [CANCEL]
    assert result.final_output == "done"


NUMBERS = '{"to": "a@x.com", "amount": 9007199254740993.99, "rate": 1.10, "steps": [1E5, -0]}'


def a_payment(ran):
    """A tool that reads its arguments itself: the SDK hands it text."""

    async def pay(_, arguments):
        ran.append(arguments)
        return "paid"

    return FunctionTool("pay", "Pay.", {"type": "object"}, pay, strict_json_schema=False, needs_approval=True)


async def test_an_approved_call_runs_with_the_very_text_of_its_numbers():
    """What the model wrote is what is shown and what the tool is handed, to the last digit."""
    ran, reviewer = [], ScriptedReviewer([approve()])
    agent = Desk().agent([function_call("pay", NUMBERS, call_id="call_1")], DONE, more=[a_payment(ran)])

    await run(agent, "go", approvals=InMemoryApprovalClient(reviewer))

    assert ran == [NUMBERS]
    assert encode(reviewer.asked[0].args) == NUMBERS.replace(": ", ":").replace(", ", ",")


async def test_an_edited_call_keeps_the_text_of_the_numbers_that_nobody_touched():
    """The person changes who is paid; the amount stays digit by digit."""
    ran: list[str] = []
    edited = {**decode(NUMBERS), "to": "b@x.com"}
    agent = Desk().agent(
        [function_call("pay", NUMBERS, call_id="call_1")], DONE, more=[editable(a_payment(ran))]
    )

    await run(agent, "go", approvals=approvals_of({"pay": edit(edited)}))

    assert ran == ['{"to":"b@x.com","amount":9007199254740993.99,"rate":1.10,"steps":[1E5,-0]}']
