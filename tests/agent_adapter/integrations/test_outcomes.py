"""What became of the approved calls: every integration that runs the tools reports it by itself."""

import contextlib
from typing import Annotated

import pytest
from agents import Agent, CustomTool, function_tool
from agents.testing import ScriptedModel as SdkModel
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.types import Command

from agent_adapter import Outcome
from agent_adapter.errors import ConsumedError
from agent_adapter.integrations import openai_agents
from agent_adapter.integrations.openai_agents import EditableMCPAgent, editable
from agent_adapter.testing import approve
from tests.agent_adapter.integrations import desk
from tests.agent_adapter.integrations.office import DONE, gated, run_thread
from tests.agent_adapter.integrations.test_openai_agents_kinds import CUSTOM, PATCH, SHELL, Sums, patch, shell
from tests.support.deciding import deciding, outcomes_of
from tests.support.scripted_model import says

# --- LangChain and LangGraph --------------------------------------------------------------------------------------


def agent_with(made, *middleware):
    """An agent that calls this one tool, which is gated."""
    return gated([made], says((made.name, {"amount": 5})), DONE, middleware=middleware)


@tool
def read_by_the_model(amount: int) -> str:
    """Raise an error that LangChain hands to the model as the tool's answer."""
    raise ToolException(f"no funds for {amount}")


read_by_the_model.handle_tool_error = True


@tool
def by_a_command(amount: int, call: Annotated[str, InjectedToolCallId]) -> Command:
    """Answer as a subagent of deepagents does."""
    return Command(update={"messages": [ToolMessage(f"charged {amount}", tool_call_id=call)]})


@pytest.mark.parametrize(
    ("made", "outcome"),
    [(read_by_the_model, Outcome.failed("no funds for 5")), (by_a_command, Outcome.done("charged 5"))],
)
async def test_what_becomes_of_a_call_is_reported_however_its_tool_says_it(made, outcome):
    """The run goes on after either."""
    client = deciding(approve())
    await run_thread(agent_with(made), client)

    assert await outcomes_of(client) == [outcome]


async def test_a_tool_that_is_retried_and_then_works_is_done():
    """A failed attempt is not the outcome of the call."""
    attempts = []

    @tool
    def charge(amount: int) -> str:
        """Charge."""
        attempts.append(amount)
        if len(attempts) < 3:
            raise OSError("busy")
        return "charged"

    client = deciding(approve())
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    await run_thread(agent_with(charge, retry), client)

    assert len(attempts) == 3
    assert await outcomes_of(client) == [Outcome.done("charged")]


# --- OpenAI Agents SDK --------------------------------------------------------------------------------------------


def failing(**tool):
    """An agent of the SDK whose tool raises an error."""

    @function_tool(needs_approval=True, **tool)
    def charge(amount: int) -> str:
        """Charge."""
        raise OSError(f"no funds for {amount}")

    return calling(charge)


def calling(tool):
    """An agent of the SDK that calls this one tool."""
    model = SdkModel([desk.says((tool.name, {"amount": 5})), desk.DONE])
    return Agent(name="desk", model=model, tools=[tool])


async def sdk_run(agent, client, *, is_streamed):
    if is_streamed:
        return [event async for event in openai_agents.stream(agent, "go", approvals=client)]
    return await openai_agents.run(agent, "go", approvals=client)


NO_FUNDS = Outcome.failed("OSError: no funds for 5")


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(("fails", "outcome"), [(False, Outcome.done("charged 5")), (True, NO_FUNDS)])
async def test_tools_of_an_agent_that_is_used_as_a_tool_are_reported(own, is_streamed, fails, outcome):
    """The SDK calls no hooks for them. The call of the agent is done when the agent is."""

    @function_tool(needs_approval=True)
    def charge(amount: int) -> str:
        """Charge."""
        if fails:
            raise OSError(f"no funds for {amount}")
        return f"charged {amount}"

    inner = calling(editable(charge) if own else charge)
    ask = inner.as_tool("ask", "Ask.", needs_approval=True)
    model = SdkModel([desk.says(("ask", {"input": "charge"}), first_call=7), desk.DONE])
    outer, client = Agent(name="lead", model=model, tools=[ask]), deciding(approve(), approve())
    await sdk_run(outer, client, is_streamed=is_streamed)

    assert await outcomes_of(client) == [Outcome.done("done"), outcome]


@pytest.mark.parametrize("kind", [Agent, EditableMCPAgent])
@pytest.mark.parametrize("is_inside", [False, True])
async def test_tools_of_a_local_mcp_server_are_reported(kind, is_inside):
    """Also those of an agent that is used as a tool."""
    model = SdkModel([desk.says(("add", {"a": 1})), desk.DONE])
    agent = kind(name="desk", model=model, mcp_servers=[Sums([])])
    if is_inside:
        asks = SdkModel([desk.says(("ask", {"input": "add"}), first_call=7), desk.DONE])
        agent = Agent(name="lead", model=asks, tools=[agent.as_tool("ask", "Ask.")])
    client = deciding(approve())
    await openai_agents.run(agent, "go", approvals=client)

    (outcome,) = await outcomes_of(client)
    assert (outcome.status, "2" in outcome.text) == ("done", True)


async def test_an_error_that_ends_the_run_of_an_agent_used_as_a_tool_is_a_failure():
    """The SDK then pauses at the same call again, and it does not run again."""
    ask = failing(failure_error_function=None).as_tool("ask", "Ask.", needs_approval=True)
    model = SdkModel([desk.says(("ask", {"input": "charge"}), first_call=7), desk.DONE])
    client = deciding(approve(), approve())
    with pytest.raises(ConsumedError):
        await openai_agents.run(Agent(name="lead", model=model, tools=[ask]), "go", approvals=client)

    agents, charged = await outcomes_of(client)
    assert charged == NO_FUNDS
    assert (agents.status, "no funds for 5" in agents.text) == ("failed", True)


def raises(*_):
    raise OSError("no such disk")


NO_DISK = Outcome.failed("OSError: no such disk")


def custom(does):
    return CustomTool(name="sql", description="", on_invoke_tool=does, needs_approval=True)


@pytest.mark.parametrize(
    ("tool", "call", "outcome"),
    [
        (custom(lambda _context, _text: "dropped"), CUSTOM, Outcome.done("dropped")),
        (custom(raises), CUSTOM, NO_DISK),
        # The SDK does not tell which call a shell or an editor works for.
        (shell([])["tools"][0], SHELL, None),
        (patch([])["tools"][0], PATCH, None),
    ],
)  # fmt: skip
async def test_a_call_that_is_no_function_is_reported(tool, call, outcome):
    """Where the SDK says which call runs."""
    client = deciding(approve())
    agent = Agent(name="desk", model=SdkModel([[call], desk.DONE]), tools=[tool])
    with contextlib.suppress(Exception):
        await openai_agents.run(agent, "go", approvals=client)

    assert await outcomes_of(client) == [outcome]
