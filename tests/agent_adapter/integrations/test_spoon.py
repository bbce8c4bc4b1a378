"""SpoonAI's stock agent: what is held, who decides, what runs and what the model hears."""

# ruff: noqa: E402  # where SpoonAI is not installed there is nothing to import

import asyncio
from datetime import timedelta

import pytest

from tests.support.deciding import deciding
from tests.support.lanes import require_spoonai

require_spoonai()

from spoon_ai.agents import Command, SpoonReactAI, ToolCallAgent
from spoon_ai.agents.spoon_react_mcp import SpoonReactMCP
from spoon_ai.agents.subagents import SubAgentMiddleware, SubAgentSpec, add_subagent_support
from spoon_ai.middleware.base import AgentMiddleware, ToolCallRequest
from spoon_ai.schema import AgentState
from spoon_ai.tools.base import ToolFailure, ToolResult
from spoon_ai.tools.hitl import ApprovalDecision, ApprovalResponse, DecisionInput, HITLInterrupt
from spoon_ai.tools.hitl import HumanInTheLoopMiddleware as Stock

from agent_adapter.contract.arguments import encode
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.spoon import (
    HITLMiddleware,
    HumanInTheLoopMiddleware,
    create_hitl_middleware,
    run,
    to_request,
    to_resume,
)
from agent_adapter.testing import approve, edit, reject
from tests.agent_adapter.integrations.spoon_office import (
    DONE,
    GATED,
    MAIL,
    TURN,
    Noting,
    Office,
    answers,
    says,
)
from tests.conftest import until

REJECTED = "This call was rejected and did not run"
FAILED = "Error executing tool {}: "


@pytest.fixture
def office():
    return Office()


EVERYBODY_APPROVES = {"send_email": approve(), "delete_file": approve()}
MAILS, DELETE = says(("send_email", MAIL)), says(("delete_file", {"path": "a.txt"}))


# --- What is held, and what runs -----------------------------------------------------------------------------------


async def test_numbers_are_shown_as_spoonai_has_read_them(office):
    """It runs its own copy, in which decimals are floats: just these are shown, and run."""
    text = '{"to": 9007199254740993.99, "subject": 1.10}'
    approvals = deciding(**EVERYBODY_APPROVES)
    agent = office.agent(
        says(("send_email", text)), DONE, middleware=[HumanInTheLoopMiddleware(GATED, approvals=approvals)]
    )

    await agent.run("go")

    shown = {"to": 9007199254740994.0, "subject": 1.1}
    assert office.ran == [("send_email", shown)]
    assert [encode(action.args) for action in approvals.reviewer.asked] == [encode(shown)]


async def test_a_description_is_asked_of_the_users_function(office):
    """With the call, the agent's state and the runtime, as SpoonAI documents it."""
    given = []

    def describe(tool_call, state, runtime):
        given.append((tool_call["name"], state, runtime.agent_name))
        return f"This deletes {tool_call['args'].pop('path')}."

    approvals = deciding(delete_file=approve())
    gated = {
        "delete_file": {"allowed_decisions": [ApprovalDecision.APPROVE, "reject"], "description": describe}
    }

    await run(office.agent(DELETE, DONE), "go", approvals=approvals, interrupt_on=gated)

    assert given == [("delete_file", {}, "toolcall")]
    (asked,) = approvals.reviewer.asked
    assert asked.description == "This deletes a.txt."
    assert office.ran == [("delete_file", {"path": "a.txt"})]


# --- Nothing undecided runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"path": "a', "args: not JSON at line 1"),
        ('["a"]', "args: arguments must be a JSON object, not list"),
        ('{"path": "a", "path": "b"}', "args: key 'path' appears twice"),
        ('{"path": NaN}', "NaN"),
    ],
)
async def test_arguments_that_cannot_be_shown_do_not_run(office, arguments, why):
    """SpoonAI would run the tool without arguments; the model hears what is wrong, and the other calls are asked about."""
    turn = says(("delete_file", arguments), ("send_email", MAIL))
    approvals = deciding(**EVERYBODY_APPROVES)
    agent = office.agent(turn, DONE)

    await run(agent, "go", approvals=approvals, interrupt_on=GATED)

    assert office.names() == ["send_email"]
    assert [action.name for action in approvals.reviewer.asked] == ["send_email"]
    assert answers(agent)["call_1"].startswith(f"{FAILED.format('delete_file')}This call did not run: ")
    assert why in answers(agent)["call_1"]


async def test_a_call_without_arguments_is_shown_as_one(office):
    """Model servers send empty text for no arguments."""
    approvals = deciding(delete_file=reject())

    await run(office.agent(says(("delete_file", " ")), DONE), "go", approvals=approvals, interrupt_on=GATED)

    assert [action.args for action in approvals.reviewer.asked] == [{}]


async def test_two_calls_of_one_turn_with_one_id_do_not_run(office):
    """Nobody could tell which of them was decided."""
    turn = says(
        ("send_email", MAIL),
        ("delete_file", {"path": "x"}),
        ("read_file", {"path": "y"}),
        ids=["c", "c", "c"],
    )
    agent = office.agent(turn, DONE)

    await run(agent, "go", approvals=deciding(**EVERYBODY_APPROVES), interrupt_on=GATED)

    assert office.names() == ["read_file"]
    texts = [m.content for m in agent.memory.get_messages() if m.role == "tool"]
    assert texts[0].endswith(
        "This call did not run: 2 calls of this turn have the id 'c'; each needs its own"
    )


class Outside(AgentMiddleware):
    """Stands before the gate and does something to each call on its way in."""

    def __init__(self, do):
        super().__init__()
        self.do = do

    async def awrap_tool_call(self, request, handler):
        return await self.do(request, handler)


@pytest.mark.parametrize(
    "changed",
    [{"arguments": {"path": "/"}}, {"arguments": {"path": object()}}, {"tool_name": "send_email"}],
    ids=["arguments", "no JSON", "tool"],
)
async def test_a_call_that_was_changed_after_it_was_shown_does_not_run(office, changed):
    """What was shown is what runs."""

    async def change(request, handler):
        for name, value in changed.items():
            setattr(request, name, value)
        return await handler(request)

    gate = HumanInTheLoopMiddleware(GATED, approvals=deciding(**EVERYBODY_APPROVES))
    agent = office.agent(DELETE, DONE, middleware=[Outside(change), gate])

    await agent.run("go")

    assert office.ran == []
    assert answers(agent)["call_1"].endswith("This call did not run: it was changed after it was shown")


async def test_one_decision_runs_one_call(office):
    """Whoever tries again needs another decision."""

    async def twice(request, handler):
        await handler(request)
        return await handler(request)

    gate = HumanInTheLoopMiddleware(GATED, approvals=deciding(**EVERYBODY_APPROVES))
    agent = office.agent(MAILS, DONE, middleware=[Outside(twice), gate])

    await agent.run("go")

    assert office.names() == ["send_email"]
    assert answers(agent)["call_1"].endswith("nobody was asked about it, or it has run before")


async def test_a_call_that_no_model_made_does_not_run(office):
    """A program that hands the agent a call goes past the model, not past people."""
    gate = HumanInTheLoopMiddleware(GATED, approvals=deciding(**EVERYBODY_APPROVES))
    agent = office.agent(DONE, middleware=[gate])
    (call, *_) = says(("delete_file", {"path": "a.txt"})).tool_calls

    with pytest.raises(Exception, match="This call did not run: nobody was asked about it"):
        await agent.execute_tool(call)

    assert office.ran == []


def test_a_call_that_cannot_wait_does_not_run():
    """SpoonAI's middleware has a synchronous side, which its agents do not use."""
    gate = HumanInTheLoopMiddleware(GATED, approvals=deciding(**EVERYBODY_APPROVES))

    def request(name):
        return ToolCallRequest(tool_name=name, arguments={}, tool_call_id="call_1")

    assert gate.wrap_tool_call(request("delete_file"), lambda _: "ran").error.startswith(
        "This call did not run"
    )
    assert gate.wrap_tool_call(request("read_file"), lambda _: "ran") == "ran"


async def test_a_name_that_the_agent_maps_to_a_gated_tool_is_gated(office):
    """Agents with MCP run a call of `proxy_delete_file` as `delete_file`."""
    approvals = deciding(delete_file=[reject("No."), approve()])
    turn = says(("proxy_delete_file", {"path": "a.txt"}))
    agent = office.agent(turn, turn, DONE, kind=SpoonReactMCP)

    await run(agent, "go", approvals=approvals, interrupt_on=GATED)

    assert [action.name for action in approvals.reviewer.asked] == ["delete_file", "delete_file"]
    assert office.names() == ["delete_file"]


# --- How long a step may take --------------------------------------------------------------------------------------


def slowly(answer):
    """A callback that takes longer than a tenth of a second."""

    async def decide(_request):
        await asyncio.sleep(0.3)
        return answer

    return decide


async def test_a_person_may_be_slower_than_a_step(office):
    """SpoonAI would cancel the step and end the run without a word."""
    gate = HumanInTheLoopMiddleware(GATED, slowly("approve"))
    agent = office.agent(MAILS, DONE, middleware=[gate])
    agent._default_timeout = 0.1

    assert await agent.run("go") == "done"

    assert office.names() == ["send_email"]
    assert agent._default_timeout == 0.1


async def test_a_step_may_take_as_long_as_the_question_stands(office):
    """No longer: a tool that hangs is still cut off."""
    limits = []

    async def look(request, handler):
        limits.append(request.runtime._agent_instance._default_timeout)
        return await handler(request)

    approvals = deciding(**EVERYBODY_APPROVES)
    gate = HumanInTheLoopMiddleware(GATED, approvals=approvals, expires_in=timedelta(hours=2))
    agent = office.agent(MAILS, DONE, middleware=[Outside(look), gate])

    await agent.run("go")

    assert limits == [30 + timedelta(hours=2, minutes=5).total_seconds()]


# --- A callback decides --------------------------------------------------------------------------------------------


def at_once(answer):
    return lambda _request: answer


@pytest.mark.parametrize("speed", [at_once, slowly], ids=["plain", "asynchronous"])
@pytest.mark.parametrize(
    ("answer", "ran", "heard"),
    [
        (ApprovalDecision.APPROVE, MAIL, "send_email was done"),
        ("approve", MAIL, "send_email was done"),
        ("REJECT", None, f"{REJECTED}."),
        (ApprovalDecision.REJECT, None, f"{REJECTED}."),
        (
            ApprovalResponse(ApprovalDecision.EDIT, {"to": "c@x.com", "subject": "Hi"}),
            {"to": "c@x.com", "subject": "Hi"},
            "send_email was done",
        ),
        (
            ApprovalResponse(ApprovalDecision.EDIT, {"to": 5, "subject": "Hi"}),
            None,
            "the edited send_email does not fit its tool: $.to: type; nothing was run",
        ),
        ("edit", None, "is not a decision"),
        ("maybe", None, "Invalid approval decision string: maybe"),
        (None, None, "Invalid approval decision type"),
        (True, None, "Invalid approval decision type"),
    ],
)
async def test_a_callback_answers_as_spoonai_documents(office, speed, answer, ran, heard):
    """With a decision, its name or a response; whatever else it gives, the call does not run."""
    agent = office.agent(MAILS, DONE, middleware=[HumanInTheLoopMiddleware(GATED, speed(answer))])

    await agent.run("go")

    assert office.ran == ([("send_email", ran)] if ran else [])
    assert heard in answers(agent)["call_1"]


async def test_a_callback_is_asked_about_each_gated_call(office):
    """With SpoonAI's request; what it does to it changes nothing."""
    asked = []

    def decide(request):
        asked.append((request.tool_name, dict(request.arguments), request.tool_call_id))
        request.arguments.clear()
        return "approve"

    agent = office.agent(TURN, DONE, middleware=[HumanInTheLoopMiddleware(GATED, decide)])

    await agent.run("go")

    assert asked == [("send_email", MAIL, "call_1"), ("delete_file", {"path": "report.txt"}, "call_3")]
    assert [args for _, args in office.ran] == [MAIL, {"path": "notes.txt"}, {"path": "report.txt"}]


def breaks(_request):
    raise RuntimeError("the terminal is gone")


@pytest.mark.parametrize(
    ("decide", "options", "why"),
    [
        (breaks, {}, "approval_callback: the terminal is gone"),
        (
            at_once(ApprovalResponse(ApprovalDecision.EDIT, {"path": "b"})),
            {},
            "edit is not one of approve, reject",
        ),
        (slowly("approve"), {"expires_in": timedelta(milliseconds=1)}, "Nobody decided in time."),
    ],
    ids=["fails", "not allowed", "takes too long"],
)
async def test_a_callback_without_an_answer_does_not_approve(office, decide, options, why):
    """The model hears why; the other calls are decided for themselves."""

    def asked(request):
        return decide(request) if request.tool_name == "delete_file" else at_once("approve")(request)

    callback = decide if options else asked
    turn = says(*([("send_email", MAIL)] if not options else []), ("delete_file", {"path": "a"}))
    agent = office.agent(turn, DONE, middleware=[HumanInTheLoopMiddleware(GATED, callback, **options)])

    await agent.run("go")

    assert office.names() == ([] if options else ["send_email"])
    (*_, heard) = answers(agent).values()
    assert "This call did not run: " in heard
    assert why in heard


# --- Whoever drives the agent decides ------------------------------------------------------------------------------


async def paused(agent):
    with pytest.raises(HITLInterrupt) as raised:
        await agent.run("go")
    return raised.value.interrupt_info


async def test_a_run_without_reviewer_pauses_and_goes_on_with_the_calls_that_were_shown(office):
    """The model is not asked again: it might say something else."""
    gate = HumanInTheLoopMiddleware(GATED)
    agent = office.agent(TURN, DONE, middleware=[gate])
    approvals = deciding(send_email=edit({**MAIL, "to": "b@x.com"}), delete_file=reject("Keep it."))

    pause = await paused(agent)
    assert office.ran == []
    resume = await approvals.review(to_request(pause, tools=office.tools))
    gate.set_resume_data(to_resume(resume, pause))

    assert await agent.run() == "done"
    assert office.ran == [("send_email", {**MAIL, "to": "b@x.com"}), ("read_file", {"path": "notes.txt"})]
    assert answers(agent)["call_3"].endswith(": Keep it.")
    assert agent.llm.asked == 2


GOOD = [{"type": "approve"}, {"type": "reject", "reason": "No."}]


@pytest.mark.parametrize(
    ("resume", "why"),
    [
        ({"decisions": [*GOOD, {"type": "approve"}]}, "3 decisions for 2 actions"),
        ({"decisions": [{"type": "run"}, GOOD[1]]}, "is not a decision"),
        ({"decisions": [None, GOOD[1]]}, "is not a decision"),
        ({"decisions": [{"type": "edit"}, GOOD[1]]}, "is not a decision"),
        ({"decisions": [{"type": "edit", "edited_action": {"name": "send_email", "args": {}}}, GOOD[1]]}, "is not a decision"),
        ({"decisions": [{"type": "edit", "args": {"to": 5}}, GOOD[1]]}, "does not fit its tool"),
        ({"decisions": [GOOD[0], {"type": "edit", "args": {"path": "b"}}]}, "edit is not one of approve, reject"),
        ({"decisions": [{"type": "respond", "message": "hello"}, GOOD[1]]}, "is not a decision"),
        ({"decisions": "approve"}, "resume: it has no decisions"),
        (Command(), "resume: it has no decisions"),
    ],
)  # fmt: skip
async def test_an_answer_that_does_not_fit_leaves_the_run_paused(office, resume, why):
    """SpoonAI's own middleware would take most of these for approvals."""
    gate = HumanInTheLoopMiddleware(GATED)
    agent = office.agent(TURN, DONE, middleware=[gate])
    await paused(agent)

    with pytest.raises((DecisionNotAllowedError, InvalidRequestError), match=why):
        gate.set_resume_data(resume)

    assert office.ran == []
    gate.set_resume_data({"decisions": [DecisionInput(type="approve"), DecisionInput(type="reject")]})
    assert await agent.run() == "done"
    assert office.names() == ["send_email", "read_file"]


async def test_a_paused_run_that_gets_no_answer_asks_the_model_anew(office):
    """And pauses anew: the old calls are gone."""
    gate = HumanInTheLoopMiddleware(GATED)
    agent = office.agent(TURN, says(("delete_file", {"path": "b.txt"})), DONE, middleware=[gate])
    await paused(agent)

    pause = await paused(agent)
    gate.set_resume_data({"decisions": [{"type": "approve"}]})
    await agent.run()

    assert [action.name for action in pause.value.action_requests] == ["delete_file"]
    assert office.ran == [("delete_file", {"path": "b.txt"})]


async def test_an_answer_is_for_the_one_pause_that_waits_for_it(office):
    """It is taken once, the first one stands, and it has to be clear which is meant."""
    gate = HumanInTheLoopMiddleware(GATED)
    agent = office.agent(MAILS, MAILS, DONE, middleware=[gate])
    await paused(agent)
    gate.set_resume_data({"decisions": [{"type": "approve"}]})
    with pytest.raises(InvalidRequestError, match="0 runs wait for an answer here"):
        gate.set_resume_data({"decisions": [{"type": "reject"}]})
    with pytest.raises(HITLInterrupt):
        await agent.run()
    assert office.names() == ["send_email"]

    gate = HumanInTheLoopMiddleware(GATED)
    one, other = (office.agent(TURN, DONE, middleware=[gate]) for _ in range(2))
    await paused(one)
    await paused(other)

    with pytest.raises(InvalidRequestError, match="2 runs wait for an answer here"):
        gate.set_resume_data({"decisions": GOOD})


# --- Agents, subagents and policies ----------------------------------------------------------------------------------


async def test_agents_that_share_a_middleware_are_asked_apart(office):
    """What is decided for one does not run in the other."""
    gate = HumanInTheLoopMiddleware(GATED, approvals=deciding(send_email=[approve(), reject()]))
    one, other = (office.agent(MAILS, DONE, middleware=[gate]) for _ in range(2))

    await asyncio.gather(one.run("go"), other.run("go"))

    assert office.names() == ["send_email"]
    assert [REJECTED in answers(agent)["call_1"] for agent in (one, other)] == [False, True]


@pytest.mark.parametrize("kind", [ToolCallAgent, SpoonReactAI])
@pytest.mark.parametrize("whose", [Stock, HumanInTheLoopMiddleware])
async def test_run_takes_the_place_of_the_agents_own_middleware(office, kind, whose):
    """What its `interrupt_on` names is held, for this run, and only the others are asked; the agent stays as it was."""
    approvals, nobody = deciding(delete_file=reject("Keep it.")), deciding()
    own = (
        Stock({"delete_file": True})
        if whose is Stock
        else HumanInTheLoopMiddleware({"delete_file": True}, approvals=nobody)
    )
    agent = office.agent(DELETE, DONE, middleware=[own], kind=kind)
    pipeline = agent._middleware_pipeline

    await run(agent, "go", approvals=approvals)

    assert office.ran == []
    assert (len(approvals.asked), nobody.asked) == (1, ())
    assert agent._middleware_pipeline is pipeline


async def test_run_hands_its_options_to_the_agent(office):
    """`thinking` reaches the model."""
    given = []

    class Curious(type(office.agent(DONE).llm)):
        async def ask_tool(self, **kwargs):
            given.append(kwargs.get("thinking"))
            return await super().ask_tool(**kwargs)

    agent = office.agent(DONE)
    agent.llm = Curious(DONE)

    await run(agent, "go", approvals=deciding(), interrupt_on=GATED, options={"thinking": True})

    assert given == [True]


async def test_run_refuses_what_it_cannot_hold(office):
    """Before anything runs."""
    approvals = deciding()

    with pytest.raises(InvalidRequestError, match="interrupt_on: say which tools wait for a person"):
        await run(office.agent(DONE), "go", approvals=approvals)
    with pytest.raises(InvalidRequestError, match="object is not a ToolCallAgent"):
        await run(object(), "go", approvals=approvals, interrupt_on=GATED)

    assert office.ran == []


class Slow(ToolCallAgent):
    """Does something of its own before it runs, as SpoonAI's agents with skills do."""

    async def run(self, *args, **kwargs):
        await asyncio.sleep(0)
        return await super().run(*args, **kwargs)


@pytest.mark.parametrize("soon", [True, False], ids=["about to run", "running"])
async def test_an_agent_that_runs_is_not_given_another_gate(office, soon):
    """Its calls stay with the first one."""
    go = asyncio.Event()

    async def when_said(_request):
        await go.wait()
        return "reject"

    gate = HumanInTheLoopMiddleware(GATED, when_said)
    agent = office.agent(MAILS, DONE, middleware=[gate], kind=Slow)
    approvals = deciding(send_email=reject())
    first = asyncio.create_task(run(agent, "go", approvals=approvals) if soon else agent.run("go"))
    await (asyncio.sleep(0) if soon else until(lambda: agent.state == AgentState.RUNNING))

    with pytest.raises(InvalidRequestError, match="is running; make an agent for each run"):
        await run(agent, "go", approvals=approvals, interrupt_on={})
    go.set()

    assert await first == "done"
    assert office.ran == []
    assert agent._middleware_pipeline.middleware == [gate]


def an_agent_with_a_helper(office, *turns, **spec):
    """A parent whose `task` tool hands work to a subagent named `cleaner`; both speak through one model."""
    cleaner = SubAgentSpec("cleaner", "Cleans.", "You clean.", office.tools, **spec)
    helpers = SubAgentMiddleware(subagents=[cleaner], general_purpose_agent=False)
    task = says(("task", {"description": "clean up", "subagent_type": "cleaner"}))
    return office.agent(task, *turns, DONE, DONE, middleware=[helpers], name="boss")


async def test_a_subagent_asks_by_its_name(office):
    """The card says who wants it."""
    approvals = deciding(delete_file=reject("Keep it."))
    gate = HumanInTheLoopMiddleware(GATED, approvals=approvals)
    agent = an_agent_with_a_helper(office, says(("delete_file", {"path": "a"})), middleware=[gate])

    await agent.run("go")

    (asked,) = approvals.asked
    assert asked.context.subagent == "cleaner"
    assert office.ran == []


@pytest.mark.parametrize("place", ["spec", "middleware", "helper"])
async def test_a_subagents_interrupt_on_is_refused_where_spoonai_would_not_hold_it(office, place):
    """Wherever it stands, rather than run with a policy that holds nothing."""
    if place == "spec":
        agent = an_agent_with_a_helper(office, interrupt_on={"delete_file": True})
    elif place == "middleware":
        helpers = SubAgentMiddleware(default_interrupt_on={"delete_file": True})
        agent = office.agent(DONE, middleware=[helpers])
    else:
        cleaner = SubAgentSpec("cleaner", "Cleans.", "You clean.", [], interrupt_on={"delete_file": True})
        agent = add_subagent_support(office.agent(DONE), [cleaner])

    with pytest.raises(
        InvalidRequestError, match="interrupt_on of a subagent: SpoonAI would not hold back those calls"
    ):
        await run(agent, "go", approvals=deciding(), interrupt_on=GATED)

    assert agent.llm.asked == 0


def test_options_that_nobody_reads_are_refused():
    """Each way to decide has its own."""
    approvals = deciding()
    with pytest.raises(InvalidRequestError, match="approvals and approval_callback"):
        HumanInTheLoopMiddleware(GATED, at_once("approve"), approvals=approvals)
    with pytest.raises(InvalidRequestError, match="chanel: no such option here; the options are channel, "):
        HumanInTheLoopMiddleware(GATED, approvals=approvals, chanel="C0")
    with pytest.raises(InvalidRequestError, match="channel: no such option here; the options are expires_in"):
        HumanInTheLoopMiddleware(GATED, at_once("approve"), channel="C0")
    with pytest.raises(InvalidRequestError, match="channel: no such option here; nobody is asked"):
        HumanInTheLoopMiddleware(GATED, channel="C0")


async def test_the_factory_reviews_tools_alike(office):
    """As SpoonAI's, with whom to ask beside it."""
    approvals = deciding(**EVERYBODY_APPROVES)
    gate = create_hitl_middleware(
        "send_email",
        "delete_file",
        allowed_decisions=["approve", "reject"],
        approvals=approvals,
        channel="C0FILES",
    )

    await office.agent(TURN, DONE, middleware=[gate]).run("go")

    (asked,) = approvals.asked
    assert [c.allowed_decisions for c in asked.request.review_configs] == [("approve", "reject")] * 2
    assert asked.route.channel == "C0FILES"
    assert create_hitl_middleware("x").interrupt_on == {"x": True}
    with pytest.raises(InvalidRequestError, match="at least 1 item"):
        create_hitl_middleware("x", allowed_decisions=[])


# --- The page of SpoonAI in full ---------------------------------------------------------------------------------------


def test_the_middleware_is_one_of_spoons():
    """Whoever looks for SpoonAI's finds ours, and calls its helpers."""
    gate = HumanInTheLoopMiddleware({"a": True, "b": {"allowed_decisions": ["reject"]}, "c": False})

    assert isinstance(gate, Stock)
    assert HITLMiddleware is HumanInTheLoopMiddleware
    assert gate.get_interrupt_config("a") == {"allowed_decisions": ["approve", "edit", "reject"]}
    assert gate.get_interrupt_config("b") == {"allowed_decisions": ["reject"]}
    assert [gate.get_interrupt_config(name) for name in ("c", "nothing")] == [None, None]
    assert gate.manager.should_interrupt("a")
    assert not gate.manager.should_interrupt("c")
    assert gate.interrupt_on["a"] is True


def test_strict_is_where_spoon_has_it():
    """By place and by name; an unknown decision is a ValueError, as there."""
    wrong = {"x": {"allowed_decisions": ["aprove", "Reject", ApprovalDecision.EDIT]}}
    for make in (lambda: HumanInTheLoopMiddleware(wrong), lambda: Stock(wrong)):
        with pytest.raises(ValueError, match="aprove"):
            make()

    for loose in (
        HumanInTheLoopMiddleware(wrong, None, False),
        HumanInTheLoopMiddleware(wrong, strict=False),
        Stock(wrong, strict=False),
    ):
        assert loose.get_interrupt_config("x") == {"allowed_decisions": ["reject", "edit"]}
    # Where no decision is left, all stand in its place, as in SpoonAI; a gate is never left open.
    for allowed in (["aprove"], []):
        gate = HumanInTheLoopMiddleware({"x": {"allowed_decisions": allowed}}, strict=False)
        assert gate.get_interrupt_config("x") == {"allowed_decisions": ["approve", "edit", "reject"]}


async def test_run_takes_over_what_spoons_own_middleware_has_taken(office):
    """Also what is wrong in it where it was not strict."""
    own = Stock({"delete_file": {"allowed_decisions": ["Reject", "maybe"]}}, strict=False)
    agent = office.agent(DELETE, DONE, middleware=[own])
    approvals = deciding(delete_file=reject("Keep it."))

    await run(agent, "go", approvals=approvals)

    (asked,) = approvals.asked
    assert asked.request.review_configs[0].allowed_decisions == ("reject",)


@pytest.mark.parametrize("whose", ["run's", "the agent's"])
async def test_name_of_no_tool_is_an_error_before_the_model_is_asked(office, whose):
    """The tool that was meant would run with nobody asked."""
    wrong, approvals = {"send_emial": True, "delete_file": True}, deciding()
    agent = office.agent(
        TURN,
        DONE,
        middleware=[HumanInTheLoopMiddleware(wrong, approvals=approvals)] if whose == "the agent's" else [],
    )

    with pytest.raises(InvalidRequestError, match=r"interrupt_on\['send_emial'\].*did you mean 'send_email'"):
        await (
            agent.run("go")
            if whose == "the agent's"
            else run(agent, "go", approvals=approvals, interrupt_on=wrong)
        )

    assert office.ran == []
    assert agent.llm.asked == 0


# --- What became of the calls --------------------------------------------------------------------------------------


async def outcomes_of(approvals):
    """Give what was reported about each action of the only question."""
    (asked,) = approvals.asked
    return [each and each.outcome for each in (await approvals.record(asked.id)).outcomes()]


def raised(_arguments):
    raise OSError("no route to host")


@pytest.mark.parametrize(
    "answer",
    [
        raised,
        lambda _arguments: ToolResult(error="no route to host"),
        lambda _arguments: ToolFailure("no route to host"),
    ],
)
async def test_the_error_of_an_approved_call_is_reported(office, answer):
    """SpoonAI writes it into a text that looks like a result."""
    approvals = deciding(send_email=edit({"to": "b@x.com", "subject": "Hi"}), delete_file=reject())
    agent = office.agent(TURN, DONE)

    async def execute(self, **arguments):
        return answer(arguments)

    agent.available_tools.tool_map["send_email"] = type("Broken", (Noting,), {"execute": execute})(
        name="send_email", description="Send.", parameters={}, note=None
    )
    await run(agent, "go", approvals=approvals, interrupt_on=GATED)

    sent, deleted = await outcomes_of(approvals)
    assert (sent.status, deleted) == ("failed", None)
    assert sent.text.endswith("no route to host")


async def test_a_text_from_an_mcp_server_has_no_outcome(office, monkeypatch):
    """SpoonAI writes the errors of such a server into the same kind of text."""
    approvals = deciding(send_email=approve(), delete_file=reject())
    agent = office.agent(TURN, DONE)

    async def text(_agent, _name, _arguments):
        return "MCP tool execution failed: no route to host"

    monkeypatch.setattr(type(agent), "_execute_tool_direct", text)
    await run(agent, "go", approvals=approvals, interrupt_on=GATED)

    assert await outcomes_of(approvals) == [None, None]


async def test_a_run_that_is_cancelled_in_a_call_uses_its_answer_up(office):
    """The other call that was approved never runs, and nobody waits for the agent."""
    approvals, is_running = deciding(**EVERYBODY_APPROVES), asyncio.Event()
    agent = office.agent(TURN, DONE)

    async def execute(_self, **_arguments):
        is_running.set()
        await asyncio.Event().wait()

    agent.available_tools.tool_map["send_email"] = type("Endless", (Noting,), {"execute": execute})(
        name="send_email", description="Send.", parameters={}, note=None
    )
    running = asyncio.create_task(run(agent, "go", approvals=approvals, interrupt_on=GATED))
    await is_running.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    (asked,) = approvals.asked
    assert (await approvals.record(asked.id)).is_resumed
    sent, deleted = await outcomes_of(approvals)
    assert (sent.status, deleted) == ("failed", None)
