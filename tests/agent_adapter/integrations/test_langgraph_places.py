"""Tools that ask by themselves: each pause is read as its own tool reads the answer, or nobody is asked."""

from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolErrorMiddleware
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt

from agent_adapter.errors import InvalidRequestError
from agent_adapter.testing import InMemoryApprovalClient, ScriptedReviewer, approve, respond
from tests.agent_adapter.integrations.office import DONE, GO, run_thread
from tests.conftest import until
from tests.support.scripted_model import ScriptedModel, says

DEPLOY, ASK, FETCH = ("deploy", {"build": 17}), ("ask_user", {"question": "Who?"}), ("fetch", {"url": "x"})
HUMAN = {
    "action_request": {"action": "deploy", "args": {"build": 17}},
    "config": {"allow_accept": True, "allow_ignore": True},
}


class Desk:
    """Two tools that ask and read different answers, and one that fails until it is mended."""

    def __init__(self, question: Any = "Deploy?"):
        self.question, self.broken, self.asking = question, True, 0
        self.heard: dict[str, list[Any]] = {"deploy": [], "ask_user": []}
        # `deploy` is approved, in whichever form it asks, and `ask_user` is answered.
        answers = {"interrupt": lambda a: respond("Noor") if a.args["value"] == "Who?" else approve()}
        self.reviewer = ScriptedReviewer({**answers, "deploy": approve()})
        self.approvals = InMemoryApprovalClient(self.reviewer)

    @property
    def tools(self):
        async def deploy(build: int) -> str:
            """Deploy a build."""
            self.asking += 1
            self.heard["deploy"].append(interrupt(self.question))
            return "deployed"

        async def ask_user(question: str) -> str:
            """Ask the user."""
            self.asking += 1
            self.heard["ask_user"].append(interrupt(question))
            return "asked"

        async def fetch(url: str) -> str:
            """Fetch a page."""
            if self.broken:
                # The others of the turn have asked by then.
                await until(lambda: self.asking)
            if self.broken:
                raise OSError("no route to host")
            return "page"

        return [deploy, ask_user, fetch]

    def agent(self, *calls, checkpointer=None, **options):
        """Make an agent whose first turn has these calls."""
        model = ScriptedModel(turns=[says(*calls), DONE])
        return create_agent(model, self.tools, checkpointer=checkpointer or InMemorySaver(), **options)

    async def run(self, graph, input=GO, dialect=None):
        dialect = dialect or {"deploy": "boolean", "ask_user": "text"}
        return await run_thread(graph, self.approvals, input, dialect=dialect)


ORDERS = pytest.mark.parametrize("calls", [(DEPLOY, ASK, FETCH), (FETCH, ASK, DEPLOY), (ASK, FETCH, DEPLOY)])


@pytest.mark.parametrize("goes_to_the_model", [False, True])
@ORDERS
async def test_tools_keep_their_reading_when_another_of_the_turn_raises(calls, goes_to_the_model):
    """The run breaks and somebody goes on with the thread, or the model reads the error: each tool hears what it reads."""
    desk = Desk()
    handled = [ToolErrorMiddleware(lambda error, request: str(error))] if goes_to_the_model else []
    agent = desk.agent(*calls, middleware=handled)
    if not goes_to_the_model:
        with pytest.raises(OSError, match="no route"):
            await desk.run(agent)
        desk.broken = False

    await desk.run(agent, GO if goes_to_the_model else None)

    assert desk.heard == {"deploy": [True], "ask_user": ["Noor"]}


def subagents(desk, *calls, **options):
    """Make a deep agent that gives both its subagents a task; the mailer's turn has these calls."""
    turn = says(*(("task", {"description": "go", "subagent_type": name}) for name in ("mailer", "reader")))
    said = {"description": "does it", "system_prompt": "Do it."}
    mailer = {"name": "mailer", "model": ScriptedModel(turns=[says(*calls), DONE]), "tools": desk.tools}
    broken = {"name": "reader", "model": ScriptedModel(turns=[says(FETCH), DONE]), "tools": desk.tools}
    return create_deep_agent(
        model=ScriptedModel(turns=[turn, DONE]),
        subagents=[{**said, **mailer, **options}, {**said, **broken}],
        checkpointer=InMemorySaver(),
    )


async def test_tool_of_a_subagent_is_named_by_its_own_name():
    """Also when the other subagent breaks; the person reads for whom they approve."""
    desk = Desk(HUMAN)
    graph = subagents(desk, DEPLOY, ASK)
    with pytest.raises(OSError, match="no route"):
        await desk.run(graph)

    desk.broken = False
    await desk.run(graph, None)

    assert desk.heard == {"deploy": [True], "ask_user": ["Noor"]}
    assert [asked.context.subagent for asked in desk.approvals.asked] == ["mailer"]


async def test_review_of_a_call_is_not_a_question_of_its_tool():
    """LangChain reviews the subagent's call in its own form before the tool asks in another."""
    desk = Desk()
    review = HumanInTheLoopMiddleware({"deploy": True})
    desk.broken = False

    await desk.run(subagents(desk, DEPLOY, middleware=[review]))

    assert [action.name for action in desk.reviewer.asked] == ["deploy", "interrupt"]
    assert desk.heard["deploy"] == [True]


@pytest.mark.parametrize("again", [False, True])
async def test_tool_is_refused_where_nobody_can_tell_whether_it_asks(again):
    """A tool runs a graph that cannot be found: what asks in there may be the `deploy` that the caller named."""
    desk = Desk(HUMAN)
    hidden = [desk.agent(DEPLOY, ASK, checkpointer=None)]
    hidden[0].checkpointer = None
    quiet = create_agent(ScriptedModel(turns=[DONE]), [])

    async def expert(question: str) -> str:
        """Ask an expert, who may have asked somebody before."""
        if again:
            await quiet.ainvoke(GO)
        return str(await hidden[0].ainvoke(GO))

    model = ScriptedModel(turns=[says(("expert", {"question": "?"})), DONE])
    agent = create_agent(model, [expert, *desk.tools], checkpointer=InMemorySaver())

    with pytest.raises(
        InvalidRequestError, match=r"nobody was asked.*'deploy'.*does not tell.*by the payload"
    ):
        await desk.run(agent)

    assert desk.reviewer.asked == []


# --- Several calls in one task ------------------------------------------------------------------------------------------


class Runner:
    """A node that is a method."""

    def __init__(self, tools):
        self.tools = tools

    async def act(self, state, config):
        return await self.tools.ainvoke(state, config)


def in_a_function(tools):
    """A function runs the node for tools."""

    async def act(state, config):
        return await tools.ainvoke(state, config)

    return act


WRAPS = {
    "bare": lambda tools: tools,
    "configured": lambda tools: tools.with_config(tags=["x"]),
    "retried": lambda tools: tools.with_retry(wait_exponential_jitter=False),
    "last": lambda tools: RunnableLambda(lambda state: state) | tools.with_config(tags=["x"]),
    "function": in_a_function,
    "function, configured": lambda tools: in_a_function(tools.with_config(tags=["x"])),
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
    await alone.run(graph(alone, DEPLOY), dialect="boolean")
    # The tools of a function cannot be found, so nobody can name them.
    by_name = (
        [{"deploy": "boolean", "ask_user": "text"}]
        if wrap in {"bare", "configured", "retried", "last"}
        else []
    )
    for dialect in ["boolean", *by_name]:
        with pytest.raises(
            InvalidRequestError, match=r"nobody was asked.*'run_tools'.*\(deploy, ask_user\).*Send"
        ):
            await together.run(graph(together, DEPLOY, ASK), dialect=dialect)

    assert alone.heard["deploy"] == [True]
    assert together.reviewer.asked == []
