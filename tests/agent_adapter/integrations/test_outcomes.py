"""What became of the approved calls: every integration that runs the tools reports it by itself."""

import asyncio
from typing import Annotated

import pytest
from agents import Agent, function_tool
from agents.testing import ScriptedModel as SdkModel
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langchain_dev_utils.tool_calling import human_in_the_loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from agent_adapter import Outcome
from agent_adapter.integrations import functions, langchain_dev_utils, openai_agents
from agent_adapter.integrations.langgraph import run, stream
from agent_adapter.sync import SyncApprovalClient
from agent_adapter.testing import (
    InMemoryApprovalClient,
    ScriptedReviewer,
    approve,
    edit,
    reject,
    respond,
)
from tests.agent_adapter.integrations import desk
from tests.agent_adapter.integrations.office import CONFIG, DONE, GO, TURN, Office
from tests.support.scripted_model import ScriptedModel, says


def answering(*answers):
    return InMemoryApprovalClient(ScriptedReviewer(list(answers)))


async def outcomes_of(client):
    """Give what was reported about each action of each question."""
    return [
        [each and each.outcome for each in (await client.record(asked.id)).outcomes()]
        for asked in client.asked
    ]


# --- Plain functions ----------------------------------------------------------------------------------------------


async def pay(order: int) -> str:
    if order < 0:
        raise ValueError("no such order")
    return f"paid {order}"


async def test_the_result_of_an_approved_function_is_reported():
    client = answering(approve())
    await functions.run(pay, {"order": 17}, approvals=client)

    assert await outcomes_of(client) == [[Outcome.done("paid 17")]]


async def test_the_error_of_an_approved_function_is_reported_and_raised():
    client = answering(edit({"order": -1}))
    with pytest.raises(ValueError, match="no such order"):
        await functions.run(pay, {"order": 17}, approvals=client)

    assert await outcomes_of(client) == [[Outcome.failed("ValueError: no such order")]]


@pytest.mark.parametrize("answer", [reject("No."), respond("Later.")])
async def test_nothing_is_reported_of_a_function_that_did_not_run(answer):
    client = answering(answer)
    await functions.run(pay, {"order": 17}, approvals=client, on_reject=str)

    assert await outcomes_of(client) == [[None]]


async def test_a_function_that_blocks_is_reported():
    client = answering(approve())

    def ask():
        with SyncApprovalClient(client) as approvals:

            @functions.requires_approval(approvals)
            def refund(order: int) -> None: ...

            refund(order=17)

    await asyncio.to_thread(ask)

    assert await outcomes_of(client) == [[Outcome.done()]]


# --- LangChain and LangGraph --------------------------------------------------------------------------------------


async def test_the_answer_of_an_approved_tool_is_reported():
    client, office = answering(approve(), approve(), respond("staging")), Office()
    await run(office.agent(TURN, DONE), GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [
        [Outcome.done("sent to a@x.com"), Outcome.done("deleted report.txt"), None]
    ]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_an_edited_tool_is_reported_and_a_rejected_one_is_not(mode):
    client, office = (
        answering(edit({"to": "b@x.com", "subject": "Hi"}), reject("No."), respond("x")),
        Office(),
    )
    await run(office.agent(TURN, DONE, mode=mode), GO, approvals=client, config=CONFIG)

    found = [each for batch in await outcomes_of(client) for each in batch]
    assert found == [Outcome.done("sent to b@x.com"), None, None]


async def test_a_tool_that_raises_out_of_its_run_has_failed():
    client, office = answering(approve(), approve(), respond("x")), Office(breaks={"report.txt"})
    with pytest.raises(OSError, match="cannot delete"):
        await run(office.agent(TURN, DONE), GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [
        [Outcome.done("sent to a@x.com"), Outcome.failed("OSError: cannot delete report.txt"), None]
    ]


async def test_a_streamed_run_reports_too():
    client, office = answering(approve(), reject("No."), respond("x")), Office()
    async for _ in stream(office.agent(TURN, DONE), GO, approvals=client, config=CONFIG):
        pass

    assert await outcomes_of(client) == [[Outcome.done("sent to a@x.com"), None, None]]


def agent_with(made, *middleware, call=None):
    """An agent that calls this one tool, which is gated."""
    return create_agent(
        ScriptedModel(turns=(says(call or (made.name, {"amount": 5})), DONE)),
        [made],
        middleware=[*middleware, HumanInTheLoopMiddleware({made.name: True})],
        checkpointer=InMemorySaver(),
    )


async def test_an_error_that_the_model_reads_is_a_failure():
    """LangChain hands such an error to the model as the tool's answer, and the run goes on."""

    @tool
    def charge(amount: int) -> str:
        """Charge."""
        raise ToolException(f"no funds for {amount}")

    charge.handle_tool_error = True
    client = answering(approve())
    await run(agent_with(charge), GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [[Outcome.failed("no funds for 5")]]


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

    client = answering(approve())
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    await run(agent_with(charge, retry), GO, approvals=client, config=CONFIG)

    assert len(attempts) == 3
    assert await outcomes_of(client) == [[Outcome.done("charged")]]


async def test_a_tool_that_fails_at_every_attempt_has_failed_once():
    @tool
    def charge(amount: int) -> str:
        """Charge."""
        raise OSError("busy")

    client = answering(approve())
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    await run(agent_with(charge, retry), GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [[Outcome.failed("OSError: busy")]]


async def test_a_tool_that_answers_with_a_command_is_reported():
    """A subagent of deepagents answers like this."""

    @tool
    def charge(amount: int, call: Annotated[str, InjectedToolCallId]) -> Command:
        """Charge."""
        return Command(update={"messages": [ToolMessage(f"charged {amount}", tool_call_id=call)]})

    client = answering(approve())
    await run(agent_with(charge), GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [[Outcome.done("charged 5")]]


@pytest.mark.parametrize(("answer", "said"), [(approve(), "paid 5"), (edit({"amount": 7}), "paid 7")])
async def test_a_tool_that_asks_about_itself_is_reported(answer, said):
    """As with langchain-dev-utils: the tool pauses inside its own call."""

    @human_in_the_loop
    @tool
    def charge(amount: int) -> str:
        """Charge."""
        return f"paid {amount}"

    agent = create_agent(
        ScriptedModel(turns=(says(("charge", {"amount": 5})), DONE)), [charge], checkpointer=InMemorySaver()
    )
    client = answering(answer)
    await langchain_dev_utils.run(agent, GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [[Outcome.done(said)]]


async def test_a_question_that_is_not_a_tool_call_has_no_outcome():
    """Nobody knows what the node does with the answer."""

    def node(state: MessagesState):
        interrupt({"action_request": {"action": "deploy", "args": {}}, "config": {"allow_accept": True}})
        return {"messages": []}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    client = answering(approve())
    await run(graph.compile(checkpointer=InMemorySaver()), GO, approvals=client, config=CONFIG)

    assert await outcomes_of(client) == [[None]]


async def test_a_report_that_is_refused_does_not_reach_the_run(monkeypatch):
    """What the run gives back does not depend on whether its outcome was stored."""

    def broken(*_args, **_more):
        raise RuntimeError("reports are broken")

    client, office = answering(approve(), approve(), respond("x")), Office()
    monkeypatch.setattr(client, "report_later", broken)
    await run(office.agent(TURN, DONE), GO, approvals=client, config=CONFIG)

    assert office.names() == ["delete_file", "read_file", "send_email"]


# --- OpenAI Agents SDK --------------------------------------------------------------------------------------------


async def test_the_outputs_of_the_sdks_tools_are_reported():
    client = answering(approve(), edit({"order": 8, "reason": "late"}), respond("staging"))
    await openai_agents.run(desk.Desk().agent(desk.TURN, desk.DONE), "go", approvals=client)

    assert await outcomes_of(client) == [
        [Outcome.done("sent to dana@x.com"), Outcome.done("cancelled 8"), None]
    ]


async def test_a_streamed_run_of_the_sdk_reports_too():
    client = answering(approve(), reject("No."), respond("staging"))
    events = openai_agents.stream(desk.Desk().agent(desk.TURN, desk.DONE), "go", approvals=client)
    async for _ in events:
        pass

    assert await outcomes_of(client) == [[Outcome.done("sent to dana@x.com"), None, None]]


def failing(**tool):
    """An agent of the SDK whose tool raises an error."""

    @function_tool(needs_approval=True, **tool)
    def charge(amount: int) -> str:
        """Charge."""
        raise OSError(f"no funds for {amount}")

    model = SdkModel([desk.says(("charge", {"amount": 5})), desk.DONE])
    return Agent(name="desk", model=model, tools=[charge])


async def test_an_error_that_the_sdk_hides_from_the_model_is_a_failure():
    """The SDK answers with a sentence of its own, and the card says the same."""
    client = answering(approve())
    await openai_agents.run(failing(), "go", approvals=client)

    ((outcome,),) = await outcomes_of(client)
    assert outcome.status == "failed"
    assert outcome.text.startswith("An error occurred while running the tool.")


async def test_an_error_that_a_tool_puts_into_its_own_words_is_a_failure():
    client = answering(approve())
    agent = failing(failure_error_function=lambda _context, _error: "It will be fine.")
    result = await openai_agents.run(agent, "go", approvals=client)

    assert result.final_output == "done"
    assert await outcomes_of(client) == [[Outcome.failed("OSError: no funds for 5")]]


async def test_an_error_that_ends_the_run_is_a_failure():
    client = answering(approve())
    with pytest.raises(Exception, match="no funds"):
        await openai_agents.run(failing(failure_error_function=None), "go", approvals=client)

    ((outcome,),) = await outcomes_of(client)
    assert outcome.status == "failed"
    assert "no funds for 5" in outcome.text
