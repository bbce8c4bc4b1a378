"""Tools that ask by themselves: the card says which agent asks, and several that ask in one task are refused."""

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt

from agent_adapter.errors import InvalidRequestError
from agent_adapter.testing import approve
from tests.agent_adapter.integrations.office import DONE, GO, run_thread, with_subagent
from tests.support.deciding import deciding
from tests.support.scripted_model import ScriptedModel, says

DEPLOY, DELETE = ("deploy", {"build": 17}), ("delete", {"build": 16})


class Desk:
    """Two tools that ask."""

    def __init__(self):
        self.ran = []
        self.approvals = deciding(deploy=approve(), task=approve())

    @property
    def tools(self):
        async def deploy(build: int) -> str:
            """Deploy a build."""
            return self.ran.append(interrupt("Deploy?")) or "deployed"

        async def delete(build: int) -> str:
            """Delete a build."""
            return self.ran.append(interrupt("Delete?")) or "deleted"

        return [deploy, delete]

    async def run(self, graph):
        return await run_thread(graph, self.approvals, GO, dialect="boolean")


async def test_card_says_which_subagent_asks_in_its_tool():
    """The person reads for whom they approve."""
    desk = Desk()

    await desk.run(with_subagent(desk.tools, says(DEPLOY), DONE))

    assert desk.ran == [True]
    assert [asked.context.subagent for asked in desk.approvals.asked] == ["mailer"]


class Runner:
    """A node that is a method."""

    def __init__(self, tools):
        self.tools = tools

    async def act(self, state, config):
        return await self.tools.ainvoke(state, config)


def in_functions(tools):
    """A function runs the node for tools, by way of another one."""

    async def run(state, config):
        return await tools.ainvoke(state, config)

    async def act(state, config):
        return await run(state, config)

    return act


WRAPS = {
    "bare": lambda tools: tools,
    "configured": lambda tools: tools.with_config(tags=["x"]),
    "retried": lambda tools: tools.with_retry(wait_exponential_jitter=False),
    "last": lambda tools: RunnableLambda(lambda state: state) | tools.with_config(tags=["x"]),
    "functions, configured": lambda tools: in_functions(tools.with_config(tags=["x"])),
    "method": lambda tools: Runner(tools).act,
}
SENT = {
    "by an edge": None,
    "the state": lambda state: state,
    "the turn": lambda state: {"messages": state["messages"][-1:]},
    "its calls": lambda state: state["messages"][-1].tool_calls,
}


@pytest.mark.parametrize(
    ("wrap", "sent"),
    [*((wrap, "by an edge") for wrap in WRAPS), *(("bare", sent) for sent in SENT), ("method", "the turn")],
)
async def test_calls_that_run_in_one_task_are_refused_however_it_is_reached(wrap, sent):
    """LangGraph gives the first answer to whichever asks first: what was approved for one would run another.

    The node for tools may be wrapped, sent the state, or run by a function. A single call is asked about.
    """

    def graph(desk, *calls):
        model, send = ScriptedModel(turns=[says(*calls), DONE]), SENT[sent]

        def routed(state):
            if not state["messages"][-1].tool_calls:
                return "__end__"
            return [Send("run_tools", send(state))] if send else "run_tools"

        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        builder.add_node("run_tools", WRAPS[wrap](ToolNode(desk.tools))).add_edge(START, "model")
        builder.add_edge("run_tools", "model").add_conditional_edges("model", routed)
        return builder.compile(checkpointer=InMemorySaver())

    alone, together = Desk(), Desk()
    await alone.run(graph(alone, DEPLOY))
    with pytest.raises(InvalidRequestError, match=r"nobody was asked.*'run_tools'.*\(deploy, delete\).*Send"):
        await together.run(graph(together, DEPLOY, DELETE))

    assert alone.ran == [True]
    assert together.approvals.reviewer.asked == []
