"""Running agents of the OpenAI Agents SDK with approvals in between."""

import asyncio
from contextlib import aclosing
from importlib.metadata import version
from typing import Annotated

import agents
import pytest
from agents import Agent, FunctionTool, Runner, ToolOutputText, function_tool
from agents.testing import ScriptedModel, function_call
from pydantic import AfterValidator

from agent_adapter import approval_key
from agent_adapter.client import ApprovalClient
from agent_adapter.contract.arguments import decode, encode
from agent_adapter.contract.hitl import ApproveDecision, RejectDecision
from agent_adapter.errors import AgentAdapterError, DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.functions import requires_approval
from agent_adapter.integrations.openai_agents import PausedRun, editable, run, stream, to_request, to_resume
from agent_adapter.integrations.openai_agents.tools import DecidedCall, going_on
from agent_adapter.testing import approve, edit, reject, respond
from agent_adapter.worker.openai_agents import ResumableAgent
from tests.agent_adapter.integrations.desk import DONE, MAIL, TURN, Desk, answers_to_model, says
from tests.support.builders import a_resume
from tests.support.deciding import deciding

NOTE = "[A person changed the arguments of this call before it ran. It was called with: {}]\n\n{}"
SDK = tuple(int(number) for number in agents.__version__.split(".")[:2])
CANCEL = ("cancel_order", {"order": 7, "reason": "late"})


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


async def test_more_calls_than_one_question_holds_are_asked_one_after_another(monkeypatch):
    """Every call is asked once and runs once. The SDK takes seconds for as many as a question really holds."""
    monkeypatch.setattr("agent_adapter.integrations.openai_agents.MAX_ACTIONS", 2)
    desk, approvals = Desk(), deciding(cancel_order=approve())
    turn = says(*(("cancel_order", {"order": number, "reason": ""}) for number in range(3)))

    await run(desk.agent(turn, DONE), "go", approvals=approvals)

    assert [len(asked.pauses) for asked in approvals.asked] == [2, 1]
    assert sorted(args["order"] for _, args in desk.ran) == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "consulted", "asked"),
    [
        ({"order": 7, "reason": "x"}, True, False),
        ({"order": 700, "reason": "x"}, True, True),
        ({"order": "7", "reason": "x"}, False, True),
    ],
)
async def test_an_editable_tool_keeps_its_policy(arguments, consulted, asked):
    """The SDK asks a callable `needs_approval` only about arguments that run as the model wrote them."""
    if SDK < (0, 23) and not consulted:
        pytest.skip("SDK 0.22 asks it about these, too")
    seen = []

    def policy(context, params, call_id):
        seen.append(params)
        return params["order"] > 100

    turn = [function_call("cancel_order", arguments, call_id="call_1")]
    result = await Runner.run(Desk(policy=policy).agent(turn, DONE), "go")

    assert bool(seen) is consulted
    assert bool(result.interruptions) is asked


async def test_what_a_tool_would_read_otherwise_than_it_is_shown_is_refused():
    """The tool would run the last of two values, and a person may have approved the first."""
    desk, approvals = Desk(), deciding()
    turn = [function_call("cancel_order", '{"order": 7, "reason": "a", "order": 8}', call_id="call_1")]

    with pytest.raises(InvalidRequestError, match=r"cancel_order \(call_1\): key 'order' appears twice"):
        await run(desk.agent(turn, DONE), "go", approvals=approvals)

    assert (desk.ran, approvals.asked) == ([], ())


@pytest.mark.parametrize("arguments", ["[7]", "null", '"7"', '{"order": 7,'])
async def test_what_is_not_a_json_object_is_shown_as_it_is_and_runs_nothing(arguments):
    """The tool refuses it also when it is approved."""
    desk, approvals = Desk(), deciding(approve())
    turn = [function_call("cancel_order", arguments, call_id="call_1")]

    result = await run(desk.agent(turn, DONE), "go", approvals=approvals)

    assert approvals.reviewer.asked[0].args == {"arguments": arguments}
    assert desk.ran == []
    assert "error" in answers_to_model(result)["call_1"].lower()


@pytest.mark.parametrize("is_editable", [False, True])
async def test_a_call_keeps_the_text_of_the_numbers_that_nobody_touched(is_editable):
    """What the model wrote is what is shown and what the tool is handed, to the last digit; an edit changes who is paid."""
    ran, numbers = [], '{"to":"a@x.com","amount":9007199254740993.99,"rate":1.10,"steps":[1E5,-0]}'

    async def pay(_, arguments):
        ran.append(arguments)
        return "paid"

    tool = FunctionTool("pay", "Pay.", {"type": "object"}, pay, strict_json_schema=False, needs_approval=True)
    approvals = deciding(edit({**decode(numbers), "to": "b@x.com"}) if is_editable else approve())
    turn = [function_call("pay", numbers, call_id="call_1")]
    agent = Desk().agent(turn, DONE, more=[editable(tool) if is_editable else tool])

    await run(agent, "go", approvals=approvals)

    assert ran == [numbers.replace("a@x.com", "b@x.com") if is_editable else numbers]
    assert encode(approvals.reviewer.asked[0].args) == numbers


class TestEdits:
    """A person changes the arguments of a call."""

    async def test_arguments_that_do_not_fit_are_refused(self):
        """Nothing of the batch ran, and the question can still be answered."""
        desk = Desk()
        agent = desk.agent(says(("send_email", MAIL), CANCEL), DONE)
        paused = PausedRun.of(agent, await Runner.run(agent, "go"))
        items = paused.state.get_interruptions()
        bad = edit({"order": 7})(to_request(items).action_requests[1])

        with pytest.raises(
            DecisionNotAllowedError, match=r"the edited cancel_order does not fit .*'reason' is a required"
        ):
            paused.decided(a_resume(approve(), bad), items)

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
        approvals = deciding(edit({"to": "al", "cents": -5000}))

        with pytest.raises(
            DecisionNotAllowedError, match=r"args\.cents: its type or a validator would change"
        ):
            await run(agent, "go", approvals=approvals)

        assert paid == []

    async def test_edit_does_not_reach_another_run(self):
        """Runs of one agent at the same time share its tools, and their servers share call ids."""
        desk = Desk()
        agents = [desk.agent(says(CANCEL), DONE) for _ in range(2)]
        agents[1].tools = agents[0].tools

        await run(agents[0], "go", approvals=deciding(edit({"order": 99, "reason": "x"})))
        await run(agents[1], "go", approvals=deciding(approve()))

        assert [args["order"] for _, args in desk.ran] == [99, 7]

    @pytest.mark.parametrize(
        ("output", "heard"),
        [
            (ToolOutputText(text="fine"), "fine"),
            ([ToolOutputText(text="fine")], "fine"),
            ({"type": "text", "text": "fine"}, "fine"),
            # Anything else becomes text, as it does without an edit.
            ({"b": 3}, None),
        ],
    )
    async def test_outputs_keep_their_shape(self, output, heard):
        """The note is a part of its own beside pictures and files, and stands above a text."""

        @editable
        @function_tool(needs_approval=True)
        def draw(what: str):
            return output

        agent = Desk().agent(says(("draw", {"what": "a"})), DONE, more=[draw])

        result = await run(agent, "go", approvals=deciding(edit({"what": "b"})))

        said = answers_to_model(result)["call_1"]
        if heard is None:
            assert said == NOTE.format('{"what":"b"}', "{'b': 3}")
        else:
            assert said[0]["text"].endswith('It was called with: {"what":"b"}]')
            assert said[1]["text"] == heard

    async def test_a_state_cannot_hold_an_edit(self):
        """The converters alone refuse it; otherwise the call would run unchanged."""
        result = await Runner.run(Desk().agent(says(CANCEL), DONE), "go")
        change = edit({"order": 99, "reason": "x"})(to_request(result.interruptions).action_requests[0])

        with pytest.raises(DecisionNotAllowedError, match=r"use `run` or `PausedRun\.decided`"):
            to_resume(a_resume(change), result.to_state())

    async def test_a_call_that_only_resembles_an_edited_one_is_not_run(self):
        """Where an edit cannot be told from that of another call, neither set of arguments runs."""
        desk = Desk()
        agent = desk.agent(says(CANCEL), DONE)
        edited = {("Support", "cancel_order", "call_1", '{"order":1}'): DecidedCall(args={"order": 2})}
        agent.tools[1].needs_approval = False
        with going_on(edited, [agent], deciding()):
            result = await Runner.run(agent, "go")

        assert desk.ran == []
        assert "error" in answers_to_model(result)["call_1"]

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


ALWAYS, NEVER = ApproveDecision(always=True), RejectDecision(message="never", always=True)
TWO = says(("cancel_order", {"order": 1, "reason": ""}), ("cancel_order", {"order": 2, "reason": ""}))


@pytest.mark.parametrize(
    ("turn", "answers", "ran"),
    [
        (says(CANCEL), [ALWAYS], [7, 8]),
        (says(CANCEL), [NEVER], []),
        # Each call of the turn gets its own decision, in either order; of two that contradict each other the rejection stays.
        (TWO, [ALWAYS, reject("not this")], [1, 8]),
        (TWO, [reject("not this"), ALWAYS], [2, 8]),
        (TWO, [NEVER, ALWAYS], [2]),
    ],
)
async def test_a_decision_for_the_run_is_about_later_calls(turn, answers, ran):
    """Nobody is asked about them again, and they are rejected in the same words."""
    desk, approvals = Desk(), deciding(*answers)
    agent = desk.agent(turn, says(("cancel_order", {"order": 8, "reason": "x"}), first_call=9), DONE)

    result = await run(agent, "go", approvals=approvals, allow_always=["cancel_order"])

    assert len(approvals.reviewer.asked) == len(answers)
    assert [args["order"] for _, args in desk.ran] == ran
    assert ("never" in answers_to_model(result)["call_9"]) is (NEVER in answers)


async def test_a_decision_for_the_run_never_decides_about_a_call_of_the_same_turn_on_another_card():
    """While the calls of a turn are on several cards, each card decides about its own calls only."""
    result = await Runner.run(Desk().agent(TWO, DONE), "go")
    paused = PausedRun.of(agent=result.last_agent, result=result, allow_always=["cancel_order"])
    first, second = paused.state.get_interruptions()

    for items, offered in (([first], [False]), ([first, second], [True, True])):
        asked = paused.interrupt(deciding(), interruptions=items)
        assert [config.allow_always for config in asked.request.review_configs] == offered


async def test_a_decision_for_the_run_that_was_not_offered_is_refused():
    """A person may not decide for good about a tool that the developer did not name."""
    result = await Runner.run(Desk().agent(says(CANCEL), DONE), "go")

    with pytest.raises(DecisionNotAllowedError, match="for this call only"):
        to_resume(a_resume(ALWAYS), result.to_state())


async def test_a_bad_decision_leaves_the_state_as_it_was():
    """All decisions are checked before the first is applied."""
    desk = Desk()
    agent = desk.agent(says(("ask_user", {"question": "?"}), CANCEL), DONE)
    result = await Runner.run(agent, "go")
    state = result.to_state()

    with pytest.raises(DecisionNotAllowedError, match=r"\(cancel_order\) was left open"):
        to_resume(a_resume(approve(), None), state)

    assert len((await Runner.run(agent, state)).interruptions) == 2
    assert desk.ran == []


WRONG = {
    "an agent's name": ({"agent": "A"}, "agent: this is a text: pass the Agent itself"),
    "no agent": ({"agent": None}, "agent: this is None: pass the Agent itself"),
    "no input": ({"input": None}, "input: this is None: pass a text, a list of input items"),
    "a number": ({"input": 5}, "input: this is an int: pass a text"),
    "options in a list": ({"options": ["a"]}, "options: this is a list: pass a dictionary"),
    "always": ({"allow_always": True}, "allow_always: this is a bool: pass a list with the names of tools"),
    "a text": ({"allow_always": "send_email"}, "allow_always: this is a text: pass a list"),
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
            await attempt(**given, approvals=deciding())

    assert agent.model.calls == ()


async def _streamed(agent, input, **options):
    return [event async for event in stream(agent, input, **options)]


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


async def test_lists_of_calls_that_cannot_be_answered_are_refused():
    """None, or two of one call id, as of two agents of one name: their decisions could be mixed up."""
    agent = Desk().agent(says(CANCEL))
    result = await Runner.run(agent, "go")

    with pytest.raises(InvalidRequestError, match="does not wait for anything"):
        to_request([])
    with pytest.raises(InvalidRequestError, match="call id call_1 appears 2 times"):
        PausedRun.of(agent, result).interrupt(deciding(), interruptions=result.interruptions * 2)


async def test_a_tool_may_be_a_gated_function():
    """As in a realtime session, which cannot pause: the call itself asks, and the conversation goes on meanwhile."""
    approvals = deciding(edit({"amount": 6}))

    @function_tool
    @requires_approval(approvals, on_reject=str)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount} under {approval_key()}"

    result = await Runner.run(Desk().agent(says(("pay", {"amount": 5})), DONE, more=[pay]), "go")

    (asked,) = approvals.asked
    assert answers_to_model(result)["call_1"] == f"paid 6 under {asked.id}:0"


ANSWERS = {
    "send_email": edit({"to": "b@x.com", "body": ""}),
    "cancel_order": reject("no"),
    "ask_user": respond("staging"),
}


async def test_a_stream_that_has_ended_has_the_result():
    """Calls, outputs and the last message came in one stream. The final output is what `run` would have returned, also after a pause; before the end, asking for it is an error."""
    desk = Desk()
    approvals = deciding(**ANSWERS)
    streamed = stream(desk.agent(TURN, DONE), "go", approvals=approvals)

    with pytest.raises(AgentAdapterError, match="has not finished: iterate over its events"):
        _ = streamed.result
    names = [event.name async for event in streamed if event.type == "run_item_stream_event"]

    assert [names.count(name) for name in ("tool_called", "tool_output")] == [4, 4]
    assert names[-1] == "message_output_created"
    assert streamed.result.final_output == "done"
    assert len(streamed.result.to_input_list()) == 10


async def test_a_stream_that_is_left_stops_the_run_and_frees_the_question():
    """Nothing goes on behind the back of a caller who has gone."""
    desk, begun, ended = Desk(), asyncio.Event(), []

    @function_tool(needs_approval=True)
    async def think() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("think")
        return "thought"

    approvals = deciding(think=approve(), cancel_order=approve())
    agent = desk.agent(says(("think", {}), CANCEL), DONE, more=[think])
    paused = PausedRun.of(agent, await Runner.run(agent, "go"))
    interrupt = paused.interrupt(approvals)

    async def read():
        async with aclosing(stream(agent, paused, approvals=approvals)) as events:
            async for _ in events:
                pass

    reading = asyncio.create_task(read())
    await begun.wait()
    reading.cancel()
    await asyncio.wait([reading])

    async with asyncio.timeout(30):
        while not ended:
            await asyncio.sleep(0.01)
    async with approvals.reviewing(interrupt) as resume:
        assert len(resume.decisions) == 2
