"""Running agents of Pydantic AI with approvals in between."""

import asyncio
import json

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ApprovalRequired, FunctionToolset, RunContext, ToolReturn, UserPromptPart
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.usage import RunUsage

from agent_adapter.client import ApprovalClient
from agent_adapter.errors import (
    ConflictError,
    ConsumedError,
    DecisionNotAllowedError,
    InvalidRequestError,
    WrongArgumentError,
)
from agent_adapter.integrations.pydantic_ai import run, to_request, to_resume
from agent_adapter.testing import ScriptedReviewer, approve, edit, reject, respond
from tests.agent_adapter.integrations.counter import Counter, answers_to_model, changed, loaded, model, says
from tests.support.builders import a_resume
from tests.support.deciding import deciding, person
from tests.support.faults import eventually
from tests.support.workers import ids

PAY = ("pay", {"order": 7})
AGAIN = says(("pay", {"order": 8}))
"""A later turn whose call has the same id as that of the first turn."""
NOTE = '[A person changed the arguments of this call before it ran. It was called with: {"order":9}]'


def prompts(result):
    """Give what the model got beside the answers to its calls."""
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart)]


# --- A pause and its answer ---------------------------------------------------------------------------------------


async def test_a_request_says_what_may_be_decided():
    """Everything, with the schema of a function's arguments; to Pydantic AI an answer is a denial."""
    counter = Counter()
    text = await counter.paused(PAY, ("pay", '{"order": 1e2, "reason": "late"}'))

    request = to_request(loaded(text), toolsets=counter.agent().toolsets)

    assert [action.args["order"] for action in request.action_requests] == [7, 100]
    for config in request.review_configs:
        assert config.allowed_decisions == ("approve", "edit", "reject", "respond")
        assert config.effects == ("answer_as_rejection",)
        assert set(config.args_schema["properties"]) == {"order", "reason"}


async def test_each_answer_of_a_turn_reaches_its_call():
    """By its id, whatever stands between them; a call that needs no approval has run before, once."""
    counter = Counter()
    approvals = deciding(edit({"order": 9}), reject("Too much."), approve(), respond("Ask Mira."))
    orders = [("pay", {"order": number}) for number in range(4)]
    agent = counter.agent(says(orders[0], ("look_up", {"order": 5}), *orders[1:]), "done")

    result = await run(agent, "go", approvals=approvals)

    assert result.output == "done"
    assert counter.ran[0] == ("look_up", 5)
    assert sorted(counter.ran[1:]) == [("pay", 2), ("pay", 9)]
    answers = answers_to_model(result)
    refused = "A person rejected this call of pay, and it was not executed. Their reason: Too much."
    assert answers == {
        "call_1": ("success", "paid 9"),
        "call_2": ("success", "late"),
        "call_3": ("denied", refused),
        "call_4": ("success", "paid 2"),
        "call_5": ("denied", "Ask Mira."),
    }
    assert prompts(result) == ["go", [NOTE]]


async def test_every_pause_of_a_run_is_asked_once():
    """Also where the model's server gives a later call the id of an earlier one, whose edit is not for it."""
    counter = Counter()
    approvals = deciding(edit({"order": 9}), approve())

    result = await run(counter.agent(says(PAY), AGAIN, "done"), "go", approvals=approvals)

    assert counter.ran == [("pay", 9), ("pay", 8)]
    assert len({asked.id for asked in approvals.asked}) == 2
    assert result.usage.requests == 3


async def test_a_tool_may_decide_by_itself_and_a_toolset_by_a_function():
    """The card has the schema of the tools of an `approval_required` toolset, too."""
    tools, approvals = FunctionToolset(), deciding(approve(), approve())

    @tools.tool_plain
    def close(order: int) -> str:
        return f"closed {order}"

    gated = tools.approval_required(lambda _ctx, _tool, args: args["order"] > 5)
    turn = says(("close", {"order": 1}), ("close", {"order": 7}), ("refund", {"order": 8}))
    agent = Agent(model(turn, "done"), toolsets=[gated])

    @agent.tool
    def refund(ctx: RunContext, order: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"refunded {order}"

    result = await run(agent, "go", approvals=approvals)

    assert [action.args["order"] for action in approvals.reviewer.asked] == [7, 8]
    assert all(config.args_schema for config in approvals.asked[0].request.review_configs)
    assert [said for _, said in answers_to_model(result).values()] == ["closed 1", "closed 7", "refunded 8"]


async def test_the_output_is_that_of_the_agent():
    """Its type may be any, given to the agent or to the run; what else `agent.run` takes goes into every run."""
    counter, approvals = Counter(), deciding(approve(), approve())
    validated = counter.agent(says(PAY), "done", output_type=[str, DeferredToolRequests], deps_type=str)
    validated.output_validator(lambda ctx, output: f"{output} {ctx.deps}" if output == "done" else output)
    counted = counter.agent(says(PAY), says(("final_result", {"response": 5}), first_call=2))

    first = await run(validated, "go", approvals=approvals, options={"deps": "for Dana"})
    second = await run(counted, "go", approvals=approvals, options={"output_type": int, "usage": RunUsage()})

    assert (first.output, second.output, second.usage.requests) == ("done for Dana", 5, 2)


async def test_a_tool_that_asks_again_although_it_was_approved_ends_the_run():
    """It has not looked at `ctx.tool_call_approved`. People are not asked a second time."""
    approvals = deciding(approve(), approve())
    agent = Agent(model(says(PAY), "done"))

    @agent.tool_plain
    def pay(order: int) -> str:
        raise ApprovalRequired

    with pytest.raises(ConsumedError):
        await run(agent, "go", approvals=approvals)

    assert len(approvals.asked) == 1


@pytest.mark.parametrize("given", [(approve(), None), (approve(),)])
async def test_a_part_of_an_answer_resumes_nothing(given):
    """Pydantic AI would take it for a part of its handler's answer, and run it."""
    paused = loaded(await Counter().paused(PAY, ("pay", {"order": 8})))

    with pytest.raises(DecisionNotAllowedError, match="nothing was resumed"):
        to_resume(a_resume(*given), paused)


# --- Edits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "problem"),
    [({"order": "many"}, r"args\.order: Input should be a valid integer"),
     ({"order": 7, "force": True}, r"args\.force"),
     ({"order": True}, r"args\.order: its type or a validator would change")],
)  # fmt: skip
async def test_an_edit_that_would_run_as_something_else_runs_nothing_of_the_turn(args, problem):
    """Nor does the call before it; people can be asked again, and read why."""
    counter, approvals = Counter(), deciding(approve(), edit(args), approve(), approve())
    text = await counter.paused(("pay", {"order": 1}), PAY)
    agent = counter.agent("done")

    with pytest.raises(DecisionNotAllowedError, match=problem):
        await run(agent, approvals=approvals, conversation=loaded(text))
    assert counter.ran == []

    await run(agent, approvals=approvals, conversation=loaded(text))
    assert sorted(counter.ran) == [("pay", 1), ("pay", 7)]
    assert "the edited pay" in approvals.asked[1].context.again


async def test_an_edit_reaches_a_tool_whose_parameter_is_a_model():
    """Its fields are the arguments of the call; what the tool says beside its result is kept."""

    class Payment(BaseModel):
        order: int

    agent = Agent(model(says(PAY), "done"))

    @agent.tool_plain(requires_approval=True)
    def pay(payment: Payment) -> ToolReturn:
        return ToolReturn(f"paid {payment.order}", content="Receipt follows.")

    result = await run(agent, "go", approvals=deciding(edit({"order": 9})))

    assert answers_to_model(result) == {"call_1": ("success", "paid 9")}
    assert prompts(result) == ["go", [NOTE, "Receipt follows."]]


# --- What cannot be asked -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "says_what"),
    [(("weigh", {"order": 7}), r"weigh \(call_2\) waits for a result from outside, .* HandleDeferredToolCalls"),
     (("pay", '{"order": 7, "order": 8}'), r"pay \(call_2\): key 'order' appears twice")],
)  # fmt: skip
async def test_a_turn_with_a_call_that_no_approval_answers_is_not_asked_about(call, says_what):
    """Neither is its other call, which does not run."""
    counter, approvals = Counter(), deciding(approve(), approve())

    with pytest.raises(InvalidRequestError, match=says_what):
        await run(counter.agent(says(PAY, call), "done"), "go", approvals=approvals)

    assert (approvals.asked, counter.ran) == ((), [])


async def test_calls_from_outside_are_left_to_a_handler_of_the_agent():
    """It answers those, and people are asked about the rest."""
    counter, approvals = Counter(), deciding(approve())
    outside = HandleDeferredToolCalls(lambda _ctx, requests: requests.build_results(calls={"call_2": "2 kg"}))
    agent = counter.agent(says(PAY, ("weigh", {"order": 7})), "done", capabilities=[outside])

    result = await run(agent, "go", approvals=approvals)

    assert answers_to_model(result) == {"call_1": ("success", "paid 7"), "call_2": ("success", "2 kg")}


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(deferred_tool_requests=None),
        lambda value: value["deferred_tool_requests"]["approvals"].pop(),
        lambda value: value["messages"].clear(),
        lambda value: value["messages"][1].update(run_id=None),
    ],
    ids=["no requests", "fewer requests", "no messages", "no run"],
)
async def test_a_conversation_that_does_not_say_what_waits_is_refused(change):
    """Pydantic AI would drop its open calls, or ask for more answers after people have given theirs."""
    counter, approvals = Counter(), deciding(approve(), approve())
    text = await counter.paused(PAY, ("look_up", {"order": 5}), ("pay", {"order": 8}))
    counter.ran.clear()

    with pytest.raises(InvalidRequestError, match=r"conversation: .*pass `result\.conversation`"):
        await run(counter.agent("done"), approvals=approvals, conversation=changed(text, change))

    assert (approvals.asked, counter.ran) == ((), [])


@pytest.mark.parametrize(
    ("given", "says_what"),
    [({"agent": "desk"}, "agent: this is a text: pass the Agent itself"),
     ({"conversation": []}, r"conversation: this is .*: pass `result\.conversation`"),
     ({"options": {"message_history": []}}, r"options\['message_history'\]: .* pass conversation="),
     ({"option": {}}, r"option: no such option \(did you mean 'options'")],
)  # fmt: skip
async def test_what_stands_in_the_wrong_place_is_refused_before_the_model_is_called(given, says_what):
    """The sentence says what to pass instead."""
    with pytest.raises(WrongArgumentError, match=says_what):
        await run(**{"agent": Counter().agent(), "approvals": deciding(), **given})


# --- Stored runs --------------------------------------------------------------------------------------------------


async def test_a_run_goes_on_in_another_process_with_the_same_question(
    client: ApprovalClient, store, redis_url
):
    """Given a process that ended while people were asked, its question stays, and its answer is used once."""
    counter = Counter()
    turn = says(PAY, ("look_up", {"order": 5}))
    first = asyncio.create_task(run(counter.agent(turn), "go", approvals=client, save=counter.save))
    (asked,) = await eventually(lambda: ids(store))
    first.cancel()
    await asyncio.wait([first])
    (text,) = counter.saved

    going_on = [run(counter.agent("done"), approvals=client, conversation=loaded(text)) for _ in range(2)]
    async with person(redis_url, ScriptedReviewer([approve()])):
        ended = await asyncio.gather(*going_on, return_exceptions=True)

    assert counter.ran == [("look_up", 5), ("pay", 7)]
    assert await ids(store) == [asked]
    with pytest.raises(ConsumedError):
        await run(counter.agent("done"), approvals=client, conversation=loaded(text))
    assert sorted(getattr(each, "output", "refused") for each in ended) == ["done", "refused"]


@pytest.mark.parametrize("what", ["the messages", "the tool"])
async def test_a_call_that_was_changed_in_the_store_does_not_run(what):
    """Pydantic AI would run what the messages say. The question of before stands, and its answer is about what was shown."""
    counter, approvals = Counter(), deciding(approve())
    text, agent = await counter.paused(PAY), counter.agent("done")
    shown, value = to_request(loaded(text), toolsets=agent.toolsets), json.loads(text)
    run_id = value["messages"][1]["run_id"]
    await approvals.publish(approvals.interrupt(shown, run=run_id, pauses=["call_1"]))
    if what == "the tool":
        agent = Agent(model("done"))

        @agent.tool_plain(requires_approval=True)
        def pay(order: int, twice: bool = True) -> None:
            counter.ran.append("newer")
    else:
        value["messages"][1]["parts"][0]["args"] = {"order": 700}

    with pytest.raises(ConflictError, match="published with a different action"):
        await run(agent, approvals=approvals, conversation=loaded(json.dumps(value)))

    assert counter.ran == []


async def test_a_store_of_pydantic_ai_keeps_every_pause_and_the_end():
    """Its `save` fits, and what it loads goes on where the last pause is."""
    stores = pytest.importorskip("pydantic_ai.conversation_store", reason="Pydantic AI 2.55 has no store")
    counter, store = Counter(), stores.InMemoryConversationStore()
    approvals = deciding(approve(), approve())
    kept = []

    async def save(conversation):
        await store.save(conversation)
        kept.append((await store.load(conversation.conversation_id)).deferred_tool_requests)

    result = await run(counter.agent(says(PAY), AGAIN, "done"), "go", approvals=approvals, save=save)
    conversation = await store.load(result.conversation.conversation_id)
    more = await run(counter.agent("bye"), "more", approvals=approvals, conversation=conversation)

    assert [bool(requests) for requests in kept] == [True, True, False]
    assert prompts(more) == ["go", "more"]


async def test_a_run_that_fails_has_used_its_answer():
    """Its tool has run, and Pydantic AI would run it again."""
    counter, approvals = Counter(), deciding(approve())
    text = await counter.paused(PAY)

    with pytest.raises(LookupError, match="no turn left"):
        await run(counter.agent(), approvals=approvals, conversation=loaded(text))
    with pytest.raises(ConsumedError):
        await run(counter.agent("done"), approvals=approvals, conversation=loaded(text))

    assert counter.ran == [("pay", 7)]


async def test_a_tool_that_waited_for_something_cancelled_has_used_its_answer():
    """Nobody has cancelled the run, so this is an error of the tool like any other."""
    agent, ran, approvals = Agent(model(says(PAY), "done")), [], deciding(approve())

    @agent.tool_plain(requires_approval=True)
    async def pay(order: int) -> None:
        ran.append(order)
        raise asyncio.CancelledError

    saved = []
    for _ in range(2):
        with pytest.raises((asyncio.CancelledError, ConsumedError)):
            await run(
                agent,
                None if saved else "go",
                approvals=approvals,
                conversation=saved[0] if saved else None,
                save=saved.append,
            )

    assert ran == [7]
