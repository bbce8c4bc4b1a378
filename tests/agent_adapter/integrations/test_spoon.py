"""SpoonAI's stock agent: what is held, who decides, what runs and what the model hears."""

# ruff: noqa: E402  # where SpoonAI is not installed there is nothing to import

import asyncio
from datetime import timedelta

import pytest

from tests.support.deciding import deciding, outcomes_of
from tests.support.lanes import require_spoonai

require_spoonai()

from spoon_ai.agents import SpoonReactAI, ToolCallAgent
from spoon_ai.agents.spoon_react_mcp import SpoonReactMCP
from spoon_ai.agents.subagents import SubAgentMiddleware, SubAgentSpec, add_subagent_support
from spoon_ai.middleware.base import AgentMiddleware
from spoon_ai.tools import hitl
from spoon_ai.tools.base import ToolFailure, ToolResult
from spoon_ai.tools.hitl import ApprovalDecision

from agent_adapter.contract.arguments import encode
from agent_adapter.errors import DecisionNotAllowedError, InvalidRequestError
from agent_adapter.integrations.spoon import HumanInTheLoopMiddleware, run, to_request, to_resume
from agent_adapter.testing import approve, edit, reject
from tests.agent_adapter.integrations.spoon_office import (
    DONE,
    GATED,
    MAIL,
    SCHEMAS,
    TURN,
    Noting,
    Office,
    answers,
    says,
)

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


async def test_a_name_that_the_agent_maps_to_a_gated_tool_is_gated(office):
    """Agents with MCP run a call of `proxy_delete_file` as `delete_file`."""
    approvals = deciding(delete_file=[reject("No."), approve()])
    turn = says(("proxy_delete_file", {"path": "a.txt"}))
    agent = office.agent(turn, turn, DONE, kind=SpoonReactMCP)

    await run(agent, "go", approvals=approvals, interrupt_on=GATED)

    assert [action.name for action in approvals.reviewer.asked] == ["delete_file", "delete_file"]
    assert office.names() == ["delete_file"]


# --- How long a step may take --------------------------------------------------------------------------------------


async def test_a_step_may_take_as_long_as_the_question_stands(office):
    """SpoonAI would cancel it and end the run without a word. No longer, though: a tool that hangs is still cut off."""
    limits = []

    async def look(request, handler):
        limits.append(request.runtime._agent_instance._default_timeout)
        return await handler(request)

    approvals = deciding(**EVERYBODY_APPROVES)
    gate = HumanInTheLoopMiddleware(GATED, approvals=approvals, expires_in=timedelta(hours=2))
    agent = office.agent(MAILS, DONE, middleware=[Outside(look), gate])

    await agent.run("go")

    assert limits == [30 + timedelta(hours=2, minutes=5).total_seconds()]
    assert agent._default_timeout == 30


# --- Converters ----------------------------------------------------------------------------------------------------


PAUSE = hitl.InterruptInfo(
    hitl.InterruptValue(
        [hitl.ActionRequest("send_email", MAIL, "call_1"), hitl.ActionRequest("delete_file", {"path": "a"}, "call_2")],
        [hitl.ReviewConfig("send_email", "call_1", ["approve", "edit"], None), hitl.ReviewConfig("delete_file", "call_2", ["approve", "reject"], None)],
    )
)  # fmt: skip


@pytest.mark.parametrize("pause", [PAUSE, PAUSE.to_dict()], ids=["object", "dict"])
async def test_a_pause_of_spoonais_own_becomes_a_question_and_an_answer(office, pause):
    """In its own words, with the schemas of the tools."""
    approvals = deciding(edit({**MAIL, "to": "b@x.com"}), reject("Keep it."))

    request = to_request(pause, tools=office.tools)
    command = to_resume(await approvals.review(request), pause, tools=office.tools)

    assert request.review_configs[0].args_schema == SCHEMAS["send_email"]
    assert command.resume == {
        "decisions": [
            {"type": "edit", "args": {**MAIL, "to": "b@x.com"}},
            {"type": "reject", "reason": "Keep it."},
        ]
    }


async def test_an_edit_that_does_not_fit_is_not_converted(office):
    """SpoonAI would run it."""
    resume = await deciding(edit({"to": 5, "subject": "Hi"}), reject()).review(to_request(PAUSE))

    with pytest.raises(DecisionNotAllowedError, match=r"send_email does not fit its tool: \$\.to: type"):
        to_resume(resume, PAUSE, tools=office.tools)


# --- Agents, subagents and policies ----------------------------------------------------------------------------------


async def test_agents_that_share_a_middleware_are_asked_apart(office):
    """What is decided for one does not run in the other."""
    gate = HumanInTheLoopMiddleware(GATED, approvals=deciding(send_email=[approve(), reject()]))
    one, other = (office.agent(MAILS, DONE, middleware=[gate]) for _ in range(2))

    await asyncio.gather(one.run("go"), other.run("go"))

    assert office.names() == ["send_email"]
    assert [REJECTED in answers(agent)["call_1"] for agent in (one, other)] == [False, True]


@pytest.mark.parametrize("kind", [ToolCallAgent, SpoonReactAI])
@pytest.mark.parametrize("whose", [hitl.HumanInTheLoopMiddleware, HumanInTheLoopMiddleware])
async def test_run_takes_the_place_of_the_agents_own_middleware(office, kind, whose):
    """What its `interrupt_on` names is held, for this run, and only the others are asked; the agent stays as it was."""
    approvals, nobody = deciding(delete_file=reject("Keep it.")), deciding()
    given = {"approvals": nobody} if whose is HumanInTheLoopMiddleware else {}
    own = whose({"delete_file": {"allowed_decisions": ["reject"]}}, **given)
    agent = office.agent(DELETE, DONE, middleware=[own], kind=kind)
    pipeline = agent._middleware_pipeline

    await run(agent, "go", approvals=approvals)

    assert office.ran == []
    (asked,) = approvals.asked
    assert asked.request.review_configs[0].allowed_decisions == ("reject",)
    assert nobody.asked == ()
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


async def test_an_agent_that_runs_is_not_given_another_gate(office):
    """Its calls stay with the first one."""
    agent, approvals = office.agent(MAILS, DONE), deciding(send_email=reject())
    pipeline = agent._middleware_pipeline
    first = asyncio.create_task(run(agent, "go", approvals=approvals, interrupt_on=GATED))
    await asyncio.sleep(0)

    with pytest.raises(InvalidRequestError, match="is running; make an agent for each run"):
        await run(agent, "go", approvals=approvals, interrupt_on={})

    assert await first == "done"
    assert office.ran == []
    assert agent._middleware_pipeline is pipeline


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


@pytest.mark.parametrize(
    "answer",
    [
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
